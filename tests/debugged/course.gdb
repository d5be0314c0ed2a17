# A replay of threads and processes stops at breakpoints, in both directions, and goes on as it did.
break add
continue
set $first = sum
continue
continue
continue
printf "= first %d, more %d\n", $first, sum > 0
delete
continue
printf "= at the end %d %d\n", sum, children
break add
reverse-continue
printf "= before the last: %d\n", sum < 30 && sum + $rdi == 30
reverse-continue
set $before = sum + $rdi
continue
printf "= forth: %d, %d\n", sum == $before, sum + $rdi == 30
delete
break waited
continue
printf "= a child: %d %d\n", $rdi, children
continue
printf "= another: %d %d\n", $rdi, children
reverse-continue
printf "= back: %d %d\n", $rdi, children
delete
continue
printf "= the end again %d %d\n", sum, children
continue
