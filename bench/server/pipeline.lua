-- wrk -s pipeline.lua URL -- DEPTH: that many requests are under way on each connection.
init = function(args)
  requests = string.rep(wrk.format(), tonumber(args[1]))
end

request = function()
  return requests
end
