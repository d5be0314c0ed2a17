//! The kernel's objects, composition of memory, messages and scheduling: safe Rust over a [`Machine`](machine::Machine).
#![no_std]
#![forbid(unsafe_code)]

pub mod machine;
