//! Limits: how much the child may take of what it shares with others.
//!
//! The guard counts nothing itself. It asks the servers for accounts with bounds, and the child
//! reaches them through these alone: memory through a pool, files through a directory. A file that
//! somebody outside has opened is charged to that directory before the child gets it. So whoever
//! makes the kernel's calls itself, or hands references around, is bounded as well.

use alloc::format;
use alloc::string::{String, ToString};
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::Services;
use nacre_nest::command::{lossy, number, size};
use nacre_proto::flags::SERVICE_NETWORK;
use nacre_proto::{Errno, channel, directory, parent, process};
use nacre_sys::{OwnedReference, Reference};

/// Amount that servers read as unbounded.
const NONE: u64 = u64::MAX;

/// Limits of a command line; none where it names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory, with that for kernel objects.
    pub memory: Option<u64>,
    /// Open files and other objects of the file server.
    pub files: Option<u64>,
    /// Bytes of contents and names of files.
    pub storage: Option<u64>,
    /// Processes and further threads at once.
    pub processes: Option<u64>,
    /// Connections to the outside at once.
    pub connections: Option<u64>,
    /// Bytes that come from outside.
    pub bytes_in: Option<u64>,
    /// Bytes that go to the outside.
    pub bytes_out: Option<u64>,
}

impl Limits {
    /// Adds a limit, `KIND=N`. Of two limits of a kind the smaller one holds.
    pub fn add(&mut self, text: &[u8]) -> Result<(), String> {
        let is_sign = |byte: &u8| *byte == b'=';
        let Some(sign) = text.iter().position(is_sign) else { return Err(format!("{} is no limit: KIND=N is", lossy(text))) };
        let (kind, value) = (&text[..sign], &text[sign + 1..]);
        let (place, amount) = match kind {
            b"memory" => (&mut self.memory, size(value)),
            b"files" => (&mut self.files, number(value).filter(|count| *count > 0)),
            b"storage" => (&mut self.storage, size(value)),
            b"processes" => (&mut self.processes, number(value).filter(|count| *count > 0)),
            b"connections" => (&mut self.connections, number(value).filter(|count| *count > 0)),
            b"bytes-in" => (&mut self.bytes_in, size(value)),
            b"bytes-out" => (&mut self.bytes_out, size(value)),
            _ => return Err(format!("there is no limit of {}: there are memory, files, storage, processes, connections, bytes-in and bytes-out", lossy(kind))),
        };
        let amount = amount.ok_or_else(|| format!("{} is no amount of {}", lossy(value), lossy(kind)))?;
        *place = Some(place.map_or(amount, |before| before.min(amount)));
        Ok(())
    }

    /// Returns services whose memory has the limit, for the child.
    pub fn services(&self, services: Services) -> Result<Services, String> {
        let Some(memory) = self.memory else { return Ok(services) };
        if services.has_manager() {
            // The manager outside pays for each process that the child makes.
            return Err("memory cannot be limited below `process`; it can be around it: guard --limit memory=SIZE ... process PROGRAM".to_string());
        }
        services.limited(memory).map_err(|errno| format!("cannot limit memory: {errno}"))
    }

    /// Has the manager outside bound the processes and threads of the child. The guard is one of
    /// those that the manager counts.
    pub fn bind_processes(&self, services: &Services) -> Result<(), String> {
        let Some(most) = self.processes else { return Ok(()) };
        if !services.has_manager() {
            // Processes are then made by a manager inside, or by nobody.
            return Err("processes are limited where they are made: process guard --limit processes=N ..., or process --processes N --threads N PROGRAM".to_string());
        }
        process::bound(Reference::PARENT, most.saturating_add(1)).map(drop).map_err(|errno| format!("the process manager cannot limit processes: {errno}"))
    }

    /// Returns the port through which the child finds the network, if that is bounded.
    pub fn network(&self) -> Result<Option<Bounded>, String> {
        if self.connections.or(self.bytes_in).or(self.bytes_out).is_none() {
            return Ok(None);
        }
        let failed = |errno: Errno| format!("there is no network outside whose connections and bytes could be limited: {errno}");
        let network = parent::find(Reference::PARENT, SERVICE_NETWORK).map_err(failed)?.found;
        let [connections, bytes_in, bytes_out] = [self.connections, self.bytes_in, self.bytes_out].map(|limit| limit.unwrap_or(NONE));
        let limited = channel::limit(network.handle(), connections, bytes_in, bytes_out).map_err(failed)?;
        Ok(Some(Bounded(limited.channels)))
    }

    /// Returns the directory through which the child finds files, if those are bounded.
    pub fn directory(&self, files: Reference) -> Result<Option<Charge>, String> {
        if self.files.is_none() && self.storage.is_none() {
            return Ok(None);
        }
        let limited = directory::limit(files, self.files.unwrap_or(NONE), self.storage.unwrap_or(NONE));
        limited.map(|reply| Some(Charge(reply.directory))).map_err(|errno| format!("the file server cannot limit files and storage: {errno}"))
    }
}

/// A directory whose account has bounds.
pub struct Charge(OwnedReference);

impl Charge {
    /// Puts the directory in place of another one, whose reference is in this slot.
    pub fn give(&self, slot: Reference) -> Result<(), Errno> {
        put(&self.0, slot)
    }

    /// Has an open file of somebody outside counted on the account. False: its server is another
    /// one.
    pub fn take(&self, slot: Reference) -> Result<bool, Errno> {
        let Ok(reply) = directory::charge(self.0.handle(), slot) else { return Ok(false) };
        put(&reply.file, slot).map(|()| true)
    }
}

/// A port of the network whose account has bounds.
pub struct Bounded(OwnedReference);

impl Bounded {
    /// Puts the port in place of another one, whose reference is in this slot.
    pub fn give(&self, slot: Reference) -> Result<(), Errno> {
        put(&self.0, slot)
    }
}

/// Puts a copy of a reference in place of the one in this slot.
fn put(reference: &OwnedReference, slot: Reference) -> Result<(), Errno> {
    slot.destroy()?;
    Ok(reference.handle().reference(Reference::create(slot.address())?, REFERENCE_USE)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(texts: &[&str]) -> Result<Limits, String> {
        let mut limits = Limits::default();
        texts.iter().try_for_each(|text| limits.add(text.as_bytes()))?;
        Ok(limits)
    }

    #[test]
    fn limits_are_read() {
        assert_eq!(limits(&["memory=64M", "files=100", "storage=4096"]), Ok(Limits { memory: Some(64 << 20), files: Some(100), storage: Some(4096), ..Limits::default() }));
        assert_eq!(limits(&["connections=3", "bytes-in=1M", "bytes-out=5"]), Ok(Limits { connections: Some(3), bytes_in: Some(1 << 20), bytes_out: Some(5), ..Limits::default() }));
        assert_eq!(limits(&["files=9", "files=7", "files=8"]).unwrap().files, Some(7));
        assert_eq!(limits(&["processes=4", "processes=6"]).unwrap().processes, Some(4));
        for text in ["", "memory", "memory=", "memory=0", "memory=-1", "files=1K", "files=0", "storage=x", "processes=0", "processes=4K", "=4", "connections=0", "connections=1K", "bytes-in=", "bytes=4"] {
            assert!(limits(&[text]).is_err(), "{text}");
        }
    }
}
