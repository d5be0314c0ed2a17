//! The Common Protocols.
#![no_std]
