# packages: lua5.4
cd "$(mktemp -d)"
cat >a.lua <<'X'
local t = {}; for i = 1, 1000 do t[i] = (i * 7919) % 1009 end; table.sort(t); print(t[1], t[500], t[1000], #t)
print(string.format("%5.2f|%q|%x", 3.14159, "a\nb", 255), ("hello world"):gsub("o", "0"), ("key=val"):match("(%w+)=(%w+)"))
local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i * i) end end); print(co(), co(), co())
print(pcall(error, { code = 7 }), select("#", nil, nil), 7 // 2, 7 % -3, 2 ^ 10, 1 << 40, math.type(1), math.maxinteger)
local m = setmetatable({}, { __index = function(_, k) return k .. "!" end, __call = function(_, x) return x + 1 end }); print(m.x, m(4))
local f = io.open("f", "w"); f:write("one\ntwo\n"); f:close(); for l in io.lines("f") do io.write(l, ";") end print(os.getenv("HOME") ~= nil, os.rename("f", "g"), os.remove("g")); local p = io.popen("echo popen"); print(p:read("a")); print(p:close()); local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end; print(fib(22)); local s = {}; for i = 1, 20000 do s[#s + 1] = tostring(i) end; print(#table.concat(s)); collectgarbage(); os.exit(6)
X
lua5.4 a.lua | sed 's/table: 0x[0-9a-f]*/table/'; lua5.4 -e 'os.exit(6)'; echo $?; echo 'print(1' | lua5.4 - 2>&1 | head -1
