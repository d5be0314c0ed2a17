//! Which names stand in the folders that the library answers for.

use crate::operations::proc::ask_process;
use crate::operations::proc::terminals;
use crate::operations::processors;
use crate::operations::sockets::interfaces;
use crate::process::Process;
use crate::state::files::proc_node::{self, COUNTERS, DIRECTORY, FACTS, FILE, FOLDERS, INTERFACES, LINK, LINKS, Node, OF_COUNTERS, OF_INTERFACE, OF_PROCESSORS, SYSTEM, SYS_FOLDERS};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_proto::process as manager;
use nacre_proto::structures::Entry;
use nacre_sys::Reference;

/// The names in a folder, each with the mode of what it means; what lies before `skip` is left out.
pub fn names_in(process: &mut Process, folder: Node) -> Vec<(String, u64)> {
    let mut names = Vec::from([(String::from("."), DIRECTORY), (String::from(".."), DIRECTORY)]);
    let files = |names: &mut Vec<(String, u64)>, of: &[&str], mode| names.extend(of.iter().map(|name| (String::from(*name), mode)));
    match folder {
        Node::Root => {
            files(&mut names, &SYSTEM, FILE);
            files(&mut names, &["sys", "net"], DIRECTORY);
            files(&mut names, &["self", "thread-self", "mounts"], LINK);
            names.extend(all_processes(process).into_iter().map(|pid| (format!("{pid}"), DIRECTORY)));
        }
        Node::Folder(path) => {
            let below = FOLDERS.iter().filter_map(|(name, _)| name.strip_prefix(path)?.strip_prefix('/')).filter(|name| !name.contains('/'));
            names.extend(below.map(|name| (String::from(name), DIRECTORY)));
            FOLDERS.iter().filter(|(name, _)| *name == path).for_each(|(_, of)| files(&mut names, of, FILE));
        }
        Node::Process(_, thread) => {
            files(&mut names, &FACTS, FILE);
            files(&mut names, &LINKS, LINK);
            files(&mut names, if thread.is_none() { &["fd", "fdinfo", "net", "task"] } else { &["fd", "fdinfo", "net"] }, DIRECTORY);
        }
        Node::Descriptors(_, about) => {
            let mode = if about { FILE } else { LINK };
            names.extend(ask_process::numbers_in(process, folder).unwrap_or_default().into_iter().map(|number| (format!("{number}"), mode)));
        }
        Node::Threads(pid) => {
            let all = ask_process::numbers_in(process, folder).unwrap_or_else(|_| Vec::from([pid]));
            names.extend(all.into_iter().map(|number| (format!("{number}"), DIRECTORY)));
        }
        Node::Sys(INTERFACES) => names.extend(interfaces::all(process).iter().map(|interface| (String::from(interface.shown_name()), DIRECTORY))),
        Node::Sys(path) => names.extend(SYS_FOLDERS.iter().filter_map(|name| proc_node::is_below(path, name)).map(|name| (String::from(name), DIRECTORY))),
        Node::Interface(_, true) => files(&mut names, &OF_COUNTERS, FILE),
        Node::Interface(_, false) => {
            files(&mut names, &OF_INTERFACE, FILE);
            files(&mut names, &[COUNTERS], DIRECTORY);
        }
        Node::Processors => {
            files(&mut names, &OF_PROCESSORS, FILE);
            names.extend((0..processors::processors(process)).map(|number| (format!("cpu{number}"), DIRECTORY)));
        }
        Node::Terminals => names.extend(terminals::terminal_names(process)),
        _ => {}
    }
    names
}

/// The numbers of all processes.
fn all_processes(process: &mut Process) -> Vec<u64> {
    if !process.is_managed() {
        return Vec::from([process.pid()]);
    }
    let mut all = Vec::new();
    let mut next = 1;
    while let Ok(found) = manager::list(Reference::PARENT, next, &mut [0; 64]) {
        all.push(found.pid);
        next = found.pid + 1;
    }
    all
}

/// Packs names for [`Listing`](crate::state::files::directory_cursor::Listing), from the one
/// numbered `cookie` on: where to go on (0: that was all), and how many bytes they take.
pub fn pack(names: &[(String, u64)], cookie: u64, batch: &mut [u8]) -> (u64, usize) {
    let mut used = 0;
    for (index, (name, mode)) in names.iter().enumerate().skip(cookie as usize) {
        let entry = Entry { inode: index as u64 + 1, mode: *mode as u32, name: name.as_bytes() };
        let size = entry.packed_size();
        let Some(place) = batch.get_mut(used..used + size) else { return (index as u64, used) };
        if entry.pack(place).is_none() {
            return (index as u64, used);
        }
        used += size;
    }
    (0, used)
}
