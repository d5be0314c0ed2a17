break twice
continue
continue
python
areas = [line.split() for line in gdb.execute("info proc mappings", to_string=True).splitlines() if "0x" in line]
within = lambda at: [area[4] for area in areas if int(area[0], 16) <= at < int(area[1], 16)]
at = lambda text: int(gdb.parse_and_eval(text))
print("= code", within(at("$pc")), "data", within(at("(long)&counter")), "stack", within(at("$sp")))
end
info proc cmdline
generate-core-file core
kill
shell gdb -nx -batch program core -ex 'printf "= core: twice(%d), %d before\n", n, counter' -ex 'python print("= called by", gdb.newest_frame().older().name())' 2>&1
