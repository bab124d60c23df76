-- Prolongs the leases that still carry the holder's token.
-- KEYS: the leases. ARGV: 1 token, 2 lease in milliseconds.
-- Returns how many were prolonged; fewer than asked for means that some were lost.
local kept = 0
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
    kept = kept + 1
  end
end
return kept
