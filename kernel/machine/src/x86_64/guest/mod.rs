//! Guests, by AMD's SVM with nested paging.

pub mod enter;
pub mod entry;
pub mod pages;
mod vmcb;
mod world;
