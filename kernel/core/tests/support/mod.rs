//! What the tests share: a machine made of vectors, a kernel on it that is driven call by call, and
//! a checker of everything that must hold between calls.
#![allow(dead_code, unused_imports, missing_docs)]

pub mod check;
pub mod hostile;
pub mod ipc_model;
pub mod machine;
pub mod random;
pub mod world;

pub use check::check;
pub use random::Random;
pub use world::World;
