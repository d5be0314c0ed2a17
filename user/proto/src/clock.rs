//! Protocol 8, `clock`: what time it is.

use crate::flags::CLOCKS;

crate::protocol! {
    /// What time it is.
    clock = 8;

    /// The time. `EINVAL`: there is no such clock.
    1 read(which: Choice(CLOCKS)) -> (seconds: Number, nanoseconds: Number);
}
