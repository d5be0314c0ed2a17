# Signals of a terminal and of another process.
continue
printf "= typed: signal %d\n", $_siginfo.si_signo
signal SIGINT
printf "= typed again: signal %d, seen %d\n", $_siginfo.si_signo, interrupts
continue
printf "= sent: signal %d, by another %d\n", $_siginfo.si_signo, $_siginfo._sifields._kill.si_pid > 2
continue
printf "= sent: signal %d\n", $_siginfo.si_signo
signal 0
printf "= sent: signal %d\n", $_siginfo.si_signo
signal 0
printf "= status %d\n", $_exitcode
