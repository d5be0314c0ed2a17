# A program runs by a recording: gdb is told of changes of memory, forwards and backwards.
break main
continue
delete
watch counter
continue
printf "= counter %d, other %d\n", counter, other
continue
printf "= counter %d, other %d\n", counter, other
continue
printf "= counter %d, other %d\n", counter, other
reverse-continue
printf "= back: counter %d, other %d\n", counter, other
reverse-continue
printf "= back: counter %d, other %d\n", counter, other
stepi
printf "= a step: counter %d\n", counter
delete
watch text
continue
printf "= text %s\n", text
continue
printf "= text %s\n", text
continue
printf "= at the end: text %s\n", text
reverse-continue
printf "= back: text %s\n", text
reverse-continue
printf "= back: text '%s'\n", text
delete
watch counter if counter == 2
reverse-continue
printf "= before it was 3: counter %d, other %d\n", counter, other
delete
break local
continue
delete
next
watch mine
continue
printf "= mine %d\n", mine
continue
printf "= mine %d\n", mine
reverse-continue
printf "= back: mine %d\n", mine
delete
watch counter
break count if n == 5
reverse-continue
printf "= counter %d, other %d\n", counter, other
reverse-continue
reverse-continue
printf "= counter %d, other %d\n", counter, other
reverse-continue
printf "= in count(5): %d\n", n == 5
delete
continue
continue
printf "= exit code %d\n", $_exitcode
