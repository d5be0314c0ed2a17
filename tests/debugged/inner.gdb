# gdb follows a monitor to the program that it runs as a process beside itself. Both go on together.
set detach-on-fork off
set schedule-multiple on
tcatch fork
continue
printf "= the monitor makes a process: inferior %d\n", $_inferior
set follow-fork-mode child
stepi
printf "= the program is inferior %d\n", $_inferior
file program
break twice
continue
printf "= inferior %d: twice(%d), %d before\n", $_inferior, n, counter
set variable counter = 40
continue
printf "= inferior %d: twice(%d), %d before\n", $_inferior, n, counter
delete
finish
printf "= it returns %d\n", $rax
python print("=", len({one.pid for one in gdb.inferiors()}), "processes")
continue
printf "= exit code %d\n", $_exitcode
inferior 1
continue
printf "= exit code %d\n", $_exitcode
