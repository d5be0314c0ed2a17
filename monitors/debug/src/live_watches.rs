//! Begin and end of watching a program that runs, and changes that gdb is told of later.

use crate::breakpoints::Pages;
use crate::copier::Copier;
use crate::inferior::Inferior;
use crate::library::{self, is_in_library};
use crate::live::Live;
use alloc::vec::Vec;
use nacre_sys::landing::WATCHED;

impl Inferior {
    /// Makes the library tell of its changes of mappings, and receive answers in memory of its own.
    /// Returns false if there is no library that can.
    pub fn watches_live(&mut self, copier: &Copier, pages: &mut Pages) -> bool {
        if self.watches.live.is_some() {
            return true;
        }
        let Some(gates) = self.find_gates(copier).filter(|_| self.is_foreign) else { return false };
        if !self.insert(copier, pages, gates.changes()[0]) {
            return false;
        }
        let (Some(changing), true) = (library::half((&self.view, copier), Some(gates.changing())), self.set_landing(copier, true)) else {
            self.breakpoints.remove(pages, gates.changes()[0]);
            return false;
        };
        self.watches.live = Some(Live { is_changing: changing != 0, ..Live::default() });
        true
    }

    /// Ends that, if nothing is watched any more.
    pub fn ends_watching(&mut self, copier: &Copier, pages: &mut Pages) {
        if self.watches.live.is_none() || !self.watches.is_empty() {
            return;
        }
        self.watches.live = None;
        self.set_landing(copier, false);
        if let Some(gates) = self.gates {
            self.breakpoints.remove(pages, gates.changes()[0]);
        }
    }

    fn set_landing(&self, copier: &Copier, is_watched: bool) -> bool {
        let Some(at) = self.gates.map(|gates| gates.landing()) else { return false };
        let Some(reasons) = library::half((&self.view, copier), Some(at)) else { return false };
        let reasons = if is_watched { reasons | WATCHED } else { reasons & !WATCHED };
        self.view.write(copier, at, &reasons.to_le_bytes())
    }

    /// All threads are stopped: one in the middle of a write makes it when it goes on, or has made
    /// it.
    pub fn settle_writer(&mut self, copier: &Copier, pages: &mut Pages) {
        let Some(writer) = self.watches.live.as_mut().and_then(|live| live.writer.take()) else { return };
        let changed = self.close_watches(copier, pages);
        if let Some(live) = &mut self.watches.live {
            live.held.clear();
        }
        if let Some(behind) = writer.behind {
            self.breakpoints.remove(pages, behind);
        }
        let Some(entry) = self.threads.at(writer.slot) else { return };
        entry.mode = writer.mode;
        entry.clear_trap();
        let number = entry.number;
        self.will_tell(copier, pages, number, changed);
    }

    /// A thread has changed watched memory at these addresses. Returns true if it goes on until its
    /// call returns.
    pub fn will_tell(&mut self, copier: &Copier, pages: &mut Pages, number: u32, changed: Vec<u64>) -> bool {
        let memory = (&self.view, copier);
        let Some(entry) = self.threads.get(number).filter(|_| !changed.is_empty()) else { return false };
        entry.changed.extend(changed);
        let Some(state) = entry.state().filter(|state| is_in_library(state.rip)) else { return false };
        let awaited = entry.awaited;
        let Some(next) = library::frame(memory, &state).map(|frame| frame.rip) else { return false };
        if awaited.is_some() {
            return true;
        }
        let is_there = self.insert(copier, pages, next);
        if let Some(entry) = self.threads.get(number).filter(|_| is_there) {
            entry.awaited = Some(next);
        }
        is_there
    }

    /// Returns a change that is to be told before any of these threads goes on.
    pub fn late_change(&mut self, numbers: &[u32]) -> Option<(u32, u64)> {
        let ranges = self.watches.ranges();
        let is_watched = |address: u64| ranges.iter().any(|(start, _)| *start == address);
        for entry in self.threads.iter_mut() {
            entry.changed.retain(|address| is_watched(*address));
            if entry.awaited.is_none()
                && (numbers.contains(&entry.number) || !entry.is_told)
                && let Some(address) = entry.changed.pop()
            {
                return Some((entry.number, address));
            }
        }
        None
    }
}
