//! Moving a running environment into another machine: `move` and `receive`.

pub mod address;
pub mod receive;
pub mod rounds;
pub mod send;
pub mod wire;
