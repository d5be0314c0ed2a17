//! Protocol 8, `clock`: what time it is.

use crate::flags::CLOCKS;

crate::protocol! {
    /// What time it is.
    clock = 8;

    /// The time. `EINVAL`: there is no such clock.
    1 read(which: Choice(CLOCKS)) -> (seconds: Number, nanoseconds: Number);

    /// How to tell the time without asking: ticks of the processor's counter since `start`, times
    /// `factor`, shifted right by 32, are nanoseconds of `CLOCK_MONOTONIC`, and `since_1970` more
    /// (modulo 2^64) are `CLOCK_REALTIME`. That is so for as long as the client lives. `ENOSYS`:
    /// the clock must be asked each time. So answers who keeps another time than the machine's, and
    /// who hides the counter.
    2 scale() -> (start: Number, factor: Number, since_1970: Number);
}
