# Memory of a program that runs is watched.
break count
continue
delete
watch counter
continue
printf "= counter %d, thread %d\n", counter, $_thread
continue
printf "= counter %d, thread %d\n", counter, $_thread
continue
printf "= counter %d, by the thread with a value: %d\n", counter, value != 0
delete
watch text
continue
printf "= text %s\n", text
watch counter
tbreak local
continue
printf "= behind the child: counter %d\n", counter
delete
next
watch mine
continue
printf "= mine %d\n", mine
delete
continue
