//! Schedulers that are threads: policies, and the loop that gives time to whom they pick.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod lottery;
mod own_cost;
pub mod policy;
pub mod priority;
pub mod round_robin;
pub mod serve;
pub mod stride;

pub use lottery::Lottery;
pub use policy::{Claim, Policy};
pub use priority::Priority;
pub use round_robin::RoundRobin;
pub use serve::Scheduler;
pub use stride::Stride;
