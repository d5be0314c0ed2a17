//! Dataspaces that outlive the program, and their bytes for whoever reads and writes by message.

use super::{Node, Spaces};
use crate::PAGE;
use crate::bank::Trouble;
use crate::hands::Hands;
use crate::policy::Policy;
use crate::store::{Saved, Store};
use alloc::vec::Vec;

impl<H: Hands, S: Store, P: Policy> Spaces<H, S, P> {
    /// Makes these dataspaces of one manager, with names and lengths, its next generation: all at
    /// one moment, since nobody writes to them meanwhile.
    /// Returns false if the last one holds the same. `Full`: the manager cannot keep them, and the
    /// last generation stands.
    pub fn commit(&mut self, manager: usize, lasting: Vec<(u64, Vec<u8>, u64)>) -> Result<bool, Trouble> {
        for (space, ..) in &lasting {
            // What a dataspace has in common with a copy of it lies elsewhere.
            self.absorb(*space)?;
        }
        for (space, ..) in &lasting {
            let pages = self.pages(*space).ok_or(Trouble::Lost)?;
            self.banks[manager].conceal_unsaved(pages)?;
        }
        let mut saved = Vec::new();
        for (space, name, length) in lasting {
            let pages = self.pages(space).ok_or(Trouble::Lost)?;
            let count = pages.end - pages.start;
            let pages = self.banks[manager].save(pages)?.into_iter().map(|(page, number)| (page - space, number)).collect();
            saved.push(Saved { name, length, count, pages });
        }
        self.banks[manager].lasting().ok_or(Trouble::Refused)?.commit(&saved).map_err(|_| Trouble::Full)
    }

    /// Makes a dataspace that the store of its manager had when it was opened.
    pub fn restore(&mut self, manager: usize, saved: &Saved) -> Result<u64, Trouble> {
        let (start, room) = self.reserve(manager, saved.count)?;
        for (place, number) in &saved.pages {
            self.banks[manager].restore(start + place, *number);
        }
        self.nodes.insert(start, Node { manager, end: start + saved.count, room, source: None, above: Vec::new(), below: None, paid: None });
        Ok(start)
    }

    /// Reads bytes of a dataspace, all of which it has.
    pub fn read(&mut self, space: u64, offset: u64, into: &mut [u8]) -> Result<(), Trouble> {
        let mut at = offset;
        for part in parts(offset, into.len()) {
            let page = at / PAGE as u64;
            let from = (at % PAGE as u64) as usize;
            let is_there = self.peek(space, page)? || self.fetch(space, page)?.is_some();
            let part = &mut into[part];
            if is_there {
                part.copy_from_slice(&self.buffer[from..from + part.len()]);
            } else {
                part.fill(0);
            }
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Writes bytes of a dataspace, all of which it has. On failure the first ones are written.
    pub fn write(&mut self, space: u64, offset: u64, bytes: &[u8]) -> Result<(), Trouble> {
        let mut at = offset;
        for part in parts(offset, bytes.len()) {
            let (page, from, part) = (space + at / PAGE as u64, (at % PAGE as u64) as usize, &bytes[part]);
            self.fault(page, true)?;
            let manager = self.manager(space).ok_or(Trouble::Lost)?;
            self.banks[manager].edit(page, |page| page[from..from + part.len()].copy_from_slice(part))?;
            at += part.len() as u64;
        }
        Ok(())
    }
}

/// Ranges of a buffer that lie in one page each.
fn parts(offset: u64, size: usize) -> impl Iterator<Item = core::ops::Range<usize>> {
    let first = PAGE - (offset % PAGE as u64) as usize;
    let ends = core::iter::successors(Some(first), |end| Some(end + PAGE));
    let mut start = 0;
    ends.map(move |end| core::mem::replace(&mut start, end.min(size))..end.min(size)).take_while(|part| !part.is_empty())
}
