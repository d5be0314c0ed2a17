#!/bin/busybox sh
# Linux's first program: drivers, network, and mounts as `nacre run` makes them; then the rows.
/bin/busybox mkdir -p /proc /sys /dev /root /tmp
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in $(cd /nacre/modules && cat $(cat /sys/bus/pci/devices/*/device | sort -u) 2>/dev/null); do
    insmod /nacre/modules/$module.ko 2>/dev/null
done
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip route add default via 10.0.2.2
nine=trans=virtio,version=9p2000.L,cache=loose,msize=524288
mount -t 9p -o ro,$nine directory /root &&
    mount -t 9p -o $nine volume0 /root/mnt &&
    mount -t ext4 /dev/vda /root/media &&
    mount -t proc proc /root/proc &&
    mount --bind /dev /root/dev &&
    mount -t tmpfs tmp /root/tmp &&
    exec chroot /root /bin/sh /mnt/rows.sh </dev/null >/dev/ttyS0 2>&1
echo "unmeasured all: cannot mount" >/dev/ttyS0
/nacre/port 244 1
