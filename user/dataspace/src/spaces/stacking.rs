//! Managers below others: pages that leave a dataspace's manager go to a dataspace of the manager
//! below it, and come back from there when somebody touches them.

use super::Spaces;
use crate::bank::Trouble;
use crate::hands::Hands;
use crate::policy::{Policy, Random};
use crate::store::Store;
use core::ops::Range;

impl<H: Hands, S: Store, P: Policy> Spaces<H, S, P> {
    /// The manager below that of a dataspace.
    pub fn lower(&self, space: u64) -> Option<usize> {
        self.manager(self.nodes.get(&space)?.below?)
    }

    /// Moves a dataspace to a manager with this one below it, or with none. Nobody but this
    /// function may touch it meanwhile. On failure it is where it was.
    pub fn place(&mut self, space: u64, manager: usize, lower: Option<usize>) -> Result<(), Trouble> {
        let old = (self.manager(space).ok_or(Trouble::Lost)?, self.lower(space));
        if old == (manager, lower) {
            return Ok(());
        }
        self.transfer(space, manager)?;
        self.take_out(space)?;
        let Some(lower) = lower else { return Ok(()) };
        self.put_under(space, lower).inspect_err(|_| {
            // All that it had is free still.
            let _ = self.transfer(space, old.0);
            if let Some(lower) = old.1 {
                let _ = self.put_under(space, lower);
            }
        })
    }

    /// Puts a manager below that of a dataspace, which has none there. Pages that have left go to
    /// it. On failure the dataspace has none, and all pages.
    pub(super) fn put_under(&mut self, space: u64, lower: usize) -> Result<(), Trouble> {
        let (manager, pages) = self.manager(space).zip(self.pages(space)).ok_or(Trouble::Lost)?;
        if manager == lower {
            return Err(Trouble::Refused);
        }
        self.pay_whole(space)?;
        let below = self.create(lower, pages.end - pages.start)?;
        if let Some(node) = self.nodes.get_mut(&space) {
            node.below = Some(below);
        }
        if let Some(node) = self.nodes.get_mut(&below) {
            // Nobody touches its pages there, as with a snapshot.
            node.above.push(space);
        }
        self.banks[manager].pass(pages.clone());
        let away: alloc::vec::Vec<u64> = self.banks[manager].known(pages).filter(|page| self.banks[manager].is_away(*page)).collect();
        let moved = away.into_iter().try_for_each(|page| self.send_down(space, manager, (lower, below), page));
        if let Err(trouble) = moved {
            self.take_out(space)?;
            return Err(trouble);
        }
        Ok(())
    }

    fn send_down(&mut self, space: u64, manager: usize, (lower, below): (usize, u64), page: u64) -> Result<(), Trouble> {
        if self.banks[manager].peek(page, &mut self.buffer)? {
            self.adopt(lower, below + (page - space))?;
            self.banks[manager].forget(page..page + 1)?;
        }
        Ok(())
    }

    /// Takes the manager below a dataspace away: all pages come up. On failure it stays there.
    pub(super) fn take_out(&mut self, space: u64) -> Result<(), Trouble> {
        let Some((manager, below)) = self.nodes.get(&space).and_then(|node| Some((node.manager, node.below?))) else { return Ok(()) };
        self.banks[manager].keep_range(space);
        let known = self.pages(below).and_then(|pages| Some(self.banks[self.manager(below)?].known(pages).map(|page| page - below).collect()));
        let known: alloc::vec::Vec<u64> = known.unwrap_or_default();
        let stranded: alloc::vec::Vec<u64> = self.pages(space).map(|pages| self.stranded.range(pages).map(|(page, _)| page - space).collect()).unwrap_or_default();
        for offset in known.into_iter().chain(stranded) {
            if !self.banks[manager].has(space + offset)
                && let Err(trouble) = self.raise(space, offset)
            {
                if let Some(pages) = self.pages(space) {
                    self.banks[manager].pass(pages);
                }
                return Err(trouble);
            }
        }
        self.drop_below(space);
        Ok(())
    }

    /// A dataspace has nothing below it any more, whatever is there.
    pub(super) fn drop_below(&mut self, space: u64) {
        let Some(pages) = self.pages(space) else { return };
        self.stranded.retain(|page, _| !pages.contains(page));
        let Some((manager, below)) = self.nodes.get_mut(&space).and_then(|node| Some((node.manager, node.below.take()?))) else { return };
        self.banks[manager].keep_range(space);
        self.delete(below);
    }

    /// Pages are to be zeros, below too.
    pub(super) fn clear_below(&mut self, space: u64, pages: Range<u64>) -> Result<(), Trouble> {
        self.stranded.retain(|page, _| !pages.contains(page));
        let Some(below) = self.nodes.get(&space).and_then(|node| node.below) else { return Ok(()) };
        let lower = self.manager(below).ok_or(Trouble::Lost)?;
        self.banks[lower].forget(pages.start - space + below..pages.end - space + below)
    }

    /// The dataspace below has so many pages, too.
    pub(super) fn resize_below(&mut self, space: u64, count: u64) -> Result<(), Trouble> {
        let Some((manager, below)) = self.nodes.get(&space).and_then(|node| Some((node.manager, node.below?))) else { return Ok(()) };
        let now = self.pages(below).map_or(0, |pages| pages.end - pages.start);
        if count != now && count > 0 {
            self.resize_alone(below, count)?;
            self.stranded.retain(|page, _| *page < space || *page >= space + count || *page < space + now);
        }
        self.banks[manager].pass(space..space + count.max(1));
        Ok(())
    }

    /// Returns true if a dataspace has a page of its own, here or below.
    pub(super) fn has(&self, space: u64, offset: u64) -> bool {
        let node = &self.nodes[&space];
        let is_below = |below: u64| self.nodes.get(&below).is_some_and(|node| self.banks[node.manager].has(below + offset));
        self.banks[node.manager].has(space + offset) || self.stranded.contains_key(&(space + offset)) || node.below.is_some_and(is_below)
    }

    /// Reads a page that a dataspace has, here or below, into the buffer. Returns false if it has
    /// none.
    pub(super) fn peek(&mut self, space: u64, offset: u64) -> Result<bool, Trouble> {
        let node = self.nodes.get(&space).ok_or(Trouble::Lost)?;
        let below = node.below.and_then(|below| Some((self.manager(below)?, below)));
        if self.banks[node.manager].peek(space + offset, &mut self.buffer)? {
            return Ok(true);
        }
        if let Some(bytes) = self.stranded.get(&(space + offset)) {
            self.buffer.copy_from_slice(bytes);
            return Ok(true);
        }
        let Some((lower, below)) = below else { return Ok(false) };
        self.banks[lower].peek(below + offset, &mut self.buffer)
    }

    /// A page that is below comes up. Returns false if there is none.
    pub(super) fn raise(&mut self, space: u64, offset: u64) -> Result<bool, Trouble> {
        let node = self.nodes.get(&space).ok_or(Trouble::Lost)?;
        let (manager, below) = (node.manager, node.below);
        if (below.is_none() && self.stranded.is_empty()) || !self.peek(space, offset)? {
            return Ok(false);
        }
        self.adopt(manager, space + offset)?;
        self.stranded.remove(&(space + offset));
        if let Some((lower, below)) = below.and_then(|below| Some((self.manager(below)?, below))) {
            // What stays is hidden by the page above, and goes before that comes down again.
            let _ = self.banks[lower].forget(below + offset..below + offset + 1);
        }
        Ok(true)
    }

    /// A bank takes the page in the buffer. What has to leave for it goes where it belongs.
    pub(super) fn adopt(&mut self, manager: usize, page: u64) -> Result<(), Trouble> {
        let done = self.banks[manager].adopt(page, &self.buffer);
        self.pass_down();
        done
    }

    /// Pages that have left their managers go to those below.
    pub(super) fn pass_down(&mut self) {
        while let Some((page, bytes)) = self.banks.iter_mut().find_map(|bank| bank.take_passed()) {
            if self.pass_one(page, &bytes).is_err() && self.keep_one(page, &bytes).is_err() {
                self.stranded.insert(page, bytes);
            }
        }
    }

    fn pass_one(&mut self, page: u64, bytes: &[u8]) -> Result<(), Trouble> {
        let space = self.at(page).ok_or(Trouble::Lost)?;
        let below = self.nodes[&space].below.ok_or(Trouble::Lost)?;
        let (lower, pages) = self.manager(below).zip(self.pages(below)).ok_or(Trouble::Lost)?;
        let target = below + (page - space);
        if target >= pages.end {
            return Err(Trouble::Lost);
        }
        self.banks[lower].forget(target..target + 1)?;
        self.buffer.copy_from_slice(bytes);
        self.banks[lower].adopt(target, &self.buffer)
    }

    /// Keeps a page, and all that leave later, in the upper manager, because the lower one does not
    /// take it.
    fn keep_one(&mut self, page: u64, bytes: &[u8]) -> Result<(), Trouble> {
        let space = self.at(page).ok_or(Trouble::Lost)?;
        let manager = self.nodes[&space].manager;
        self.banks[manager].keep_range(space);
        self.buffer.copy_from_slice(bytes);
        self.banks[manager].adopt(page, &self.buffer)
    }

    /// Puts up to `most` pages of a manager away that chance chooses.
    pub fn disturb(&mut self, manager: usize, random: &mut Random, most: usize) {
        if let Some(bank) = self.banks.get_mut(manager) {
            bank.disturb(random, most);
        }
        self.pass_down();
    }
}
