//! Places of `/proc`, and of the other file systems that the library makes by itself.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_proto::structures::Status;

/// Kinds of files, with rights.
pub(crate) const DIRECTORY: u64 = 0o040555;
pub(crate) const FILE: u64 = 0o100444;
const WRITABLE: u64 = 0o100644;
const WRITE_ONLY: u64 = 0o100200;
pub(crate) const LINK: u64 = 0o120777;
pub const S_IFSOCK: u32 = 0o140000;
/// The device that such files are on.
const DEVICE: u64 = 0x15;
/// Files that tell of the system.
pub(crate) const SYSTEM: [&str; 10] = ["cmdline", "cpuinfo", "devices", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version", "vmstat"];
/// Folders below the root and their files.
pub(crate) const FOLDERS: [(&str, &[&str]); 7] = [
    ("sys", &[]),
    ("sys/kernel", &["cap_last_cap", "domainname", "hostname", "ngroups_max", "osrelease", "ostype", "overflowgid", "overflowuid", "pid_max", "tainted", "threads-max", "version"]),
    ("sys/kernel/random", &["boot_id", "entropy_avail", "uuid"]),
    ("sys/vm", &["max_map_count", "mmap_min_addr", "overcommit_memory", "swappiness"]),
    ("sys/fs", &["file-max", "nr_open", "pipe-max-size"]),
    ("sys/fs/mqueue", &["msg_default", "msg_max", "msgsize_default", "msgsize_max", "queues_max"]),
    ("net", &["arp", "dev", "icmp", "icmp6", "if_inet6", "ipv6_route", "netlink", "packet", "raw", "raw6", "route", "snmp", "sockstat", "sockstat6", "tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "unix"]),
];
/// Files that tell of a process.
pub(crate) const FACTS: [&str; 21] = [
    "auxv",
    "cgroup",
    "clear_refs",
    "cmdline",
    "comm",
    "environ",
    "io",
    "limits",
    "maps",
    "mountinfo",
    "mounts",
    "oom_adj",
    "oom_score",
    "oom_score_adj",
    "pagemap",
    "smaps",
    "smaps_rollup",
    "stat",
    "statm",
    "status",
    "wchan",
];
/// Links of a process.
pub(crate) const LINKS: [&str; 3] = ["cwd", "exe", "root"];

/// File or folder in `/proc` that a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// `/proc` itself.
    Root,
    /// A file of the system.
    System(&'static str),
    /// A folder of the system.
    Folder(&'static str),
    /// A link, by its target.
    Link(&'static str),
    /// `/proc/self`.
    Own,
    /// `/proc/thread-self`.
    OwnThread,
    /// The folder of a process, or of a thread of it.
    Process(u64, Option<u64>),
    /// A file of one.
    Fact(u64, u64, &'static str),
    /// A link of one.
    Place(u64, &'static str),
    /// The folder of descriptors, or of what is known of them.
    Descriptors(u64, bool),
    /// A descriptor of one.
    Descriptor(u64, u64),
    /// File of facts about a process: its number, and which facts.
    About(u64, u64),
    /// The folder of threads.
    Threads(u64),
    /// A folder of `/sys` by its path below that; empty: `/sys` itself.
    Sys(&'static str),
    /// The folder of a network interface there, or of its counters.
    Interface(&'static str, bool),
    /// A file of one.
    OfInterface(&'static str, &'static str),
    /// The folder of processors there.
    Processors,
    /// The folder of one.
    Processor(u64),
    /// A file that tells of them.
    OfProcessors(&'static str),
    /// `/dev/pts`.
    Terminals,
    /// A terminal in it, or what makes new ones.
    Terminal(Option<u64>),
}

impl Node {
    /// Returns true if the node can be listed.
    pub fn is_folder(self) -> bool {
        matches!(
            self,
            Node::Root
                | Node::Folder(_)
                | Node::Process(..)
                | Node::Descriptors(..)
                | Node::Threads(_)
                | Node::Sys(_)
                | Node::Interface(..)
                | Node::Processors
                | Node::Processor(_)
                | Node::Terminals
        )
    }

    fn is_link(self) -> bool {
        matches!(self, Node::Link(_) | Node::Own | Node::OwnThread | Node::Place(..) | Node::Descriptor(..))
    }

    /// Returns true if a process can write to it.
    pub fn is_written(self) -> bool {
        matches!(self, Node::Fact(_, _, "clear_refs" | "oom_adj" | "oom_score_adj"))
    }

    /// Kind and permissions.
    pub fn mode(self) -> u64 {
        match self {
            node if node.is_folder() => DIRECTORY,
            node if node.is_link() => LINK,
            Node::Fact(_, _, "clear_refs") => WRITE_ONLY,
            node if node.is_written() => WRITABLE,
            _ => FILE,
        }
    }

    /// A number for what it is.
    fn inode(self) -> u64 {
        let text = format!("{self:?}");
        text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)) >> 16
    }

    /// The process that it is of.
    pub fn process(self) -> Option<u64> {
        match self {
            Node::Process(pid, _) | Node::Fact(pid, ..) | Node::Place(pid, _) | Node::Descriptors(pid, _) => Some(pid),
            Node::Descriptor(pid, _) | Node::About(pid, _) | Node::Threads(pid) => Some(pid),
            _ => None,
        }
    }

    /// As `stat` tells it.
    pub fn status(self) -> Status {
        Status { device: DEVICE, inode: self.inode(), mode: self.mode(), links: if self.is_folder() { 2 } else { 1 }, block_size: 1024, ..Status::default() }
    }

    /// Returns the path of the node.
    pub fn path(self) -> String {
        match self {
            Node::Root => String::from("/proc"),
            Node::Folder(name) | Node::Link(name) => format!("/proc/{name}"),
            Node::System("kernel version") => String::from("/proc/sys/kernel/version"),
            Node::System(name) => match FOLDERS.iter().find(|(_, files)| files.contains(&name)) {
                Some((folder, _)) if !SYSTEM.contains(&name) => format!("/proc/{folder}/{name}"),
                _ => format!("/proc/{name}"),
            },
            Node::Own => String::from("/proc/self"),
            Node::OwnThread => String::from("/proc/thread-self"),
            Node::Process(pid, None) => format!("/proc/{pid}"),
            Node::Process(pid, Some(thread)) => format!("/proc/{pid}/task/{thread}"),
            Node::Fact(pid, thread, name) if pid == thread => format!("/proc/{pid}/{name}"),
            Node::Fact(pid, thread, name) => format!("/proc/{pid}/task/{thread}/{name}"),
            Node::Place(pid, name) => format!("/proc/{pid}/{name}"),
            Node::Descriptors(pid, about) => format!("/proc/{pid}/{}", if about { "fdinfo" } else { "fd" }),
            Node::Descriptor(pid, number) => format!("/proc/{pid}/fd/{number}"),
            Node::About(pid, number) => format!("/proc/{pid}/fdinfo/{number}"),
            Node::Threads(pid) => format!("/proc/{pid}/task"),
            Node::Sys("") => String::from("/sys"),
            Node::Sys(path) => format!("/sys/{path}"),
            Node::Interface(name, false) => format!("/sys/{INTERFACES}/{name}"),
            Node::Interface(name, true) => format!("/sys/{INTERFACES}/{name}/{COUNTERS}"),
            Node::OfInterface(name, file) if OF_COUNTERS.contains(&file) => format!("/sys/{INTERFACES}/{name}/{COUNTERS}/{file}"),
            Node::OfInterface(name, file) => format!("/sys/{INTERFACES}/{name}/{file}"),
            Node::Processors => format!("/sys/{PROCESSORS}"),
            Node::Processor(number) => format!("/sys/devices/system/cpu/cpu{number}"),
            Node::OfProcessors(name) => format!("/sys/devices/system/cpu/{name}"),
            Node::Terminals => String::from("/dev/pts"),
            Node::Terminal(number) => path(number),
        }
    }
}

/// Target of a path.
#[derive(PartialEq, Eq, Debug)]
pub enum Target {
    /// Node in `/proc`.
    Node(Node),
    /// Elsewhere.
    Outside(Vec<u8>),
}

/// Folders of `/sys`. The last two are filled: with processors, and with network interfaces.
pub(crate) const SYS_FOLDERS: [&str; 14] =
    ["block", "bus", "class", "dev", "devices", "firmware", "fs", "kernel", "module", "power", "devices/system", "fs/cgroup", PROCESSORS, INTERFACES];
/// The folder of processors in `/sys`.
pub(crate) const PROCESSORS: &str = "devices/system/cpu";
/// The folder of network interfaces there, and in each that of its counters.
pub(crate) const INTERFACES: &str = "class/net";
pub(crate) const COUNTERS: &str = "statistics";
/// Files of the folder of an interface, and of its counters.
pub(crate) const OF_INTERFACE: [&str; 11] =
    ["addr_len", "address", "broadcast", "carrier", "flags", "ifindex", "iflink", "mtu", "operstate", "tx_queue_len", "type"];
pub(crate) const OF_COUNTERS: [&str; 8] = ["rx_bytes", "rx_dropped", "rx_errors", "rx_packets", "tx_bytes", "tx_dropped", "tx_errors", "tx_packets"];
/// Files of the folder of processors.
pub(crate) const OF_PROCESSORS: [&str; 5] = ["kernel_max", "offline", "online", "possible", "present"];

/// Returns the last name of a path that stands in a folder.
pub(crate) fn is_below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    let (above, last) = path.rsplit_once('/').unwrap_or(("", path));
    (above == folder).then_some(last)
}

/// The path of a terminal; without a number, of what makes new ones.
pub fn path(number: Option<u64>) -> String {
    number.map_or_else(|| String::from("/dev/pts/ptmx"), |number| format!("/dev/pts/{number}"))
}

/// An open file of `/proc`.
pub struct Shown {
    /// Node that is open.
    pub node: Node,
    /// Position of the next read.
    pub position: u64,
    pub text: Vec<u8>,
}
