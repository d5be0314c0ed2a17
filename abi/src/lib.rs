//! What the kernel and its users agree on: call numbers, statuses, message registers, exported
//! states, and the few addresses and formats that bring the first program up.
//!
//! Everything here is plain data. A change that is seen through any of it is a change of
//! [`VERSION`] and gets an entry in `CHANGELOG.md`.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
pub mod arguments;
pub mod boot_image;
pub mod boot_info;
pub mod call;
pub mod environment;
pub mod fault;
pub mod frame;
pub mod manual;
pub mod message;
pub mod object;
pub mod register;
pub mod rights;
pub mod state;
pub mod status;
pub mod waiting;

pub use call::Call;
pub use object::ObjectType;
pub use rights::Rights;
pub use status::{Code, Status};

/// Version of this interface; the major key of `CHANGELOG.md`.
pub const VERSION: u32 = 2;

/// Bytes in the smallest page.
pub const PAGE_SIZE: u64 = 4096;

/// First address that no user space can contain (x86-64's lower canonical half, less one guard
/// page).
pub const USER_END: u64 = 0x7fff_ffff_f000;
