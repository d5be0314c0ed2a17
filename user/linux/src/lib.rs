//! Linux system calls, carried out inside the program's own space.
//!
//! The loader maps this library beside every program that is not native, and enters it first. It prepares the program's state, names itself
//! to the kernel as the place where foreign calls continue, and goes to the program's entry point. From then on a `syscall` of the program
//! arrives at [`entry`], finds its function in [`table`], and becomes messages of the Common Protocols where it needs somebody else.
//!
//! It is no security boundary: it can do what its process can do. It checks the program's pointers so that mistakes give Linux's errors.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

#[allow(unsafe_code)]
pub mod entry;
#[allow(unsafe_code)]
mod exchange;
#[allow(unsafe_code)]
mod user;

mod advice;
mod agent;
mod attributes;
mod block;
mod busy;
mod capabilities;
mod children;
mod clock;
mod control;
mod cpu_time;
mod cpu_timers;
mod delivery;
mod descriptors;
mod directories;
mod epoll;
pub mod errno;
mod exec;
mod extended;
mod fifo;
mod files;
mod fork;
pub mod frame;
mod futex;
mod futex_several;
mod futex_shared;
mod gentle;
mod growth;
mod heir;
mod identity;
pub mod inheritance;
mod inotify;
mod jobs;
mod keyed;
mod library;
mod life;
mod limits;
mod listing;
mod local;
mod locked;
mod locking;
mod machine;
mod mailbox;
mod maker;
mod map;
mod mapping;
mod memory;
mod names;
mod oom;
mod open;
mod owner;
mod pair;
mod parents;
mod pending;
mod permissions;
mod pidfd;
mod pipe;
mod place;
mod poll;
mod prctl;
mod proc_file;
mod proc_names;
mod proc_others;
mod proc_terminals;
mod proc_text;
mod proc_tree;
mod processors;
mod process;
mod program;
mod random;
#[cfg(feature = "rehearsal")]
pub mod rehearsal;
mod resolve;
mod schedule;
mod services;
mod shared_pipe;
mod sharing;
mod sites;
mod signal_frame;
mod signals;
mod socket;
mod splice;
pub mod start;
mod status;
mod subject;
mod stock;
mod stream;
mod superuser;
mod system_name;
mod table;
mod terminal;
mod thread;
mod time;
mod timers;
mod transfer;
pub mod visit;
mod walk;
