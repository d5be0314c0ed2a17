//! Guests: threads that run another register set in another space.

mod enter;
mod view;
