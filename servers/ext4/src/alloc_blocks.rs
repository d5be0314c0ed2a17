//! Blocks and inodes that are taken and given back.

use crate::core::{Core, Freed};
use crate::disk::{Disk, errno};
use crate::groups::{Bitmap, bit};
use nacre_machine_9p::Errno;

/// Returns the first run of clear bits in two bitmaps from a place on: start and length. The length
/// is at most `most`.
fn find(bits: &[u8], busy: &[u8], from: u32, end: u32, most: u32) -> Option<(u32, u32)> {
    let byte = |at: u32| {
        let at = at as usize / 8;
        bits.get(at).copied().unwrap_or(!0) | busy.get(at).copied().unwrap_or(0)
    };
    let mut start = from;
    while start < end {
        if start.is_multiple_of(8) && byte(start) == !0 {
            start += 8;
        } else if byte(start) >> (start % 8) & 1 != 0 {
            start += 1;
        } else {
            break;
        }
    }
    let last = end.min(start.saturating_add(most));
    let mut next = start;
    while next < last && byte(next) >> (next % 8) & 1 == 0 {
        next += 1;
    }
    (next > start).then(|| (start, next - start))
}

impl<D: Disk> Core<D> {
    /// Takes a run of blocks: the first free ones from `goal` on, at most `most`.
    pub fn take_blocks(&mut self, goal: u64, most: u32) -> Result<(u64, u32), Errno> {
        let (first, place) = self.geometry.group_of(goal.min(self.geometry.blocks - 1));
        // The group of the goal comes twice: from the goal on, and at the end from its start on.
        for step in 0..=self.geometry.groups {
            let group = (first + step) % self.geometry.groups;
            let from = if step == 0 { place } else { 0 };
            if let Some(run) = self.take_in_group(group, from, most)? {
                return Ok(run);
            }
        }
        Err(errno::NOSPC)
    }

    fn take_in_group(
        &mut self, number: u32, from: u32, most: u32,
    ) -> Result<Option<(u64, u32)>, Errno> {
        let mut group = self.group(number)?;
        if group.free(Bitmap::Blocks) == 0 {
            return Ok(None);
        }
        let bitmap = self.bitmap(&group, Bitmap::Blocks)?;
        let busy = self.busy.get(&number).map_or(&[][..], |bits| bits);
        let most = most.min(group.free(Bitmap::Blocks));
        let end = self.geometry.group_blocks(number);
        let Some((start, count)) = find(&bitmap, busy, from, end, most) else { return Ok(None) };
        drop(bitmap);
        self.change_bits(&mut group, Bitmap::Blocks, start..start + count, true)?;
        group.count_free(Bitmap::Blocks, -(count as i32));
        self.set_group(group)?;
        self.count(-i64::from(count), 0)?;
        Ok(Some((self.geometry.group_start(number) + u64::from(start), count)))
    }

    /// Gives blocks back. They are free for others after the next commit.
    pub fn give_blocks(&mut self, start: u64, count: u32, is_logged: bool) -> Result<(), Errno> {
        let end = start.checked_add(count.into()).filter(|end| *end <= self.geometry.blocks);
        let end = end.filter(|_| start > self.geometry.first_block).ok_or(errno::CORRUPT)?;
        let mut at = start;
        while at < end {
            let (number, place) = self.geometry.group_of(at);
            let left = u64::from(self.geometry.blocks_per_group - place).min(end - at) as u32;
            self.give_in_group(number, place, left, is_logged)?;
            at += u64::from(left);
        }
        self.cache.forget(start, count.into());
        Ok(())
    }

    fn give_in_group(
        &mut self, number: u32, first: u32, count: u32, is_logged: bool,
    ) -> Result<(), Errno> {
        let mut group = self.group(number)?;
        let bits = self.bitmap(&group, Bitmap::Blocks)?;
        if !(first..first + count).all(|at| bit(&bits, at)) {
            return Err(errno::CORRUPT);
        }
        drop(bits);
        self.change_bits(&mut group, Bitmap::Blocks, first..first + count, false)?;
        group.count_free(Bitmap::Blocks, count as i32);
        self.set_group(group)?;
        self.count(count.into(), 0)?;
        let start = self.geometry.group_start(number) + u64::from(first);
        self.note_freed(Freed { start, count, is_logged });
        Ok(())
    }

    /// Takes an inode near another one's group. A directory goes where there is more room.
    pub fn take_inode(&mut self, near: u32, is_directory: bool) -> Result<u32, Errno> {
        let groups = self.geometry.groups;
        let near = near.saturating_sub(1) / self.geometry.inodes_per_group % groups;
        let first = if is_directory { self.roomy_group(near)? } else { near };
        for step in 0..groups {
            if let Some(number) = self.take_inode_in((first + step) % groups, is_directory)? {
                return Ok(number);
            }
        }
        Err(errno::NOSPC)
    }

    /// Returns a group with at least the mean of free inodes and free blocks, near one.
    fn roomy_group(&mut self, near: u32) -> Result<u32, Errno> {
        /// Number of groups that are looked at.
        const LOOKED: u32 = 16;
        let (mut best, mut room) = (near, 0);
        for step in 0..self.geometry.groups.min(LOOKED) {
            let number = (near + step) % self.geometry.groups;
            let group = self.group(number)?;
            let (blocks, inodes) = (group.free(Bitmap::Blocks), group.free(Bitmap::Inodes));
            if inodes > 0 && blocks > room + room / 4 {
                (best, room) = (number, blocks);
            }
        }
        Ok(best)
    }

    fn take_inode_in(&mut self, number: u32, is_directory: bool) -> Result<Option<u32>, Errno> {
        let mut group = self.group(number)?;
        if group.free(Bitmap::Inodes) == 0 {
            return Ok(None);
        }
        let bitmap = self.bitmap(&group, Bitmap::Inodes)?;
        let each = self.geometry.inodes_per_group;
        let from = if number == 0 { self.geometry.first_inode - 1 } else { 0 };
        let Some((at, _)) = find(&bitmap, &[], from, each, 1) else { return Ok(None) };
        drop(bitmap);
        self.change_bits(&mut group, Bitmap::Inodes, at..at + 1, true)?;
        group.count_free(Bitmap::Inodes, -1);
        group.count_directories(is_directory.into());
        if self.geometry.has_group_flags() {
            let unused = group.unused_inodes().min(each - 1 - at);
            group.set_unused_inodes(unused);
        }
        self.set_group(group)?;
        self.count(0, -1)?;
        Ok(Some(number * each + at + 1))
    }

    /// Gives an inode back.
    pub fn give_inode(&mut self, number: u32, is_directory: bool) -> Result<(), Errno> {
        let index = number.checked_sub(1).filter(|_| number <= self.geometry.inodes);
        let index = index.ok_or(errno::CORRUPT)?;
        let each = self.geometry.inodes_per_group;
        let mut group = self.group(index / each)?;
        let at = index % each;
        if !bit(&*self.bitmap(&group, Bitmap::Inodes)?, at) {
            return Err(errno::CORRUPT);
        }
        self.change_bits(&mut group, Bitmap::Inodes, at..at + 1, false)?;
        group.count_free(Bitmap::Inodes, 1);
        group.count_directories(-i32::from(is_directory));
        self.set_group(group)?;
        self.count(0, 1)
    }

    /// Returns true if an inode is taken.
    pub fn is_inode_taken(&mut self, number: u32) -> Result<bool, Errno> {
        let index = number.checked_sub(1).filter(|_| number <= self.geometry.inodes);
        let index = index.ok_or(errno::CORRUPT)?;
        let group = self.group(index / self.geometry.inodes_per_group)?;
        let bits = self.bitmap(&group, Bitmap::Inodes)?;
        Ok(bit(&bits, index % self.geometry.inodes_per_group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_clear_bits_are_found() {
        let bits = [0xff, 0b1111_0011, 0x00, 0x80];
        assert_eq!(find(&bits, &[], 0, 32, 100), Some((10, 2)));
        assert_eq!(find(&bits, &[], 11, 32, 100), Some((11, 1)));
        assert_eq!(find(&bits, &[], 12, 32, 100), Some((16, 15)));
        assert_eq!(find(&bits, &[], 12, 32, 4), Some((16, 4)));
        assert_eq!(find(&bits, &[0, 0xff, 1], 0, 32, 100), Some((17, 14)));
        assert_eq!(find(&bits, &[], 31, 32, 1), None);
        assert_eq!(find(&bits, &[], 31, 64, 1), None);
    }
}
