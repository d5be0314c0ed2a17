//! Dataspaces of several managers: each is a run of pages in one manager's bank.
//!
//! A copy is lazy. The pages of the original become a *snapshot*, which nobody writes; original and
//! copy have it for their *source*, and take a page of it when somebody touches that page. A page
//! of a snapshot goes as soon as nothing above lacks it. A snapshot with one dataspace left above
//! it joins that one.

mod origins;
mod pins;
mod saving;
mod stacking;
mod unpaid;

use crate::bank::{Bank, Trouble};
use crate::extents::Extents;
use crate::hands::Hands;
use crate::policy::Policy;
use crate::store::Store;
use crate::{PAGE, Page};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use unpaid::Paid;

/// Snapshots below a dataspace, at most. One more copy first takes all that lies below.
const MAX_DEPTH: usize = 3;
/// Pages by which a file can grow at least, whatever comes to lie behind it.
const FILE_ROOM: u64 = 1 << 16;

/// A run of pages: a dataspace, or a snapshot.
#[derive(Debug)]
struct Node {
    manager: usize,
    end: u64,
    /// Addresses up to here are the node's, so that it can grow.
    room: u64,
    source: Option<u64>,
    /// Nodes that have this one, a snapshot, for their source.
    above: Vec<u64>,
    /// A dataspace of the manager below, which has pages that left this one.
    below: Option<u64>,
    /// Clusters that are promised; `None`: all.
    paid: Option<Paid>,
}

/// Banks, one for each manager, and the dataspaces in them. A dataspace is named by its first page.
pub struct Spaces<H, S, P> {
    banks: Vec<Bank<H, S, P>>,
    nodes: BTreeMap<u64, Node>,
    extents: Extents,
    buffer: Box<Page>,
    /// Pages that neither manager of their dataspace could take.
    stranded: BTreeMap<u64, Vec<u8>>,
    /// Addresses left for dataspaces whose pages are not promised.
    unpaid_left: u64,
    /// Addresses that there are for these in all.
    unpaid_all: u64,
}

impl<H: Hands, S: Store, P: Policy> Spaces<H, S, P> {
    /// Makes an empty set of dataspaces over these banks. Pages have numbers below `pages`.
    pub fn new(banks: Vec<Bank<H, S, P>>, pages: u64) -> Spaces<H, S, P> {
        let unpaid_all = pages / unpaid::PART;
        Spaces { banks, nodes: BTreeMap::new(), extents: Extents::new(pages), buffer: Box::new([0; PAGE]), stranded: BTreeMap::new(), unpaid_left: unpaid_all, unpaid_all }
    }

    /// The bank of a manager.
    pub fn bank(&self, manager: usize) -> Option<&Bank<H, S, P>> {
        self.banks.get(manager)
    }

    /// The bank of a manager, to be changed.
    pub fn bank_mut(&mut self, manager: usize) -> Option<&mut Bank<H, S, P>> {
        self.banks.get_mut(manager)
    }

    /// Number of managers.
    pub fn managers(&self) -> usize {
        self.banks.len()
    }

    /// The manager of a dataspace.
    pub fn manager(&self, space: u64) -> Option<usize> {
        self.nodes.get(&space).map(|node| node.manager)
    }

    /// Pages of a dataspace.
    pub fn pages(&self, space: u64) -> Option<Range<u64>> {
        self.nodes.get(&space).map(|node| space..node.end)
    }

    /// The dataspace that a page lies in.
    pub fn at(&self, page: u64) -> Option<u64> {
        let (start, node) = self.nodes.range(..=page).next_back()?;
        (page < node.end).then_some(*start)
    }

    /// Makes a dataspace of zeros.
    pub fn create(&mut self, manager: usize, count: u64) -> Result<u64, Trouble> {
        let (start, room) = self.reserve(manager, count)?;
        self.nodes.insert(start, Node { manager, end: start + count, room, source: None, above: Vec::new(), below: None, paid: None });
        Ok(start)
    }

    /// Promises `count` pages and finds addresses for them: the first one, and the end of those
    /// that are free for more.
    fn reserve(&mut self, manager: usize, count: u64) -> Result<(u64, u64), Trouble> {
        let bank = self.banks.get_mut(manager).ok_or(Trouble::Refused)?;
        if count == 0 || !bank.promise(count) {
            return Err(Trouble::Full);
        }
        // What outlives its users grows as files do, whatever comes to lie behind it.
        let most = if bank.store().keeps_all() { bank.most().max(count) } else if bank.store().is_origin() { count.max(FILE_ROOM) } else { count };
        let found = self.extents.take(most).map(|start| (start, start + most)).or_else(|| self.extents.take(count).map(|start| (start, start + count)));
        if let Some((start, room)) = found.filter(|(start, _)| bank.begin_home(*start..start + count)) {
            return Ok((start, room));
        }
        if let Some((start, room)) = found {
            self.extents.give(start, room - start);
        }
        bank.release(count);
        Err(Trouble::Full)
    }

    /// Makes a dataspace longer or shorter. What is added is zeros.
    pub fn resize(&mut self, space: u64, count: u64) -> Result<(), Trouble> {
        self.pay_whole(space)?;
        let old = self.pages(space).map_or(0, |pages| pages.end - pages.start);
        self.resize_below(space, count.max(old))?;
        let done = self.resize_alone(space, count);
        // A dataspace below that stays longer than this one has nothing there.
        let _ = self.resize_below(space, if done.is_ok() { count } else { old });
        done
    }

    fn resize_alone(&mut self, space: u64, count: u64) -> Result<(), Trouble> {
        let node = self.nodes.get_mut(&space).ok_or(Trouble::Lost)?;
        let (end, new_end, bank) = (node.end, space.saturating_add(count), &mut self.banks[node.manager]);
        if new_end > end {
            if !bank.promise(new_end - end) {
                return Err(Trouble::Full);
            }
            let more = new_end.saturating_sub(node.room);
            let taken = more == 0 || self.extents.take_at(node.room, more);
            if !taken || !bank.extend_home(end..new_end) {
                if taken && more > 0 {
                    self.extents.give(node.room, more);
                }
                bank.release(new_end - end);
                return Err(Trouble::Full);
            }
            node.room = node.room.max(new_end);
            if node.source.is_some() {
                // A snapshot below may be longer, if this dataspace was cut off before.
                (end..new_end).for_each(|page| bank.adopt_blank(page));
            }
            node.end = new_end;
        } else if new_end < end && count > 0 {
            node.end = new_end;
            bank.unpin(new_end..end);
            // Its addresses stay, unless there is something left in them.
            match bank.forget(new_end..end) {
                Ok(()) => bank.end_home(new_end..end),
                Err(_) => node.room = new_end,
            }
            bank.release(end - new_end);
        }
        Ok(())
    }

    /// Frees pages that no node has, all of which were promised, and their addresses up to `room`.
    fn give_back(&mut self, manager: usize, pages: Range<u64>, room: u64) {
        self.banks[manager].release(pages.end - pages.start);
        self.give_addresses(manager, pages, room);
    }

    fn give_addresses(&mut self, manager: usize, pages: Range<u64>, room: u64) {
        self.banks[manager].unpin(pages.clone());
        // Pages that the machine does not let go of keep their addresses: nobody else may find what
        // is in them.
        if self.banks[manager].forget(pages.clone()).is_ok() {
            self.banks[manager].end_home(pages.clone());
            self.extents.give(pages.start, room - pages.start);
        }
    }

    /// Deletes a dataspace.
    pub fn delete(&mut self, space: u64) {
        self.drop_below(space);
        self.orphan_copies(space);
        let counted = self.counted(space);
        let Some(node) = self.nodes.remove(&space) else { return };
        self.banks[node.manager].release(counted);
        if node.paid.is_some() {
            self.unpaid_left += node.end - space;
        }
        self.give_addresses(node.manager, space..node.end, node.room);
        if let Some(source) = node.source {
            self.leave(source, space);
        }
    }

    /// `space` has this source no longer.
    fn leave(&mut self, source: u64, space: u64) {
        let Some(node) = self.nodes.get_mut(&source) else { return };
        node.above.retain(|above| *above != space);
        if self.is_origin(source) {
            return;
        }
        let Some(node) = self.nodes.get(&source) else { return };
        match node.above[..] {
            [] => self.delete(source),
            // Where there is no room to join now, the snapshot stays as it is.
            [only] => drop(self.join(source, only)),
            _ => self.drop_unwanted(source),
        }
    }

    /// The pages of a snapshot go to the one node above it, and the snapshot goes.
    fn join(&mut self, source: u64, above: u64) -> Result<(), Trouble> {
        let Some(count) = self.nodes.get(&above).map(|node| node.end - above) else { return Ok(()) };
        for offset in 0..count {
            self.pull_from(source, above, offset)?;
        }
        let below = self.nodes[&source].source;
        if let Some(node) = self.nodes.get_mut(&above) {
            node.source = below;
        }
        if let Some(node) = below.and_then(|below| self.nodes.get_mut(&below)) {
            node.above.iter_mut().filter(|one| **one == source).for_each(|one| *one = above);
        }
        if let Some(node) = self.nodes.remove(&source) {
            self.give_back(node.manager, source..node.end, node.room);
        }
        Ok(())
    }

    /// A page of one snapshot moves to the one node above it, unless that has its own.
    fn pull_from(&mut self, source: u64, above: u64, offset: u64) -> Result<(), Trouble> {
        let (from, to) = (&self.nodes[&source], &self.nodes[&above]);
        if source + offset >= from.end || self.has(above, offset) {
            return Ok(());
        }
        let (from, to) = (from.manager, to.manager);
        if self.banks[from].peek(source + offset, &mut self.buffer)? {
            self.adopt(to, above + offset)?;
            self.banks[from].forget(source + offset..source + offset + 1)?;
        }
        Ok(())
    }

    /// Pages of a snapshot that nothing above lacks go.
    fn drop_unwanted(&mut self, source: u64) {
        let Some(node) = self.nodes.get(&source) else { return };
        let known: Vec<u64> = self.banks[node.manager].known(source..node.end).collect();
        known.into_iter().for_each(|page| self.drop_if_unwanted(source, page - source));
    }

    fn drop_if_unwanted(&mut self, source: u64, offset: u64) {
        let node = &self.nodes[&source];
        if source + offset < node.end && !self.is_origin(source) && !node.above.iter().any(|above| self.lacks(*above, offset)) {
            // If it must stay for now, it goes with the snapshot.
            let _ = self.banks[node.manager].forget(source + offset..source + offset + 1);
        }
    }

    /// Returns true if a node would look for a page in its source.
    fn lacks(&self, space: u64, offset: u64) -> bool {
        let node = &self.nodes[&space];
        let is_own = space + offset >= node.end || self.has(space, offset);
        !is_own && (node.above.is_empty() || node.above.iter().any(|above| self.lacks(*above, offset)))
    }

    /// Takes a page that a dataspace lacks from the nearest snapshot that has it. Returns true if
    /// one has it.
    fn pull(&mut self, space: u64, offset: u64) -> Result<bool, Trouble> {
        let Some(source) = self.fetch(space, offset)? else { return Ok(false) };
        self.adopt(self.nodes[&space].manager, space + offset)?;
        self.drop_if_unwanted(source, offset);
        Ok(true)
    }

    /// Reads a page from the nearest snapshot that has it, into the buffer; `None`: none has.
    fn fetch(&mut self, space: u64, offset: u64) -> Result<Option<u64>, Trouble> {
        let mut at = self.nodes.get(&space).and_then(|node| node.source);
        while let Some(source) = at {
            let node = &self.nodes[&source];
            if source + offset < node.end && self.banks[node.manager].peek(source + offset, &mut self.buffer)? {
                return Ok(Some(source));
            }
            at = node.source;
        }
        Ok(None)
    }

    /// Somebody touches a page, to write to it or not. When this returns the page is shown so.
    pub fn fault(&mut self, page: u64, written: bool) -> Result<(), Trouble> {
        let space = self.at(page).ok_or(Trouble::Lost)?;
        let node = &self.nodes[&space];
        match (node.above.is_empty(), self.is_origin(space)) {
            (false, false) => return Err(Trouble::Lost),
            (false, true) if written => self.give_copies(page..page + 1)?,
            _ => {}
        }
        let node = &self.nodes[&space];
        let (manager, has_source) = (node.manager, node.source.is_some());
        self.pay(space, page)?;
        let node = &self.nodes[&space];
        let end = if has_source || node.below.is_some() { page + 1 } else { node.end };
        if !self.banks[manager].has(page) {
            let come = self.raise(space, page - space).and_then(|is_raised| Ok(is_raised || has_source && self.pull(space, page - space)?));
            come.inspect_err(|trouble| self.banks[manager].note_unanswered(*trouble))?;
        }
        let done = self.banks[manager].fault(page, written, end);
        self.pass_down();
        done
    }

    /// Makes a part of a dataspace zeros.
    pub fn clear(&mut self, space: u64, pages: Range<u64>) -> Result<(), Trouble> {
        let node = self.nodes.get(&space).ok_or(Trouble::Lost)?;
        let (manager, source) = (node.manager, node.source);
        self.clear_below(space, pages.clone())?;
        self.banks[manager].forget(pages.clone())?;
        self.release_cleared(space, &pages);
        if let Some(source) = source {
            pages.clone().for_each(|page| self.banks[manager].adopt_blank(page));
            pages.for_each(|page| self.drop_if_unwanted(source, page - space));
        }
        Ok(())
    }

    /// Number of snapshots below a dataspace.
    fn depth(&self, space: u64) -> usize {
        let source = |space: &u64| self.nodes.get(space)?.source;
        core::iter::successors(source(&space), source).count()
    }

    /// Copies a dataspace into a manager, lazily. Nobody but this function may touch the original
    /// meanwhile, whose pages are hidden then.
    pub fn copy(&mut self, space: u64, manager: usize) -> Result<u64, Trouble> {
        let count = self.pages(space).map(|pages| pages.end - pages.start).ok_or(Trouble::Lost)?;
        if self.manager(space).and_then(|manager| self.bank(manager)).is_some_and(Bank::has_homes) {
            // A snapshot takes the frames, which belong to the dataspace.
            return Err(Trouble::Refused);
        }
        if self.is_origin(space) {
            return self.copy_origin(space, manager);
        }
        if self.needs_origin(space) && self.bank(manager).is_some_and(|bank| bank.store().keeps_all()) {
            return Err(Trouble::Refused);
        }
        self.pay_whole(space)?;
        let lower = self.lower(space);
        self.take_out(space)?;
        if self.depth(space) >= MAX_DEPTH {
            self.absorb(space)?;
        }
        let copy = self.create(manager, count)?;
        let snapshot = self.snapshot(space).inspect_err(|_| self.delete(copy))?;
        if let Some(node) = self.nodes.get_mut(&copy) {
            node.source = Some(snapshot);
        }
        if let Some(node) = self.nodes.get_mut(&snapshot) {
            node.above.push(copy);
        }
        if let Some(lower) = lower {
            // Where the lower manager has no room now, the dataspace is in the upper one alone.
            let _ = self.put_under(space, lower);
        }
        Ok(copy)
    }

    /// Puts a snapshot between a dataspace and its source: it gets all pages.
    fn snapshot(&mut self, space: u64) -> Result<u64, Trouble> {
        let node = &self.nodes[&space];
        let (manager, end, source) = (node.manager, node.end, node.source);
        let (snapshot, room) = self.reserve(manager, end - space)?;
        if let Err(trouble) = self.banks[manager].conceal(space..end) {
            self.give_back(manager, snapshot..snapshot + (end - space), room);
            return Err(trouble);
        }
        self.banks[manager].rename(space..end, snapshot);
        let above = alloc::vec![space];
        self.nodes.insert(snapshot, Node { manager, end: snapshot + (end - space), room, source, above, below: None, paid: None });
        if let Some(node) = source.and_then(|source| self.nodes.get_mut(&source)) {
            node.above.iter_mut().filter(|one| **one == space).for_each(|one| *one = snapshot);
        }
        if let Some(node) = self.nodes.get_mut(&space) {
            node.source = Some(snapshot);
        }
        Ok(snapshot)
    }

    /// A dataspace takes all that it lacks, and has no source any more.
    fn absorb(&mut self, space: u64) -> Result<(), Trouble> {
        let node = &self.nodes[&space];
        let (count, source) = (node.end - space, node.source);
        for offset in 0..count {
            if !self.has(space, offset) {
                self.pull(space, offset)?;
            }
        }
        if let (Some(source), Some(node)) = (source, self.nodes.get_mut(&space)) {
            node.source = None;
            self.leave(source, space);
        }
        Ok(())
    }

    /// Moves a dataspace to another manager, with all that it holds. Nobody but this function may
    /// touch it meanwhile. On failure it is where it was.
    pub fn transfer(&mut self, space: u64, manager: usize) -> Result<(), Trouble> {
        let pages = self.pages(space).ok_or(Trouble::Lost)?;
        let (from, count) = (self.nodes[&space].manager, pages.end - pages.start);
        if from == manager {
            return Ok(());
        }
        self.pay_whole(space)?;
        let bank = self.banks.get_mut(manager).ok_or(Trouble::Refused)?;
        if !bank.promise(count) {
            return Err(Trouble::Full);
        }
        if !bank.begin_home(pages.clone()) {
            bank.release(count);
            return Err(Trouble::Full);
        }
        let moved = self.move_pins(pages.clone(), from, manager).and_then(|()| self.move_pages(pages.clone(), manager));
        if let Err(trouble) = moved {
            self.banks[manager].unpin(pages.clone());
            // Nobody has seen these pages, so the machine has nothing to refuse.
            let _ = self.banks[manager].forget(pages.clone());
            self.banks[manager].end_home(pages);
            self.banks[manager].release(count);
            return Err(trouble);
        }
        self.drop_below(space);
        self.banks[from].unpin(pages.clone());
        // All pages were hidden when they were read.
        let _ = self.banks[from].forget(pages.clone());
        self.banks[from].end_home(pages);
        self.banks[from].release(count);
        let source = self.nodes.get_mut(&space).and_then(|node| {
            node.manager = manager;
            node.source.take()
        });
        if let Some(source) = source {
            self.leave(source, space);
        }
        Ok(())
    }

    fn move_pages(&mut self, pages: Range<u64>, to: usize) -> Result<(), Trouble> {
        for page in pages.clone() {
            let offset = page - pages.start;
            if self.peek(pages.start, offset)? || self.fetch(pages.start, offset)?.is_some() {
                self.adopt(to, page)?;
            }
        }
        Ok(())
    }
}
