break often
continue
continue
delete
catch syscall getppid dup2
continue
printf "= call %d begins: %d\n", $orig_rax, $rax
continue
printf "= it has returned %d\n", $rax == -38
continue
printf "= call %d begins with %d and %d\n", $orig_rax, $rdi, $rsi
continue
printf "= it has returned %d\n", $rax
delete
catch syscall
continue
printf "= call %d begins\n", $orig_rax
stepi
printf "= call %d has returned %d\n", $orig_rax, $rax >= 0
delete
catch syscall write
continue
printf "= write(%d, .., %d) begins\n", $rdi, $rdx
continue
printf "= write returns %d\n", $rax
continue
printf "= exit code %d\n", $_exitcode
