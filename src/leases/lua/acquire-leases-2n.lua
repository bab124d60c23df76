-- Acquires each lease that is free; busy ones are left alone. Nothing waits (ENG-18).
-- KEYS: for each lease, its key and the key of its fence counter, alternating.
-- ARGV: 1 token of the holder, 2 lease in milliseconds, then for each lease its floor: the fence in the guard's row.
-- Returns for each lease the new fence as text, or '' where another holds it.
-- The counter may be forgotten (an emptied Redis): the floor keeps fences growing.
local token, ttl_ms = ARGV[1], ARGV[2]
local counter_ttl_ms = 86400000
local fences = {}
for i = 1, #KEYS / 2 do
  local lease, counter = KEYS[2 * i - 1], KEYS[2 * i]
  if redis.call('EXISTS', lease) == 1 then
    fences[i] = ''
  else
    local fence = math.max(tonumber(redis.call('GET', counter) or '0'), tonumber(ARGV[2 + i])) + 1
    redis.call('SET', counter, string.format('%.0f', fence), 'PX', counter_ttl_ms)
    redis.call('SET', lease, token, 'PX', ttl_ms)
    fences[i] = string.format('%.0f', fence)
  end
end
return fences
