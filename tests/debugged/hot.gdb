# A breakpoint lies in the page of a call that the library changes.
break *(((long)&fstatat64 & ~0xfffl) + 1)
continue
printf "= exit code %d\n", $_exitcode
