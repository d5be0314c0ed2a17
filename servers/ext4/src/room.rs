//! Room for parts of a file before they are written, and which parts of it were.

use crate::core::Core;
use crate::disk::{Disk, errno};
use crate::extents::MAX_UNWRITTEN;
use crate::inode::{Inode, flag};
use core::ops::Range;
use nacre_machine_9p::{Errno, Part, Sought};

/// Number of runs that one look passes.
const RUNS: usize = 1024;

impl<D: Disk> Core<D> {
    /// Gives blocks to the holes of a part of a file, in at most `budget` runs; they read as zeros.
    /// The file grows to the part's end unless it keeps its size. Returns where the rest begins.
    pub fn allocate(
        &mut self, inode: &mut Inode, part: Range<u64>, keeps_size: bool, budget: u32,
    ) -> Result<u64, Errno> {
        if !inode.has_flag(flag::EXTENTS) {
            return Err(errno::NOTSUP);
        }
        self.check_size(part.end)?;
        let size = self.geometry.block_size as u64;
        let (mut next, end) = ((part.start / size) as u32, part.end.div_ceil(size) as u32);
        self.check_free(inode, end - next)?;
        for _ in 0..budget {
            if next >= end {
                break;
            }
            let run = self.run(inode, next, end - next)?;
            next += match run.physical {
                Some(_) => run.count,
                None => self.set_aside(inode, next, run.count.min(MAX_UNWRITTEN))?,
            };
        }
        let reached = (u64::from(next) * size).min(part.end);
        if !keeps_size && reached > inode.size() {
            self.resize(inode, reached)?;
        }
        Ok(reached)
    }

    /// Returns an error if a file would need more blocks for so many than there are free ones,
    /// though all that it has were of them.
    fn check_free(&mut self, inode: &Inode, count: u32) -> Result<(), Errno> {
        let has = inode.sectors(self.geometry.block_size) * 512 / self.geometry.block_size as u64;
        let is_room = u64::from(count).saturating_sub(has) <= self.free_blocks()?;
        if is_room { Ok(()) } else { Err(errno::NOSPC) }
    }

    /// Gives blocks that are not written to a hole: as many as there are in one run. Returns how
    /// many.
    fn set_aside(&mut self, inode: &mut Inode, logical: u32, most: u32) -> Result<u32, Errno> {
        let goal = self.goal(inode, logical)?;
        let (block, count) = self.take_blocks(goal, most)?;
        self.insert_extent(inode, logical, (block, count), false)?;
        inode.count_blocks(count.into(), self.geometry.block_size);
        Ok(count)
    }

    /// Takes the blocks of a part of a file away, in at most `budget` runs: it reads as zeros then.
    /// What lies behind the end stays. Returns where the rest begins.
    pub fn punch(&mut self, inode: &mut Inode, part: Range<u64>, budget: u32) -> Result<u64, Errno> {
        if !inode.has_flag(flag::EXTENTS) {
            return Err(errno::NOTSUP);
        }
        let size = self.geometry.block_size as u64;
        let blocks = u32::try_from(inode.size().div_ceil(size)).map_err(|_| errno::CORRUPT)?;
        let end = part.end.min(u64::from(blocks) * size);
        if part.start >= end {
            return Ok(part.end);
        }
        let (first, last) = (part.start.div_ceil(size), end / size);
        self.clear_part(inode, part.start..end.min(first * size))?;
        self.clear_part(inode, part.start.max(last * size)..end)?;
        let (mut next, last) = (first as u32, last as u32);
        for _ in 0..budget {
            if next >= last {
                break;
            }
            let run = self.run(inode, next, last - next)?;
            if run.physical.is_some() {
                self.remove_extent(inode, next, run.count)?;
            }
            next += run.count;
        }
        Ok(if next < last { u64::from(next) * size } else { part.end })
    }

    /// Fills a part of one block of a file with zeros.
    fn clear_part(&mut self, inode: &Inode, part: Range<u64>) -> Result<(), Errno> {
        let size = self.geometry.block_size as u64;
        if part.is_empty() {
            return Ok(());
        }
        let run = self.run(inode, (part.start / size) as u32, 1)?;
        if let Some(block) = run.physical.filter(|_| run.is_written) {
            let within = (part.start % size) as usize;
            self.cache.edit_data(block)?[within..within + (part.end - part.start) as usize].fill(0);
        }
        Ok(())
    }

    /// Looks for the next data or hole of a file, along some runs.
    pub fn seek(&mut self, inode: &Inode, from: u64, wanted: Part) -> Result<Sought, Errno> {
        let (size, end) = (self.geometry.block_size as u64, inode.size());
        let mut at = from;
        for _ in 0..RUNS {
            if at >= end {
                let is_end = wanted == Part::Hole && from < end;
                return if is_end { Ok(Sought::At(end)) } else { Err(errno::NXIO) };
            }
            let left = (end - at).div_ceil(size) + 1;
            let Ok(logical) = u32::try_from(at / size) else { return Ok(Sought::Behind(end)) };
            let run = self.run(inode, logical, left.min(u64::from(u32::MAX - logical)) as u32)?;
            let is_data = run.physical.is_some() && run.is_written;
            if is_data == (wanted == Part::Data) {
                return Ok(Sought::At(at));
            }
            at = (u64::from(logical) + u64::from(run.count)) * size;
        }
        Ok(Sought::Behind(at.min(end)))
    }
}
