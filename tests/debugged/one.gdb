# The first stop is before the program's first instruction.
printf "= begins at _start: %d\n", $rip == &_start
break twice
continue
printf "= twice(%d), %d before\n", n, counter
set variable counter = 40
stepi
printf "= one instruction on: %d\n", $rip != &twice
continue
printf "= twice(%d), %d before\n", n, counter
print $rdi = 11
delete
finish
printf "= it returns %d\n", $rax
break printf
continue
printf "= printf is called\n"
# A system call is one instruction.
catch signal SIGSEGV
break write
continue
printf "= write(%d, .., %d)\n", $rdi, $rdx
continue
printf "= exit code %d\n", $_exitcode
