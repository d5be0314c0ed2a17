//! Protocol `dataspace`, at pools, dataspaces and attachments.

use crate::attachments::Attachment;
use crate::keeper::{Dataspace, Keeper, MAX_DATASPACES, Name, errno, pages};
use crate::words::{NAMELESS, READ, SHARED, key};
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::dataspace::{Server, attach, copy, create, delete, detach, identify, interrogate, share, transfer};
use nacre_proto::flags::{ATTACH_READ, DATASPACE_COPY, DATASPACE_CREATE, DATASPACE_SHARE, DATASPACE_TRANSFER};
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::{OwnedPort, OwnedReference};

/// Size of the longest name of a dataspace.
const MAX_NAME: usize = 255;

/// A manager's name, and the name that follows it, if one does.
fn split(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    match name.iter().position(|byte| *byte == b':') {
        Some(at) => (&name[..at], Some(&name[at + 1..])),
        None => (name, None),
    }
}

/// Returns true if a reference with this word is for reading alone, or the flags ask for one that
/// is. `EINVAL`: flags without a meaning.
fn reads(word: u64, flags: u64) -> Result<bool, Errno> {
    match flags {
        0 => Ok(word & READ != 0),
        ATTACH_READ => Ok(true),
        _ => Err(Errno::EINVAL),
    }
}

/// `EACCES`: the reference leads to no names.
fn check_names(request: &Request<'_>) -> Result<(), Errno> {
    if request.word() & NAMELESS == 0 { Ok(()) } else { Err(Errno::EACCES) }
}

impl Keeper {
    /// The number of a manager. An empty name is that of number `or`.
    fn manager(&self, name: &[u8], or: usize) -> Result<usize, Errno> {
        if name.is_empty() {
            return Ok(or);
        }
        self.managers.iter().position(|manager| manager.name.as_bytes() == name).ok_or(Errno::ENOENT)
    }

    /// `EOPNOTSUPP`: the manager does not support the operation.
    fn check_supports(&self, manager: usize, operation: u64) -> Result<(), Errno> {
        let operations = self.managers.get(manager).map_or(0, |manager| manager.operations);
        if operations & operation != 0 { Ok(()) } else { Err(Errno::EOPNOTSUPP) }
    }

    fn manager_of(&self, dataspace: &Dataspace) -> Result<usize, Errno> {
        self.spaces.manager(dataspace.space).ok_or(Errno::EIO)
    }

    fn own_reference(&self, key: u64) -> Result<OwnedReference, Errno> {
        Ok(self.dataspaces.get(&key).ok_or(Errno::EIO)?.ports.own().new_reference(REFERENCE_USE)?)
    }

    fn shared_reference(&mut self, key: u64, reads: bool) -> Result<OwnedReference, Errno> {
        let set = self.set.handle();
        self.dataspaces.get_mut(&key).ok_or(Errno::EIO)?.ports.share(key, reads, set)
    }

    /// Attaches a dataspace: the region, and the port that keeps the attachment.
    pub(crate) fn add_attachment(&mut self, dataspace: u64, reads: bool, owns: bool) -> Result<(OwnedReference, OwnedReference), Errno> {
        self.pay_whole(dataspace)?;
        let pool = self.dataspaces.get(&dataspace).ok_or(Errno::EIO)?.pool;
        self.attachments.check(pool, MAX_DATASPACES)?;
        let key = self.key();
        let pages = self.pages_of(self.dataspaces.get(&dataspace).ok_or(Errno::EIO)?)?;
        let word = if reads { key | READ } else { key };
        let [port, keeper] = [OwnedPort::new(word, self.set.handle())?, OwnedPort::new(word, self.set.handle())?];
        let region = self.top.region(&pages, reads, keeper.handle())?;
        let references = (region.new_reference(REFERENCE_USE)?, port.new_reference(REFERENCE_USE)?);
        self.attachments.add(key, (dataspace, pool), Attachment { dataspace, region, owns, position: 0, flags: 0, _ports: [port, keeper] });
        Ok(references)
    }

    /// Ends an attachment. `ENOSYS`: there is none of this key.
    pub(crate) fn detach_key(&mut self, key: u64) -> Result<(), Errno> {
        let dataspace = self.attachments.get(key).ok_or(Errno::ENOSYS)?.dataspace;
        self.attachments.remove(key, dataspace);
        self.end_unused_file(dataspace);
        self.end_unused_window(dataspace);
        if self.lasts(dataspace) {
            // Whoever wants to know whether all is written asks by `file.sync`.
            let _ = self.commit();
        }
        Ok(())
    }

    /// Gives a dataspace this name, which nobody has, in place of the one that it had.
    pub(crate) fn give_name(&mut self, key: u64, name: Option<Name>) {
        let Some(dataspace) = self.dataspaces.get_mut(&key) else { return };
        if let Some(old) = core::mem::replace(&mut dataspace.name, name.clone()) {
            self.names.remove(&old);
        }
        if let Some(name) = name {
            self.names.insert(name, key);
        }
    }

    /// The managers that a name places a dataspace at: its own, and the one below. `or` is the
    /// present one.
    fn placement(&self, name: &[u8], or: usize) -> Result<(usize, Option<usize>), Errno> {
        let (upper, lower) = match name.iter().position(|byte| *byte == b'/') {
            Some(at) => (&name[..at], &name[at + 1..]),
            None => (name, &b""[..]),
        };
        let manager = self.manager(upper, or)?;
        if lower.is_empty() {
            return Ok((manager, None));
        }
        let lower = self.manager(lower, or)?;
        self.check_supports(lower, DATASPACE_TRANSFER)?;
        if lower == manager { Err(Errno::EINVAL) } else { Ok((manager, Some(lower))) }
    }

    /// Moves a dataspace: it is not shown meanwhile, so those who use it wait for us.
    fn move_to(&mut self, key: u64, (manager, lower): (usize, Option<usize>)) -> Result<(), Errno> {
        self.pay_whole(key)?;
        let dataspace = self.dataspaces.get_mut(&key).ok_or(Errno::EIO)?;
        dataspace.shown.hide();
        let moved = self.spaces.place(dataspace.space, manager, lower).map_err(errno);
        // Where it cannot be shown now, the next fault tries again.
        let _ = self.show(key);
        self.end_waiting_files();
        moved
    }
}

impl Server for Keeper {
    fn identify(&mut self, request: &mut Request<'_>, name: &[u8]) -> HandlerResult<identify::Output> {
        let (pool, (manager, own)) = (self.pool(request)?, split(name));
        check_names(request)?;
        let manager = self.manager(manager, 0)?;
        let name = (self.name_pool(pool, manager), manager, own.ok_or(Errno::EINVAL)?.to_vec());
        let key = *self.names.get(&name).ok_or(Errno::ENOENT)?;
        // Nobody else owns what outlives its owners.
        let reference = if self.lasts(key) { self.own_reference(key)? } else { self.shared_reference(key, false)? };
        identify::Output { size: self.capacity_of(key)?, dataspace: reference.into() }.now()
    }

    fn attach(&mut self, request: &mut Request<'_>, flags: u64) -> HandlerResult<attach::Output> {
        self.dataspace(request)?;
        let reads_alone = reads(request.word(), flags)?;
        let key = self.key_of(request);
        let (region, attachment) = self.add_attachment(key, reads_alone, request.word() & SHARED == 0)?;
        attach::Output { size: self.capacity_of(key)?, region: region.into(), attachment: attachment.into() }.now()
    }

    fn detach(&mut self, request: &mut Request<'_>) -> HandlerResult<detach::Output> {
        self.detach_key(key(request.word()))?;
        detach::Output::default().now()
    }

    fn interrogate(&mut self, request: &mut Request<'_>, name: &[u8]) -> HandlerResult<interrogate::Output> {
        let (own, lower) = match self.dataspace(request) {
            Ok(dataspace) => (self.manager_of(dataspace)?, self.spaces.lower(dataspace.space)),
            Err(_) => (self.pool(request).map(|_| 0)?, None),
        };
        let manager = self.manager(name, own)?;
        let below = lower.filter(|_| name.is_empty()).and_then(|lower| self.managers.get(lower));
        let told = below.map_or(Vec::new(), |below| [self.managers[manager].name, "/", below.name].concat().into_bytes());
        request.put(if told.is_empty() { self.managers[manager].name.as_bytes() } else { &told });
        let bank = self.spaces.bank(manager).ok_or(Errno::ENOENT)?;
        let (here, away) = bank.population();
        interrogate::Output {
            operations: self.managers[manager].operations,
            limit: bank.most() * PAGE_SIZE,
            promised: bank.promised() * PAGE_SIZE,
            here: here as u64,
            away: away as u64,
            kept: bank.store().used(),
        }
        .now()
    }

    fn share(&mut self, request: &mut Request<'_>, flags: u64) -> HandlerResult<share::Output> {
        let manager = self.manager_of(self.dataspace(request)?)?;
        self.check_supports(manager, DATASPACE_SHARE)?;
        let reads_alone = reads(request.word(), flags)?;
        share::Output { dataspace: self.shared_reference(self.key_of(request), reads_alone)?.into() }.now()
    }

    fn copy(&mut self, request: &mut Request<'_>, name: &[u8]) -> HandlerResult<copy::Output> {
        let dataspace = self.dataspace(request)?;
        let (space, from) = (dataspace.space, self.manager_of(dataspace)?);
        // A file's dataspace counts in no pool.
        let pool = self.files.pool(key(request.word())).unwrap_or(dataspace.pool);
        let manager = self.manager(name, from)?;
        self.check_supports(from, DATASPACE_COPY)?;
        self.check_supports(manager, DATASPACE_COPY)?;
        let lies_in_file = Some(from) == self.files.manager || self.spaces.needs_origin(space);
        if Some(manager) == self.files.manager || lies_in_file && self.spaces.bank(manager).is_some_and(|bank| bank.store().keeps_all()) {
            return Err(Errno::EOPNOTSUPP);
        }
        let pages = self.pages_of(dataspace)?;
        self.pay_whole(self.key_of(request))?;
        let copy = self.add_dataspace(pool, pages.end - pages.start, |spaces| spaces.copy(space, manager))?;
        let reference = self.own_reference(copy).inspect_err(|_| self.remove_dataspace(copy))?;
        copy::Output { size: self.capacity_of(copy)?, dataspace: reference.into() }.now()
    }

    fn transfer(&mut self, request: &mut Request<'_>, name: &[u8]) -> HandlerResult<transfer::Output> {
        let key = self.own_dataspace(request)?;
        let from = self.manager_of(self.dataspace(request)?)?;
        let (manager, lower) = self.placement(name, from)?;
        self.check_supports(from, DATASPACE_TRANSFER)?;
        self.check_supports(manager, DATASPACE_TRANSFER)?;
        if lower.is_some() && self.lasts(key) {
            // A generation holds what its own manager has.
            return Err(Errno::EOPNOTSUPP);
        }
        let (home, name) = (self.dataspace(request)?.home, self.dataspace(request)?.name.clone());
        let name = name.map(|(.., own)| (self.name_pool(home, manager), manager, own));
        if manager != from && name.as_ref().is_some_and(|name| self.names.contains_key(name)) {
            return Err(Errno::EEXIST);
        }
        self.note_change(key);
        self.move_to(key, (manager, lower))?;
        self.give_name(key, name);
        self.settle(key);
        transfer::Output::default().now()
    }

    fn create(&mut self, request: &mut Request<'_>, size: u64, name: &[u8]) -> HandlerResult<create::Output> {
        let (pool, (manager, own)) = (self.pool(request)?, split(name));
        let manager = self.manager(manager, 0)?;
        self.check_supports(manager, DATASPACE_CREATE)?;
        match (Some(manager) == self.files.manager, request.references().is_empty(), own) {
            (true, false, None) => return self.create_of_file(request, size),
            (false, false, None) if self.windows.is_of(manager) => return self.create_of_window(request),
            (false, true, None) => {}
            (false, true, Some(_)) => check_names(request)?,
            _ => return Err(Errno::EINVAL),
        }
        let count = pages(size)?;
        let named: Option<Name> = own.map(|own| (self.name_pool(pool, manager), manager, own.to_vec()));
        match &named {
            Some((_, _, own)) if own.len() > MAX_NAME => return Err(Errno::ENAMETOOLONG),
            Some(named) if self.names.contains_key(named) => return Err(Errno::EEXIST),
            _ => {}
        }
        let key = self.add_dataspace(pool, count, |spaces| spaces.create(manager, count))?;
        let reference = self.own_reference(key).inspect_err(|_| self.remove_dataspace(key))?;
        self.give_name(key, named);
        self.settle(key);
        create::Output { size: count * PAGE_SIZE, dataspace: reference.into() }.now()
    }

    fn delete(&mut self, request: &mut Request<'_>) -> HandlerResult<delete::Output> {
        self.dataspace(request)?;
        if request.word() & SHARED != 0 {
            return Err(Errno::EPERM);
        }
        self.remove_dataspace(request.word());
        delete::Output::default().now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_managers_and_perhaps_a_dataspaces() {
        assert_eq!(split(b"pinned"), (&b"pinned"[..], None));
        assert_eq!(split(b"pinned:"), (&b"pinned"[..], Some(&b""[..])));
        assert_eq!(split(b":a:b"), (&b""[..], Some(&b"a:b"[..])));
    }

    #[test]
    fn who_only_reads_can_not_ask_for_more() {
        assert_eq!((reads(5 | READ | SHARED, 0), reads(5, 0), reads(5, ATTACH_READ), reads(5, 2)), (Ok(true), Ok(false), Ok(true), Err(Errno::EINVAL)));
    }
}
