# A program ends itself: gdb shows where.
continue
printf "= signal %d\n", $_siginfo.si_signo
python
frame = gdb.newest_frame()
while frame and frame.name() != "check":
    frame = frame.older()
frame.select()
end
printf "= value %d\n", value
up
python print("= in", gdb.selected_frame().name())
continue
printf "= ended by %d\n", $_exitsignal
