//! Which function carries out which call, by Linux's numbers.

use crate::entry::Frame;
use crate::errno::{Answer, ENOMEM, ENOSYS, negated};
use crate::process::Process;
use crate::{attributes, capabilities, children, control, directories, epoll, exec, extended, files, fork, identity, life, limits, listing, local, locked, machine, mailbox, mapping, names, open, poll, signals, socket, splice, status};
use crate::{advice, futex, inotify, keyed, locking, pidfd, prctl, schedule, sharing, terminal, system_name, thread, time, timers, transfer, visit};
use crate::{futex_several, processors, superuser};
use core::sync::atomic::{AtomicBool, Ordering};

/// Carries out a call: the arguments are in the frame.
pub type Handler = fn(&mut Process, &mut Frame) -> Answer;

/// The table, with these handlers at these numbers.
macro_rules! calls {
    ($($number:literal $handler:path;)*) => {
        static CALLS: [Option<Handler>; names::COUNT] = {
            let mut table: [Option<Handler>; names::COUNT] = [None; names::COUNT];
            $(table[$number] = Some($handler as Handler);)*
            table
        };

        /// The same as text.
        #[cfg(test)]
        const TEXT: &[(usize, &str)] = &[$(($number, stringify!($handler))),*];
    };
}

/// True once the process was refused memory: then calls that make something are refused before the library's heap is used up.
static IS_SHORT: AtomicBool = AtomicBool::new(false);
/// Bytes that the heap must be able to give before a call may make something.
const ROOM: usize = 32 << 10;

/// Remembers that there was no memory for the process.
pub fn memory_is_short() {
    IS_SHORT.store(true, Ordering::Relaxed);
}

/// Returns true if a call makes something and the heap has too little room for it.
#[cold]
fn lacks_memory(number: usize) -> bool {
    MAKERS.contains(&number) && !nacre_rt::heap::has_room(ROOM)
}

/// Calls that make something which stays. What room is left serves calls that free memory, or need it for a moment.
const MAKERS: [usize; 41] = [
    2, 9, 10, 22, 25, 29, 30, 32, 33, 41, 43, 53, 56, 57, 58, 64, 68, 85, 213, 222, 233, 240, 253, 254, 257, 282, 283,
    284, 288, 289, 290, 291, 292, 293, 294, 304, 319, 434, 435, 437, 438,
];

/// Carries out call `number`; what the program finds in `rax`.
#[inline]
pub fn call(process: &mut Process, number: usize, frame: &mut Frame) -> u64 {
    match CALLS.get(number) {
        Some(Some(_)) if IS_SHORT.load(Ordering::Relaxed) && lacks_memory(number) => negated(ENOMEM),
        Some(Some(handler)) => handler(process, frame).unwrap_or_else(negated),
        _ => lacking(process, number),
    }
}

/// A call that does not exist here: the parent hears of it, once.
#[cold]
fn lacking(process: &mut Process, number: usize) -> u64 {
    process.report_lacking(number);
    negated(ENOSYS)
}

calls! {
    0 files::read;
    1 files::write;
    2 open::open;
    3 control::close;
    4 status::stat;
    5 status::fstat;
    6 status::lstat;
    7 poll::poll;
    8 files::lseek;
    9 mapping::mmap;
    10 mapping::mprotect;
    11 mapping::munmap;
    12 mapping::brk;
    13 signals::rt_sigaction;
    14 signals::rt_sigprocmask;
    15 signals::rt_sigreturn;
    16 terminal::ioctl;
    17 files::pread64;
    18 files::pwrite64;
    19 files::readv;
    20 files::writev;
    21 open::access;
    22 control::pipe;
    23 poll::select;
    24 machine::sched_yield;
    25 mapping::mremap;
    26 sharing::msync;
    27 mapping::mincore;
    28 advice::madvise;
    29 keyed::memory::shmget;
    30 keyed::memory::shmat;
    31 keyed::memory::shmctl;
    32 control::dup;
    33 control::dup2;
    34 signals::pause;
    35 time::nanosleep;
    36 timers::getitimer;
    37 timers::alarm;
    38 timers::setitimer;
    39 children::getpid;
    40 transfer::sendfile;
    41 socket::socket;
    42 socket::connect;
    43 socket::accept;
    44 socket::sendto;
    45 socket::recvfrom;
    46 socket::sendmsg;
    47 socket::recvmsg;
    48 socket::shutdown;
    49 socket::bind;
    50 socket::listen;
    51 socket::getsockname;
    52 socket::getpeername;
    53 socket::socketpair;
    54 socket::setsockopt;
    55 socket::getsockopt;
    56 thread::clone;
    57 fork::fork;
    58 fork::vfork;
    59 exec::execve;
    60 thread::exit;
    61 children::wait4;
    62 signals::kill;
    63 system_name::uname;
    64 keyed::semaphores::semget;
    65 keyed::semaphores::semop;
    66 keyed::semaphores::semctl;
    67 keyed::memory::shmdt;
    68 keyed::messages::msgget;
    69 keyed::messages::msgsnd;
    70 keyed::messages::msgrcv;
    71 keyed::messages::msgctl;
    72 control::fcntl;
    73 locking::flock;
    74 files::fsync;
    75 files::fsync;
    76 attributes::truncate;
    77 files::ftruncate;
    79 directories::getcwd;
    80 directories::chdir;
    81 directories::fchdir;
    82 directories::rename;
    83 directories::mkdir;
    84 directories::rmdir;
    85 open::creat;
    86 directories::link;
    87 directories::unlink;
    88 directories::symlink;
    89 directories::readlink;
    90 attributes::chmod;
    91 attributes::fchmod;
    92 attributes::chown;
    93 attributes::fchown;
    94 attributes::lchown;
    95 identity::umask;
    96 time::gettimeofday;
    97 limits::getrlimit;
    98 limits::getrusage;
    99 limits::sysinfo;
    100 time::times;
    102 identity::getuid;
    103 superuser::syslog;
    104 identity::getgid;
    105 identity::setuid;
    106 identity::setgid;
    107 identity::geteuid;
    108 identity::getegid;
    109 children::setpgid;
    110 children::getppid;
    111 children::getpgrp;
    112 children::setsid;
    113 identity::setreuid;
    114 identity::setregid;
    115 identity::getgroups;
    116 identity::setgroups;
    117 identity::setresuid;
    118 identity::getresuid;
    119 identity::setresgid;
    120 identity::getresgid;
    121 children::getpgid;
    122 identity::setfsuid;
    123 identity::setfsgid;
    124 children::getsid;
    125 capabilities::capget;
    126 capabilities::capset;
    127 signals::rt_sigpending;
    128 signals::rt_sigtimedwait;
    129 signals::rt_sigqueueinfo;
    130 signals::rt_sigsuspend;
    131 signals::sigaltstack;
    132 attributes::utime;
    133 directories::mknod;
    135 identity::personality;
    137 status::statfs;
    138 status::fstatfs;
    140 schedule::getpriority;
    141 schedule::setpriority;
    142 schedule::sched_setparam;
    143 schedule::sched_getparam;
    144 schedule::sched_setscheduler;
    145 schedule::sched_getscheduler;
    146 schedule::sched_get_priority_max;
    147 schedule::sched_get_priority_min;
    148 schedule::sched_rr_get_interval;
    149 locked::mlock;
    150 locked::munlock;
    151 locked::mlockall;
    152 locked::munlockall;
    153 superuser::vhangup;
    155 superuser::pivot_root;
    157 prctl::prctl;
    158 machine::arch_prctl;
    159 superuser::adjtimex;
    160 limits::setrlimit;
    161 superuser::chroot;
    162 files::sync;
    163 superuser::acct;
    164 time::settimeofday;
    165 superuser::mount;
    166 superuser::umount2;
    167 superuser::swapon;
    168 superuser::swapoff;
    169 superuser::reboot;
    170 system_name::sethostname;
    171 system_name::setdomainname;
    172 superuser::iopl;
    173 superuser::ioperm;
    175 superuser::init_module;
    176 superuser::delete_module;
    186 thread::gettid;
    187 files::readahead;
    188 extended::of_path;
    189 extended::of_link;
    190 extended::of_descriptor;
    191 extended::of_path;
    192 extended::of_link;
    193 extended::of_descriptor;
    194 extended::list;
    195 extended::list_of_link;
    196 extended::list_of_descriptor;
    197 extended::of_path;
    198 extended::of_link;
    199 extended::of_descriptor;
    200 signals::tkill;
    201 time::time;
    202 futex::futex;
    203 processors::sched_setaffinity;
    204 processors::sched_getaffinity;
    213 local::epoll_create;
    217 listing::getdents64;
    218 thread::set_tid_address;
    220 keyed::semaphores::semtimedop;
    221 files::fadvise64;
    222 timers::timer_create;
    223 timers::timer_settime;
    224 timers::timer_gettime;
    225 timers::timer_getoverrun;
    226 timers::timer_delete;
    227 time::clock_settime;
    228 time::clock_gettime;
    229 time::clock_getres;
    230 time::clock_nanosleep;
    231 life::exit;
    232 epoll::epoll_wait;
    233 epoll::epoll_ctl;
    234 signals::tgkill;
    235 attributes::utimes;
    240 mailbox::mq_open;
    241 mailbox::mq_unlink;
    242 mailbox::mq_timedsend;
    243 mailbox::mq_timedreceive;
    244 mailbox::mq_notify;
    245 mailbox::mq_getsetattr;
    246 superuser::kexec_load;
    247 children::waitid;
    253 inotify::inotify_init;
    254 inotify::inotify_add_watch;
    255 inotify::inotify_rm_watch;
    257 open::openat;
    258 directories::mkdirat;
    259 directories::mknodat;
    260 attributes::fchownat;
    261 attributes::futimesat;
    262 status::newfstatat;
    263 directories::unlinkat;
    264 directories::renameat;
    265 directories::linkat;
    266 directories::symlinkat;
    267 directories::readlinkat;
    268 attributes::fchmodat;
    269 open::faccessat;
    270 poll::pselect6;
    271 poll::ppoll;
    273 thread::set_robust_list;
    274 thread::get_robust_list;
    275 splice::splice;
    276 splice::tee;
    277 files::sync_file_range;
    278 splice::vmsplice;
    280 attributes::utimensat;
    281 epoll::epoll_pwait;
    282 local::signalfd;
    283 local::timerfd_create;
    284 local::eventfd;
    285 files::fallocate;
    286 local::timerfd_settime;
    287 local::timerfd_gettime;
    288 socket::accept4;
    289 local::signalfd4;
    290 local::eventfd2;
    291 local::epoll_create1;
    292 control::dup3;
    293 control::pipe2;
    294 inotify::inotify_init1;
    295 files::preadv;
    296 files::pwritev;
    297 signals::rt_tgsigqueueinfo;
    299 socket::recvmmsg;
    302 limits::prlimit64;
    305 superuser::clock_adjtime;
    306 files::fsync;
    307 socket::sendmmsg;
    309 limits::getcpu;
    310 visit::process_vm_readv;
    311 visit::process_vm_writev;
    313 superuser::finit_module;
    314 schedule::sched_setattr;
    315 schedule::sched_getattr;
    316 directories::renameat2;
    318 machine::getrandom;
    319 sharing::memfd_create;
    320 superuser::kexec_file_load;
    322 exec::execveat;
    324 machine::membarrier;
    325 locked::mlock2;
    326 transfer::copy_file_range;
    327 files::preadv2;
    328 files::pwritev2;
    332 status::statx;
    334 machine::rseq;
    424 pidfd::pidfd_send_signal;
    434 pidfd::pidfd_open;
    435 thread::clone3;
    436 control::close_range;
    437 open::openat2;
    438 pidfd::pidfd_getfd;
    439 open::faccessat2;
    441 epoll::epoll_pwait2;
    449 futex_several::futex_waitv;
    452 attributes::fchmodat2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_stand_at_linuxs_numbers() {
        // One function serves several calls that do the same here.
        const SHARED: [&str; 2] = ["exit", "fsync"];
        assert!(TEXT.is_sorted_by_key(|(number, _)| *number));
        for (number, handler) in TEXT {
            let last = handler.rsplit("::").next().unwrap().trim();
            assert!(CALLS[*number].is_some());
            assert!(names::name(*number) == Some(last) || SHARED.contains(&last) || handler.contains("extended"), "{number} {handler}");
        }
    }

    #[test]
    fn the_manual_names_every_call() {
        let manual = include_str!("../../../../doc/manual/linux.md");
        let rows: alloc::vec::Vec<&str> = manual.lines().filter(|line| line.starts_with("| ")).collect();
        let named = |name: &str| rows.iter().any(|row| row.split([' ', '`']).any(|word| word == name));
        for number in 0..names::COUNT {
            let name = names::name(number).unwrap_or("-");
            assert!(name == "-" || NEEDS_MANAGER.contains(&name) || named(name) == CALLS[number].is_some(), "{name}");
        }
    }

    /// These have a section of their own in the manual.
    const NEEDS_MANAGER: [&str; 8] = ["fork", "vfork", "clone", "clone3", "execve", "execveat", "wait4", "waitid"];
}
