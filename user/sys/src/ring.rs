//! The bytes of a pipe, or of one direction of a stream socket, in memory that several programs
//! share: read and written without a message, and without trust in what the others write there.
//!
//! The bytes lie in pages, as Linux's do: each with what one write put there, or several small ones
//! that fit together. Pages are counted for ever; page `n` lies at the `n`th place, modulo the
//! number of places. `head` and `tail` each name a page and an offset in it, in one word: what
//! comes next, and what was written last.
//!
//! Readers copy first and then move `head` with one exchange; if another was faster they copy
//! again. So a reader may end anywhere. Writers take `lock`, with a number by which whoever made
//! the ring knows them, fill places that nobody reads, and then move `tail`. A writer that ends
//! meanwhile has written nothing, and whoever made the ring takes its lock back
//! ([`Ring::break_lock`]).
//!
//! Who would have to wait marks the word of its side ([`Ring::prepare`]), looks again, and waits
//! while the word stays as it is; who changes something changes a word that is marked
//! ([`Ring::wants_call`]).
//!
//! Every word may be nonsense at any time. What is read is checked and used once; no loop is longer
//! than the ring has places, or than [`TRIES`].

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crate::Window;
use crate::raw;

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Maximum number of pages of a ring.
pub const MAX_PLACES: u64 = 256;
/// Places for words about those who use the ring.
pub const SEATS: usize = 64;
/// Attempts of a read. An attempt fails if another reader was faster.
const TRIES: usize = 64;
/// Mask of the offset in the page, in `head` and `tail`.
const OFFSET: u64 = 0xffff;
const OFFSET_BITS: u32 = 16;
/// Flag in the word of a page: the page holds one packet, which is read at once or lost.
const PACKET: u32 = 1 << 31;
/// Flag in `lock`: somebody who asks the ring's maker waits for the lock.
const WANTED: u64 = 1 << 63;
/// Flag in a word to wait at: somebody waits.
const WAITS: u32 = 1;

/// Offsets of the ring's words. Words that different sides write have cache lines of their own.
mod at {
    pub const HEAD: u64 = 0;
    pub const TAIL: u64 = 64;
    pub const LOCK: u64 = 72;
    pub const READERS: u64 = 128;
    pub const WRITERS: u64 = 136;
    pub const STATE: u64 = 144;
    pub const LIMIT: u64 = 152;
    pub const WANTS: u64 = 192;
    pub const SIDES: [u64; 2] = [256, 320];
    pub const SEATS: u64 = 512;
    pub const PAGES: u64 = 1024;
    pub const BYTES: u64 = 4096;
}

/// Event that a user of a ring waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// Something to read.
    Arrival = 0,
    /// Room.
    Departure = 1,
}

/// Flag of the state: the ring is given up.
pub const LEFT: u64 = 1;
/// Flag of the state: readers ask the ring's maker, whose bytes come first.
pub const ASK: u64 = 2;
/// Flag of the state: readers ask the ring's maker from now on, since it has an error to report
/// behind the bytes.
pub const TROUBLE: u64 = 4;

/// The words make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken;

/// A place in the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Position {
    page: u64,
    offset: u64,
}

impl Position {
    fn of(word: u64) -> Position {
        Position { page: word >> OFFSET_BITS, offset: word & OFFSET }
    }

    fn word(self) -> u64 {
        self.page << OFFSET_BITS | self.offset
    }
}

/// Bytes between two positions, as they were when both were read.
struct Stretch {
    head: u64,
    from: Position,
    to: Position,
}

/// A ring, as one of its users sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    window: Window,
    places: u64,
    words: &'static [AtomicU64; 512],
    halves: &'static [AtomicU32; 1024],
}

/// Bytes of memory that a ring of so many pages takes.
pub const fn size(places: u64) -> u64 {
    at::BYTES + places * PAGE as u64
}

impl Ring {
    /// The ring of `places` pages in a window of [`size`] bytes.
    pub fn new(window: Window, places: u64) -> Option<Ring> {
        if places > MAX_PLACES || !places.is_power_of_two() || window.size() < size(places) || window.start() % 64 != 0 {
            return None;
        }
        Some(Ring { window, places, words: raw::shared_words(window)?, halves: raw::shared_halves(window)? })
    }

    /// A ring in memory of this program, for tests.
    pub fn within(words: &'static [AtomicU64], places: u64) -> Option<Ring> {
        let skipped = (words.as_ptr() as usize).wrapping_neg() % 64 / 8;
        Ring::new(raw::window_of(words.get(skipped..)?), places)
    }

    /// Returns the number of places for pages.
    pub fn places(&self) -> u64 {
        self.places
    }

    /// Returns a word of the first page. Every offset in [`at`] lies in it.
    #[inline(always)]
    fn word(&self, offset: u64) -> &'static AtomicU64 {
        &self.words[offset as usize / 8 % 512]
    }

    #[inline(always)]
    fn side(&self, side: Side) -> &'static AtomicU32 {
        &self.halves[at::SIDES[side as usize] as usize / 4]
    }

    /// Returns the word of a page: number of bytes that are filled, and [`PACKET`]. A page that has
    /// been read keeps its word until it is used the second time from then.
    #[inline(always)]
    fn page(&self, page: u64) -> &'static AtomicU32 {
        &self.halves[(at::PAGES / 4 + page % (2 * MAX_PLACES)) as usize]
    }

    fn place(&self, page: u64, offset: u64) -> u64 {
        at::BYTES + (page & (self.places - 1)) * PAGE as u64 + offset
    }

    /// Returns the number of pages that may be in use.
    fn limit(&self) -> u64 {
        self.word(at::LIMIT).load(Ordering::Relaxed).min(self.places)
    }

    /// Sets the number of pages that may be in use. For the ring's maker.
    pub fn set_limit(&self, limit: u64) {
        self.word(at::LIMIT).store(limit, Ordering::Release);
    }

    /// Returns the number of readers and of writers, as the ring's maker has set them.
    pub fn users(&self) -> [u64; 2] {
        [at::READERS, at::WRITERS].map(|offset| self.word(offset).load(Ordering::SeqCst))
    }

    /// Sets the number of readers and of writers. For the ring's maker.
    pub fn set_users(&self, users: [usize; 2]) {
        self.word(at::READERS).store(users[0] as u64, Ordering::SeqCst);
        self.word(at::WRITERS).store(users[1] as u64, Ordering::SeqCst);
    }

    /// [`LEFT`], [`ASK`].
    pub fn state(&self) -> u64 {
        self.word(at::STATE).load(Ordering::SeqCst)
    }

    /// Sets the state. For the ring's maker.
    pub fn set_state(&self, state: u64) {
        self.word(at::STATE).store(state, Ordering::SeqCst);
    }

    /// A word about one of the users.
    pub fn seat(&self, seat: usize) -> u64 {
        self.word(at::SEATS + 8 * (seat % SEATS) as u64).load(Ordering::Relaxed)
    }

    /// Sets a word about one of the users. For the ring's maker.
    pub fn set_seat(&self, seat: usize, value: u64) {
        self.word(at::SEATS + 8 * (seat % SEATS) as u64).store(value, Ordering::Relaxed);
    }

    /// Two words of which one changes whenever something comes, and the other whenever something is
    /// taken.
    pub fn changes(&self) -> [u64; 2] {
        [self.word(at::TAIL).load(Ordering::SeqCst), self.word(at::HEAD).load(Ordering::SeqCst)]
    }

    /// Returns the bytes that can be read, or `None` if there are none.
    fn stretch(&self) -> Result<Option<Stretch>, Broken> {
        for _ in 0..TRIES {
            let head = self.word(at::HEAD).load(Ordering::SeqCst);
            let tail = self.word(at::TAIL).load(Ordering::SeqCst);
            match self.between(head, tail) {
                // Another has read meanwhile, and the page was used again.
                Err(Broken) if self.word(at::HEAD).load(Ordering::SeqCst) != head => {}
                between => return between,
            }
        }
        Err(Broken)
    }

    fn between(&self, head: u64, tail: u64) -> Result<Option<Stretch>, Broken> {
        if head == tail {
            return Ok(None);
        }
        let (mut from, to) = (Position::of(head), Position::of(tail));
        if from.page < to.page && from.offset == self.filled(from.page, to).0 {
            from = Position { page: from.page + 1, offset: 0 };
        }
        let count = to.page.checked_sub(from.page).ok_or(Broken)?;
        let sound = count < self.places && to.offset <= PAGE as u64 && (count > 0 || from.offset < to.offset) && from.offset < PAGE as u64;
        if sound { Ok(Some(Stretch { head, from, to })) } else { Err(Broken) }
    }

    /// Returns the end of the filled part of a page, and true if it is a packet.
    fn filled(&self, page: u64, to: Position) -> (u64, bool) {
        let word = self.page(page).load(Ordering::Relaxed);
        let filled = if page == to.page { to.offset } else { u64::from(word & !PACKET) };
        (filled.min(PAGE as u64), word & PACKET != 0)
    }

    /// Returns the number of pages in use.
    pub fn used(&self) -> u64 {
        match self.stretch() {
            Ok(Some(stretch)) => stretch.to.page - stretch.from.page + 1,
            Ok(None) => 0,
            Err(Broken) => self.places,
        }
    }

    /// Returns the number of bytes that can be read.
    pub fn bytes(&self) -> usize {
        let Ok(Some(Stretch { from, to, .. })) = self.stretch() else { return 0 };
        let filled = (from.page..=to.page).map(|page| self.filled(page, to).0).sum::<u64>();
        filled.saturating_sub(from.offset) as usize
    }

    /// Returns true if there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.word(at::HEAD).load(Ordering::SeqCst) == self.word(at::TAIL).load(Ordering::SeqCst) || matches!(self.stretch(), Ok(None))
    }

    /// Returns true if a page is free.
    pub fn has_room(&self) -> bool {
        self.used() < self.limit()
    }

    /// Copies what comes first, from the offset `skipped` on, up to the size of `into` or the end
    /// of a packet: how much, and where that ends.
    fn copy_out(&self, stretch: &Stretch, into: &mut [u8], mut skipped: usize) -> (usize, Position) {
        let (mut at, mut done) = (stretch.from, 0);
        while done < into.len() {
            let (filled, is_packet) = self.filled(at.page, stretch.to);
            let there = filled.saturating_sub(at.offset) as usize;
            let passed = skipped.min(there);
            let count = (there - passed).min(into.len() - done);
            // Both are within a page.
            let _ = self.window.read(self.place(at.page, at.offset + passed as u64), &mut into[done..done + count]);
            (skipped, done) = (skipped - passed, done + count);
            at.offset = if is_packet { filled } else { at.offset + (passed + count) as u64 };
            if at.offset < filled || at.page == stretch.to.page {
                break;
            }
            at = Position { page: at.page + 1, offset: 0 };
            if is_packet {
                break;
            }
        }
        (done, at)
    }

    /// Copies what comes first, behind `skipped` bytes, and leaves it there; `None`: there is
    /// nothing.
    pub fn look(&self, into: &mut [u8], skipped: usize) -> Result<Option<usize>, Broken> {
        Ok(self.stretch()?.map(|stretch| self.copy_out(&stretch, into, skipped).0))
    }

    /// Takes what comes first, and says whether there is more room now; `None`: there is nothing,
    /// or others are always faster.
    pub fn take(&self, into: &mut [u8]) -> Result<Option<(usize, bool)>, Broken> {
        for _ in 0..TRIES {
            let Some(stretch) = self.stretch()? else { return Ok(None) };
            let (count, at) = self.copy_out(&stretch, into, 0);
            // What was copied is whole before it is given up.
            if self.word(at::HEAD).compare_exchange(stretch.head, at.word(), Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                return Ok(Some((count, at.page != stretch.from.page || at == stretch.to)));
            }
        }
        Ok(None)
    }

    /// Takes what is in the first page, and says whether it is a packet.
    pub fn take_page(&self, into: &mut [u8; PAGE]) -> Result<Option<(usize, bool)>, Broken> {
        for _ in 0..TRIES {
            let Some(Stretch { head, from, to }) = self.stretch()? else { return Ok(None) };
            let (filled, is_packet) = self.filled(from.page, to);
            let first = Stretch { head, from, to: Position { page: from.page, offset: filled } };
            let (count, _) = self.copy_out(&first, &mut into[..], 0);
            let end = Position { page: from.page, offset: filled };
            if self.word(at::HEAD).compare_exchange(head, end.word(), Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                return Ok(Some((count, is_packet)));
            }
        }
        Err(Broken)
    }

    /// Takes the lock for `user`, a number from 1 on that nobody else has.
    pub fn lock(&self, user: u64) -> bool {
        self.word(at::LOCK).compare_exchange(0, user, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Gives it back; whether somebody has said that he wants it.
    pub fn unlock(&self) -> bool {
        self.word(at::LOCK).swap(0, Ordering::SeqCst) & WANTED != 0
    }

    /// Says that the lock is wanted, which somebody has; false: nobody has any more.
    pub fn want_lock(&self) -> bool {
        let holder = self.word(at::LOCK).load(Ordering::SeqCst);
        holder != 0 && self.word(at::LOCK).compare_exchange(holder, holder | WANTED, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Returns true if somebody has the lock.
    pub fn is_locked(&self) -> bool {
        self.word(at::LOCK).load(Ordering::SeqCst) != 0
    }

    /// Frees the lock of a user that has gone. For the ring's maker.
    pub fn break_lock(&self, user: u64) {
        let holder = self.word(at::LOCK).load(Ordering::SeqCst);
        if holder & !WANTED == user {
            // If it is another's already there is nothing to do.
            let _ = self.word(at::LOCK).compare_exchange(holder, 0, Ordering::SeqCst, Ordering::Relaxed);
        }
    }

    /// Puts as many of the bytes as there is room for; `None`: there is none. Bytes up to a page
    /// are put whole or not at all. The caller has the lock.
    pub fn put(&self, data: &[u8], is_packet: bool) -> Result<Option<usize>, Broken> {
        let tail = self.word(at::TAIL).load(Ordering::SeqCst);
        let (used, joined) = match self.stretch()? {
            None => (0, 0),
            Some(Stretch { from, to, .. }) => {
                let fits = !is_packet && !self.filled(to.page, to).1 && to.offset as usize + data.len() % PAGE <= PAGE;
                (to.page - from.page + 1, if fits { data.len() % PAGE } else { 0 })
            }
        };
        let count = data.len().min(joined + self.limit().saturating_sub(used) as usize * PAGE);
        if count == 0 || data.len() <= PAGE && count < data.len() {
            return Ok(None);
        }
        let mut at = Position::of(tail);
        at.offset = at.offset.min(PAGE as u64 - joined as u64);
        let (first, rest) = data[..count].split_at(joined);
        if first.is_empty() {
            // Somebody may have ended before he said that he had written more here.
            let last = self.page(at.page);
            last.store(last.load(Ordering::Relaxed) & PACKET | at.offset as u32, Ordering::Relaxed);
        } else {
            at = self.fill(at, first, false);
        }
        for chunk in rest.chunks(PAGE) {
            at = self.fill(Position { page: at.page + 1, offset: 0 }, chunk, is_packet);
        }
        self.word(at::TAIL).store(at.word(), Ordering::SeqCst);
        Ok(Some(count))
    }

    /// Fills a part of a page that nobody reads yet; where it ends.
    fn fill(&self, at: Position, data: &[u8], is_packet: bool) -> Position {
        // It is within a page.
        let _ = self.window.write(self.place(at.page, at.offset), data);
        let end = at.offset + data.len() as u64;
        self.page(at.page).store(end as u32 | if is_packet { PACKET } else { 0 }, Ordering::Release);
        Position { offset: end, ..at }
    }

    /// Adds a page of which `skipped` bytes have been read already. For the ring's maker, before
    /// others see the ring.
    pub fn add_page(&self, data: &[u8], skipped: usize, is_packet: bool) -> bool {
        let last = Position::of(self.word(at::TAIL).load(Ordering::Relaxed));
        if skipped + data.len() > PAGE || data.is_empty() || last.page >= self.places {
            return false;
        }
        let start = Position { page: last.page + 1, offset: skipped as u64 };
        if last.page == 0 {
            self.word(at::HEAD).store(start.word(), Ordering::Relaxed);
        }
        self.word(at::TAIL).store(self.fill(start, data, is_packet).word(), Ordering::SeqCst);
        true
    }

    /// The word to wait at, and what it says as long as nothing has changed. Whoever waits looks
    /// again in between.
    pub fn prepare(&self, side: Side) -> (&'static AtomicU32, u32) {
        let word = self.side(side);
        let expected = word.fetch_or(WAITS, Ordering::SeqCst) | WAITS;
        fence(Ordering::SeqCst);
        (word, expected)
    }

    /// After a change: whether somebody waits for it, whose word is another now.
    pub fn wants_call(&self, side: Side) -> bool {
        fence(Ordering::SeqCst);
        let word = self.side(side);
        let before = word.load(Ordering::SeqCst);
        // If the word is another by now, whoever made it so calls, or whoever waits sees the
        // change.
        before & WAITS != 0 && word.compare_exchange(before, before.wrapping_add(1), Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Asks to hear of all changes. For the ring's maker.
    pub fn want(&self) {
        self.word(at::WANTS).fetch_or(3, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// After a change: whether the ring's maker wants to hear of it. Then it does no more.
    pub fn is_wanted(&self, side: Side) -> bool {
        let bit = 1 << side as u64;
        self.word(at::WANTS).load(Ordering::SeqCst) & bit != 0 && self.word(at::WANTS).fetch_and(!bit, Ordering::SeqCst) & bit != 0
    }
}

#[cfg(test)]
mod tests;
