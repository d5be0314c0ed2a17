//! Maps of blocks of a file, of either kind.

use crate::core::Core;
use crate::disk::{Disk, errno};
use crate::inode::{Inode, LINK, REGULAR, flag};
use crate::run::Run;
use nacre_machine_9p::Errno;

/// Size from which the target of a symbolic link has a block of its own.
pub const SHORT_LINK: u64 = 60;

/// Returns true if an inode has a map of blocks.
pub fn has_map(inode: &Inode) -> bool {
    match inode.kind() {
        REGULAR => true,
        LINK => inode.size() >= SHORT_LINK || inode.has_flag(flag::EXTENTS),
        _ => inode.is_directory(),
    }
}

/// Returns true if the blocks of a file are part of transactions: those of directories and links.
pub fn is_logged(inode: &Inode) -> bool {
    inode.kind() != REGULAR
}

impl<D: Disk> Core<D> {
    /// Returns the run of blocks of a file from one on.
    pub fn run(&mut self, inode: &Inode, logical: u32, most: u32) -> Result<Run, Errno> {
        let run = match inode.has_flag(flag::EXTENTS) {
            true => self.extent_run(inode, logical, most.max(1))?,
            false => self.indirect_run(inode, logical, most.max(1))?,
        };
        let (first, blocks) = (self.geometry.first_block, self.geometry.blocks);
        let is_inside = |start: u64| {
            start > first && start.checked_add(run.count.into()).is_some_and(|end| end <= blocks)
        };
        if run.count > 0 && run.physical.is_none_or(is_inside) { Ok(run) } else { Err(errno::CORRUPT) }
    }

    /// Gives a file blocks for a hole: as many as there are in one run, at most `most`.
    pub fn fill_hole(&mut self, inode: &mut Inode, logical: u32, most: u32) -> Result<Run, Errno> {
        let goal = self.goal(inode, logical)?;
        let (block, count) = self.take_blocks(goal, most)?;
        if inode.has_flag(flag::EXTENTS) {
            self.insert_extent(inode, logical, (block, count), true)?;
        } else {
            self.insert_indirect(inode, logical, block, count)?;
        }
        inode.count_blocks(count.into(), self.geometry.block_size);
        Ok(Run { physical: Some(block), is_written: true, count })
    }

    /// Returns where the block of a file is best put: behind the one before it.
    pub(crate) fn goal(&mut self, inode: &Inode, logical: u32) -> Result<u64, Errno> {
        if let Some(before) = logical.checked_sub(1)
            && let Some(block) = self.run(inode, before, 1)?.physical
        {
            return Ok(block + 1);
        }
        let group = inode.number.saturating_sub(1) / self.geometry.inodes_per_group;
        Ok(self.geometry.group_start(group))
    }

    /// Takes the blocks of a file from one on away, the last ones first. Stops when the budget of
    /// runs is spent, and returns false then.
    pub fn cut(&mut self, inode: &mut Inode, from: u32, budget: &mut u32) -> Result<bool, Errno> {
        if !has_map(inode) {
            return Ok(true);
        }
        let is_logged = is_logged(inode);
        match inode.has_flag(flag::EXTENTS) {
            true => self.cut_extents(inode, from, is_logged, budget),
            false => self.cut_indirect(inode, from, is_logged, budget),
        }
    }
}
