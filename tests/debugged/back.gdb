# gdb keeps a record of its steps, and goes back by it.
break twice
continue
record
next
next
continue
printf "= forward: counter %d in twice(%d)\n", counter, n
reverse-continue
reverse-continue
printf "= back: counter %d\n", counter
reverse-stepi
stepi
record stop
delete
continue
printf "= exit code %d\n", $_exitcode
