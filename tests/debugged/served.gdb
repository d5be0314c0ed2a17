break look
continue
printf "= ready %d\n", ready
python
def read(address):
    try:
        return "read", int(gdb.parse_and_eval("*(int *)%d" % address))
    except gdb.MemoryError:
        return "not there",
print("=", *read(0x610000000000))
end
printf "= and the next: %d\n", value
continue
printf "= exit code %d\n", $_exitcode
