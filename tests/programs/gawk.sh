# packages: gawk
cd "$(mktemp -d)"
seq 1 1000 | gawk '{s+=$1; q[$1%7]++} END {print s; for (i=0;i<7;i++) printf "%d ", q[i]; print ""}'
gawk 'BEGIN {print substr("recursive",3,4), length("abc"), index("hay needle","needle"), toupper("x"); split("a:b:c",p,":"); print p[3]; print strftime("%Y",0,1); printf "%.3f %e\n", atan2(0,-1), 12345.678}'
echo 'k1=v1;k2=v2' | gawk -F'[=;]' '{for(i=1;i<NF;i+=2) m[$i]=$(i+1)} END {PROCINFO["sorted_in"]="@ind_str_asc"; for (k in m) print k, m[k]}'
gawk 'BEGIN { "echo from a command" | getline x; print x; print "b\na" | "sort"; close("sort"); while (("seq 1 3" | getline y) > 0) t+=y; print t; cmd="cat"; print "two ways" |& cmd; close(cmd,"to"); cmd |& getline z; print z }'
printf 'a b\nc d\n' >f; gawk 'NR==FNR {n[FNR]=$0; next} {print n[FNR], $2}' f f; gawk '{ gsub(/[a-c]/,"<&>"); print }' f; gawk -v x=5 'function f(n) {return n<2?1:n*f(n-1)} BEGIN {print f(x); exit 4}'; echo $?
