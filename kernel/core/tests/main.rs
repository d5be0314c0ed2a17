//! The core on the host. One binary, since each would compile the whole kernel anew over the fake
//! machine.

mod calls;
mod composition;
mod copied;
mod ended;
mod export;
mod faults;
mod given;
mod guests;
mod hostile;
mod ipc;
mod regressions;
mod moving;
mod overlays;
mod owned;
mod schedule;
mod scheduler_state;
mod short;
mod support;
mod time;
mod views;
