//! A bank of frames: memory that a monitor shows to others page by page, brings when it is touched,
//! and puts away when the frame is wanted for another.
//!
//! It knows nothing of the kernel: what it needs of the machine is the trait [`Hands`]. Reading on:
//! [`bank`].
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod bank;
pub mod extents;
pub mod generations;
pub mod hands;
pub mod homes;
pub mod policy;
pub mod runs;
pub mod spaces;
pub mod store;

#[cfg(test)]
mod files_model;
#[cfg(test)]
mod generations_model;
#[cfg(test)]
mod model;
#[cfg(test)]
mod origins_model;
#[cfg(test)]
mod spaces_model;

pub use bank::{Bank, Counts, Trouble};
pub use extents::Extents;
pub use hands::{Hands, Shown};
pub use homes::Access;
pub use policy::{Choice, Policy, Standing};
pub use spaces::Spaces;
pub use store::{Full, Store};

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// Contents of a page.
pub type Page = [u8; PAGE];
