# packages: bash
set -u
declare -A ages=([ann]=31 [bob]=27 [eve]=44)
for name in "${!ages[@]}"; do echo "$name ${ages[$name]}"; done | sort
mapfile -t lines < <(seq 1 5 | while read -r n; do echo $((n * n)); done)
echo "${lines[@]}" "${#lines[@]}" "${lines[-1]}"
text=Recursive
echo "${text,,} ${text^^} ${text:2:4} ${text/sive/sion}"
printf '%05d|%-8s|%x\n' 42 left 255
f() { local -n out=$1; out=$(($2 + $3)); }
f sum 4 5; echo "$sum"
[[ "a1b2" =~ ([a-z])([0-9]) ]] && echo "${BASH_REMATCH[@]}"
coproc cat
echo "through a coprocess" >&"${COPROC[1]}"; read -r back <&"${COPROC[0]}"; echo "$back"
exec {COPROC[1]}>&-; wait "$COPROC_PID"; echo "status $?"
trap 'echo usr1' USR1; kill -USR1 $$; trap - USR1
(trap 'echo leaving' EXIT; exit 3); echo "status $?"
sleep 300 & kill $!; wait $! 2>/dev/null; echo "status $?"
set -o pipefail; false | true; echo "pipe $?"
cat <<< "here"; cat <<X
$((6 * 7))
X
shopt -s extglob nullglob; cd "$(mktemp -d)"; touch a.c b.c c.h; echo !(*.c) *.none *.c
ulimit -n 64; ulimit -n; umask 027; touch masked; stat -c %a masked
time -p true 2>/dev/null; echo {1..10..3} {a..e}
