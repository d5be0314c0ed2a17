//! Dataspaces that outlive the program: those that have a name in the outermost pool, of the
//! manager whose store makes generations.

use crate::keeper::{FIRST_POOL, Keeper, errno};
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_dataspaces::store::Saved;
use nacre_proto::Errno;

/// Nanoseconds without an event after which a generation is written.
const QUIET: u64 = 500_000_000;
/// Events after which one is written in any case.
const MAX_EVENTS: u32 = 1024;

/// Changes that are to be written, and when.
#[derive(Default)]
pub(crate) struct Lasting {
    /// The manager whose named dataspaces last.
    pub(crate) manager: Option<usize>,
    /// Something may have changed since the last generation.
    changed: bool,
    events: u32,
}

impl Keeper {
    /// Nanoseconds to wait for the next event.
    pub(crate) fn patience(&self) -> u64 {
        if self.lasting.changed || self.files.changed { QUIET } else { nacre_sys::FOREVER }
    }

    /// Somebody touched a page of a manager's.
    pub(crate) fn note_touch(&mut self, manager: usize) {
        self.lasting.changed |= Some(manager) == self.lasting.manager;
        self.files.changed |= Some(manager) == self.files.manager;
    }

    /// Counts one more event. Returns true if what was changed is to be written now.
    pub(crate) fn is_due(&mut self) -> bool {
        self.lasting.events += u32::from(self.lasting.changed || self.files.changed);
        let is_due = self.lasting.events > MAX_EVENTS;
        if is_due {
            self.lasting.events = 0;
        }
        is_due
    }

    /// Returns true if the dataspace stays when nobody has a reference to it.
    pub(crate) fn lasts(&self, key: u64) -> bool {
        let name = self.dataspaces.get(&key).and_then(|dataspace| dataspace.name.as_ref());
        name.is_some_and(|(pool, manager, _)| *pool == FIRST_POOL && Some(*manager) == self.lasting.manager)
    }

    /// The pool in which a name of a manager is looked for: all pools have the same lasting
    /// dataspaces.
    pub(crate) fn name_pool(&self, pool: u64, manager: usize) -> u64 {
        if Some(manager) == self.lasting.manager { FIRST_POOL } else { pool }
    }

    /// Counts a dataspace in the outermost pool as long as it lasts, and else in the one of whoever
    /// made it, if there is that.
    pub(crate) fn settle(&mut self, key: u64) {
        let lasts = self.lasts(key);
        let Some(dataspace) = self.dataspaces.get_mut(&key) else { return };
        let pool = if lasts || !self.pools.has(dataspace.home) { FIRST_POOL } else { dataspace.home };
        let before = core::mem::replace(&mut dataspace.pool, pool);
        self.tally.remove(before, key);
        self.tally.add(pool, key);
        let count = self.spaces.pages(dataspace.space).map_or(0, |pages| pages.end - pages.start) as i64;
        self.pools.count(before, -count);
        self.pools.count(pool, count);
        self.note_change(key);
    }

    /// A dataspace was changed, or may be changed from now on.
    pub(crate) fn note_change(&mut self, key: u64) {
        self.lasting.changed |= self.lasts(key);
    }

    /// Makes dataspaces that were in the store when it was opened.
    pub fn restore(&mut self, manager: usize, all: Vec<Saved>) -> Result<(), Errno> {
        self.lasting.manager = Some(manager);
        for saved in all {
            let key = self.add_dataspace(FIRST_POOL, saved.count, |spaces| spaces.restore(manager, &saved))?;
            self.give_name(key, Some((FIRST_POOL, manager, saved.name)));
            if let Some(dataspace) = self.dataspaces.get_mut(&key) {
                dataspace.length = saved.length;
            }
        }
        Ok(())
    }

    /// Writes a generation, if anything has changed. All of it is of one moment: whoever touches
    /// the memory meanwhile waits.
    pub(crate) fn commit(&mut self) -> Result<(), Errno> {
        let Some(manager) = self.lasting.manager.filter(|_| self.lasting.changed) else { return Ok(()) };
        let names = self.names.range((FIRST_POOL, manager, Vec::new())..(FIRST_POOL, manager + 1, Vec::new()));
        let lasting = names.filter_map(|((.., name), key)| {
            let dataspace = self.dataspaces.get(key)?;
            Some((dataspace.space, name.clone(), dataspace.length))
        });
        let lasting: Vec<_> = lasting.collect();
        // Where it fails now the next event tries again, and until then nobody waits for it.
        (self.lasting.changed, self.lasting.events) = (false, 0);
        self.spaces.commit(manager, lasting).map(drop).map_err(errno).inspect_err(|_| self.lasting.changed = true)
    }

    /// Bytes of a dataspace in whole pages.
    pub(crate) fn capacity_of(&self, key: u64) -> Result<u64, Errno> {
        let pages = self.pages_of(self.dataspaces.get(&key).ok_or(Errno::EIO)?)?;
        Ok((pages.end - pages.start) * PAGE_SIZE)
    }
}
