//! Compares this layer's numbers with those of Linux's own headers, as the crate `linux-raw-sys`
//! has them.

use crate::abi::errno::{EAGAIN, EDEADLK, EINPROGRESS, EOPNOTSUPP, EOVERFLOW};
use crate::abi::{call_names, file_flags, futex_numbers, poll_events, signal_numbers, socket_flags, time_units};
use crate::state::capabilities;
use linux_raw_sys::{errno, general, net};

/// Compares constants of the same name.
macro_rules! same {
    ($ours:ident, $theirs:ident: $($name:ident)*) => {
        $(assert_eq!($ours::$name as u64, $theirs::$name as u64, stringify!($name));)*
    };
}

/// Compares constants whose names differ by a prefix: ours, theirs.
macro_rules! named {
    ($ours:ident, $theirs:ident: $($name:ident $other:ident)*) => {
        $(assert_eq!($ours::$name as u64, $theirs::$other as u64, stringify!($other));)*
    };
}

#[test]
fn flags_of_files_are_linuxs() {
    same!(file_flags, general: O_WRONLY O_RDWR O_APPEND O_NONBLOCK O_CLOEXEC O_DIRECT O_PATH O_DIRECTORY);
    same!(file_flags, general: S_IFMT S_IFREG S_IFDIR S_IFIFO S_IFSOCK S_IFCHR S_IFBLK AT_EMPTY_PATH AT_SYMLINK_NOFOLLOW);
    named!(file_flags, general: O_ACCESS O_ACCMODE O_ASYNC FASYNC);
    same!(poll_events, general: POLLIN POLLPRI POLLOUT POLLERR POLLHUP POLLNVAL);
}

#[test]
fn numbers_of_signals_are_linuxs() {
    same!(signal_numbers, general: SIGKILL SIGSEGV SIGPIPE SIGCONT SIGCHLD SIGTTIN SIGTTOU);
    same!(signal_numbers, general: SA_ONSTACK SA_RESTART SA_NODEFER SA_RESETHAND SS_ONSTACK SS_DISABLE);
}

#[test]
fn operations_of_futexes_are_linuxs() {
    named!(futex_numbers, general: WAIT FUTEX_WAIT WAKE FUTEX_WAKE REQUEUE FUTEX_REQUEUE CMP_REQUEUE FUTEX_CMP_REQUEUE);
    named!(futex_numbers, general: WAKE_OP FUTEX_WAKE_OP LOCK_PI FUTEX_LOCK_PI UNLOCK_PI FUTEX_UNLOCK_PI TRYLOCK_PI FUTEX_TRYLOCK_PI);
    named!(futex_numbers, general: WAIT_BITSET FUTEX_WAIT_BITSET WAKE_BITSET FUTEX_WAKE_BITSET LOCK_PI2 FUTEX_LOCK_PI2);
    named!(futex_numbers, general: CLOCK_REALTIME FUTEX_CLOCK_REALTIME PRIVATE FUTEX_PRIVATE_FLAG);
    named!(futex_numbers, general: WAITERS FUTEX_WAITERS OWNER_DIED FUTEX_OWNER_DIED NUMBER FUTEX_TID_MASK);
    named!(time_units, general: REALTIME CLOCK_REALTIME MONOTONIC CLOCK_MONOTONIC);
}

#[test]
fn options_of_sockets_are_linuxs() {
    same!(socket_flags, net: SOL_SOCKET SO_DEBUG SO_REUSEADDR SO_TYPE SO_ERROR SO_DONTROUTE SO_BROADCAST SO_SNDBUF SO_RCVBUF SO_KEEPALIVE);
    same!(socket_flags, net: SO_OOBINLINE SO_PRIORITY SO_LINGER SO_REUSEPORT SO_PASSCRED SO_PEERCRED SO_RCVLOWAT SO_SNDLOWAT);
    same!(socket_flags, net: SO_TIMESTAMP SO_ACCEPTCONN SO_SNDBUFFORCE SO_RCVBUFFORCE SO_PROTOCOL SO_DOMAIN);
    named!(socket_flags, net: SO_RCVTIMEO SO_RCVTIMEO_OLD SO_SNDTIMEO SO_SNDTIMEO_OLD);
}

#[test]
fn capabilities_are_linuxs() {
    named!(capabilities, general: OWNERS CAP_CHOWN FILES CAP_DAC_OVERRIDE FILE_SEARCH CAP_DAC_READ_SEARCH FILE_OWNER CAP_FOWNER);
    named!(capabilities, general: FILE_BITS CAP_FSETID GROUPS CAP_SETGID USERS CAP_SETUID CAPABILITIES CAP_SETPCAP DEVICES CAP_MKNOD);
    named!(capabilities, general: MEMORY_LOCKS CAP_IPC_LOCK OTHERS CAP_SYS_PTRACE SYSTEM CAP_SYS_ADMIN RESOURCES CAP_SYS_RESOURCE);
    named!(capabilities, general: LAST CAP_LAST_CAP);
}

#[test]
fn errors_and_calls_have_linuxs_numbers() {
    let errors = [(EAGAIN, errno::EAGAIN), (EDEADLK, errno::EDEADLK), (EINPROGRESS, errno::EINPROGRESS), (EOPNOTSUPP, errno::EOPNOTSUPP), (EOVERFLOW, errno::EOVERFLOW)];
    errors.iter().for_each(|(ours, theirs)| assert_eq!(ours.0, *theirs));
    macro_rules! calls {
        ($($name:ident $number:ident)*) => {
            $(assert_eq!(call_names::name(general::$number as usize), Some(stringify!($name)));)*
        };
    }
    calls!(read __NR_read clone __NR_clone execve __NR_execve futex __NR_futex getdents64 __NR_getdents64 openat __NR_openat ppoll __NR_ppoll);
    calls!(prlimit64 __NR_prlimit64 process_vm_readv __NR_process_vm_readv statx __NR_statx clone3 __NR_clone3 openat2 __NR_openat2 futex_waitv __NR_futex_waitv);
}
