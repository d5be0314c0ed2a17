//! Contents of files: reads, writes and sizes.

use crate::core::Core;
use crate::disk::{Disk, errno};
use crate::geometry::read_only;
use crate::inode::Inode;
use alloc::vec;
use alloc::vec::Vec;
use nacre_machine_9p::Errno;

/// Size from which a file needs a feature of the volume.
const LARGE: u64 = 1 << 31;

impl<D: Disk> Core<D> {
    /// Reads bytes of a file. Returns how many; 0 at the end.
    pub fn read_file(&mut self, inode: &Inode, at: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let size = self.geometry.block_size as u64;
        let count = inode.size().saturating_sub(at).min(into.len() as u64);
        let mut done = 0;
        while done < count {
            let (at, left) = (at + done, count - done);
            let within = at % size;
            let most = (within + left).div_ceil(size).min(u64::from(u32::MAX)) as u32;
            let Ok(logical) = u32::try_from(at / size) else {
                into[done as usize..count as usize].fill(0);
                break;
            };
            let run = self.run(inode, logical, most)?;
            let bytes = (u64::from(run.count) * size - within).min(left);
            let part = &mut into[done as usize..(done + bytes) as usize];
            match run.physical.filter(|_| run.is_written) {
                Some(block) => self.read_part(block, within as usize, part)?,
                None => part.fill(0),
            }
            done += bytes;
        }
        Ok(count as usize)
    }

    /// Reads bytes of blocks that follow each other, from a position in the first one on.
    fn read_part(&mut self, block: u64, within: usize, into: &mut [u8]) -> Result<(), Errno> {
        let size = self.geometry.block_size;
        let mut block = block;
        let mut rest = into;
        if within > 0 {
            let count = rest.len().min(size - within);
            let (first, others) = rest.split_at_mut(count);
            first.copy_from_slice(&self.cache.read(block)?[within..within + count]);
            (block, rest) = (block + 1, others);
        }
        let whole = rest.len() - rest.len() % size;
        let (middle, last) = rest.split_at_mut(whole);
        if whole > 0 {
            self.cache.read_run(block, middle)?;
        }
        if !last.is_empty() {
            let content = self.cache.read(block + (whole / size) as u64)?;
            last.copy_from_slice(&content[..last.len()]);
        }
        Ok(())
    }

    /// Returns an error if a file cannot have this size.
    pub(crate) fn check_size(&self, size: u64) -> Result<(), Errno> {
        let blocks = size.div_ceil(self.geometry.block_size as u64);
        let is_large = self.geometry.read_only & read_only::LARGE_FILE != 0;
        if blocks >= u32::MAX.into() || (size >= LARGE && !is_large) { Err(errno::FBIG) } else { Ok(()) }
    }

    /// Writes bytes to a file. Blocks of holes are taken, the size grows.
    pub fn write_file(&mut self, inode: &mut Inode, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        let end = at.checked_add(bytes.len() as u64).ok_or(errno::FBIG)?;
        self.check_size(end)?;
        if at > inode.size() {
            self.clear_tail(inode)?;
        }
        let size = self.geometry.block_size;
        let mut rest = bytes;
        let mut at = at;
        while !rest.is_empty() {
            let (logical, within) = ((at / size as u64) as u32, (at % size as u64) as usize);
            let most = (within + rest.len()).div_ceil(size).min(1 << 20) as u32;
            let (block, count, is_new) = self.blocks_to_write(inode, logical, most)?;
            let whole = count as usize * size - within;
            let (part, others) = rest.split_at(whole.min(rest.len()));
            self.write_part(block, within, part, is_new)?;
            at += part.len() as u64;
            rest = others;
        }
        if end > inode.size() {
            inode.set_size(end);
        }
        Ok(())
    }

    /// Returns blocks for a part of a file: the first, how many, and whether their contents are of
    /// no interest.
    fn blocks_to_write(
        &mut self, inode: &mut Inode, logical: u32, most: u32,
    ) -> Result<(u64, u32, bool), Errno> {
        let run = self.run(inode, logical, most)?;
        let count = run.count.min(most);
        match run.physical {
            Some(block) if run.is_written => Ok((block, count, false)),
            Some(block) if self.fill_unwritten(inode, logical)? => Ok((block, count, false)),
            Some(block) => {
                self.set_written(inode, logical, count)?;
                Ok((block, count, true))
            }
            None => {
                let run = self.fill_hole(inode, logical, count)?;
                Ok((run.physical.ok_or(errno::CORRUPT)?, run.count, true))
            }
        }
    }

    fn write_part(
        &mut self, block: u64, within: usize, bytes: &[u8], is_new: bool,
    ) -> Result<(), Errno> {
        let size = self.geometry.block_size;
        let (mut block, mut within, mut rest) = (block, within, bytes);
        while !rest.is_empty() {
            let (part, others) = rest.split_at(rest.len().min(size - within));
            let content = match is_new || part.len() == size {
                true => self.cache.fresh_data(block)?,
                false => self.cache.edit_data(block)?,
            };
            content[within..within + part.len()].copy_from_slice(part);
            (block, within, rest) = (block + 1, 0, others);
        }
        Ok(())
    }

    /// Fills the last block behind the end of a file with zeros.
    fn clear_tail(&mut self, inode: &Inode) -> Result<(), Errno> {
        let size = self.geometry.block_size as u64;
        let (logical, within) = (inode.size() / size, (inode.size() % size) as usize);
        let Ok(logical) = u32::try_from(logical) else { return Ok(()) };
        if within == 0 {
            return Ok(());
        }
        let run = self.run(inode, logical, 1)?;
        if let Some(block) = run.physical.filter(|_| run.is_written)
            && self.cache.read(block)?[within..].iter().any(|byte| *byte != 0)
        {
            self.cache.edit_data(block)?[within..].fill(0);
        }
        Ok(())
    }

    /// Changes the size of a file. What is beyond the new end is to be cut off then.
    pub fn resize(&mut self, inode: &mut Inode, size: u64) -> Result<(), Errno> {
        self.check_size(size)?;
        if size > inode.size() {
            self.clear_tail(inode)?;
        }
        let shrinks = size < inode.size();
        inode.set_size(size);
        if shrinks { self.clear_tail(inode) } else { Ok(()) }
    }

    /// Writes the target of a new symbolic link.
    pub fn set_target(&mut self, inode: &mut Inode, target: &[u8]) -> Result<(), Errno> {
        let run = self.fill_hole(inode, 0, 1)?;
        let content = self.cache.fresh(run.physical.ok_or(errno::CORRUPT)?)?;
        content.get_mut(..target.len()).ok_or(errno::NAMETOOLONG)?.copy_from_slice(target);
        inode.set_size(target.len() as u64);
        Ok(())
    }

    /// Returns the target of a symbolic link.
    pub fn target(&mut self, inode: &Inode) -> Result<Vec<u8>, Errno> {
        let size = inode.size();
        if !crate::map::has_map(inode) {
            return inode.map().get(..size as usize).map(<[u8]>::to_vec).ok_or(errno::CORRUPT);
        }
        if size > self.geometry.block_size as u64 {
            return Err(errno::CORRUPT);
        }
        let mut target = vec![0; size as usize];
        self.read_file(inode, 0, &mut target)?;
        Ok(target)
    }
}
