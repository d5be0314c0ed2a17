//! What the files of `/proc` say. All time of processors is told as the program's own; of other
//! processes there is what their libraries say, or what the manager knows.

use crate::abi::errno::{EACCES, EINVAL, ENOENT, Errno};
use crate::abi::time_units::{MONOTONIC, REALTIME};
use crate::operations::cpu_time;
use crate::operations::file_systems;
use crate::operations::proc::ask_process;
use crate::operations::proc::map_lines;
use crate::operations::proc::memory_facts;
use crate::operations::proc::memory_shortage;
use crate::operations::proc::network_text;
use crate::operations::processors;
use crate::operations::sockets::interfaces;
use crate::operations::system_name;
use crate::process::Process;
use crate::state::files::proc_node::Node;
use crate::state::memory::residence;
use crate::state::threads::thread::Thread;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// Names of resource limits, with their units.
const LIMITS: [(&str, &str); 16] = [
    ("Max cpu time", "seconds"),
    ("Max file size", "bytes"),
    ("Max data size", "bytes"),
    ("Max stack size", "bytes"),
    ("Max core file size", "bytes"),
    ("Max resident set", "bytes"),
    ("Max processes", "processes"),
    ("Max open files", "files"),
    ("Max locked memory", "bytes"),
    ("Max address space", "bytes"),
    ("Max file locks", "locks"),
    ("Max pending signals", "signals"),
    ("Max msgqueue size", "bytes"),
    ("Max nice priority", ""),
    ("Max realtime priority", ""),
    ("Max realtime timeout", "us"),
];
/// Bytes of a title that a program has written over its arguments, at most, as on Linux.
const MAX_TITLE: u64 = 4096;

/// Facts about a process.
struct Known {
    pid: u64,
    parent: u64,
    group: u64,
    session: u64,
    state: char,
    threads: u64,
    name: String,
    user: u64,
    effective: u64,
    foreground: i64,
    ignored: u64,
    priority: u64,
    time: u64,
    command: Vec<u8>,
}

/// The text of a name as it is stored: up to its zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Returns the present contents of a file of `/proc`.
pub fn text_of(process: &mut Process, node: Node) -> Result<Vec<u8>, Errno> {
    match node {
        Node::System(name) if let Some(text) = network_text::text_of(process, name) => Ok(text),
        Node::System(name) => of_system(process, name).map(String::into_bytes),
        Node::Fact(pid, thread, name) => match ask_process::text_of_fact(process, node)? {
            Some(text) => Ok(text),
            None => of_process(process, pid, thread, name),
        },
        Node::OfInterface(name, file) => interfaces::named(process, name).map(|interface| network_text::of_interface(&interface, file)).ok_or(EINVAL),
        Node::OfProcessors("kernel_max") => Ok(b"63\n".to_vec()),
        Node::OfProcessors("offline") => Ok(b"\n".to_vec()),
        Node::OfProcessors(_) => Ok(format!("{}\n", processors::list(u64::MAX >> (64 - processors::processors(process)))).into_bytes()),
        Node::About(pid, _) if pid != process.pid() => ask_process::text_of_fact(process, node)?.ok_or(EINVAL),
        Node::About(_, number) => {
            let file = process.descriptors.get(number).map_err(|_| ENOENT)?;
            Ok(format!("pos:\t0\nflags:\t0{:o}\nmnt_id:\t1\nino:\t0\n", file.flags.get()).into_bytes())
        }
        _ => Err(EINVAL),
    }
}

fn of_system(process: &mut Process, name: &str) -> Result<String, Errno> {
    let (seconds, nanoseconds) = process.services.clock(MONOTONIC)?;
    let ticks = seconds * 100 + nanoseconds / 10_000_000;
    Ok(match name {
        "cmdline" => String::from("nacre\n"),
        "cpuinfo" => processors::processors_described(process),
        "devices" => String::from("Character devices:\n  1 mem\n  5 /dev/tty\n\nBlock devices:\n"),
        "filesystems" => String::from("nodev\tproc\nnodev\ttmpfs\n"),
        "loadavg" => {
            let (threads, last) = count_processes();
            format!("0.00 0.00 0.00 1/{threads} {last}\n")
        }
        "meminfo" => of_memory(process)?,
        "stat" => {
            let (start, _) = process.services.clock(REALTIME)?;
            let (_, last) = count_processes();
            let (count, used) = (processors::processors(process).max(1), cpu_time::times_told()[2] / TICK);
            let line = |used: u64, all: u64| format!("{used} 0 0 {} 0 0 0 0 0 0", all.saturating_sub(used));
            let each: String = (0..count).map(|number| format!("cpu{number} {}\n", line(used / count, ticks))).collect();
            format!("cpu  {}\n{each}intr 0\nctxt 0\nbtime {}\nprocesses {last}\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n", line(used, ticks * count), start.saturating_sub(seconds))
        }
        "uptime" => format!("{seconds}.{:02} {seconds}.{:02}\n", nanoseconds / 10_000_000, nanoseconds / 10_000_000),
        "version" => String::from("Linux version 6.1.0-nacre (nacre@nacre) (rustc) #1 Nacre\n"),
        "vmstat" => String::from("nr_free_pages 0\npgpgin 0\npgpgout 0\npswpin 0\npswpout 0\npgfault 0\npgmajfault 0\n"),
        "boot_id" => String::from("6e616372-6500-4000-8000-000000000001\n"),
        "uuid" => fresh_uuid(process)?,
        "hostname" => system_name(0),
        "domainname" => system_name(1),
        name => String::from(constant(name).ok_or(ENOENT)?),
    })
}

fn fresh_uuid(process: &mut Process) -> Result<String, Errno> {
    let mut bytes = [0; 16];
    process.services.random(&mut bytes)?;
    let [a, b] = [0, 8].map(|at: usize| bytes.iter().skip(at).take(8).fold(0u64, |all, byte| all << 8 | u64::from(*byte)));
    Ok(format!("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}\n", a >> 32, a >> 16 & 0xffff, a & 0xfff, 0x8000 | b >> 48 & 0x3fff, b & 0xffff_ffff_ffff))
}

fn count_processes() -> (u64, u64) {
    let (mut threads, mut last) = (0, 0);
    while let Ok(found) = manager::list(Reference::PARENT, last + 1, &mut [0; 64]) {
        threads += found.threads;
        last = found.pid;
    }
    (threads.max(1), last.max(1))
}

fn of_memory(process: &mut Process) -> Result<String, Errno> {
    let (limit, used) = process.services.memory_status()?;
    let (total, free) = (limit / 1024, limit.saturating_sub(used) / 1024);
    let mut text = format!("MemTotal:       {total:8} kB\nMemFree:        {free:8} kB\nMemAvailable:   {free:8} kB\n");
    for name in ["Buffers", "Cached", "SwapCached", "Active", "Inactive", "SwapTotal", "SwapFree", "Dirty", "Writeback", "AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable"] {
        let _ = writeln!(text, "{:<16}{:8} kB", format!("{name}:"), 0);
    }
    Ok(text)
}

fn known(process: &mut Process, pid: u64) -> Result<Known, Errno> {
    let own = process.pid();
    if !process.is_managed() {
        let name = text(&process.me().name);
        let [user, effective, ..] = process.identity.owner().map(u64::from);
        return Ok(Known { pid: own, parent: 0, group: own, session: own, state: 'R', threads: 1, name, user, effective, foreground: -1, ignored: 0, priority: 20, time: process.used(), command: process.executable.clone() });
    }
    let (mut name, mut command) = ([0; 64], alloc::vec![0u8; 1024]);
    let found = manager::list(Reference::PARENT, pid, &mut name).map_err(|_| ENOENT)?;
    let more = manager::look(Reference::PARENT, pid, command.as_mut_slice()).map_err(|_| ENOENT)?;
    if found.pid != pid {
        return Err(ENOENT);
    }
    command.truncate(more.command);
    // Who asks runs; who answers another does not.
    let state = if pid == own && process.threads.get(process.caller).is_some() { 'R' } else { char::from(found.state as u8) };
    let manager::list::Reply { parent, group, session, threads, .. } = found;
    let manager::look::Reply { user, effective, foreground, ignored, priority, time, .. } = more;
    let foreground = if foreground == 0 { -1 } else { foreground as i64 };
    Ok(Known { pid, parent, group, session, state, threads, name: text(&name), user, effective, foreground, ignored, priority, time, command })
}

fn of_process(process: &mut Process, pid: u64, thread: u64, name: &str) -> Result<Vec<u8>, Errno> {
    let known = known(process, pid)?;
    let is_own = pid == process.pid();
    let name_of_thread = match process.threads.find(thread).and_then(|index| process.threads.get(index)).map(|thread| text(&thread.name)) {
        Some(own) if is_own && !own.is_empty() => own,
        _ => known.name.clone(),
    };
    Ok(match name {
        "auxv" => Vec::new(),
        "cgroup" => b"0::/\n".to_vec(),
        "clear_refs" => return Err(EINVAL),
        "cmdline" if known.state == 'Z' => Vec::new(),
        "cmdline" if is_own => title(process).or_else(|| strings(process, 0)).unwrap_or(known.command),
        "cmdline" => known.command,
        "comm" => format!("{name_of_thread}\n").into_bytes(),
        "environ" if is_own => strings(process, 2).unwrap_or_default(),
        "environ" => return Err(EACCES),
        "io" => b"rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n".to_vec(),
        "limits" => limits_text(process).into_bytes(),
        "maps" if is_own => map_lines::maps(process)?.into_bytes(),
        "smaps" if is_own => memory_facts::smaps(process)?.into_bytes(),
        "smaps_rollup" if is_own => memory_facts::rollup(process).into_bytes(),
        "maps" | "smaps" | "smaps_rollup" | "pagemap" => Vec::new(),
        "mounts" => file_systems::mounts(process),
        "mountinfo" => file_systems::mountinfo(process),
        "oom_score" => b"0\n".to_vec(),
        "oom_score_adj" | "oom_adj" if !is_own => b"0\n".to_vec(),
        name @ ("oom_score_adj" | "oom_adj") => memory_shortage::oom_text(process, name).into_bytes(),
        "stat" => stat_line(process, &known, thread, &name_of_thread, is_own).into_bytes(),
        "statm" if is_own => memory_facts::statm(process).into_bytes(),
        "statm" => b"0 0 0 0 0 0 0\n".to_vec(),
        "status" => status_text(process, &known, thread, &name_of_thread, is_own).into_bytes(),
        _ => b"0".to_vec(),
    })
}

/// The program's own words, which it may have written over: arguments (0) or environment (2).
fn strings(process: &Process, which: usize) -> Option<Vec<u8>> {
    let (start, end) = (*process.strings.get(which)?, *process.strings.get(which + 1)?);
    let bytes = process.memory.readable(start, end.checked_sub(start)?).ok()?;
    (start != 0).then(|| bytes.to_vec())
}

/// A title that the program has written over its arguments and on into its environment: it ends
/// with the first zero. `None` if the last byte of the arguments is still zero.
fn title(process: &Process) -> Option<Vec<u8>> {
    if *strings(process, 0)?.last()? == 0 {
        return None;
    }
    let (start, end) = (process.strings[0], process.strings[1].max(process.strings[3]));
    let bytes = process.memory.readable(start, end.checked_sub(start)?.min(MAX_TITLE)).ok()?;
    let size = bytes.iter().position(|byte| *byte == 0).map_or(bytes.len(), |zero| zero + 1);
    Some(bytes[..size].to_vec())
}

fn limits_text(process: &Process) -> String {
    let mut all = String::from("Limit                     Soft Limit           Hard Limit           Units     \n");
    let value = |limit: u64| if limit == u64::MAX { String::from("unlimited") } else { format!("{limit}") };
    for ((name, unit), [soft, hard]) in LIMITS.iter().zip(process.limits.all()) {
        let _ = writeln!(all, "{name:<25} {:<20} {:<20} {unit:<10}", value(soft), value(hard));
    }
    all
}

/// A thread of the process by its number.
fn thread_shown(process: &mut Process, number: u64) -> &mut Thread {
    let index = process.threads.find(number).unwrap_or(process.caller);
    process.thread_at(index)
}

/// Nanoseconds of a tick, the unit of `stat`.
const TICK: u64 = 10_000_000;

/// Hundredths of seconds that the process, or another thread than its first, has used, and children
/// that were waited for.
fn ticks(process: &mut Process, thread: u64) -> [u64; 2] {
    let used = if thread == process.pid() { process.used() } else { thread_shown(process, thread).used() };
    [used / TICK, cpu_time::times_told()[1] / TICK]
}

fn stat_line(process: &mut Process, known: &Known, thread: u64, name: &str, is_own: bool) -> String {
    let size = if is_own { process.memory.size() } else { 0 };
    let resident = if is_own { residence::all_resident(&process.memory) / 4096 } else { 0 };
    let nice = 20 - known.priority as i64;
    let terminal = match manager::terminal(Reference::PARENT) {
        Ok(own) if is_own => own.device,
        _ if known.foreground == -1 => 0,
        _ => nacre_proto::channel::CONSOLE,
    };
    let [used, of_children] = if is_own { ticks(process, thread) } else { [known.time / TICK, 0] };
    let mut line = format!("{thread} ({name}) {} {} {} {} {terminal} {} 4194304 0 0 0 0 ", known.state, known.parent, known.group, known.session, known.foreground);
    let _ = write!(line, "{used} 0 {of_children} 0 ");
    let _ = write!(line, "{} {nice} {} 0 0 {size} {resident} 18446744073709551615 ", 20 + nice, known.threads);
    let mask = if is_own { thread_shown(process, thread).mask } else { 0 };
    let caught = if is_own { process.signals.handled() } else { 0 };
    let _ = writeln!(line, "1 1 0 0 0 0 {} {} {} 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0", mask as u32, known.ignored as u32, caught as u32);
    line
}

fn status_text(process: &mut Process, known: &Known, thread: u64, name: &str, is_own: bool) -> String {
    let word = match known.state {
        'R' => "running",
        'T' => "stopped",
        'Z' => "zombie",
        _ => "sleeping",
    };
    let mut all = format!("Name:\t{name}\n");
    if is_own {
        let _ = writeln!(all, "Umask:\t{:04o}", process.identity.umask);
    }
    let Known { pid, parent, user, effective, threads, state, .. } = known;
    let _ = write!(all, "State:\t{state} ({word})\nTgid:\t{pid}\nNgid:\t0\nPid:\t{thread}\nPPid:\t{parent}\nTracerPid:\t0\n");
    let group = if is_own { process.identity.owner() } else { [0; 6] };
    let saved = if is_own { u64::from(group[2]) } else { *effective };
    let _ = write!(all, "Uid:\t{user}\t{effective}\t{saved}\t{effective}\nGid:\t{}\t{}\t{}\t{}\nFDSize:\t64\nGroups:\t", group[3], group[4], group[5], group[4]);
    let size = if is_own { process.memory.size() / 1024 } else { 0 };
    if is_own {
        process.identity.groups.iter().for_each(|group| all.push_str(&format!("{group} ")));
    }
    let resident = if is_own { residence::all_resident(&process.memory) / 1024 } else { 0 };
    let away = if is_own { residence::away_bytes(&process.memory, 0, u64::MAX) / 1024 } else { 0 };
    let locked = if is_own { process.memory.locked.bytes() / 1024 } else { 0 };
    let _ = write!(all, "\nVmPeak:\t{size:8} kB\nVmSize:\t{size:8} kB\nVmLck:\t{locked:8} kB\nVmHWM:\t{resident:8} kB\nVmRSS:\t{resident:8} kB\nVmData:\t{size:8} kB\nVmStk:\t     132 kB\nVmSwap:\t{away:8} kB\nThreads:\t{threads}\n");
    let (pending, shared, mask) = if is_own { (thread_shown(process, thread).pending.set(), process.signals.pending.set(), thread_shown(process, thread).mask) } else { (0, 0, 0) };
    let caught = if is_own { process.signals.handled() } else { 0 };
    let ignored = if is_own { process.signals.ignored() } else { known.ignored };
    let limit = process.limits.all()[11][0];
    let _ = write!(all, "SigQ:\t0/{limit}\nSigPnd:\t{pending:016x}\nShdPnd:\t{shared:016x}\nSigBlk:\t{mask:016x}\nSigIgn:\t{ignored:016x}\nSigCgt:\t{caught:016x}\n");
    let [capable, permitted, inheritable, bounding] = if is_own { process.identity.capabilities.words() } else { [0; 4] };
    let _ = write!(all, "CapInh:\t{inheritable:016x}\nCapPrm:\t{permitted:016x}\nCapEff:\t{capable:016x}\nCapBnd:\t{bounding:016x}\nCapAmb:\t0000000000000000\n");
    let processors = processors::processors_of(process, thread);
    let _ = write!(all, "NoNewPrivs:\t{}\nSeccomp:\t0\nSeccomp_filters:\t0\nCpus_allowed:\t{processors:x}\nCpus_allowed_list:\t{}\nMems_allowed:\t1\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n", u64::from(process.traits.no_new_privileges), processors::list(processors));
    all
}

/// The name of the host (0) or its domain, up to a zero in it.
fn system_name(which: usize) -> String {
    let name = &system_name::names()[which];
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    format!("{}\n", String::from_utf8_lossy(&name[..end]))
}

/// Files whose text never changes.
fn constant(name: &str) -> Option<&'static str> {
    const ALL: [(&str, &str); 23] = [
        ("cap_last_cap", "40\n"),
        ("ngroups_max", "65536\n"),
        ("overflowgid", "65534\n"),
        ("overflowuid", "65534\n"),
        ("osrelease", "6.1.0-nacre\n"),
        ("ostype", "Linux\n"),
        ("pid_max", "32768\n"),
        ("tainted", "0\n"),
        ("threads-max", "32768\n"),
        ("kernel version", "#1 Nacre\n"),
        ("entropy_avail", "256\n"),
        ("max_map_count", "65530\n"),
        ("mmap_min_addr", "65536\n"),
        ("overcommit_memory", "0\n"),
        ("swappiness", "60\n"),
        ("file-max", "9223372036854775807\n"),
        ("nr_open", "1048576\n"),
        ("pipe-max-size", "1048576\n"),
        ("msg_default", "10\n"),
        ("msg_max", "10\n"),
        ("msgsize_default", "8192\n"),
        ("msgsize_max", "8192\n"),
        ("queues_max", "256\n"),
    ];
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
