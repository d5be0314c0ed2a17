//! Copies of dataspaces whose pages have their places in the store from the start, as those of
//! files do. Such a dataspace cannot become a snapshot, since it goes on showing its file. So it is
//! itself the source of its copies: a copy takes a page from it when somebody touches the page in
//! the copy, and gets it before somebody writes to it in the original.

use super::Spaces;
use crate::bank::Trouble;
use crate::hands::Hands;
use crate::policy::Policy;
use crate::store::Store;
use core::ops::Range;

impl<H: Hands, S: Store, P: Policy> Spaces<H, S, P> {
    /// Returns true if the pages of a dataspace have their places in the store from the start.
    pub(super) fn is_origin(&self, space: u64) -> bool {
        self.manager(space).and_then(|manager| self.bank(manager)).is_some_and(|bank| bank.store().is_origin())
    }

    /// Returns true if a dataspace lacks pages that lie in a file.
    pub fn needs_origin(&self, space: u64) -> bool {
        let source = |space: &u64| self.nodes.get(space)?.source;
        core::iter::successors(source(&space), source).any(|source| self.is_origin(source))
    }

    /// Returns true if dataspaces take their pages from this one.
    pub fn is_copied(&self, space: u64) -> bool {
        self.nodes.get(&space).is_some_and(|node| !node.above.is_empty())
    }

    /// Copies a dataspace of a file into another manager, lazily. Nobody but this function may
    /// touch the original meanwhile.
    pub(super) fn copy_origin(&mut self, space: u64, manager: usize) -> Result<u64, Trouble> {
        let (pages, from) = self.pages(space).zip(self.manager(space)).ok_or(Trouble::Lost)?;
        let keeps_all = self.bank(manager).is_none_or(|bank| bank.store().is_origin() || bank.store().keeps_all());
        if keeps_all {
            // Such a manager takes all pages at once, and a file may have fewer.
            return Err(Trouble::Refused);
        }
        // What is changed is written back, and each further write is told.
        self.banks[from].conceal(pages.clone())?;
        self.banks[from].write_back(pages.clone())?;
        let copy = self.create(manager, pages.end - pages.start)?;
        if let Some(node) = self.nodes.get_mut(&copy) {
            node.source = Some(space);
        }
        if let Some(node) = self.nodes.get_mut(&space) {
            node.above.push(copy);
        }
        Ok(copy)
    }

    /// Gives pages of a file to the copies that lack them, before they change. What the file does
    /// not have, copies do not get.
    pub fn give_copies(&mut self, pages: Range<u64>) -> Result<(), Trouble> {
        let Some(space) = self.at(pages.start).filter(|space| self.is_copied(*space)) else { return Ok(()) };
        let (end, manager) = (self.nodes[&space].end.min(pages.end), self.nodes[&space].manager);
        for page in pages.start..end {
            let offset = page - space;
            for copy in self.nodes[&space].above.clone() {
                if !self.lacks(copy, offset) {
                    continue;
                }
                match self.banks[manager].peek(page, &mut self.buffer) {
                    Ok(true) => self.adopt(self.nodes[&copy].manager, copy + offset)?,
                    Ok(false) | Err(Trouble::Lost) => {}
                    Err(trouble) => return Err(trouble),
                }
            }
        }
        Ok(())
    }

    /// The copies of a dataspace that goes have what they have, and zeros.
    pub(super) fn orphan_copies(&mut self, space: u64) {
        let copies = self.nodes.get_mut(&space).map(|node| core::mem::take(&mut node.above)).unwrap_or_default();
        for copy in copies {
            if let Some(node) = self.nodes.get_mut(&copy).filter(|node| node.source == Some(space)) {
                node.source = None;
            }
        }
    }
}
