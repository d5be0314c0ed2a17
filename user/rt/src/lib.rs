//! Start-up and memory of native programs.
#![no_std]
