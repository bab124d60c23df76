-- Gives back the leases that still carry the holder's token; another's is never touched.
-- KEYS: the leases. ARGV: 1 token. Returns how many were given back.
local released = 0
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then
    redis.call('DEL', KEYS[i])
    released = released + 1
  end
end
return released
