//! The kernel's objects, composition of memory, messages and scheduling: safe Rust over a
//! [`Machine`](machine::Machine).
//!
//! How it holds together:
//! - An object is words in an object frame, seen through a view (`view`, `object`). The kernel
//!   allocates nothing: frames are donated (`frame`).
//! - A call is decoded wholly before it changes anything (`decode`, `user_memory`), so an error
//!   leaves no trace.
//! - A thread that cannot go on is put back to the `syscall` instruction of its call and waits;
//!   nothing else of the call is kept (`wait`).
//! - Hardware tables are a cache of composition (`compose`) that can be thrown away at any time
//!   (`revoke`).
#![no_std]
#![forbid(unsafe_code)]

mod scheduler_upcall;
mod boot;
mod call_result;
mod calls;
mod create;
mod compose;
mod decode;
mod destroy;
mod device;
mod donate;
mod donation_chain;
mod entry_points;
mod fast;
mod fault;
mod frame;
mod guest;
mod ipc;
mod kernel;
pub mod list;
mod lock;
pub mod machine;
mod memory_calls;
mod memory_copy;
mod move_calls;
pub mod object;
mod revocation;
mod revoke;
mod scheduler;
mod slot;
mod state_calls;
mod thread_calls;
mod thread_state;
mod timeout;
mod transfer;
pub mod tree;
mod user_memory;
mod view;
mod wait;

pub use boot::Boot;
pub use kernel::{Kernel, Next};
