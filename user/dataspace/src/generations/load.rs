//! Opening a file of generations, whatever stands in it.

use super::head::{self, Found, Head};
use super::table;
use crate::store::Saved;
use super::{Blocks, Failed, Generations, HEADS, KEPT, MIN_BLOCKS, NEXT, Opened, PAYLOAD, USED, checksum};
use crate::{PAGE, Page};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

/// Blocks that must be zeros in a file that is taken for a new one.
const LOOKED_AT: u64 = 64;

/// Reasons not to use a file, which is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Too few blocks.
    Small,
    /// The contents are something else.
    Foreign,
    /// A program of another version has written it.
    Version(u64),
    /// The number of blocks that the file once had.
    CutOff(u64),
    /// Without a whole generation.
    Damaged,
    /// Reading or writing failed, or there is no memory for it.
    Failed,
}

impl fmt::Display for Unusable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Small => write!(to, "has fewer than {} KiB", MIN_BLOCKS * PAGE as u64 >> 10),
            Unusable::Foreign => write!(to, "holds something else than persistent memory, and is not overwritten"),
            Unusable::Version(version) => write!(to, "was written by version {version}, and this one reads version {}", head::VERSION),
            Unusable::CutOff(blocks) => write!(to, "was cut off: it had {} KiB", blocks.saturating_mul(PAGE as u64) >> 10),
            Unusable::Damaged => write!(to, "is damaged: no generation in it is whole"),
            Unusable::Failed => write!(to, "cannot be read or written, or there is too little memory"),
        }
    }
}

impl From<Failed> for Unusable {
    fn from(_: Failed) -> Unusable {
        Unusable::Failed
    }
}

/// Opens a file.
pub fn open<B: Blocks>(blocks: B) -> Result<Opened<B>, Unusable> {
    let count = blocks.count();
    if count < MIN_BLOCKS {
        return Err(Unusable::Small);
    }
    let mut store = empty(blocks, count)?;
    let mut heads = Vec::new();
    let mut is_older = false;
    for found in look(&mut store)? {
        match found {
            Found::Head(head) if head.blocks > count => return Err(Unusable::CutOff(head.blocks)),
            Found::Head(head) => heads.push(head),
            Found::Version(version) => return Err(Unusable::Version(version)),
            _ => {}
        }
    }
    heads.sort_by_key(|head| core::cmp::Reverse(head.generation));
    for head in heads {
        match store.load(&head) {
            Ok(saved) => {
                store.last = head;
                store.adopt(&saved);
                return Ok(Opened { store, saved, is_older });
            }
            Err(Unusable::Damaged) => is_older = true,
            Err(other) => return Err(other),
        }
        store.conclude(false);
    }
    if is_older {
        return Err(Unusable::Damaged);
    }
    begin(store)
}

fn empty<B: Blocks>(blocks: B, count: u64) -> Result<Generations<B>, Unusable> {
    let (mut flags, mut sums, size) = (Vec::new(), Vec::new(), usize::try_from(count).map_err(|_| Unusable::Failed)?);
    flags.try_reserve_exact(size).map_err(|_| Unusable::Failed)?;
    sums.try_reserve_exact(size).map_err(|_| Unusable::Failed)?;
    flags.resize(size, 0);
    sums.resize(size, 0);
    Ok(Generations { blocks, flags, sums, used: 0, hint: 0, last: Head::empty(count), is_broken: false, buffer: Box::new([0; PAGE]) })
}

/// Reads both heads.
fn look<B: Blocks>(store: &mut Generations<B>) -> Result<[Found; HEADS as usize], Unusable> {
    let mut found = [Found::Nothing, Found::Nothing];
    for (block, found) in found.iter_mut().enumerate() {
        store.blocks.read(block as u64, &mut store.buffer)?;
        *found = head::decode(&store.buffer);
    }
    Ok(found)
}

/// Makes a file of zeros one without dataspaces. A program may have been killed in the middle of
/// this.
fn begin<B: Blocks>(mut store: Generations<B>) -> Result<Opened<B>, Unusable> {
    let count = store.blocks.count();
    let mut is_damaged = false;
    for block in 0..count.min(LOOKED_AT) {
        store.blocks.read(block, &mut store.buffer)?;
        let is_new = *store.buffer == [0; PAGE] || block == 0 && head::is_begun(&store.buffer, count);
        is_damaged |= block < HEADS && matches!(head::decode(&store.buffer), Found::Damaged);
        if !is_new {
            return Err(if is_damaged { Unusable::Damaged } else { Unusable::Foreign });
        }
    }
    let head = store.last;
    store.write_head(&head).map_err(|_| Unusable::Failed)?;
    Ok(Opened { store, saved: Vec::new(), is_older: false })
}

impl<B: Blocks> Generations<B> {
    /// Reads and checks all of a generation. Its blocks are marked as `NEXT`.
    fn load(&mut self, head: &Head) -> Result<Vec<Saved>, Unusable> {
        let table = self.read_table(head)?;
        let mut page: Box<Page> = Box::new([0; PAGE]);
        let mut trouble = Unusable::Damaged;
        let saved = table::decode(&table, |(block, sum)| {
            self.claim(block)?;
            self.blocks.read(block, &mut page).inspect_err(|Failed| trouble = Unusable::Failed).ok()?;
            self.sums[block as usize] = sum;
            (checksum(&page[..]) == sum).then_some(())
        });
        saved.ok_or(trouble)
    }

    /// Marks a block as one of the generation, which has no block twice.
    fn claim(&mut self, block: u64) -> Option<()> {
        let flags = self.flags.get_mut(usize::try_from(block).ok()?).filter(|flags| block >= HEADS && **flags == 0)?;
        *flags = NEXT;
        Some(())
    }

    fn read_table(&mut self, head: &Head) -> Result<Vec<u8>, Unusable> {
        let (mut table, mut next) = (Vec::new(), head.first);
        while (table.len() as u64) < head.size {
            self.claim(next).ok_or(Unusable::Damaged)?;
            self.blocks.read(next, &mut self.buffer)?;
            let size = PAYLOAD.min((head.size - table.len() as u64) as usize);
            table.try_reserve(size).map_err(|_| Unusable::Failed)?;
            table.extend_from_slice(&self.buffer[8..8 + size]);
            next = self.buffer.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        }
        if next == 0 && checksum(&table) == head.sum { Ok(table) } else { Err(Unusable::Damaged) }
    }

    /// All blocks that were claimed are the last generation's, and its pages are in use.
    fn adopt(&mut self, saved: &[Saved]) {
        self.flags.iter_mut().filter(|flags| **flags & NEXT != 0).for_each(|flags| *flags = KEPT);
        for (_, block) in saved.iter().flat_map(|one| &one.pages) {
            self.flags[*block as usize] |= USED;
            self.used += 1;
        }
    }
}
