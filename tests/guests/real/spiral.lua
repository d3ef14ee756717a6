-- Loops hot enough for LuaJIT's traces, with side exits, strings and a closure each round.
local function step(x, i) return math.sqrt(x * x + i) - x / (1 + i) end
local x = 1.5
for i = 0, 3000000 do x = step(x, i % 17) end
print(string.format("%.17g", x))
local parts = {}
for i = 1, 2000 do parts[#parts + 1] = string.format("%g", math.sin(i)) end
print(#table.concat(parts), select("#", unpack(parts, 1, 50)))
local sum = 0
for i = 1, 100000 do
  if i % 1000 == 0 then sum = sum + #tostring(i) else sum = sum + i * 0.25 end
end
print(sum, pcall(error, "an error"))
