//! A volume as a tree of files.

use crate::bytes::u32_at;
use crate::core::Core;
use crate::disk::{Disk, errno};
use crate::geometry::at;
use crate::inode::{self, Inode, Moment};
use crate::map::SHORT_LINK;
use crate::names::check_change;
use crate::open::{Open, OpenFiles};
use crate::volume::Volume;
use alloc::vec::Vec;
use core::ops::Range;
use nacre_machine_9p::{
    Changes, Entry, Errno, FileSystem, Lock, OpenFlags, Part, Path, Sought, Status, TimeChange, Tree,
};

/// Bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o7777;

/// Does a change that may leave blocks of the file to be given back. Returns true if it does.
fn change<D: Disk>(
    core: &mut Core<D>, number: u32, changes: &Changes, budget: u32,
) -> Result<bool, Errno> {
    let mut inode = core.inode(number)?;
    check_change(&inode, false)?;
    if let Some(mode) = changes.mode {
        inode.set_mode(inode.kind() | mode & PERMISSIONS);
    }
    let (uid, gid) = inode.owner();
    inode.set_owner(changes.uid.unwrap_or(uid), changes.gid.unwrap_or(gid));
    if let Some(size) = changes.size {
        return resize(core, &mut inode, size, changes, budget);
    }
    set_times(core, &mut inode, changes, false)?;
    core.set_inode(&inode)?;
    Ok(false)
}

fn resize<D: Disk>(
    core: &mut Core<D>, inode: &mut Inode, size: u64, changes: &Changes, budget: u32,
) -> Result<bool, Errno> {
    match inode.kind() {
        inode::REGULAR => check_change(inode, true)?,
        inode::DIRECTORY => return Err(errno::ISDIR),
        _ => return Err(errno::INVAL),
    }
    let is_listed = inode.links() == 0;
    core.resize(inode, size)?;
    set_times(core, inode, changes, true)?;
    if is_listed {
        // The file goes when it is closed: its blocks beyond the end are of no interest until then,
        // but must not come back when it grows.
        let size = core.geometry.block_size as u64;
        let first = inode.size().div_ceil(size) as u32;
        core.cut(inode, first, &mut u32::MAX.clone())?;
        return core.set_inode(inode).map(|()| false);
    }
    core.shrink(inode, false, budget).map(|is_done| !is_done)
}

fn set_times<D: Disk>(
    core: &mut Core<D>, inode: &mut Inode, changes: &Changes, has_contents: bool,
) -> Result<(), Errno> {
    let now = core.now();
    let moment = |change| match change {
        TimeChange::Now => now,
        TimeChange::Set(time) => time,
    };
    if let Some(accessed) = changes.accessed {
        inode.set_time(Moment::Accessed, moment(accessed));
    }
    if let Some(modified) = changes.modified {
        inode.set_time(Moment::Modified, moment(modified));
    } else if has_contents {
        inode.set_time(Moment::Modified, now);
    }
    inode.set_time(Moment::Changed, now);
    Ok(())
}

impl<D: Disk> Volume<D> {
    /// Removes a name in one way or another, and gives back what belongs to no file then.
    fn remove_with(
        &mut self, mut remove: impl FnMut(&mut Core<D>) -> Result<Option<Inode>, Errno>,
    ) -> Result<(), Errno> {
        self.free_unnamed()?;
        let budget = self.budget();
        let left = self.operate(|core, open: &OpenFiles| {
            let Some(mut inode) = remove(core)? else { return Ok(None) };
            let is_left = Self::put_away(core, open, &mut inode, budget)?;
            Ok(is_left.then_some(inode.number))
        })?;
        left.map_or(Ok(()), |number| self.note_unnamed(number))
    }

    fn change_inode(&mut self, number: u32, changes: &Changes) -> Result<(), Errno> {
        let budget = self.budget();
        if self.operate(|core, _| change(core, number, changes, budget))? {
            self.shrink(number)?;
        }
        Ok(())
    }

    fn make_file(
        &mut self, path: &Path, mode: u32, mut fill: impl FnMut(&mut Core<D>, &mut Inode) -> Result<(), Errno>,
    ) -> Result<u32, Errno> {
        self.free_unnamed()?;
        self.operate(|core, _| core.make(path, mode, &mut fill))
    }

    fn open_inode(&mut self, inode: &Inode, flags: OpenFlags) -> Result<Open, Errno> {
        match inode.kind() {
            inode::DIRECTORY if flags.writes || flags.truncates => return Err(errno::ISDIR),
            inode::REGULAR if flags.is_directory => return Err(errno::NOTDIR),
            inode::REGULAR | inode::DIRECTORY => {}
            inode::LINK => return Err(errno::LOOP),
            _ if flags.is_directory => return Err(errno::NOTDIR),
            _ => return Err(errno::NXIO),
        }
        if flags.writes || flags.truncates {
            if self.read_only().is_some() {
                return Err(errno::ROFS);
            }
            check_change(inode, false)?;
        }
        if flags.truncates && inode.size() > 0 {
            let changes = Changes { size: Some(0), ..Changes::default() };
            self.change_inode(inode.number, &changes)?;
        }
        Ok(self.open.open(inode.number, flags.reads, flags.writes))
    }
}

impl<D: Disk> Tree for Volume<D> {
    type Open = Open;

    fn status(&mut self, path: &Path) -> Result<Status, Errno> {
        let size = self.core.geometry.block_size;
        Ok(self.core.lookup(path)?.status(size))
    }

    fn status_open(&mut self, file: &Open) -> Result<Status, Errno> {
        let size = self.core.geometry.block_size;
        Ok(self.core.inode(file.inode)?.status(size))
    }

    fn open(&mut self, path: &Path, flags: OpenFlags) -> Result<Open, Errno> {
        let inode = match flags.creates {
            Some(mode) => {
                let mode = inode::REGULAR | mode & PERMISSIONS;
                let number = self.make_file(path, mode, |_, _| Ok(()))?;
                self.core.inode(number)?
            }
            None => self.core.lookup(path)?,
        };
        self.open_inode(&inode, flags)
    }

    fn read(&mut self, file: &Open, at: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let inode = self.core.inode(file.inode)?;
        match inode.is_directory() {
            _ if !file.reads => Err(errno::BADF),
            true => Err(errno::ISDIR),
            false => {
                let count = self.core.read_file(&inode, at, into)?;
                let end = at + count as u64;
                if count > 0 && self.streams.note(inode.number, at, end) {
                    self.core.read_ahead(&inode, end);
                }
                Ok(count)
            }
        }
    }

    fn write(&mut self, file: &Open, at: u64, bytes: &[u8]) -> Result<usize, Errno> {
        if !file.writes {
            return Err(errno::BADF);
        }
        self.free_unnamed()?;
        let mut count = bytes.len();
        loop {
            let result = self.operate(|core, _| {
                let mut inode = core.inode(file.inode)?;
                core.write_file(&mut inode, at, &bytes[..count])?;
                core.set_changed(&mut inode, true)
            });
            match result {
                // A volume that is nearly full takes as much as it has room for.
                Err(errno::NOSPC) if count > self.core.geometry.block_size => count /= 2,
                result => return result.map(|()| count),
            }
        }
    }

    fn list(
        &mut self, file: &Open, cookie: u64, each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<u64, Errno> {
        let inode = self.core.inode(file.inode)?;
        match inode.is_directory() {
            true if inode.links() == 0 => Ok(0),
            true => self.core.list_directory(&inode, cookie, each),
            false => Err(errno::NOTDIR),
        }
    }

    fn sync(&mut self, _: &Open) -> Result<(), Errno> {
        self.commit()
    }

    fn allocate(&mut self, file: &Open, part: Range<u64>, keeps_size: bool) -> Result<u64, Errno> {
        if !file.writes {
            return Err(errno::BADF);
        }
        self.free_unnamed()?;
        let budget = self.budget();
        self.operate(|core, _| {
            let mut inode = core.inode(file.inode)?;
            check_change(&inode, true)?;
            let next = core.allocate(&mut inode, part.clone(), keeps_size, budget)?;
            core.set_changed(&mut inode, true).map(|_| next)
        })
    }

    fn punch(&mut self, file: &Open, part: Range<u64>) -> Result<u64, Errno> {
        if !file.writes {
            return Err(errno::BADF);
        }
        let budget = self.budget();
        self.operate(|core, _| {
            let mut inode = core.inode(file.inode)?;
            check_change(&inode, true)?;
            let next = core.punch(&mut inode, part.clone(), budget)?;
            core.set_changed(&mut inode, true).map(|_| next)
        })
    }

    fn seek(&mut self, file: &Open, from: u64, part: Part) -> Result<Sought, Errno> {
        let inode = self.core.inode(file.inode)?;
        if inode.is_directory() { Err(errno::ISDIR) } else { self.core.seek(&inode, from, part) }
    }

    fn lock(&mut self, file: &Open, lock: Lock, first: u64, last: u64) -> Result<(), Errno> {
        self.open.lock(file, lock, first, last)
    }

    fn change(&mut self, path: &Path, file: Option<&Open>, changes: &Changes) -> Result<(), Errno> {
        let number = match file {
            Some(file) => file.inode,
            None => self.core.lookup(path)?.number,
        };
        self.change_inode(number, changes)
    }

    fn attribute(&mut self, path: &Path, file: Option<&Open>, name: &[u8]) -> Result<Vec<u8>, Errno> {
        let inode = match file {
            Some(file) => self.core.inode(file.inode)?,
            None => self.core.lookup(path)?,
        };
        self.core.attribute(&inode, name)
    }

    fn set_attribute(
        &mut self, path: &Path, file: Option<&Open>, name: &[u8], value: Option<&[u8]>, flags: u32,
    ) -> Result<(), Errno> {
        let number = match file {
            Some(file) => file.inode,
            None => self.core.lookup(path)?.number,
        };
        self.free_unnamed()?;
        self.operate(|core, _| core.set_attribute(number, name, value, flags))
    }

    fn make_directory(&mut self, path: &Path, mode: u32) -> Result<(), Errno> {
        self.make_file(path, inode::DIRECTORY | mode & PERMISSIONS, |_, _| Ok(())).map(drop)
    }

    fn make_node(&mut self, path: &Path, mode: u32, device: u64) -> Result<(), Errno> {
        let kind = mode & inode::KIND;
        match kind {
            inode::REGULAR | inode::FIFO | inode::SOCKET | inode::CHARACTERS | inode::BLOCKS => {}
            _ => return Err(errno::INVAL),
        }
        let is_device = matches!(kind, inode::CHARACTERS | inode::BLOCKS);
        let fill = |_: &mut Core<D>, inode: &mut Inode| {
            if is_device {
                inode.set_device(device);
            }
            Ok(())
        };
        self.make_file(path, kind | mode & PERMISSIONS, fill).map(drop)
    }

    fn symbolic_link(&mut self, target: &[u8], path: &Path) -> Result<(), Errno> {
        if target.is_empty() {
            return Err(errno::NOENT);
        }
        if target.len() >= self.core.geometry.block_size {
            return Err(errno::NAMETOOLONG);
        }
        self.make_file(path, inode::LINK | 0o777, |core, inode| {
            if (target.len() as u64) < SHORT_LINK {
                inode.map_mut()[..target.len()].copy_from_slice(target);
                inode.set_size(target.len() as u64);
                return Ok(());
            }
            core.use_extents(inode);
            core.set_target(inode, target)
        })
        .map(drop)
    }

    fn read_link(&mut self, path: &Path) -> Result<Vec<u8>, Errno> {
        let inode = self.core.lookup(path)?;
        if inode.kind() == inode::LINK { self.core.target(&inode) } else { Err(errno::INVAL) }
    }

    fn link(&mut self, from: &Path, to: &Path) -> Result<(), Errno> {
        self.free_unnamed()?;
        self.operate(|core, _| core.link(from, to))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), Errno> {
        self.remove_with(|core| Ok(core.rename(from, to)?.map(|unnamed| unnamed.inode)))
    }

    fn remove(&mut self, path: &Path, is_directory: bool) -> Result<(), Errno> {
        self.remove_with(|core| Ok(Some(core.unlink(path, is_directory)?.inode)))
    }

    fn file_system(&mut self) -> Result<FileSystem, Errno> {
        self.free_unnamed()?;
        let free = self.core.free_blocks()?;
        let superblock = self.core.superblock()?;
        Ok(FileSystem {
            block_size: self.core.geometry.block_size as u64,
            blocks: self.core.geometry.blocks,
            free,
            files: self.core.geometry.inodes.into(),
            files_free: u32_at(&superblock, at::FREE_INODES).into(),
        })
    }
}

