//! Protocol `clock`.

use crate::boot::clock_scale;
use crate::hardware::monotonic;
use crate::root::Root;
use nacre_proto::clock::{Server, read, scale};
use nacre_proto::flags::{CLOCK_MONOTONIC, CLOCK_REALTIME};
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::clock::Scale;

impl Server for Root {
    fn read(&mut self, _: &mut Request<'_>, which: u64) -> HandlerResult<read::Output> {
        match which {
            CLOCK_REALTIME => {
                let now = self.files.clock.now();
                read::Output { seconds: now.seconds as u64, nanoseconds: u64::from(now.nanoseconds) }.now()
            }
            CLOCK_MONOTONIC => {
                let now = monotonic();
                read::Output { seconds: now / 1_000_000_000, nanoseconds: now % 1_000_000_000 }.now()
            }
            _ => Err(Errno::EINVAL),
        }
    }

    fn scale(&mut self, _: &mut Request<'_>) -> HandlerResult<scale::Output> {
        let Scale { start, factor } = clock_scale().ok_or(Errno::ENOSYS)?;
        scale::Output { start, factor, since_1970: self.files.clock.since_1970() }.now()
    }
}
