# packages: coreutils
cd "$(mktemp -d)"
seq 1 1000 >numbers; wc numbers; sort -rn numbers | head -2; shuf --random-source=numbers numbers | sort -n | cmp - numbers && echo same
split -l 300 numbers part.; ls part.*; cat part.* | sha256sum; b2sum numbers | cut -c1-16; md5sum numbers; cksum numbers
tac numbers | tail -1; paste -d, numbers numbers | sed -n 5p; join numbers numbers | wc -l; comm -12 numbers numbers | wc -l
echo "a b c" | tr a-z A-Z; fold -w 10 numbers | head -1; nl numbers | sed -n 3p; od -An -tx1 -N8 numbers; base64 numbers | head -c 20; echo
mkdir -p d/e/f; touch -d '2001-02-03 04:05:06 UTC' d/e/f/x; TZ=UTC stat -c '%n %s %Y %a %F' d/e/f/x; ln -s e/f d/l; readlink -f d/l | sed "s,$PWD,,"; ln d/e/f/x d/hard; stat -c %h d/hard
cp -a d copy; diff -r d copy && echo copied; mv copy moved; du -s --apparent-size -B1 moved/e/f/x; rm -r moved; ls
truncate -s 1M sparse; stat -c '%s %b' sparse; dd if=/dev/zero of=sparse bs=4096 count=1 seek=10 conv=notrunc status=none; stat -c %s sparse; cp --sparse=always sparse other; cmp sparse other && echo equal
chmod u=rwx,g=rx,o= d; stat -c %A d; install -m 741 numbers inst; stat -c %a inst; mkfifo pipe; (echo through >pipe &); cat pipe; test -p pipe && echo fifo
date -u -d @1000000000 +%FT%T; expr 7 \* 6; factor 1234567890; numfmt --to=iec 1048576; printf '%s-%q\n' x 'a b'; env -i A=1 env; timeout 1 sleep 10; echo $?
id -u; whoami; uname -s; nproc >/dev/null && echo counted; tty; pathchk -p ok; realpath --relative-to=d/e d/l; mktemp -u tmp.XXXX | wc -c; yes | head -3 | uniq -c; tsort <<X
a b
b c
X
csplit -s numbers 500 && wc -l xx00 xx01; pr -t -2 -l 5 numbers | head -2; stdbuf -o0 echo unbuffered; nohup true 2>/dev/null; nice -n 5 nice; touch -r d/e/f/x new; test new -ot numbers && echo older
