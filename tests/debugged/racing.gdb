# Memory is watched beside which other threads write, and whose page is forbidden for a while.
handle SIGSEGV nostop noprint pass
break begin
continue
delete
finish
watch -location memory[0]
commands
silent
printf "= memory %ld\n", memory[0]
continue
end
continue
