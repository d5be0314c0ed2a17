# All rows, on either system: the shared directory is /mnt, the disk /media.
do=/mnt/outside
cd /tmp
$do read directory_read /mnt/big
$do read directory_read_again /mnt/big
$do write directory_write /mnt/written 67108864
$do files directory_files /mnt/files 500
$do read disk_read /media/big
$do read disk_read_again /media/big
$do write disk_write /media/written 67108864
$do files disk_files /media/files 500
$do send tcp_send 10.0.2.2 $(cat /mnt/port) 67108864
$do receive tcp_receive 10.0.2.2 $(cat /mnt/port) 67108864
$do echo tcp_round_trip 10.0.2.2 $(cat /mnt/port) 1000
$do run find sh -c 'find /usr/lib/python3* | wc -l >/dev/null'
$do run find_again sh -c 'find /usr/lib/python3* | wc -l >/dev/null'
$do run python python3 -c pass
$do run python_again python3 -c pass
$do run gcc gcc -O2 -c /mnt/long.c -o /tmp/long.o
$do run gcc_again gcc -O2 -c /mnt/long.c -o /tmp/long.o
$do run tar sh -c 'tar cf - /mnt/tree 2>/dev/null | gzip -1 >/tmp/tree.tgz'
$do run sqlite python3 /mnt/inserts.py
$do run forks sh -c 'i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i + 1)); done'
$do end
