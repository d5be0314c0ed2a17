//! The nesting library: makes children out of program files, answers what they ask, takes them back
//! whole.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod attending;
pub mod clock;
pub mod command;
pub mod data;
pub mod elf;
pub mod gdb_line;
pub mod host;
pub mod interpose;
pub mod library;
pub mod object_view;
pub mod places;
pub mod plan;
pub mod refusal;
pub mod search;
pub mod services;
pub mod spawn;
pub mod stack;
pub mod supply;
pub mod ward;

pub use host::{Handler, attend, attend_within};
pub use plan::{Area, Heritage, Sizes};
pub use refusal::SpawnError;
pub use services::{ChildPool, ProcessPools, Services};
pub use spawn::{Child, Ports, Program, fork, load_program, spawn, spawn_heir};
pub use supply::{Loaded, load_library};
pub use ward::Ward;
