# Signals of each kind stop the program before it gets them.
tbreak mark
continue
tbreak handle
signal SIGUSR2
printf "= given: signal %d, second %d\n", signal, second
continue
printf "= signal %d, code %d, second %d\n", $_siginfo.si_signo, $_siginfo.si_code, second
printf "= a call of the program's gives %d\n", work(5)
continue
printf "= passed: first %d\n", first
signal 0
printf "= ignored: signal %d, first %d\n", $_siginfo.si_signo, first
continue
printf "= thread %d, signal %d\n", $_thread, $_siginfo.si_signo
stepi
printf "= a step leads into the handler: %d\n", $pc == (unsigned long) &handle
break tick
continue
python print("= behind the handler:", gdb.newest_frame().older().type() == gdb.SIGTRAMP_FRAME)
finish
python print("= finished:", gdb.newest_frame().type() == gdb.SIGTRAMP_FRAME)
delete
catch signal SIGALRM
continue
printf "= signal %d\n", $_siginfo.si_signo
delete
next
next
next
printf "= some: %d\n", alarms > 0
break mark
continue
continue
continue
printf "= between alarms: %d\n", $pc == (unsigned long) &mark
delete
catch signal SIGCHLD
continue
printf "= signal %d, code %d\n", $_siginfo.si_signo, $_siginfo.si_code
delete
continue
printf "= signal %d, code %d, address %d\n", $_siginfo.si_signo, $_siginfo.si_code, $_siginfo._sifields._sigfault.si_addr
set $pc = $pc + 2
signal 0
