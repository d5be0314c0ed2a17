//! Guests and users: threads that run another register set in another space.

mod enter;
mod short;
mod view;
