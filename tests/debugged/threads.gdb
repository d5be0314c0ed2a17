break work
continue
set $all = n
continue
set $all = $all + n
printf "= both threads work: %d\n", $all
continue
# The signal stops the program where it is.
printf "= sum %d at a fault: %d\n", sum, *(unsigned char *)$rip == 0xc7
continue
printf "= signal %d\n", $_exitsignal
