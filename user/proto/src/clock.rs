//! Protocol 8, `clock`: what time it is.

use crate::flags::CLOCKS;

crate::protocol! {
    /// Clocks of the system.
    clock = 8;

    /// The time. `EINVAL`: there is no such clock.
    1 read(which: Choice(CLOCKS)) -> (seconds: Number, nanoseconds: Number);

    /// Returns a formula with which the client reads the time by itself.
    /// `(ticks - start) * factor >> 32` are nanoseconds of `CLOCK_MONOTONIC`, where `ticks` is the
    /// processor's counter. Adding `since_1970` (modulo 2^64) gives `CLOCK_REALTIME`. The formula
    /// holds as long as the client lives. `ENOSYS`: the client must ask each time, because this
    /// clock keeps another time than the machine's or hides the counter.
    2 scale() -> (start: Number, factor: Number, since_1970: Number);
}
