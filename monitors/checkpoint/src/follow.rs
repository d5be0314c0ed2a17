//! Counters of an environment: how they begin, go into an image, and go on (`clock.follow`).

use crate::counters::{Counter, Moment, change, own_speed};
use crate::outside::{Outside, Parts, What};
use alloc::vec::Vec;
use nacre_abi::message::KERNEL_BITS;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::{Errno, Request};
use nacre_snapshot::image::{self, Facts};
use nacre_snapshot::{Access, Frame, Place, Trouble};
use nacre_sys::{OwnedReference, Window};

/// Maximum number of counters of an environment.
const MAX_COUNTERS: usize = 256;
/// Bytes of a word.
const WORD: u64 = 8;

impl Outside {
    /// Begins to keep a counter of a program inside.
    pub fn follow(&mut self, request: &mut Request<'_>) -> Result<Parts, Errno> {
        let [offset, flag, bits, ..] = request.words();
        let (speed, scale) = own_speed(&self.clock).zip(self.clock.scale()).ok_or(Errno::ENOSYS)?;
        let &[reference, port] = request.references() else { return Err(Errno::EPROTO) };
        if port.get_state()?.rights & REFERENCE_NOTIFY == 0 {
            return Err(Errno::EACCES);
        }
        // One of somebody else's is none that we freeze.
        let segment = self.number_behind(reference)?.ok_or(Errno::ENOSYS)?;
        self.words_of(segment, offset, flag).ok_or(Errno::EINVAL)?;
        if self.counters.len() >= MAX_COUNTERS {
            return Err(Errno::ENOSPC);
        }
        self.counters.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
        let told = (request.keep(1)?, bits & !KERNEL_BITS);
        self.counters.push(Counter { segment, offset, flag, told, speed, is_asked: false });
        Ok(([scale.start, scale.factor, 0, 0, 0, 0], Vec::new()))
    }

    /// Forgets the counters in a segment that goes.
    pub fn forget_counters(&mut self, segment: u64) {
        self.counters.retain(|counter| counter.segment != segment);
    }

    /// Returns both words of a counter, if they lie in a segment for data.
    fn words_of(&self, segment: u64, offset: u64, flag: u64) -> Option<(Window, Window)> {
        let What::Segment(piece, _) = &self.entry(segment)?.what else { return None };
        piece.data()?;
        let word = |offset: u64| {
            let fits = offset.is_multiple_of(WORD) && offset < piece.size;
            if fits { self.arena.window(piece.offset + offset, WORD) } else { None }
        };
        Some((word(offset)?, word(flag)?))
    }

    /// Lets us write to a word of a segment for data.
    fn make_writable(&mut self, segment: u64, offset: u64) -> Result<(), Errno> {
        let found = self.entry(segment).and_then(|entry| if let What::Segment(piece, _) = &entry.what { piece.data() } else { None });
        let (start, end) = found.ok_or(Errno::EINVAL)?;
        self.arena.data.fault(start + offset, (start, end))
    }

    /// Returns the counters as an image has them.
    pub fn counters_to_image(&mut self, frame: &Frame) -> Result<Vec<image::Counter>, Trouble> {
        let mut all = Vec::new();
        for number in 0..self.counters.len() {
            let Counter { segment, offset, flag, told: (port, bits), speed, is_asked } = &self.counters[number];
            let (port, bits) = (port.handle().0, *bits);
            let counter = image::Counter { segment: *segment, offset: *offset, flag: *flag, told: (Place::Nothing, bits), speed: *speed, is_asked: *is_asked };
            let place = frame.target_of(&mut self.arena, port)?;
            all.push(image::Counter { told: (place, bits), ..counter });
        }
        Ok(all)
    }

    /// Takes the counters of an image over, and tells whoever has them.
    pub fn take_counters(&mut self, counters: &[image::Counter], frame: &Frame) -> Result<(), Errno> {
        for counter in counters.iter().take(MAX_COUNTERS) {
            let image::Counter { segment, offset, flag, told: (place, bits), speed, is_asked } = *counter;
            let told = OwnedReference::null()?;
            if let Place::Inside(_) = place {
                let arguments = [frame.address(place), told.handle().0, REFERENCE_USE | REFERENCE_NOTIFY, 0, 0, 0, 0, 0];
                let _ = self.arena.call(nacre_abi::Call::PortReference, arguments);
            }
            // One that has gone need not hear of it.
            let _ = nacre_sys::ipc::notify(told.handle(), bits & !KERNEL_BITS);
            self.counters.push(Counter { segment, offset, flag, told: (told, bits), speed, is_asked });
        }
        Ok(())
    }

    /// Lets the counters of an image go on here, where nothing of it runs yet.
    pub fn move_counters(&mut self, facts: &Facts, monotonic: u64) -> Result<(), Errno> {
        let frozen = Moment { ticks: facts.ticks, monotonic: facts.monotonic };
        let (now, own) = (Moment { ticks: nacre_sys::clock::ticks(), monotonic }, own_speed(&self.clock));
        for (number, counter) in facts.counters.iter().enumerate().take(MAX_COUNTERS) {
            let (added, is_asked) = change(counter, frozen, now, own);
            [counter.offset, counter.flag].iter().try_for_each(|offset| self.make_writable(counter.segment, *offset))?;
            let (word, flag) = self.words_of(counter.segment, counter.offset, counter.flag).ok_or(Errno::EINVAL)?;
            let old = word.read_word(0).ok_or(Errno::EFAULT)?;
            word.write_word(0, old.wrapping_add(added)).and_then(|()| flag.write_word(0, is_asked.into())).ok_or(Errno::EFAULT)?;
            if let Some(counter) = self.counters.get_mut(number) {
                counter.is_asked = is_asked;
            }
        }
        Ok(())
    }
}
