//! The process manager: see the README. `world` is what it knows, without a kernel; `manager` and
//! `serve` join that to environments and messages.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod commands;
mod control;
mod exec;
pub mod manager;
pub mod manifest;
pub mod options;
mod names;
mod lists;
mod parents;
mod serve;
mod serve_streams;
pub mod start;
mod start_exec;
mod start_tracer;
mod threads;
mod times;
mod tracing;
mod serve_visits;
mod visits;
pub mod world;
