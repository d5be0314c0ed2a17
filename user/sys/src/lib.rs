//! Typed handles of kernel objects.
#![no_std]
