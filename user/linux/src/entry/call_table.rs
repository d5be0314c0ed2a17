//! Which function carries out which call, by Linux's numbers.

use crate::abi::call_names;
use crate::abi::errno::{Answer, EAWAITS_PAGE, ENOMEM, ENOSYS, ERESTART_ALWAYS, negated};
use crate::abi::registers::Frame;
use crate::calls::files::attributes;
use crate::calls::files::copy_file;
use crate::calls::files::descriptors;
use crate::calls::files::directories;
use crate::calls::files::epoll;
use crate::calls::files::event_files;
use crate::calls::files::extended_attributes;
use crate::calls::files::file_locks;
use crate::calls::files::inotify;
use crate::calls::files::ioctl;
use crate::calls::files::list_directory;
use crate::calls::files::open;
use crate::calls::files::poll;
use crate::calls::files::read_write;
use crate::calls::files::splice;
use crate::calls::files::status;
use crate::calls::identity::capabilities;
use crate::calls::identity::credentials;
use crate::calls::identity::io_priority;
use crate::calls::identity::limits;
use crate::calls::identity::privileged;
use crate::calls::identity::processor;
use crate::calls::identity::processors;
use crate::calls::identity::scheduling;
use crate::calls::identity::system_name;
use crate::calls::ipc::futex;
use crate::calls::ipc::futex_waitv;
use crate::calls::ipc::message_queue;
use crate::calls::ipc::system_v::memory;
use crate::calls::ipc::system_v::messages;
use crate::calls::ipc::system_v::semaphores;
use crate::calls::memory::advice;
use crate::calls::memory::mapping;
use crate::calls::memory::memory_locks;
use crate::calls::memory::process_memory;
use crate::calls::memory::shared_memory;
use crate::calls::memory::user_faults;
use crate::calls::processes::children;
use crate::calls::processes::exec;
use crate::calls::processes::exit;
use crate::calls::processes::fork;
use crate::calls::processes::prctl;
use crate::calls::processes::threads;
use crate::calls::processes::unshare;
use crate::calls::signals;
use crate::calls::sockets::{self, message, options};
use crate::calls::time::clocks;
use crate::calls::time::timers;
use crate::operations::files::pidfd;
use crate::operations::user_faults as faults;
use crate::process::Process;
use crate::services::heap_room;
use nacre_rt::heap;

/// Carries out a call: the arguments are in the frame.
pub type Handler = fn(&mut Process, &mut Frame) -> Answer;

/// The table, with these handlers at these numbers.
macro_rules! calls {
    ($($number:literal $handler:path;)*) => {
        static CALLS: [Option<Handler>; call_names::COUNT] = {
            let mut table: [Option<Handler>; call_names::COUNT] = [None; call_names::COUNT];
            $(table[$number] = Some($handler as Handler);)*
            table
        };

        /// Handlers by call number, as text.
        #[cfg(test)]
        const TEXT: &[(usize, &str)] = &[$(($number, stringify!($handler))),*];
    };
}

/// Returns true if a call makes something and the heap has too little room for it.
#[cold]
fn lacks_memory(number: usize) -> bool {
    MAKERS.contains(&number) && heap::lacks_room(heap_room::CALL)
}

/// Calls that make something which stays. What room is left serves calls that free memory, or need
/// it for a moment.
const MAKERS: [usize; 44] = [
    2, 9, 10, 22, 25, 29, 30, 32, 33, 41, 43, 53, 56, 57, 58, 59, 64, 68, 85, 213, 222, 233, 240, 253, 254, 257, 282, 283,
    284, 288, 289, 290, 291, 292, 293, 294, 304, 319, 322, 323, 434, 435, 437, 438,
];

/// Carries out call `number`; what the program finds in `rax`.
#[inline]
pub fn call(process: &mut Process, number: usize, frame: &mut Frame) -> u64 {
    match CALLS.get(number) {
        Some(Some(_)) if heap::is_short() && lacks_memory(number) => negated(ENOMEM),
        Some(Some(handler)) => match handler(process, frame) {
            Err(EAWAITS_PAGE) => call_when_there(process, *handler, frame),
            answer => answer.unwrap_or_else(negated),
        },
        _ => lacking(process, number),
    }
}

/// Makes a call again that needs a page of the program's which its user-fault file brings, each
/// time that one is there.
#[cold]
fn call_when_there(process: &mut Process, handler: Handler, frame: &mut Frame) -> u64 {
    loop {
        match faults::wait_in_call(process) {
            Ok(true) => {}
            Ok(false) => return negated(ERESTART_ALWAYS),
            Err(error) => return negated(error),
        }
        match handler(process, frame) {
            Err(EAWAITS_PAGE) => {}
            answer => return answer.unwrap_or_else(negated),
        }
    }
}

/// A call that does not exist here: the parent hears of it, once.
#[cold]
fn lacking(process: &mut Process, number: usize) -> u64 {
    process.report_lacking(number);
    negated(ENOSYS)
}

calls! {
    0 read_write::read;
    1 read_write::write;
    2 open::open;
    3 descriptors::close;
    4 status::stat;
    5 status::fstat;
    6 status::lstat;
    7 poll::poll;
    8 read_write::lseek;
    9 mapping::mmap;
    10 mapping::mprotect;
    11 mapping::munmap;
    12 mapping::brk;
    13 signals::rt_sigaction;
    14 signals::rt_sigprocmask;
    15 signals::rt_sigreturn;
    16 ioctl::ioctl;
    17 read_write::pread64;
    18 read_write::pwrite64;
    19 read_write::readv;
    20 read_write::writev;
    21 open::access;
    22 descriptors::pipe;
    23 poll::select;
    24 processor::sched_yield;
    25 mapping::mremap;
    26 shared_memory::msync;
    27 mapping::mincore;
    28 advice::madvise;
    29 memory::shmget;
    30 memory::shmat;
    31 memory::shmctl;
    32 descriptors::dup;
    33 descriptors::dup2;
    34 signals::pause;
    35 clocks::nanosleep;
    36 timers::getitimer;
    37 timers::alarm;
    38 timers::setitimer;
    39 children::getpid;
    40 copy_file::sendfile;
    41 sockets::socket;
    42 sockets::connect;
    43 sockets::accept;
    44 message::sendto;
    45 message::recvfrom;
    46 message::sendmsg;
    47 message::recvmsg;
    48 sockets::shutdown;
    49 sockets::bind;
    50 sockets::listen;
    51 sockets::getsockname;
    52 sockets::getpeername;
    53 sockets::socketpair;
    54 options::setsockopt;
    55 options::getsockopt;
    56 threads::clone;
    57 fork::fork;
    58 fork::vfork;
    59 exec::execve;
    60 threads::exit;
    61 children::wait4;
    62 signals::kill;
    63 system_name::uname;
    64 semaphores::semget;
    65 semaphores::semop;
    66 semaphores::semctl;
    67 memory::shmdt;
    68 messages::msgget;
    69 messages::msgsnd;
    70 messages::msgrcv;
    71 messages::msgctl;
    72 descriptors::fcntl;
    73 file_locks::flock;
    74 read_write::fsync;
    75 read_write::fsync;
    76 attributes::truncate;
    77 read_write::ftruncate;
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
    95 credentials::umask;
    96 clocks::gettimeofday;
    97 limits::getrlimit;
    98 limits::getrusage;
    99 limits::sysinfo;
    100 clocks::times;
    102 credentials::getuid;
    103 privileged::syslog;
    104 credentials::getgid;
    105 credentials::setuid;
    106 credentials::setgid;
    107 credentials::geteuid;
    108 credentials::getegid;
    109 children::setpgid;
    110 children::getppid;
    111 children::getpgrp;
    112 children::setsid;
    113 credentials::setreuid;
    114 credentials::setregid;
    115 credentials::getgroups;
    116 credentials::setgroups;
    117 credentials::setresuid;
    118 credentials::getresuid;
    119 credentials::setresgid;
    120 credentials::getresgid;
    121 children::getpgid;
    122 credentials::setfsuid;
    123 credentials::setfsgid;
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
    135 credentials::personality;
    137 status::statfs;
    138 status::fstatfs;
    140 scheduling::getpriority;
    141 scheduling::setpriority;
    142 scheduling::sched_setparam;
    143 scheduling::sched_getparam;
    144 scheduling::sched_setscheduler;
    145 scheduling::sched_getscheduler;
    146 scheduling::sched_get_priority_max;
    147 scheduling::sched_get_priority_min;
    148 scheduling::sched_rr_get_interval;
    149 memory_locks::mlock;
    150 memory_locks::munlock;
    151 memory_locks::mlockall;
    152 memory_locks::munlockall;
    153 privileged::vhangup;
    155 privileged::pivot_root;
    157 prctl::prctl;
    158 processor::arch_prctl;
    159 privileged::adjtimex;
    160 limits::setrlimit;
    161 privileged::chroot;
    162 read_write::sync;
    163 privileged::acct;
    164 clocks::settimeofday;
    165 privileged::mount;
    166 privileged::umount2;
    167 privileged::swapon;
    168 privileged::swapoff;
    169 privileged::reboot;
    170 system_name::sethostname;
    171 system_name::setdomainname;
    172 privileged::iopl;
    173 privileged::ioperm;
    175 privileged::init_module;
    176 privileged::delete_module;
    186 threads::gettid;
    187 read_write::readahead;
    188 extended_attributes::setxattr;
    189 extended_attributes::lsetxattr;
    190 extended_attributes::fsetxattr;
    191 extended_attributes::getxattr;
    192 extended_attributes::lgetxattr;
    193 extended_attributes::fgetxattr;
    194 extended_attributes::listxattr;
    195 extended_attributes::llistxattr;
    196 extended_attributes::flistxattr;
    197 extended_attributes::removexattr;
    198 extended_attributes::lremovexattr;
    199 extended_attributes::fremovexattr;
    200 signals::tkill;
    201 clocks::time;
    202 futex::futex;
    203 processors::sched_setaffinity;
    204 processors::sched_getaffinity;
    213 event_files::epoll_create;
    217 list_directory::getdents64;
    218 threads::set_tid_address;
    220 semaphores::semtimedop;
    221 read_write::fadvise64;
    222 timers::timer_create;
    223 timers::timer_settime;
    224 timers::timer_gettime;
    225 timers::timer_getoverrun;
    226 timers::timer_delete;
    227 clocks::clock_settime;
    228 clocks::clock_gettime;
    229 clocks::clock_getres;
    230 clocks::clock_nanosleep;
    231 exit::exit;
    232 epoll::epoll_wait;
    233 epoll::epoll_ctl;
    234 signals::tgkill;
    235 attributes::utimes;
    240 message_queue::mq_open;
    241 message_queue::mq_unlink;
    242 message_queue::mq_timedsend;
    243 message_queue::mq_timedreceive;
    244 message_queue::mq_notify;
    245 message_queue::mq_getsetattr;
    246 privileged::kexec_load;
    247 children::waitid;
    251 io_priority::ioprio_set;
    252 io_priority::ioprio_get;
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
    272 unshare::unshare;
    273 threads::set_robust_list;
    274 threads::get_robust_list;
    275 splice::splice;
    276 splice::tee;
    277 read_write::sync_file_range;
    278 splice::vmsplice;
    280 attributes::utimensat;
    281 epoll::epoll_pwait;
    282 event_files::signalfd;
    283 event_files::timerfd_create;
    284 event_files::eventfd;
    285 read_write::fallocate;
    286 event_files::timerfd_settime;
    287 event_files::timerfd_gettime;
    288 sockets::accept4;
    289 event_files::signalfd4;
    290 event_files::eventfd2;
    291 event_files::epoll_create1;
    292 descriptors::dup3;
    293 descriptors::pipe2;
    294 inotify::inotify_init1;
    295 read_write::preadv;
    296 read_write::pwritev;
    297 signals::rt_tgsigqueueinfo;
    299 message::recvmmsg;
    302 limits::prlimit64;
    305 privileged::clock_adjtime;
    306 read_write::fsync;
    307 message::sendmmsg;
    309 limits::getcpu;
    310 process_memory::process_vm_readv;
    311 process_memory::process_vm_writev;
    313 privileged::finit_module;
    314 scheduling::sched_setattr;
    315 scheduling::sched_getattr;
    316 directories::renameat2;
    318 processor::getrandom;
    319 shared_memory::memfd_create;
    320 privileged::kexec_file_load;
    322 exec::execveat;
    323 user_faults::userfaultfd;
    324 processor::membarrier;
    325 memory_locks::mlock2;
    326 copy_file::copy_file_range;
    327 read_write::preadv2;
    328 read_write::pwritev2;
    332 status::statx;
    334 processor::rseq;
    424 pidfd::pidfd_send_signal;
    434 pidfd::pidfd_open;
    435 threads::clone3;
    436 descriptors::close_range;
    437 open::openat2;
    438 pidfd::pidfd_getfd;
    439 open::faccessat2;
    441 epoll::epoll_pwait2;
    449 futex_waitv::futex_waitv;
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
            assert!(crate::abi::call_names::name(*number) == Some(last) || SHARED.contains(&last) || handler.contains("extended"), "{number} {handler}");
        }
    }

    #[test]
    fn the_manual_names_every_call() {
        let manual = include_str!("../../../../doc/manual/linux.md");
        let rows: alloc::vec::Vec<&str> = manual.lines().filter(|line| line.starts_with("| ")).collect();
        let named = |name: &str| rows.iter().any(|row| row.split([' ', '`']).any(|word| word == name));
        for number in 0..crate::abi::call_names::COUNT {
            let name = crate::abi::call_names::name(number).unwrap_or("-");
            assert!(name == "-" || NEEDS_MANAGER.contains(&name) || named(name) == CALLS[number].is_some(), "{name}");
        }
    }

    /// Calls that have a section of their own in the manual.
    const NEEDS_MANAGER: [&str; 8] = ["fork", "vfork", "clone", "clone3", "execve", "execveat", "wait4", "waitid"];
}
