# Memory is watched whose pages are copied, mapped and unmapped.
break begin
continue
delete
finish
watch -location *place
commands
silent
printf "= place %d\n", *place
continue
end
continue
