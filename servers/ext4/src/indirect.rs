//! Maps of blocks by indirect blocks, as ext2 and ext3 have them.

use crate::bytes::{set_u32, u32_at};
use crate::core::Core;
use crate::disk::{Disk, errno};
use crate::inode::Inode;
use crate::run::Run;
use nacre_machine_9p::Errno;

/// Number of blocks that the inode itself names.
const DIRECT: u32 = 12;
/// Places in the inode, the last three of which lead to indirect blocks.
const PLACES: usize = 15;

/// Path to a block: a place in the inode, and then places in indirect blocks.
struct Path {
    root: usize,
    places: [u32; 3],
    levels: usize,
}

/// Returns the number of blocks below one pointer at a level.
fn span(each: u64, level: u32) -> u64 {
    each.pow(level)
}

/// Returns the path to a block, if there can be one.
fn path(logical: u32, each: u64) -> Option<Path> {
    if logical < DIRECT {
        return Some(Path { root: logical as usize, places: [0; 3], levels: 0 });
    }
    let mut rest = u64::from(logical - DIRECT);
    for levels in 1..=3u32 {
        if rest < span(each, levels) {
            let place = |level: u32| (rest / span(each, levels - 1 - level) % each) as u32;
            let places = [0, 1, 2].map(|level| if level < levels { place(level) } else { 0 });
            return Some(Path { root: 11 + levels as usize, places, levels: levels as usize });
        }
        rest -= span(each, levels);
    }
    None
}

/// Returns the length of the run that begins at a place of an array of pointers.
fn run(pointers: &[u8], place: usize, most: u32) -> Run {
    let at = |index: u32| pointers.get(4 * (place + index as usize)..).filter(|rest| rest.len() >= 4);
    let first = u32_at(pointers, 4 * place);
    let goes_on = |index: &u32| {
        let expected = if first == 0 { Some(0) } else { first.checked_add(*index) };
        at(*index).is_some_and(|rest| Some(u32_at(rest, 0)) == expected)
    };
    let count = (0..most).take_while(goes_on).count() as u32;
    Run { physical: (first != 0).then_some(first.into()), is_written: first != 0, count }
}

impl<D: Disk> Core<D> {
    fn pointers_of_block(&self) -> u64 {
        self.geometry.block_size as u64 / 4
    }

    /// Returns the run of blocks of a file from one on.
    pub fn indirect_run(&mut self, inode: &Inode, logical: u32, most: u32) -> Result<Run, Errno> {
        let hole = Run { physical: None, is_written: false, count: 1 };
        let Some(path) = path(logical, self.pointers_of_block()) else { return Ok(hole) };
        if path.levels == 0 {
            let direct = &inode.map()[..4 * DIRECT as usize];
            return Ok(run(direct, path.root, most));
        }
        let mut block = u32_at(inode.map(), 4 * path.root);
        for (level, place) in path.places[..path.levels].iter().enumerate() {
            if block == 0 {
                // The hole goes on at least to the end of the last level's block.
                let left = self.pointers_of_block() as u32 - path.places[path.levels - 1];
                return Ok(Run { count: left.min(most), ..hole });
            }
            let content = self.cache.read(block.into())?;
            if level + 1 == path.levels {
                return Ok(run(&content, *place as usize, most));
            }
            block = u32_at(&content, 4 * *place as usize);
        }
        Ok(hole)
    }

    /// Gives blocks to a part of a file that has none.
    pub fn insert_indirect(
        &mut self, inode: &mut Inode, logical: u32, block: u64, count: u32,
    ) -> Result<(), Errno> {
        for index in 0..count {
            let block = u32::try_from(block + u64::from(index)).map_err(|_| errno::FBIG)?;
            let logical = logical.checked_add(index).ok_or(errno::FBIG)?;
            self.set_pointer(inode, logical, block)?;
        }
        Ok(())
    }

    fn set_pointer(&mut self, inode: &mut Inode, logical: u32, block: u32) -> Result<(), Errno> {
        let path = path(logical, self.pointers_of_block()).ok_or(errno::FBIG)?;
        if path.levels == 0 {
            set_u32(inode.map_mut(), 4 * path.root, block);
            return Ok(());
        }
        let mut table = u32_at(inode.map(), 4 * path.root);
        if table == 0 {
            table = self.new_table(inode, block)?;
            set_u32(inode.map_mut(), 4 * path.root, table);
        }
        for (level, place) in path.places[..path.levels].iter().enumerate() {
            let at = 4 * *place as usize;
            if level + 1 == path.levels {
                set_u32(self.cache.edit(table.into())?, at, block);
                break;
            }
            let mut below = u32_at(&self.cache.read(table.into())?[..], at);
            if below == 0 {
                below = self.new_table(inode, block)?;
                set_u32(self.cache.edit(table.into())?, at, below);
            }
            table = below;
        }
        Ok(())
    }

    fn new_table(&mut self, inode: &mut Inode, near: u32) -> Result<u32, Errno> {
        let (block, _) = self.take_blocks(near.into(), 1)?;
        self.cache.fresh(block)?;
        inode.count_blocks(1, self.geometry.block_size);
        u32::try_from(block).map_err(|_| errno::NOSPC)
    }

    /// Takes the blocks of a file from one on away, the last ones first. Stops when the budget of
    /// runs is spent, and returns false then.
    pub fn cut_indirect(
        &mut self, inode: &mut Inode, from: u32, is_logged: bool, budget: &mut u32,
    ) -> Result<bool, Errno> {
        let each = self.pointers_of_block();
        for root in (0..PLACES).rev() {
            let level = root.saturating_sub(DIRECT as usize - 1) as u32;
            let below = (1..level).map(|level| span(each, level)).sum::<u64>();
            let base = if level == 0 { root as u64 } else { u64::from(DIRECT) + below };
            let pointer = u32_at(inode.map(), 4 * root);
            if pointer == 0 || base + span(each, level) <= from.into() {
                continue;
            }
            let cut = Cut { base, level, from: from.into(), is_logged };
            let (is_empty, is_done) = self.cut_pointer(inode, pointer, cut, budget)?;
            if is_empty {
                set_u32(inode.map_mut(), 4 * root, 0);
            }
            if !is_done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the blocks below a pointer away. Returns whether nothing is left there, and whether
    /// all that had to go is gone.
    fn cut_pointer(
        &mut self, inode: &mut Inode, pointer: u32, cut: Cut, budget: &mut u32,
    ) -> Result<(bool, bool), Errno> {
        if *budget == 0 {
            return Ok((false, false));
        }
        let size = self.geometry.block_size;
        if cut.level == 0 {
            *budget -= 1;
            self.give_blocks(pointer.into(), 1, cut.is_logged)?;
            inode.count_blocks(-1, size);
            return Ok((true, true));
        }
        let mut table = self.cache.read(pointer.into())?.to_vec();
        let below = span(self.pointers_of_block(), cut.level - 1);
        let mut is_done = true;
        for place in (0..size / 4).rev() {
            let base = cut.base + place as u64 * below;
            let next = u32_at(&table, 4 * place);
            if base + below <= cut.from {
                break;
            }
            if next == 0 {
                continue;
            }
            let cut = Cut { base, level: cut.level - 1, ..cut };
            let (is_empty, done) = self.cut_pointer(inode, next, cut, budget)?;
            if is_empty {
                set_u32(&mut table, 4 * place, 0);
            }
            if !done {
                is_done = false;
                break;
            }
        }
        let is_empty = table.iter().all(|byte| *byte == 0);
        if is_empty {
            *budget = budget.saturating_sub(1);
            self.give_blocks(pointer.into(), 1, true)?;
            inode.count_blocks(-1, size);
        } else {
            self.cache.edit(pointer.into())?.copy_from_slice(&table);
        }
        Ok((is_empty, is_done))
    }
}

/// Part of a map that loses its blocks from one on.
#[derive(Clone, Copy)]
struct Cut {
    /// First block of the file below the pointer.
    base: u64,
    /// Number of levels between the pointer and data.
    level: u32,
    /// First block of the file that goes.
    from: u64,
    /// True if the blocks may be in the journal.
    is_logged: bool,
}
