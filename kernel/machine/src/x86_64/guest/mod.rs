//! Guests, by AMD's SVM: with nested paging, or on the tables of their spaces.

pub mod enter;
pub mod entry;
pub mod pages;
mod shadow;
mod vmcb;
mod world;
