//! Words of memory that processes share and wait at.

use crate::abi::errno::Answer;
use crate::services::segment::{Point, Segment};
use alloc::rc::Rc;
use nacre_proto::segment;
use nacre_sys::{Condition, Reference};

/// A word at which processes can wait for each other.
pub struct Meeting {
    pub segment: Rc<Segment>,
    pub port: Reference,
    pub offset: u64,
    pub address: u64,
}

impl Meeting {
    /// Wakes up to `count` of those who wait.
    pub fn wake(&self, count: u64, bits: u32) -> Answer {
        let woken = self.condition().map_or(0, |condition| signal(condition, count));
        if woken >= count {
            return Ok(woken);
        }
        // Others wait by messages.
        Ok(woken + segment::wake(self.port, self.offset, count - woken, bits.into())?.woken)
    }

    /// The condition of the word, once it was used often.
    pub fn condition(&self) -> Option<Reference> {
        let mut points = self.segment.points.borrow_mut();
        let known = points.iter().position(|point| point.offset == self.offset);
        let index = known.or_else(|| {
            let has_room = points.len() < MAX_POINTS && points.try_reserve(1).is_ok();
            has_room.then(|| points.push(Point { offset: self.offset, used: 0, condition: None }))?;
            Some(points.len() - 1)
        })?;
        let point = &mut points[index];
        if point.condition.is_none() {
            point.used = point.used.saturating_add(1);
            if point.used == FIRST {
                // A server that has none is asked as before.
                point.condition = segment::meet(self.port, self.offset).ok().map(|reply| reply.condition);
            }
        }
        point.condition.as_ref().map(|condition| condition.handle())
    }

    /// Wakes up to `count` and lets up to `most` more wait at another place; if that is in other
    /// memory they are woken, as a wait may end for nothing.
    pub fn requeue(&self, count: u64, most: u64, to: &Meeting) -> Answer {
        if Rc::ptr_eq(&self.segment, &to.segment) {
            return Ok(segment::requeue(self.port, self.offset, count, most, to.offset)?.done);
        }
        self.wake(count.saturating_add(most), u32::MAX)
    }
}

/// Number of waits and wakes after which the library asks for the condition.
const FIRST: u32 = 16;
/// Maximum number of counted words of a segment.
const MAX_POINTS: usize = 64;
/// Maximum number of threads that one call of the kernel wakes, and of such calls.
const WOKEN: u64 = 64;
const CALLS: usize = 64;

/// Wakes up to `count` threads that wait at a condition.
fn signal(condition: Reference, count: u64) -> u64 {
    let mut woken = 0;
    for _ in 0..CALLS {
        let most = WOKEN.min(count - woken);
        // A condition that has gone has nobody.
        let now = Condition::through(condition).signal(most).unwrap_or(0).min(most);
        woken += now;
        if now < WOKEN {
            break;
        }
    }
    woken
}
