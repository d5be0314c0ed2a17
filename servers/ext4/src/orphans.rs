//! Files without a name: those that are open yet, and those whose blocks are being given back. A
//! list in the volume has them, so that the next mount goes on where this one stopped.

use crate::bytes::{set_u32, u32_at};
use crate::core::Core;
use crate::disk::{Disk, errno};
use crate::geometry::at;
use crate::inode::Inode;
use nacre_machine_9p::Errno;

/// Earliest time of deletion: a smaller number would look like an inode of the list.
const EARLIEST: u32 = 0x5000_0000;
/// Number of files of the list that a search goes through.
const MAX_STEPS: u32 = 1 << 20;

impl<D: Disk> Core<D> {
    /// Returns the first file of the list; 0: there is none.
    pub fn first_orphan(&mut self) -> Result<u32, Errno> {
        Ok(u32_at(&self.superblock()?, at::LAST_ORPHAN))
    }

    fn set_first_orphan(&mut self, number: u32) -> Result<(), Errno> {
        self.edit_superblock(|bytes| set_u32(bytes, at::LAST_ORPHAN, number))
    }

    /// Puts a file on the list. Its inode is to be written then.
    pub fn add_orphan(&mut self, inode: &mut Inode) -> Result<(), Errno> {
        let first = self.first_orphan()?;
        inode.set_deleted(first);
        self.set_first_orphan(inode.number)
    }

    /// Takes a file from the list, of which it may be no part.
    fn remove_orphan(&mut self, inode: &mut Inode) -> Result<(), Errno> {
        let next = inode.deleted();
        let mut number = self.first_orphan()?;
        if number == inode.number {
            inode.set_deleted(0);
            return self.set_first_orphan(next);
        }
        let mut steps = self.geometry.inodes.min(MAX_STEPS);
        while number != 0 && steps > 0 {
            let mut other = self.inode(number)?;
            number = other.deleted();
            if number == inode.number {
                other.set_deleted(next);
                inode.set_deleted(0);
                return self.set_inode(&other);
            }
            steps -= 1;
        }
        Ok(())
    }

    /// Gives back blocks of a file that are beyond its end, and a file without a name altogether.
    /// Returns false if some are left: the file is on the list then.
    pub fn shrink(
        &mut self, inode: &mut Inode, is_listed: bool, budget: u32,
    ) -> Result<bool, Errno> {
        let (mut budget, size) = (budget, self.geometry.block_size as u64);
        let is_gone = inode.links() == 0;
        let first = if is_gone { 0 } else { inode.size().div_ceil(size).min(u32::MAX.into()) as u32 };
        let is_done = self.cut(inode, first, &mut budget)?;
        if is_done && is_listed {
            self.remove_orphan(inode)?;
        } else if !is_done && !is_listed {
            self.add_orphan(inode)?;
        }
        if is_done && is_gone {
            self.delete(inode)?;
        }
        self.set_inode(inode)?;
        Ok(is_done)
    }

    /// Goes on with a file of the list.
    pub fn shrink_orphan(&mut self, number: u32, budget: u32) -> Result<bool, Errno> {
        if !self.is_inode_taken(number)? {
            return Err(errno::CORRUPT);
        }
        let mut inode = self.inode(number)?;
        self.shrink(&mut inode, true, budget)
    }

    fn delete(&mut self, inode: &mut Inode) -> Result<(), Errno> {
        self.drop_attributes(inode)?;
        let now = u32::try_from(self.now().seconds).unwrap_or(u32::MAX);
        inode.set_deleted(now.max(EARLIEST));
        inode.set_size(0);
        self.give_inode(inode.number, inode.is_directory())
    }
}
