break twice
continue
printf "= twice(%d)\n", n
# What is not detached goes on when gdb ends.
