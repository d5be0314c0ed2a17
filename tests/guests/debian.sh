#!/bin/sh
# Runs programs of Debian in a guest whose root file system is a tree that debootstrap made (as root;
# it is kept in build/debian). It takes some minutes, so no ring runs it.
set -eu
cd "$(dirname "$0")/../.."
tree=$PWD/build/debian
if [ ! -d "$tree" ]; then
    debootstrap --variant=minbase --include=python3-minimal,gcc,libc6-dev bookworm "$tree.new" http://deb.debian.org/debian
    rm -f "$tree.new"/var/cache/apt/archives/*.deb
    mv "$tree.new" "$tree"
fi
said=$(./nacre run --memory 2G --file "$tree:/debian" machine --memory 256M --root /debian sh -c '
    cut -d . -f 1 /etc/debian_version
    python3 -c "print(6 * 7)"
    perl -e "print 6 * 7, qq(\n)"
    apt-get --version | cut -d " " -f 1 | head -1
    echo "int main(void) { return 42; }" >/tmp/a.c
    gcc -o /tmp/a /tmp/a.c && /tmp/a
    echo $?')
[ "$(echo $said)" = "12 42 42 apt 42" ] || { echo "the guest said: $said"; exit 1; }
echo "python3, perl, apt-get and gcc ran in a guest"
