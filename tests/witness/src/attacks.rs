//! Table of the attacks, in alphabetical order.

mod claims;
mod clock_at_pool;
mod doomed_pool;
mod file_link;
mod forged_end;
mod forged_exception;
mod forged_fault;
mod forged_ready;
mod forged_result;
mod greedy;
mod grown_segment;
mod guarded_streams;
mod hand_out;
mod hostile_replies;
mod immortal_thread;
mod keeper;
mod killed_makers;
mod laundering;
mod left_references;
mod lying_seat;
mod machine_memory;
mod many_dataspaces;
mod no_memory;
mod notices_full;
mod other_processes;
mod others_names;
mod over_limits;
mod poisoned_file;
mod pool_destroy;
mod promises;
mod random_messages;
mod ring_objects;
mod self_reference;
mod shrunk_promise;
mod space_end;
mod strange_files;
mod torn_promise;
mod word_in_objects;

use crate::outcome::{Outcome, THROUGH, UNKNOWN, say};

/// An attack: its name, its sentence, and its function, which gets the argument behind `NAME=`.
pub type Attack = (&'static str, &'static str, fn(&[u8]) -> Outcome);

/// All attacks.
pub const ATTACKS: &[Attack] = &[
    ("claims", "a program says that it is another process; with `user`, another user", claims::attack),
    ("clock-at-pool", "a pool of memory tells the time", clock_at_pool::attack),
    ("doomed-pool", "a pool is destroyed while memory is taken from it", doomed_pool::attack),
    ("file-link", "a file takes a directory's place and names itself; FROM,TO", file_link::attack),
    ("forged-end", "ends of threads are told to a port of a service", forged_end::attack),
    ("forged-exception", "a service's port becomes the keeper of a space in which a thread faults", forged_exception::attack),
    ("forged-fault", "a service's port becomes the keeper of a region that lacks a page", forged_fault::attack),
    ("forged-ready", "a service's port becomes the scheduler of a thread", forged_ready::attack),
    ("forged-result", "a guarded program hands out memory and its own file under a name of others; NAME", forged_result::attack),
    ("greedy", "one client takes all that the file server may keep for clients", greedy::attack),
    ("grown-segment", "a segment is to grow while a thread runs from what others have behind it", grown_segment::attack),
    ("guarded-streams", "streams below a guard answer as directories, pipes, sockets and terminals", guarded_streams::attack),
    ("hand-out", "a file is handed out by its path, or though it cannot be read", hand_out::attack),
    ("hostile-replies", "a keeper answers faults with foreign objects, too many rights, twice and for threads that have gone; SEED,STAGES", hostile_replies::attack),
    ("immortal-thread", "threads in memory that refers to itself run on after their process", immortal_thread::attack),
    ("keeper", "the links of a space's state lead to its keeper", keeper::attack),
    ("killed-makers", "makers of processes, and of memory that refers to itself, are killed at random moments; SEED,ROUNDS", killed_makers::attack),
    ("laundering", "a guarded directory is left at servers and fetched again", laundering::attack),
    ("left-references", "references that a process left at servers keep each other and memory", left_references::attack),
    ("lying-seat", "who attends answers what nobody asked; `serve` lies to all commands", lying_seat::attack),
    ("machine-memory", "all memory by its address and by its colours", machine_memory::attack),
    ("many-dataspaces", "chains of 10,000 copies, all dataspaces, names and attachments that there are, and no memory", many_dataspaces::attack),
    ("no-memory", "servers are made to allocate while a client holds all memory", no_memory::attack),
    ("notices-full", "200 watchers' events that nobody reads, while a client holds all memory", notices_full::attack),
    ("other-processes", "a guarded program signals and asks processes outside its guard", other_processes::attack),
    ("others-names", "lasting memory that others named is found by its name; `make` makes it", others_names::attack),
    ("over-limits", "a program takes all files, contents and memory below a guard with limits; FILES,STORAGE,MEMORY", over_limits::attack),
    ("poisoned-file", "a descriptor sent through the socket at standard input leads to a server that turns on the receiver", poisoned_file::attack),
    ("pool-destroy", "a program destroys the pool that others share", pool_destroy::attack),
    ("promises", "10,000 promises of memory, more than any machine has, objects in them, and two processors at one page", promises::attack),
    ("random-messages", "random messages at every port and at every port that comes back; SEED,COUNT", random_messages::attack),
    ("ring-objects", "objects and nonsense in the ring of a shared pipe", ring_objects::attack),
    ("self-reference", "memory that refers to itself stays after its process; SEED,ROUNDS", self_reference::attack),
    ("shrunk-promise", "promised memory is made shorter while its client holds all other memory", shrunk_promise::attack),
    ("space-end", "a program destroys what its own space and threads are made of; PART,KEEPER", space_end::attack),
    ("strange-files", "a file server outside a guard answers wrongly, or never", strange_files::attack),
    ("torn-promise", "a promise of nearly all memory gives every second page back, and ends at once", torn_promise::attack),
    ("word-in-objects", "a service reads a word of a page in which objects stand", word_in_objects::attack),
];

/// Plays the role of a child that an attack made; returns the child's status.
pub fn play(role: &[u8], argument: &[u8]) -> i32 {
    let played = match role {
        b"immortal" => immortal_thread::play(argument),
        b"left" => left_references::play(),
        b"make" => killed_makers::play(),
        b"rest" => immortal_thread::rest(),
        b"self" => self_reference::play(argument),
        b"strange-files" => strange_files::play().map(|()| 0),
        _ => Ok(UNKNOWN),
    };
    played.unwrap_or_else(|why| {
        say(&alloc::format!("witness: the role {}: {why}\n", alloc::string::String::from_utf8_lossy(role)));
        THROUGH
    })
}
