//! The machines under the core.
#![no_std]
