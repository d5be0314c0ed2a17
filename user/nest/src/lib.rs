//! The nesting library.
#![no_std]
