set detach-on-fork off
set follow-fork-mode child
break in_child
continue
printf "= inferior %d is in in_child(%d)\n", $_inferior, n
python print("=", len(gdb.inferiors()), "inferiors,", len({one.pid for one in gdb.inferiors()}), "processes")
continue
printf "= inferior %d is in in_child(%d)\n", $_inferior, n
finish
printf "= it returns %d\n", $rax
continue
printf "= exit code %d\n", $_exitcode
inferior 1
continue
printf "= exit code %d\n", $_exitcode
