# packages: gzip, bzip2, xz-utils, zstd, zip, unzip
cd "$(mktemp -d)"; seq 1 100000 >n; sum=$(sha256sum <n)
for z in gzip bzip2 xz zstd; do $z -k -c n >n.$z; test "$(stat -c %s n.$z)" -lt 300000 && test "$($z -d -c n.$z | sha256sum)" = "$sum" && echo $z; done
xz -T2 -c n | xz -dc | cmp - n && echo threads; zstd -q -T2 -19 -c n | zstd -dc | cmp - n && echo threads; zip -q a.zip n && unzip -p a.zip | cmp - n && echo zip; gzip -l n.gzip | tail -1 | cut -c1-30; printf 'broken' | gzip -d 2>/dev/null; echo $?; zcat -f n | tail -1; zdiff n.gzip n && echo equal
