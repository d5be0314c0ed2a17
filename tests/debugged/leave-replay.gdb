# gdb goes at the end of a replay, which then ends.
continue
printf "= sum %d\n", counter
detach
