//! A mounted volume: operations that are done whole or not at all, and their commits.

use crate::ahead::Streams;
use crate::bytes::{set_u16, set_u32, u16_at, u32_at};
use crate::cache::Cache;
use crate::core::{Clock, Core, seal_superblock};
use crate::disk::{Disk, errno};
use crate::geometry::{Geometry, SUPERBLOCK_SIZE, at, compatible, incompatible, read_only};
use crate::inode::{Inode, ROOT};
use crate::journal::{self, Journal};
use crate::known::Known;
use crate::mount_error::MountError;
use crate::open::OpenFiles;
use crate::unsealed::Unsealed;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use nacre_machine_9p::Errno;

/// Bytes of the disk that are read for the superblock.
const START_SIZE: usize = 4096;
/// Groups that have blocks which a transaction set free, after which it is committed.
const MAX_BUSY: usize = 256;
/// Runs of blocks that one operation gives back, however large the journal is.
const MAX_BUDGET: usize = 128;
/// Bits of the superblock's state.
const STATE_CLEAN: u16 = 1;
const STATE_ERRORS: u16 = 2;

/// Choices of a mount.
pub struct Options {
    /// True if the volume must not be written.
    pub read_only: bool,
    /// Bytes of memory for blocks that have not changed. As much again is for those that have.
    pub cache: usize,
    /// Clock for the times of files.
    pub clock: Clock,
}

/// A mounted volume.
pub struct Volume<D: Disk> {
    pub(crate) core: Core<D>,
    pub(crate) open: OpenFiles,
    pub(crate) streams: Streams,
    journal: Option<Journal>,
    read_only: Option<&'static str>,
    /// Bytes of blocks that have changed, of files and of others, after which they are written.
    max_changed: usize,
    /// True if the disk's superblock says that the volume is in use.
    is_marked: bool,
    /// Files without a name that are still open.
    unnamed: Vec<u32>,
}

/// Reads the superblock from the disk, and its facts.
fn geometry<D: Disk>(disk: &mut D) -> Result<(Geometry, Vec<u8>), MountError> {
    let mut start = vec![0; START_SIZE];
    if disk.size() < START_SIZE as u64 {
        return Err(MountError::NotExt4);
    }
    disk.read(0, &mut start)?;
    let superblock = start[SUPERBLOCK_SIZE..2 * SUPERBLOCK_SIZE].to_vec();
    Ok((Geometry::decode(&superblock, disk.size())?, superblock))
}

/// Returns why a volume cannot be written.
fn reason(wanted: bool, geometry: &Geometry, superblock: &[u8]) -> Option<&'static str> {
    let state = u16_at(superblock, at::STATE);
    let is_unclean = geometry.compatible & compatible::HAS_JOURNAL == 0 && state & STATE_CLEAN == 0;
    match () {
        () if wanted => Some("asked for"),
        () if geometry.read_only & !read_only::KNOWN != 0 => Some("features that can only be read"),
        () if state & STATE_ERRORS != 0 => Some("the volume has errors: run e2fsck"),
        () if is_unclean => Some("the volume has no journal and was not closed: run e2fsck"),
        () => None,
    }
}

impl<D: Disk> Volume<D> {
    /// Mounts a volume. Its journal is replayed first, and files without a name are given back.
    pub fn mount(mut disk: D, options: Options) -> Result<Self, MountError> {
        let (facts, superblock) = geometry(&mut disk)?;
        let read_only = reason(options.read_only, &facts, &superblock);
        let is_marked = facts.incompatible & incompatible::RECOVER != 0;
        let limit = options.cache / facts.block_size;
        let mut core = Core {
            cache: Cache::new(disk, facts.block_size, facts.blocks, limit),
            geometry: facts,
            freed: Vec::new(),
            freed_before: 0,
            revoked: 0,
            busy: BTreeMap::new(),
            unsealed: Unsealed::default(),
            known: Known::default(),
            tables: BTreeMap::new(),
            clock: options.clock,
        };
        let mut journal = None;
        if core.geometry.compatible & compatible::HAS_JOURNAL != 0 {
            if core.geometry.journal_inode == 0 {
                return Err(MountError::Missing("its journal: that is on another disk"));
            }
            let mut found = Journal::load(&mut core)?;
            if found.needs_recovery() {
                if read_only.is_some() {
                    return Err(MountError::NeedsRecovery);
                }
                let blocks = core.geometry.blocks;
                journal::recover(&mut found, core.cache.disk(), blocks, options.cache)?;
                core.cache.clear();
                core.geometry = geometry(core.cache.disk())?.0;
                found = Journal::load(&mut core)?;
            }
            journal = Some(found);
        }
        let open = OpenFiles::new();
        let max_changed = options.cache / 2;
        let unnamed = Vec::new();
        let streams = Streams::default();
        let mut volume = Volume { core, open, streams, journal, read_only, max_changed, is_marked, unnamed };
        if !volume.core.named_inode(ROOT)?.is_directory() {
            return Err(MountError::Corrupt("the outermost directory"));
        }
        volume.free_orphans()?;
        Ok(volume)
    }

    /// Gives back files that had no name when the volume was last in use.
    fn free_orphans(&mut self) -> Result<(), MountError> {
        let mut left = self.core.geometry.inodes;
        while self.read_only.is_none() {
            let number = self.core.first_orphan()?;
            if number == 0 || left == 0 {
                break;
            }
            left -= 1;
            match self.shrink(number) {
                Ok(()) => {}
                Err(errno::CORRUPT) => self.read_only = Some("the list of orphans is damaged: run e2fsck"),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Returns true if a journal protects the volume: after a loss of power it is whole.
    pub fn journalled(&self) -> bool {
        self.journal.is_some()
    }

    /// Returns why the volume is not written, if it is not.
    pub fn read_only(&self) -> Option<&'static str> {
        self.read_only
    }

    /// Writes what has changed, if anything has. To be called each five seconds.
    pub fn tick(&mut self) -> Result<(), Errno> {
        if self.read_only.is_some() {
            return Ok(());
        }
        self.free_unnamed()?;
        self.commit()
    }

    /// Writes what has changed, notes that the volume is closed, and returns the disk.
    pub fn close(mut self) -> Result<D, Errno> {
        if self.read_only.is_none() {
            self.open = OpenFiles::new();
            self.unnamed_closed()?;
            self.commit()?;
            if self.is_marked {
                if let Some(journal) = &mut self.journal {
                    journal.empty(self.core.cache.disk(), true)?;
                }
                self.mark(false)?;
            }
        }
        Ok(self.core.cache.into_disk())
    }

    /// Returns the disk, beside the volume.
    pub fn disk(&mut self) -> &mut D {
        self.core.cache.disk()
    }

    /// Returns the disk as it is: what was not committed is lost, as by a loss of power.
    pub fn into_disk(self) -> D {
        self.core.cache.into_disk()
    }

    /// Writes into the disk's superblock whether the volume is in use.
    fn mark(&mut self, is_used: bool) -> Result<(), Errno> {
        let (block, place) = self.core.geometry.superblock();
        let size = self.core.geometry.block_size;
        let disk = self.core.cache.disk();
        let mut bytes = vec![0; size];
        disk.read(block * size as u64, &mut bytes)?;
        let superblock = &mut bytes[place..place + SUPERBLOCK_SIZE];
        set_used(superblock, is_used, self.journal.is_some());
        seal_superblock(superblock, &self.core.geometry);
        disk.write(block * size as u64, &bytes)?;
        disk.flush()?;
        self.is_marked = is_used;
        Ok(())
    }

    /// Notes that the volume is in use, and begins its journal.
    fn begin(&mut self) -> Result<(), Errno> {
        if !self.is_marked {
            self.mark(true)?;
        }
        let has_journal = self.journal.is_some();
        let now = self.core.now().seconds as u32;
        self.core.edit_superblock(|bytes| {
            set_used(bytes, true, has_journal);
            set_u32(bytes, at::WRITE_TIME, now);
        })?;
        self.core.seal()?;
        self.core.keep();
        match &mut self.journal {
            Some(journal) if !journal.is_begun() => {
                journal.choose_features(&self.core.geometry);
                journal.begin(self.core.cache.disk())
            }
            _ => Ok(()),
        }
    }

    /// Writes what has changed, whole: after a loss of power all of it is there, or nothing.
    pub fn commit(&mut self) -> Result<(), Errno> {
        if self.core.cache.logged_count() == 0 && self.core.cache.data_count() == 0 {
            return Ok(());
        }
        if self.read_only.is_some() {
            return Err(errno::ROFS);
        }
        let result = self.commit_now();
        if result.is_err() {
            self.read_only = Some("the disk failed while the volume was written");
        }
        result
    }

    fn commit_now(&mut self) -> Result<(), Errno> {
        self.begin()?;
        self.core.cache.write_data()?;
        match &mut self.journal {
            Some(journal) => {
                let seconds = self.core.now().seconds;
                journal.write(&mut self.core, seconds)?;
            }
            None => {
                self.core.cache.disk().flush()?;
                self.core.cache.write_logged()?;
                self.core.cache.disk().flush()?;
            }
        }
        self.core.committed();
        Ok(())
    }

    /// Returns true if the journal has room for the running transaction, `parts` times.
    fn has_room(&self, parts: usize) -> bool {
        let Some(journal) = &self.journal else { return true };
        let needs = journal.needs(self.core.cache.logged_count() + 1, self.core.revoked);
        needs <= journal.room() / parts
    }

    /// Returns true if the running transaction takes so much memory that it is better committed.
    fn is_large(&self) -> bool {
        let logged = self.core.cache.logged_count() * self.core.geometry.block_size;
        logged > self.max_changed || self.core.busy.len() > MAX_BUSY
    }

    /// Returns the number of runs of blocks that one operation may give back.
    pub(crate) fn budget(&self) -> u32 {
        let room = self.journal.as_ref().map_or(usize::MAX, Journal::room);
        (room / 64).clamp(4, MAX_BUDGET) as u32
    }

    /// Does an operation: all of it, or nothing if it fails. It is tried again after a commit if
    /// the commit may make room.
    pub(crate) fn operate<R>(
        &mut self, mut operation: impl FnMut(&mut Core<D>, &OpenFiles) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        if self.read_only.is_some() {
            return Err(errno::ROFS);
        }
        if !self.has_room(2) || self.is_large() {
            self.commit()?;
        }
        if self.core.cache.data_count() * self.core.geometry.block_size > self.max_changed {
            self.core.cache.write_data().inspect_err(|_| self.read_only = Some("the disk failed"))?;
        }
        loop {
            let result = operation(&mut self.core, &self.open);
            let fits = self.has_room(1);
            let result = if fits { result } else { result.and(Err(errno::NOSPC)) };
            if result.is_ok() {
                self.core.keep();
                return result;
            }
            self.core.take_back();
            let can_gain = !self.core.freed.is_empty() || (!fits && self.core.cache.logged_count() > 0);
            if result.as_ref().err() != Some(&errno::NOSPC) || !can_gain {
                return result;
            }
            self.commit()?;
        }
    }

    /// Gives back what is beyond the end of a file of the list of orphans.
    pub(crate) fn shrink(&mut self, number: u32) -> Result<(), Errno> {
        let budget = self.budget();
        while !self.operate(|core, _| core.shrink_orphan(number, budget))? {}
        Ok(())
    }

    /// Puts away a file that has lost a name, as a part of an operation. Returns true if its blocks
    /// are still to be given back.
    pub(crate) fn put_away(
        core: &mut Core<D>, open: &OpenFiles, inode: &mut Inode, budget: u32,
    ) -> Result<bool, Errno> {
        if inode.links() > 0 {
            return core.set_inode(inode).map(|()| false);
        }
        if open.is_open(inode.number) {
            core.add_orphan(inode)?;
            return core.set_inode(inode).map(|()| true);
        }
        core.shrink(inode, false, budget).map(|is_done| !is_done)
    }

    /// Notes a file without a name, and gives back what can be.
    pub(crate) fn note_unnamed(&mut self, number: u32) -> Result<(), Errno> {
        if self.open.is_open(number) {
            self.unnamed.push(number);
            return Ok(());
        }
        self.shrink(number)
    }

    /// Gives back files without a name that are closed now.
    pub(crate) fn free_unnamed(&mut self) -> Result<(), Errno> {
        if self.read_only.is_some() || self.unnamed.iter().all(|number| self.open.is_open(*number)) {
            return Ok(());
        }
        self.unnamed_closed()
    }

    fn unnamed_closed(&mut self) -> Result<(), Errno> {
        let (open, closed) = core::mem::take(&mut self.unnamed).into_iter().partition(|number| self.open.is_open(*number));
        self.unnamed = open;
        let closed: Vec<u32> = closed;
        // One that cannot be given back now stays on the list for the next mount.
        closed.into_iter().try_for_each(|number| self.shrink(number))
    }
}

/// Sets the bits of a superblock that say whether the volume is in use.
fn set_used(superblock: &mut [u8], is_used: bool, has_journal: bool) {
    if has_journal {
        let features = u32_at(superblock, at::INCOMPATIBLE) & !incompatible::RECOVER;
        let recover = if is_used { incompatible::RECOVER } else { 0 };
        set_u32(superblock, at::INCOMPATIBLE, features | recover);
    } else {
        let state = u16_at(superblock, at::STATE) & !STATE_CLEAN;
        set_u16(superblock, at::STATE, if is_used { state } else { state | STATE_CLEAN });
    }
}
