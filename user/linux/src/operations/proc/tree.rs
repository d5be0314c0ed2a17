//! `/proc`: which names there are, and what they mean. The library answers them itself: what the
//! process knows of itself, and what the manager knows of all.

use crate::abi::errno::{EINVAL, ENOENT, ENOTDIR, Errno};
use crate::abi::file_flags::{CURRENT, S_IFCHR, S_IFDIR, S_IFIFO, S_IFMT};
use crate::operations::paths::file_status;
use crate::operations::paths::path_of;
use crate::operations::paths::path_walk;
use crate::operations::proc::ask_process;
use crate::operations::proc::terminals;
use crate::operations::processors;
use crate::operations::sockets::interfaces;
use crate::operations::terminals::job_control;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::files::proc_node::{self, COUNTERS, FACTS, FOLDERS, INTERFACES, LINKS, Node, OF_COUNTERS, OF_INTERFACE, OF_PROCESSORS, PROCESSORS, SYSTEM, SYS_FOLDERS, S_IFSOCK, Target};
use crate::state::memory::mapped_files::Opened;
use alloc::format;
use alloc::vec::Vec;
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// The parts of a path behind `from`, without `.`, `..` and empty ones.
fn normal(from: &[u8], path: &[u8]) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let start = if path.starts_with(b"/") { &[][..] } else { from };
    for part in start.split(|byte| *byte == b'/').chain(path.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part.to_vec()),
        }
    }
    parts
}

/// Returns the folder here from which the rest of a path leads on, and the number of parts that
/// lead to it.
fn beginning(parts: &[Vec<u8>]) -> Option<(Node, usize)> {
    let starts_with = |names: &[&[u8]]| parts.len() >= names.len() && parts.iter().zip(names).all(|(part, name)| part == name);
    let all: [(Node, &[&[u8]]); 3] = [(Node::Root, &[b"proc"]), (Node::Sys(""), &[b"sys"]), (Node::Terminals, &[b"dev", b"pts"])];
    all.into_iter().find(|(_, names)| starts_with(names)).map(|(node, names)| (node, names.len()))
}

/// Returns true if the first name of a path without `..` leads elsewhere, as in most paths.
fn is_elsewhere(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
    let is_here = match parts.next() {
        Some(b"dev") => parts.next() == Some(b"pts"),
        first => matches!(first, Some(b"proc" | b"sys")),
    };
    !is_here && !path.windows(2).any(|pair| pair == b"..")
}

fn number(part: &[u8]) -> Option<u64> {
    let is_plain = part.first().is_some_and(|first| *first != b'0') || part == b"0";
    let digits = core::str::from_utf8(part).ok().filter(|text| is_plain && text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse::<u32>().ok().map(u64::from)
}

fn known(names: &[&'static str], part: &[u8]) -> Option<&'static str> {
    names.iter().copied().find(|name| name.as_bytes() == part)
}

/// Returns the node with this name in a folder.
fn child(folder: Node, part: &[u8]) -> Option<Node> {
    match folder {
        Node::Root => in_root(part),
        Node::Folder(path) => in_folder(path, part),
        Node::Process(pid, thread) => in_process(pid, thread, part),
        Node::Descriptors(pid, about) => number(part).map(|number| if about { Node::About(pid, number) } else { Node::Descriptor(pid, number) }),
        Node::Threads(pid) => number(part).map(|thread| Node::Process(pid, Some(thread))),
        Node::Sys(path) => in_sys(path, part),
        Node::Interface(name, false) if part == COUNTERS.as_bytes() => Some(Node::Interface(name, true)),
        Node::Interface(name, counts) => known(if counts { &OF_COUNTERS } else { &OF_INTERFACE }, part).map(|file| Node::OfInterface(name, file)),
        Node::Processors => {
            let one = part.strip_prefix(b"cpu").and_then(number).map(Node::Processor);
            one.or_else(|| known(&OF_PROCESSORS, part).map(Node::OfProcessors))
        }
        Node::Terminals if part == b"ptmx" => Some(Node::Terminal(None)),
        Node::Terminals => number(part).map(|number| Node::Terminal(Some(number))),
        _ => None,
    }
}

fn in_root(part: &[u8]) -> Option<Node> {
    match part {
        b"self" => Some(Node::Own),
        b"thread-self" => Some(Node::OwnThread),
        b"mounts" => Some(Node::Link("self/mounts")),
        part => number(part).map(|pid| Node::Process(pid, None)).or_else(|| known(&SYSTEM, part).map(Node::System)).or_else(|| in_folder("", part)),
    }
}

fn in_folder(path: &'static str, part: &[u8]) -> Option<Node> {
    if let Some((_, files)) = FOLDERS.iter().find(|(name, _)| *name == path)
        && let Some(file) = known(files, part)
    {
        // The only name that stands in two folders.
        return Some(Node::System(if file == "version" { "kernel version" } else { file }));
    }
    let below = |name: &str| {
        let (above, last) = name.rsplit_once('/').unwrap_or(("", name));
        above == path && last.as_bytes() == part
    };
    FOLDERS.iter().find(|(name, _)| below(name)).map(|(name, _)| Node::Folder(name))
}

fn in_sys(path: &'static str, part: &[u8]) -> Option<Node> {
    if path == INTERFACES {
        return interfaces::NAMES.into_iter().find(|name| name.as_bytes() == part).map(|name| Node::Interface(name, false));
    }
    let found = SYS_FOLDERS.into_iter().find(|name| proc_node::is_below(path, name).is_some_and(|last| last.as_bytes() == part))?;
    Some(if found == PROCESSORS { Node::Processors } else { Node::Sys(found) })
}

fn in_process(pid: u64, thread: Option<u64>, part: &[u8]) -> Option<Node> {
    match part {
        b"fd" => Some(Node::Descriptors(pid, false)),
        b"fdinfo" => Some(Node::Descriptors(pid, true)),
        b"net" => Some(Node::Folder("net")),
        b"task" if thread.is_none() => Some(Node::Threads(pid)),
        part => known(&LINKS, part).map(|name| Node::Place(pid, name)).or_else(|| known(&FACTS, part).map(|name| Node::Fact(pid, thread.unwrap_or(pid), name))),
    }
}

/// Resolves `path`, used with `descriptor`, if it is in `/proc`. `follow`: a link at its end is
/// followed.
pub fn in_proc(process: &mut Process, descriptor: u64, path: &[u8], follow: bool) -> Option<Result<Target, Errno>> {
    if path.starts_with(b"/") && is_elsewhere(path) {
        return None;
    }
    let base = if path.starts_with(b"/") { Vec::new() } else { virtual_base(process, descriptor)? };
    let parts = normal(&base, path);
    let (start, size) = beginning(&parts).filter(|(start, _)| *start != Node::Terminals || terminals::has_terminals(process))?;
    Some(walk(process, start, parts.get(size..).unwrap_or_default(), follow || path.ends_with(b"/")))
}

/// The path of a folder here that a descriptor, or the current directory, is.
fn virtual_base(process: &mut Process, descriptor: u64) -> Option<Vec<u8>> {
    let file = if descriptor as u32 == CURRENT as u32 { process.current.clone()? } else { process.descriptors.get(descriptor).ok()? };
    file.node().map(|node| node.path().into_bytes())
}

fn walk(process: &mut Process, start: Node, parts: &[Vec<u8>], follow: bool) -> Result<Target, Errno> {
    let own = (process.pid(), process.me().number);
    let mut at = start;
    for (index, part) in parts.iter().enumerate() {
        at = child(at, part).ok_or(if at.is_folder() { ENOENT } else { ENOTDIR })?;
        check(process, at)?;
        let rest = parts.get(index + 1..).unwrap_or_default();
        if let Node::Terminal(number) = at
            && rest.is_empty()
        {
            return Ok(Target::Outside(proc_node::path(number).into_bytes()));
        }
        if rest.is_empty() && !follow {
            break;
        }
        at = match at {
            Node::Own => Node::Process(own.0, None),
            Node::OwnThread => Node::Process(own.0, Some(own.1)),
            Node::Link(_) => Node::Fact(own.0, own.0, "mounts"),
            Node::Place(..) => return outside(process, at, rest),
            Node::Descriptor(..) if !rest.is_empty() => return outside(process, at, rest),
            at => at,
        };
    }
    Ok(Target::Node(at))
}

fn outside(process: &mut Process, link: Node, rest: &[Vec<u8>]) -> Result<Target, Errno> {
    let mut path = target_of(process, link)?;
    for part in rest {
        path.push(b'/');
        path.extend(part);
    }
    match in_proc(process, CURRENT, &path, true) {
        Some(found) => found,
        None => Ok(Target::Outside(path)),
    }
}

/// `ENOENT` if it is of a process, thread or descriptor that is not there.
fn check(process: &mut Process, node: Node) -> Result<(), Errno> {
    let own = process.pid();
    match node {
        Node::Process(pid, None) if pid != own => {
            manager::numbers(Reference::PARENT, pid).map_err(|_| ENOENT).and_then(|found| if found.pid == pid { Ok(()) } else { Err(ENOENT) })
        }
        Node::Interface(name, _) => interfaces::named(process, name).map(drop).ok_or(ENOENT),
        Node::Processor(number) if number >= processors::processors(process) => Err(ENOENT),
        Node::Terminal(Some(number)) if !terminals::has_terminal(process, number) => Err(ENOENT),
        Node::Process(pid, Some(thread)) if pid == own => process.threads.find(thread).map(drop).ok_or(ENOENT),
        Node::Process(pid, Some(thread)) if pid != thread => ask_process::has_other(process, Node::Threads(pid), thread),
        Node::Descriptor(pid, number) | Node::About(pid, number) if pid == own => process.descriptors.get(number).map(drop).map_err(|_| ENOENT),
        Node::Descriptor(pid, number) | Node::About(pid, number) => ask_process::has_other(process, Node::Descriptors(pid, false), number),
        _ => Ok(()),
    }
}

/// Returns the target of a link.
pub fn target_of(process: &mut Process, link: Node) -> Result<Vec<u8>, Errno> {
    let own = process.pid();
    match link {
        Node::Own => Ok(format!("{own}").into_bytes()),
        Node::OwnThread => Ok(format!("{own}/task/{}", process.me().number).into_bytes()),
        Node::Link(target) => Ok(target.as_bytes().to_vec()),
        Node::Place(pid, "root") if pid == own => match process.root.clone() {
            Some(root) => path_of::path_of(root.reference()?),
            None => Ok(b"/".to_vec()),
        },
        Node::Place(_, "root") => Ok(b"/".to_vec()),
        Node::Place(pid, "exe") if pid == own => {
            let path = process.executable.clone();
            Ok(path_walk::real_path(process, &path))
        }
        Node::Place(pid, "cwd") if pid == own => path_of::current_path(process),
        // What others have is theirs to tell.
        Node::Place(pid, _) | Node::Descriptor(pid, _) if pid != own => ask_process::link_of_other(process, link),
        Node::Descriptor(_, number) => path_of_descriptor(process, number),
        _ => Err(EINVAL),
    }
}

fn path_of_descriptor(process: &mut Process, number: u64) -> Result<Vec<u8>, Errno> {
    let file = process.descriptors.get(number).map_err(|_| ENOENT)?;
    if let Some(name) = file.name() {
        return Ok(name.into_bytes());
    }
    // Of a stream from outside it is known when it was asked for.
    let is_stream = file.opened_by.borrow().is_none() && file.mode.get() & S_IFMT == 0;
    let mode = if is_stream { file_status::of_file(process, &file)?.mode as u32 } else { file.mode.get() };
    match mode & S_IFMT {
        S_IFDIR => path_of::path_of(file.reference().map_err(|_| ENOENT)?),
        kind @ (S_IFIFO | S_IFSOCK) if file.opened_by.borrow().is_none() => {
            let inode = file_status::of_file(process, &file)?.inode;
            Ok(format!("{}:[{inode}]", if kind == S_IFIFO { "pipe" } else { "socket" }).into_bytes())
        }
        _ => match path_opened(&file)? {
            Some(path) => Ok(path_walk::real_path(process, &path)),
            None if mode & S_IFMT == S_IFCHR || job_control::is_terminal(&file) => Ok(b"/dev/console".to_vec()),
            None => Ok(b"/ (unknown)".to_vec()),
        },
    }
}

/// The path that a file was opened by, made absolute. What was renamed since has its old name.
pub fn path_opened(file: &OpenFile) -> Result<Option<Vec<u8>>, Errno> {
    let opened = file.opened_by.borrow().clone();
    opened.as_ref().map(absolute).transpose()
}

/// The path that something was opened by, made absolute.
pub fn absolute((base, path): &Opened) -> Result<Vec<u8>, Errno> {
    let base = match base {
        None => Vec::new(),
        Some(base) => path_of::path_of(base.reference()?)?,
    };
    let parts = normal(&base, path);
    Ok(parts.iter().flat_map(|part| [b"/", part.as_slice()].concat()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::proc::names::pack;
    use alloc::string::String;

    fn walk(path: &[u8]) -> Option<Node> {
        let parts = normal(b"", path);
        let (start, size) = beginning(&parts)?;
        parts.iter().skip(size).try_fold(start, |at, part| child(at, part))
    }

    #[test]
    fn names_mean_what_they_do_on_linux() {
        assert_eq!(walk(b"/proc//7/./stat"), Some(Node::Fact(7, 7, "stat")));
        assert_eq!(walk(b"/proc/7/task/9/status"), Some(Node::Fact(7, 9, "status")));
        assert_eq!(walk(b"/proc/sys/kernel/random/uuid"), Some(Node::System("uuid")));
        assert_eq!(walk(b"/proc/sys/kernel"), Some(Node::Folder("sys/kernel")));
        assert_eq!(walk(b"/proc/7/fd/3"), Some(Node::Descriptor(7, 3)));
        assert_eq!(walk(b"/proc/8/fd/3"), Some(Node::Descriptor(8, 3)));
        assert_eq!((walk(b"/proc/net/tcp"), walk(b"/proc/7/net/unix")), (Some(Node::System("tcp")), Some(Node::System("unix"))));
        assert_eq!((walk(b"/proc/07"), walk(b"/proc/kernel"), walk(b"/proc/-1")), (None, None, None));
        assert_eq!((walk(b"/sys/devices/system/cpu"), walk(b"/sys/devices"), walk(b"/sys/devices/system/cpu/cpux")), (Some(Node::Processors), Some(Node::Sys("devices")), None));
        assert_eq!((walk(b"/sys/class/net/lo/mtu"), walk(b"/sys/class/lo"), walk(b"/sys/nothing")), (Some(Node::OfInterface("lo", "mtu")), None, None));
        assert_eq!(normal(b"/proc/7", b"../../etc/./x"), [b"etc".to_vec(), b"x".to_vec()]);
    }

    #[test]
    fn what_is_elsewhere_is_said_of_no_path_that_leads_here() {
        for path in ["/proc", "//./proc/7", "/proc/../etc", "/etc/../proc/stat", "/proc..", "/..", "/../proc", "/etc/passwd", "/", "/.", "/./proc"] {
            let leads_here = normal(b"", path.as_bytes()).first().is_some_and(|first| first == b"proc");
            assert!(!(leads_here && is_elsewhere(path.as_bytes())), "{path}");
        }
        assert!(is_elsewhere(b"/etc/passwd") && is_elsewhere(b"/processes"));
    }

    #[test]
    fn a_path_leads_back() {
        for path in [
            "/proc",
            "/proc/stat",
            "/proc/sys/kernel/version",
            "/proc/7/task/9",
            "/proc/7/fd",
            "/proc/net",
            "/proc/net/tcp6",
            "/proc/sys/vm",
            "/sys/devices/system/cpu/cpu3",
            "/sys/devices/system/cpu/online",
            "/sys",
            "/sys/class/net",
            "/sys/class/net/eth0/statistics",
            "/sys/class/net/lo/statistics/rx_bytes",
            "/sys/class/net/lo/address",
        ] {
            assert_eq!(walk(path.as_bytes()).map(Node::path).as_deref(), Some(path));
        }
    }

    #[test]
    fn names_are_packed_in_batches() {
        let names: Vec<(String, u64)> = (0..40).map(|number| (format!("{number}"), crate::state::files::proc_node::FILE)).collect();
        let mut batch = [0; 200];
        let (mut cookie, mut found) = (0, 0);
        loop {
            let (next, size) = pack(&names, cookie, &mut batch);
            found += nacre_proto::structures::Entries(&batch[..size]).count();
            cookie = next;
            if next == 0 {
                break;
            }
        }
        assert_eq!(found, 40);
    }
}
