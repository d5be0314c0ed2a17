//! The first program: it gives the machine's memory, boot files and console the shape of the Common
//! Protocols, and runs one program.
//!
//! Here is the logic, tested on the host; `main.rs` joins it to the kernel and to devices.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod accounts;
pub mod boot;
pub mod boot_files;
pub mod bus;
pub mod calendar;
pub mod chores;
pub mod chunks;
pub mod coloured;
pub mod console;
pub mod event_loop;
pub mod debug_line;
pub mod device_memory;
pub mod differences;
pub mod drives;
pub mod files;
pub mod frames;
pub mod hardware;
pub mod host_directory;
mod host_ports;
pub mod input;
pub mod iommu;
pub mod locks;
pub mod memory;
pub mod messages;
pub mod notices;
pub mod objects;
pub mod open_file;
pub mod outputs;
pub mod payers;
pub mod pools;
pub mod promises;
pub mod ram;
pub mod random;
pub mod root;
pub mod run;
pub mod serial;
pub mod serve;
pub mod sources;
pub mod starving;
pub mod store;
pub mod table;
pub mod tree;
pub mod values;
pub mod views;
pub mod futex_queues;
pub mod windows;
pub mod word_waits;

pub use nacre_terminal as terminal;
