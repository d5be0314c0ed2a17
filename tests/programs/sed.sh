# packages: sed
cd "$(mktemp -d)"; seq 1 20 >n
sed -n '5,7p;$p' n; sed 's/1/one/g;y/2/Z/' n | head -12 | tail -3; sed -E 's/([0-9])([0-9])/\2\1/' n | tail -2; sed '1!G;h;$!d' n | head -2; sed -i.bak '3d' n; wc -l <n; cmp n n.bak >/dev/null || echo changed
sed ':a;N;$!ba;s/\n/,/g' n; sed '/5/{n;d}' n | wc -l; sed -n '/^1$/,/^5$/{=;p}' n | tr '\n' ' '; echo; printf 'x\n' | sed 'a\after' ; sed 5q n | sed '2c\two'; sed 'w out' n >/dev/null; cmp n out && echo written
