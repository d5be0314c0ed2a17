//! The time that the devices go by.

use nacre_proto::flags::SERVICE_CLOCK;
use nacre_proto::{Errno, clock, parent};
use nacre_sys::Reference;
use nacre_sys::clock::{Scale, ticks};

/// Nanoseconds a second.
const SECOND: u64 = 1_000_000_000;

/// The parent's clock, read without asking it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    scale: Scale,
    since_1970: u64,
}

impl Clock {
    /// Asks the parent for its clock's formula.
    pub fn find() -> Result<Clock, Errno> {
        let service = parent::find(Reference::PARENT, SERVICE_CLOCK)?.found;
        let reply = clock::scale(service.handle())?;
        Ok(Clock { scale: Scale { start: reply.start, factor: reply.factor }, since_1970: reply.since_1970 })
    }

    /// Nanoseconds.
    pub fn now(&self) -> u64 {
        self.scale.nanoseconds(ticks())
    }

    /// Nanoseconds when the processor's counter says so.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        self.scale.nanoseconds(ticks)
    }

    /// Ticks of the counter a second.
    pub fn frequency(&self) -> u64 {
        const PART: u32 = 32;
        (u128::from(SECOND) << PART).checked_div(u128::from(self.scale.factor)).map_or(0, |ticks| ticks as u64)
    }

    /// Nanoseconds since 1970 when this clock said 0.
    pub fn start_of_machine(&self) -> u64 {
        self.since_1970
    }
}
