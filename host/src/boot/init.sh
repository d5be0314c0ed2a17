#!/bin/busybox sh
# The first program of a guest that was given no initial file system. The monitor may lay two files
# beside it: /nacre/terminal sets the terminal, /nacre/command is what to run instead of a shell.
# With root=DEVICE among the kernel's words, that runs in another root file system, of a disk or (with
# rootfstype=9p) of a directory; with init=PROGRAM, too, that becomes the first program.
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
# The network of a card is always the same one.
if [ -e /sys/class/net/eth0 ]; then
    ip addr add 10.0.2.15/24 dev eth0
    ip link set eth0 up
    ip route add default via 10.0.2.2
    mkdir -p /etc
    echo nameserver 10.0.2.3 >/etc/resolv.conf
fi
hostname nacre
# The power button turns the machine off.
for module in $(cat /nacre/modules/power 2>/dev/null); do
    insmod /nacre/modules/$module.ko 2>/dev/null
done
if [ -e /dev/input/event0 ]; then
    mkdir -p /etc/acpi/PWRF
    printf '#!/bin/sh\nsync\npoweroff -f\n' >/etc/acpi/PWRF/00000080
    chmod +x /etc/acpi/PWRF/00000080
    acpid -l /dev/null 2>/dev/null
fi
root= type=ext4 options= mode=ro init=
for word in $(cat /proc/cmdline); do
    case $word in
    root=*) root=${word#root=} ;;
    rootfstype=*) type=${word#rootfstype=} ;;
    rootflags=*) options=,${word#rootflags=} ;;
    init=*) init=${word#init=} ;;
    rw | ro) mode=$word ;;
    esac
done
[ $type = 9p ] && options=,trans=virtio,version=9p2000.L,cache=loose$options
enter=
if [ -n "$root" ]; then
    mkdir -p /nacre/root
    if ! mount -t $type -o $mode$options $root /nacre/root; then
        echo "cannot mount $root as the root file system" >/dev/ttyS0
        /nacre/port 244 125
    fi
    cd /nacre/root
    mount --bind /dev dev
    if [ -n "$init" ]; then
        exec switch_root /nacre/root $init </dev/ttyS0 >/dev/ttyS0 2>&1
    fi
    mount -t proc proc proc
    mount -t sysfs sys sys
    mount -t tmpfs tmp tmp
    mount -t tmpfs run run
    mkdir -p dev/pts run/nacre
    mount -t devpts pts dev/pts
    [ -e /nacre/command ] && cp /nacre/command run/nacre
    enter="chroot /nacre/root"
fi
export HOME=/root PATH=/bin:/sbin:/usr/bin:/usr/sbin TERM=${TERM:-vt102}
cd /root
exec </dev/ttyS0 >/dev/ttyS0 2>&1
[ -e /nacre/terminal ] && . /nacre/terminal
# What was typed may come from now on.
/nacre/port 245 1
if [ -n "$enter" ] && [ -e /nacre/command ]; then
    set -- $enter /bin/sh /run/nacre/command
elif [ -e /nacre/command ]; then
    set -- sh /nacre/command
else
    set -- $enter sh -i
fi
# When the first process of a session ends, what its terminal has not sent is thrown away. So that is
# a shell that waits until all output has gone: setting a terminal does. Keys end the command alone.
setsid -c sh -c 'trap : INT QUIT; "$@"; status=$?; trap "" TTOU; stty -echo; exit $status' session "$@"
status=$?
sync
cd /
for folder in dev/pts dev proc sys tmp run .; do
    [ -n "$enter" ] && umount /nacre/root/$folder 2>/dev/null
done
# The machine ends with this status.
/nacre/port 244 $status
