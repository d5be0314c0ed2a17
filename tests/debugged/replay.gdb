# A program runs by a recording: gdb goes back to the cause of its end, to the start, and forth.
set $start = $pc
continue
printf "= spoiled %d, at %d\n", node == 8, spoiled >= 2 && spoiled < 7
set $at = spoiled
set $sum = sum
break add
reverse-continue
printf "= the last sum before: %d\n", sum + node->value == $sum && node == &nodes[$at]
delete
break spoil
reverse-continue
printf "= in spoil(%d), %d\n", at == $at, spoiled
finish
printf "= behind it: %d\n", nodes[$at].next == 8
reverse-step
reverse-stepi
reverse-stepi
stepi
stepi
reverse-finish
printf "= before the call: %d\n", nodes[$at].next == &nodes[$at + 1]
delete
break write
reverse-continue
printf "= before the output: %d\n", spoiled
reverse-stepi
reverse-stepi
printf "= no breakpoint is met before: %d\n", $pc != $start
delete
reverse-continue
printf "= at the start: %d\n", $pc == $start
reverse-continue
reverse-stepi
printf "= still: %d\n", $pc == $start
tbreak main
continue
next
next
printf "= forth: %d\n", nodes[0].next == 0
break add if node->value == 1
continue
printf "= the second: %d\n", node == &nodes[1]
stepi
set $second = $pc
reverse-stepi
delete
break *add
break *$second
continue
continue
printf "= add again: %d\n", $pc == (long)&add && node == &nodes[2]
reverse-continue
printf "= the instruction behind its start: %d\n", $pc == $second && node == &nodes[1]
reverse-continue
printf "= its start: %d\n", $pc == (long)&add
delete
reverse-continue
printf "= at the start: %d\n", $pc == $start
catch syscall write
continue
continue
delete
reverse-stepi
printf "= still in the program: %d\n", spoiled != $at
continue
printf "= spoiled again: %d\n", spoiled == $at && sum == $sum
continue
printf "= signal %d\n", $_exitsignal
