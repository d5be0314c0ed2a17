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
    /// Keeps a counter of the client's going where the client may be frozen and goes on elsewhere.
    /// The counter is the processor's, plus the word of 64 bits at `offset` of a segment for data.
    /// Before the client goes on elsewhere, that word is changed so that the counter goes on where
    /// it stood. If the processor's counter has another speed there, the word at `flag` is set to
    /// 1, else to 0: while it is 1, the counter is `CLOCK_MONOTONIC` in ticks instead of the
    /// processor's counter, plus the word at `offset`. `(ticks - start) * factor >> 32` are
    /// nanoseconds of the client's counter since any moment. The port is notified with these bits
    /// when the client has gone on elsewhere, and in each copy of it. All this lasts as long as the
    /// segment. `ENOSYS`: nobody who answers here freezes the client, or the processor's counter
    /// cannot be read. `EINVAL`: no such words, or no segment for data. `ENOSPC`: the client has
    /// too many counters.
    3 follow(offset: Number, flag: Number, bits: Hex; references segment: Peer(Segment), port: Kept(Port)) -> (start: Number, factor: Number);
}
