//! The Common Protocols: what the parts of a system say to each other, each operation declared
//! once.
//!
//! From a declaration (see [`protocol!`]) come the client's function, the server's trait and
//! dispatch, the tracer's text ([`describe`]) and the reference page (`doc/manual/protocols.md`).
//!
//! A request's label is `number of the protocol << 16 | number of the operation`; a reply's is
//! Linux's errno, 0 for success. Words stand in the order in which they are declared.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[macro_use]
mod declare;

pub mod attribute_values;
pub mod client;
pub mod describe;
pub mod errno;
pub mod flags;
pub mod frees;
pub mod landing;
pub mod page;
pub mod path;
pub mod reference;
pub mod sender;
pub mod server;
pub mod socket_records;
pub mod structures;

pub mod channel;
pub mod clock;
pub mod control;
pub mod dataspace;
pub mod directory;
pub mod driver;
pub mod file;
pub mod keyed;
pub mod mailbox;
pub mod memory;
pub mod nic;
pub mod parent;
pub mod process;
pub mod segment;
pub mod terminal;

pub use describe::describe;
pub use errno::Errno;
pub use server::{Answer, Event, Given, HandlerResult, Request, ServerEndpoint};

/// Crate that expansions of the declarations name.
#[doc(hidden)]
pub use nacre_sys as sys;

/// Every protocol, in order of its number.
pub const PROTOCOLS: &[&describe::Protocol] = &[
    &parent::PROTOCOL,
    &memory::PROTOCOL,
    &segment::PROTOCOL,
    &file::PROTOCOL,
    &terminal::PROTOCOL,
    &directory::PROTOCOL,
    &process::PROTOCOL,
    &clock::PROTOCOL,
    &channel::PROTOCOL,
    &keyed::PROTOCOL,
    &mailbox::PROTOCOL,
    &dataspace::PROTOCOL,
    &control::PROTOCOL,
    &nic::PROTOCOL,
    &driver::PROTOCOL,
];
