# packages: grep
cd "$(mktemp -d)"; seq 1 3000 >n; mkdir d; echo needle >d/x; echo hay >d/y; printf 'a\0needle' >d/bin
grep -c 7 n; grep -E '^(12|34)5$' n; grep -P '^(\d)\1\1$' n; grep -rn needle d | sort; grep -rl hay d; grep -v 1 n | head -1; grep -o '9.*9' n | tail -2; grep -A1 -B1 '^1500$' n; grep -w 10 n; grep -F -x -f - n <<X
5
77
X
grep -q absent n; echo $?; grep x /nonexistent 2>/dev/null; echo $?; echo 'Größe' | grep -i größe; zgrep -c 1 n; grep --color=always 299 n | head -1 | od -c | head -2
