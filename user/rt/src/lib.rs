//! What native programs stand on: start-up, arguments, heap, threads, messages to people, panics.
//!
//! A program is `#![no_std] #![no_main]` and names its main function with [`entry!`]:
//!
//! ```ignore
//! nacre_rt::entry!(main);
//!
//! fn main(arguments: &nacre_rt::Arguments) -> i32 {
//!     nacre_rt::report!("{} arguments", arguments.count());
//!     0
//! }
//! ```
#![no_std]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod arguments;
pub mod exit;
pub mod fallible;
pub mod heap;
pub mod memory;
pub mod objects;
pub mod report;
pub mod roomed;
mod small;
pub mod start;
pub mod stream;
pub mod thread;

mod panic;

pub use arguments::Arguments;
pub use exit::exit;

/// Crate that expansions of the macros name.
#[doc(hidden)]
pub use nacre_abi as abi;
