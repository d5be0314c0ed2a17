# gdb debugs a monitor `debug`, which finds the line taken, and follows it to the program below.
printf "= the monitor is inferior %d\n", $_inferior
stepi
python print("= a step in the monitor:", gdb.selected_frame().pc() != 0)
tcatch fork
continue
set follow-fork-mode child
stepi
printf "= the program is inferior %d\n", $_inferior
file program
tbreak twice
continue
printf "= twice(%d), %d before\n", n, counter
continue
printf "= exit code %d\n", $_exitcode
