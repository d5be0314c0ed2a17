#!/bin/busybox sh
# The first program of a guest that was given no initial file system. The monitor may lay two files
# beside it: /nacre/terminal sets the terminal, /nacre/command is what to run instead of a shell.
/bin/busybox mkdir -p /sbin /usr/bin /usr/sbin /proc /sys /dev /tmp /root /mnt
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts
mount -t devpts pts /dev/pts
mount -t tmpfs tmp /tmp
# Drivers are modules. Random bytes alone are no reason to load any.
devices=$(cat /sys/bus/pci/devices/*/device 2>/dev/null | sort -u)
case " $(echo $devices) " in
*\ 0x104[!4]\ *)
    for module in $(cd /nacre/modules && cat $devices 2>/dev/null); do
        insmod /nacre/modules/$module.ko 2>/dev/null
    done
    ;;
esac
ip link set lo up 2>/dev/null
hostname nacre
export HOME=/root PATH=/bin:/sbin:/usr/bin:/usr/sbin TERM=${TERM:-vt102}
cd /root
exec </dev/ttyS0 >/dev/ttyS0 2>&1
[ -e /nacre/terminal ] && . /nacre/terminal
# What was typed may come from now on.
/nacre/port 245 1
if [ -e /nacre/command ]; then
    setsid -c sh /nacre/command
else
    setsid -c sh -i
fi
status=$?
sync
# Setting the terminal waits until all output has gone.
stty -F /dev/ttyS0 -echo
# The machine ends with this status.
/nacre/port 244 $status
