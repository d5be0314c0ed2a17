# packages: stress-ng
cd "$(mktemp -d)"
for s in cpu vm fork pipe mmap switch mutex futex poll timer dir file-ioctl hdd seek fstat getdent link rename open dup sock udp sockpair fifo mq shm shm-sysv sem-sysv msg signal sigq sigfd eventfd epoll inotify lockf flock aio readahead mremap madvise mincore mprotect brk stack malloc memcpy qsort matrix str tsearch zlib yield nice kill wait vfork clone exec daemon pthread null zero urandom getrandom get personality itimer clock chdir chmod dentry fallocate fiemap fpunch sendfile splice tee vm-splice utime xattr symlink unshare userfaultfd mlock membarrier rseq sysinfo locale env procfs
do timeout 300 stress-ng --quiet --$s 1 --$s-ops 2 --temp-path . >out 2>&1; c=$?; [ $c = 0 ] || { echo "$s $c"; head -1 out | cut -c1-100; }; done; echo done
