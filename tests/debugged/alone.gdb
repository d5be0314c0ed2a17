# gdb is killed while threads have exceptions of what it has set.
break main
continue
delete
watch memory
break count if value < 0
shell (sleep 3; kill -9 $PPID) &
continue
