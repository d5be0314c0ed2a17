//! Exceptions of instructions that write to watched memory, and what follows them.

use crate::breakpoints::Pages;
use crate::copier::Copier;
use crate::inferior::Inferior;
use crate::library::is_in_library;
use crate::stops::{KIND_STEP, TRAP, Verdict};
use crate::threads::{Mode, TRAP_FLAG};
use crate::fronts::Place;
use nacre_abi::fault::{KIND_BREAKPOINT, KIND_MEMORY};
use nacre_abi::state::ThreadState;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use nacre_gdb::Reason;
use nacre_nest::host::Exception;

/// An exception of a thread that is stopped.
pub struct Raised<'a> {
    /// Number of the thread.
    pub thread: u32,
    /// The exception.
    pub exception: &'a Exception,
    /// State of the thread.
    pub state: ThreadState,
    /// Number of the instruction, among those that write to watched pages, before which the thread
    /// is to stop.
    pub awaited_touch: Option<u64>,
    /// The thread is to stop behind the call that it makes.
    pub is_behind_message: bool,
}

impl Inferior {
    /// Decides what an exception means for memory that is watched. `None`: nothing.
    pub fn judge_write(&mut self, (copier, pages): (&Copier, &mut Pages), raised: &mut Raised<'_>) -> Option<Verdict> {
        let (kind, state, address) = (raised.exception.kind, raised.state, raised.exception.address);
        if !self.watches.is_open && !self.breakpoints.is_open() {
            return match kind {
                KIND_MEMORY if self.breakpoints.covers(address) => {
                    // The library changes call sites of the program.
                    self.breakpoints.open(pages, address);
                    self.writes(raised)
                }
                // What a live program may not write itself is an exception of its own.
                KIND_MEMORY if self.watches.live.is_none() && self.watches.covers(address) => self.touches(pages, raised),
                _ => None,
            };
        }
        let space = self.space();
        self.breakpoints.close((space, &self.view), (copier, pages));
        let entry = self.threads.get(raised.thread)?;
        let is_awaited = kind == KIND_BREAKPOINT && entry.awaited == Some(state.rip.wrapping_sub(1));
        let mode = entry.mode;
        if matches!(mode, Mode::Call(_)) && !is_awaited {
            return None;
        }
        let changed = if self.watches.live.is_some() { None } else { self.close_watches(copier, pages).first().copied() };
        self.watches.is_by_call = is_awaited;
        let plain = ThreadState { rip: state.rip - u64::from(is_awaited), rflags: state.rflags & !TRAP_FLAG, ..state };
        let entry = self.threads.get(raised.thread)?;
        entry.mode = match mode {
            Mode::Write(true) | Mode::Call(true) => Mode::Step,
            Mode::Write(false) | Mode::Call(false) => Mode::Run,
            other => other,
        };
        let is_over = is_awaited || kind == KIND_STEP;
        if let Some(address) = changed.filter(|_| is_over) {
            return Some(Verdict::Stop(plain, TRAP, Reason::Change(address)));
        }
        match mode {
            Mode::Write(true) if kind == KIND_STEP && !is_in_library(state.rip) => Some(Verdict::Stop(plain, TRAP, Reason::Signal)),
            Mode::Write(false) if kind == KIND_STEP => Some(Verdict::GoOn(plain)),
            Mode::Call(false) if self.wanted.contains(&plain.rip) || self.marks.contains(&plain.rip) => Some(Verdict::Stop(plain, TRAP, Reason::Breakpoint)),
            Mode::Call(false) if !raised.is_behind_message => {
                entry.awaited = None;
                self.breakpoints.remove(pages, plain.rip);
                Some(Verdict::GoOn(plain))
            }
            _ => {
                if matches!(mode, Mode::Write(false)) {
                    // The exception is the program's, and the steps are not.
                    raised.state = plain;
                }
                None
            }
        }
    }

    /// A thread is about to write to a watched page.
    fn touches(&mut self, pages: &mut Pages, raised: &Raised<'_>) -> Option<Verdict> {
        let plain = ThreadState { rflags: raised.state.rflags & !TRAP_FLAG, ..raised.state };
        self.watches.touches += 1;
        if raised.awaited_touch == Some(self.watches.touches) {
            self.watches.is_before = true;
            return Some(Verdict::Stop(plain, TRAP, Reason::Signal));
        }
        self.watches.open(pages);
        self.writes(raised)
    }

    /// A thread writes to a page that is open.
    fn writes(&mut self, raised: &Raised<'_>) -> Option<Verdict> {
        let entry = self.threads.get(raised.thread)?;
        entry.mode = Mode::Write(entry.mode == Mode::Step);
        Some(Verdict::GoOn(ThreadState { rflags: raised.state.rflags | TRAP_FLAG, ..raised.state }))
    }

    /// Closes watched pages. Returns the addresses of what has changed.
    pub fn close_watches(&mut self, copier: &Copier, pages: &mut Pages) -> Vec<u64> {
        let space = self.space();
        let mut place = Place { space, view: &self.view, copier, pages };
        self.watches.close(&mut place);
        self.watches.changed(&place)
    }

    /// Watches a range, too. False: that cannot be.
    pub fn watch(&mut self, (copier, pages): (&Copier, &mut Pages), range: (u64, u64)) -> bool {
        let space = self.space();
        let stays_open = self.watches.stays_open();
        let mut place = Place { space, view: &self.view, copier, pages };
        let is_added = self.watches.add(&mut place, range);
        if stays_open {
            self.watches.uncover(pages);
        }
        is_added
    }

    /// Watches a range no more. False: it was not watched.
    pub fn unwatch(&mut self, (copier, pages): (&Copier, &mut Pages), range: (u64, u64)) -> bool {
        let space = self.space();
        self.watches.remove(&mut Place { space, view: &self.view, copier, pages }, range)
    }

    /// Watches these ranges, and no others.
    pub fn watch_all(&mut self, (copier, pages): (&Copier, &mut Pages), ranges: &BTreeSet<(u64, u64)>) {
        let space = self.space();
        self.watches.set(&mut Place { space, view: &self.view, copier, pages }, ranges);
    }

    /// Calls a function that may write to watched pages.
    pub fn with_watches_open<T>(&mut self, (copier, pages): (&Copier, &mut Pages), what: impl FnOnce(&mut Inferior) -> T) -> T {
        let stays_open = self.watches.stays_open();
        self.watches.uncover(pages);
        let result = what(self);
        if !stays_open {
            self.close_watches(copier, pages);
        }
        result
    }

    /// A thread makes a call, which may write to watched pages: they are open until it returns.
    pub fn opens_watches(&mut self, copier: &Copier, pages: &mut Pages) {
        if self.watches.is_empty() || self.watches.is_open {
            return;
        }
        self.watches.open(pages);
        for entry in self.threads.iter_mut().filter(|entry| entry.mode == Mode::Run) {
            entry.mode = Mode::Call(false);
        }
        self.stop_behind_call(copier, pages);
    }
}
