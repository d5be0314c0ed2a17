//! Commands of whoever runs the system, on their way through monitors. See the README.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod attendance;
pub mod attendant;
pub mod exec;
pub mod follower;
pub mod record;
pub mod seats;

pub use attendance::Attendance;
pub use attendant::Attendant;
pub use follower::Follower;
pub use record::{Facts, Record};
pub use seats::{Command, Seats};
