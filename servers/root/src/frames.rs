//! The allocator of physical memory: one bit for each 4 KiB frame, searched from where the last
//! search ended.
//!
//! A set bit is a frame in use (or a hole). Runs are contiguous and of any length, so nothing is
//! lost to rounding.

use alloc::vec::Vec;
use core::ops::Range;

/// Bytes in a frame.
pub const FRAME: u64 = 4096;

/// The frames from `base` on.
pub struct Frames {
    used: &'static mut [u64],
    /// Bit map of free frames that are known to hold zeros.
    zero: &'static mut [u64],
    base: u64,
    count: u64,
    free: u64,
    next: u64,
    /// Frames that [`allocate`](Self::allocate) leaves for
    /// [`allocate_reserved`](Self::allocate_reserved).
    reserve: u64,
}

impl Frames {
    /// Returns the number of words of a bit map for `size` bytes of memory.
    pub const fn words_for(size: u64) -> usize {
        size.div_ceil(FRAME).div_ceil(64) as usize
    }

    /// A map of `size` bytes from `base` on in which every frame is in use. `used` and `zero` have
    /// [`words_for`](Self::words_for) words each.
    pub fn new(used: &'static mut [u64], zero: &'static mut [u64], base: u64, size: u64) -> Frames {
        used.fill(u64::MAX);
        let count = (size / FRAME).min(used.len().min(zero.len()) as u64 * 64);
        Frames { used, zero, base: base / FRAME, count, free: 0, next: 0, reserve: 0 }
    }

    /// Reserves `bytes` for the server itself, beginning now.
    pub fn set_reserve(&mut self, bytes: u64) {
        self.reserve = bytes / FRAME;
    }

    /// Bytes that are free.
    pub fn free_bytes(&self) -> u64 {
        self.free * FRAME
    }

    /// Bytes that clients can still have.
    pub fn available_bytes(&self) -> u64 {
        self.free.saturating_sub(self.reserve) * FRAME
    }

    /// Gives back (or adds) `size` bytes at `start`, both multiples of a frame; `is_zero` tells
    /// whether they are known to be zeros.
    pub fn release(&mut self, start: u64, size: u64, is_zero: bool) {
        let first = start / FRAME - self.base;
        for (index, bits) in words_of(first, (first + size / FRAME).min(self.count)) {
            let word = &mut self.used[index];
            self.free += u64::from((*word & bits).count_ones());
            *word &= !bits;
            let zero = &mut self.zero[index];
            *zero = if is_zero { *zero | bits } else { *zero & !bits };
        }
        self.next = self.next.min(first);
    }

    /// `size` bytes (rounded up to frames) for a client, at a multiple of `alignment`; leaves the
    /// reserve alone.
    pub fn allocate(&mut self, size: u64, alignment: u64) -> Option<u64> {
        if size.div_ceil(FRAME) > self.free.saturating_sub(self.reserve) {
            return None;
        }
        self.allocate_reserved(size, alignment)
    }

    /// Allocates `size` bytes for a client at a multiple of `alignment`, all below the address
    /// `end`.
    pub fn allocate_below(&mut self, size: u64, alignment: u64, end: u64) -> Option<u64> {
        let (frames, alignment) = (size.div_ceil(FRAME), alignment.div_ceil(FRAME).max(1));
        if frames == 0 || frames > self.free.saturating_sub(self.reserve) {
            return None;
        }
        let first = self.search(0, (end / FRAME).saturating_sub(self.base).min(self.count), frames, alignment)?;
        self.take(first, frames);
        Some((self.base + first) * FRAME)
    }

    /// Allocates `size` bytes for a client in frames of some colours: frames whose number modulo
    /// `colours`, a
    /// power of two, lies in `chosen`. Adds the runs to `runs`, which is empty, in the order of
    /// their addresses: no more than it has room for. The heap may need frames meanwhile, so
    /// nothing is allocated here.
    pub fn allocate_coloured(&mut self, size: u64, colours: u64, chosen: Range<u64>, runs: &mut Vec<(u64, u64)>) -> Option<()> {
        let mut missing = size.div_ceil(FRAME);
        if missing == 0 || missing > self.free.saturating_sub(self.reserve) {
            return None;
        }
        let mut period = self.base & !(colours - 1);
        while missing > 0 {
            let low = (period + chosen.start).max(self.base) - self.base;
            let high = (period + chosen.end).saturating_sub(self.base).min(self.count);
            if low >= self.count {
                return None;
            }
            let mut at = self.next_with(low, high.max(low), false);
            while at < high && missing > 0 {
                let count = (self.next_with(at, high, true) - at).min(missing);
                if runs.len() == runs.capacity() {
                    return None;
                }
                runs.push((at, count));
                missing -= count;
                at = self.next_with(at + count, high, false);
            }
            period += colours;
        }
        runs.iter().for_each(|(first, count)| self.take(*first, *count));
        runs.iter_mut().for_each(|run| *run = ((self.base + run.0) * FRAME, run.1 * FRAME));
        Some(())
    }

    /// Returns true if `size` bytes at `start`, both multiples of a frame, held zeros when they
    /// were last freed.
    pub fn is_zero(&self, start: u64, size: u64) -> bool {
        let first = start / FRAME - self.base;
        words_of(first, (first + size / FRAME).min(self.count)).all(|(index, bits)| self.zero[index] & bits == bits)
    }

    /// `size` bytes for the server itself.
    pub fn allocate_reserved(&mut self, size: u64, alignment: u64) -> Option<u64> {
        let frames = size.div_ceil(FRAME);
        let alignment = alignment.div_ceil(FRAME).max(1);
        if frames == 0 || frames > self.free {
            return None;
        }
        let from = self.next;
        let first = self.search(from, self.count, frames, alignment).or_else(|| self.search(0, self.count, frames, alignment))?;
        self.take(first, frames);
        if frames == 1 || alignment == 1 {
            self.next = first + frames;
        }
        Some((self.base + first) * FRAME)
    }

    /// Takes `size` bytes at `start`, both multiples of a frame, if they are free and a client may
    /// have so many.
    pub fn allocate_at(&mut self, start: u64, size: u64) -> bool {
        let (first, frames) = ((start / FRAME).wrapping_sub(self.base), size / FRAME);
        let fits = first.checked_add(frames).is_some_and(|end| end <= self.count);
        if !fits || frames > self.free.saturating_sub(self.reserve) || self.next_with(first, first + frames, true) != first + frames {
            return false;
        }
        self.take(first, frames);
        true
    }

    fn take(&mut self, first: u64, frames: u64) {
        for (index, bits) in words_of(first, first + frames) {
            self.used[index] |= bits;
        }
        self.free -= frames;
    }

    fn search(&self, from: u64, end: u64, frames: u64, alignment: u64) -> Option<u64> {
        let mut at = from;
        loop {
            let free = self.next_with(at, end, false);
            // Alignment is of the physical address, not of the frame's number in this map.
            let first = (self.base + free).next_multiple_of(alignment) - self.base;
            if first + frames > end {
                return None;
            }
            let stop = self.next_with(first, first + frames, true);
            if stop == first + frames {
                return Some(first);
            }
            at = stop;
        }
    }

    /// The first frame in `from..end` whose bit is `used`, or `end`.
    fn next_with(&self, from: u64, end: u64, used: bool) -> u64 {
        let mut frame = from;
        while frame < end {
            let word = self.used[(frame / 64) as usize];
            let wanted = (if used { word } else { !word }) >> (frame % 64);
            if wanted != 0 {
                return end.min(frame + u64::from(wanted.trailing_zeros()));
            }
            frame = (frame / 64 + 1) * 64;
        }
        end
    }
}

/// The words that hold the bits `first..end`, and which bits of each.
fn words_of(first: u64, end: u64) -> impl Iterator<Item = (usize, u64)> {
    let mut bit = first;
    core::iter::from_fn(move || {
        let count = (64 - bit % 64).min(end.saturating_sub(bit));
        let part = (bit / 64, bit % 64);
        bit += count;
        (count > 0).then(|| (part.0 as usize, (u64::MAX >> (64 - count)) << part.1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{boxed::Box, vec, vec::Vec};

    fn frames(size: u64) -> Frames {
        let words = || Box::leak(vec![0u64; Frames::words_for(size)].into_boxed_slice());
        Frames::new(words(), words(), 0x10_0000, size)
    }

    #[test]
    fn holes_are_never_handed_out() {
        let mut frames = frames(100 * FRAME);
        frames.release(0x10_0000, 10 * FRAME, false);
        frames.release(0x10_0000 + 20 * FRAME, 70 * FRAME, false);
        assert_eq!(frames.allocate(11 * FRAME, FRAME), Some(0x10_0000 + 20 * FRAME));
        assert_eq!(frames.allocate(10 * FRAME, FRAME), Some(0x10_0000 + 31 * FRAME));
        assert_eq!(frames.allocate(60 * FRAME, FRAME), None);
        assert_eq!(frames.allocate(49 * FRAME, FRAME), Some(0x10_0000 + 41 * FRAME));
        assert_eq!(frames.allocate(10 * FRAME, FRAME), Some(0x10_0000));
        assert_eq!(frames.free_bytes(), 0);
    }

    #[test]
    fn large_runs_are_aligned_as_asked() {
        let mut frames = frames(16 << 20);
        frames.release(0x10_0000, 15 << 20, false);
        assert_eq!(frames.allocate(FRAME, FRAME), Some(0x10_0000));
        assert_eq!(frames.allocate(2 << 20, 2 << 20), Some(0x20_0000));
        assert_eq!(frames.allocate(FRAME, FRAME), Some(0x10_0000 + FRAME));
    }

    #[test]
    fn what_is_known_to_be_zeros_is_forgotten_when_it_comes_back_otherwise() {
        let mut frames = frames(100 * FRAME);
        frames.release(0x10_0000, 100 * FRAME, false);
        let start = frames.allocate(10 * FRAME, FRAME).unwrap();
        assert!(!frames.is_zero(start, 10 * FRAME));
        frames.release(start, 10 * FRAME, true);
        assert!(frames.is_zero(start, 10 * FRAME) && !frames.is_zero(start, 11 * FRAME));
        frames.release(start + 3 * FRAME, FRAME, false);
        assert!(frames.is_zero(start, 3 * FRAME) && !frames.is_zero(start, 4 * FRAME));
    }

    #[test]
    fn a_run_lies_below_the_address_that_is_asked_for() {
        let mut frames = frames(100 * FRAME);
        frames.release(0x10_0000, 100 * FRAME, false);
        assert_eq!(frames.allocate_below(8 * FRAME, 16 * FRAME, 0x10_0000 + 8 * FRAME), Some(0x10_0000));
        assert_eq!(frames.allocate_below(FRAME, FRAME, 0x10_0000 + 8 * FRAME), None);
        assert_eq!(frames.allocate_below(FRAME, 16 * FRAME, u64::MAX), Some(0x10_0000 + 16 * FRAME));
        assert_eq!(frames.allocate_below(FRAME, FRAME, 0x1000), None);
    }

    #[test]
    fn coloured_runs_are_free_frames_of_their_colours() {
        let mut frames = frames(64 * FRAME);
        frames.release(0x10_0000, 64 * FRAME, false);
        let start = |frame: u64| 0x10_0000 + frame * FRAME;
        let take = |frames: &mut Frames, size, most| {
            let mut runs = Vec::with_capacity(most);
            frames.allocate_coloured(size, 16, 0..3, &mut runs).map(|()| runs)
        };
        assert!(frames.allocate_at(start(1), FRAME));
        assert_eq!(take(&mut frames, 4 * FRAME, 2), None, "there is room for two runs alone");
        assert_eq!(take(&mut frames, 4 * FRAME, 8), Some(vec![(start(0), FRAME), (start(2), FRAME), (start(16), 2 * FRAME)]));
        assert_eq!(take(&mut frames, 9 * FRAME, 8), None);
        assert_eq!(frames.free_bytes(), 59 * FRAME);
        assert_eq!(take(&mut frames, 7 * FRAME, 8).map(|runs| runs.iter().map(|run| run.1 / FRAME).sum()), Some(7));
        assert_eq!(take(&mut frames, FRAME, 8), None);
    }

    #[test]
    fn the_reserve_is_kept_back() {
        let mut frames = frames(16 * FRAME);
        frames.release(0x10_0000, 16 * FRAME, false);
        frames.set_reserve(4 * FRAME);
        assert_eq!(frames.allocate(13 * FRAME, FRAME), None);
        assert!(frames.allocate(12 * FRAME, FRAME).is_some());
        assert_eq!(frames.allocate(1, FRAME), None);
        assert!(frames.allocate_reserved(4 * FRAME, FRAME).is_some());
    }

    #[test]
    fn a_run_is_extended_into_free_frames_only() {
        let mut frames = frames(16 * FRAME);
        frames.release(0x10_0000, 8 * FRAME, false);
        let start = frames.allocate(FRAME, FRAME).unwrap();
        assert!(frames.allocate_at(start + FRAME, 3 * FRAME));
        assert!(!frames.allocate_at(start + 3 * FRAME, FRAME));
        assert!(!frames.allocate_at(start + 4 * FRAME, 5 * FRAME));
        assert!(!frames.allocate_at(0, FRAME));
        assert_eq!(frames.free_bytes(), 4 * FRAME);
    }

    #[test]
    fn random_use_never_overlaps() {
        let mut frames = frames(1000 * FRAME);
        frames.release(0x10_0000, 1000 * FRAME, false);
        let mut live: Vec<(u64, u64)> = Vec::new();
        let mut random = 12345u64;
        for _ in 0..5000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if random >> 63 == 0 && !live.is_empty() {
                let (start, size) = live.swap_remove((random >> 33) as usize % live.len());
                frames.release(start, size, false);
            } else if let Some(start) = frames.allocate((random >> 40) % 40 * FRAME + 1, FRAME) {
                let size = ((random >> 40) % 40 + 1) * FRAME;
                assert!(live.iter().all(|&(other, length)| start + size <= other || other + length <= start));
                live.push((start, size));
            }
        }
        let used: u64 = live.iter().map(|run| run.1).sum();
        assert_eq!(frames.free_bytes(), 1000 * FRAME - used);
    }
}
