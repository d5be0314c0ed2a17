//! A monitor's child where our own parent is a process manager: a process beside us, as `strace`'s
//! is. It lives in memory that the manager prepares, so it may become another program, be killed
//! and be waited for as any process, and its memory, its number and its end are the manager's
//! affair; what the monitor does with its messages is not.

use crate::refusal::SpawnError;
use crate::services::{File, Prepared, open};
use crate::spawn::Child;
use crate::supply::ResourceSource;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use nacre_abi::rights::REFERENCE_ALL;
use nacre_proto::flags::{BEGIN_INHERITS, BEGIN_PROGRAM, BEGIN_SERVED, SA_NOCLDWAIT, SERVICE_PROCESS, WALL, WEXITED};
use nacre_proto::{Errno, parent, process};
use nacre_sys::{OwnedReference, Reference, Status};

const HANG_UP: u64 = 1;
const INTERRUPT: u64 = 2;
const QUIT: u64 = 3;
const KILL: u64 = 9;
/// Maximum of bytes of a name and the words behind it.
const MAX_NAMES: usize = 1024;
/// Signal of the child's end to us: none.
const NO_SIGNAL: u64 = 0;

/// A process that is to be a monitor's child.
pub struct Ward {
    pid: u64,
    port: OwnedReference,
    /// False while the process is only a reservation, which goes with this value.
    has_begun: AtomicBool,
}

/// Files from where the monitor finds them, memory from the manager.
pub struct Maker<'a> {
    files: Reference,
    /// Pool for its data segment, if its pages may go.
    data: Option<Reference>,
    ward: &'a Ward,
}

impl Ward {
    /// A new process; `None`: our parent makes none. From now on keys of the terminal, which are
    /// for the child as well, do not end us.
    pub fn new() -> Result<Option<Ward>, SpawnError> {
        if parent::find(Reference::PARENT, SERVICE_PROCESS).is_err() {
            return Ok(None);
        }
        match process::create(Reference::PARENT, NO_SIGNAL) {
            Ok(made) => {
                // A manager that keeps no dispositions sends no signals either. Orphans that come
                // to us when they end are not kept for us: nobody here waits for them. The child
                // is, since its end gives us no signal.
                let _ = process::dispositions(Reference::PARENT, 1 << (HANG_UP - 1) | 1 << (INTERRUPT - 1) | 1 << (QUIT - 1), SA_NOCLDWAIT);
                Ok(Some(Ward { pid: made.pid, port: made.port, has_begun: AtomicBool::new(false) }))
            }
            Err(errno @ (Errno::EAGAIN | Errno::ENOMEM)) => Err(SpawnError::Service("making a process", errno)),
            Err(_) => Ok(None),
        }
    }

    /// Returns its number.
    pub fn pid(&self) -> u64 {
        self.pid
    }

    /// Returns the port that the process has for its parent.
    pub fn port(&self) -> Reference {
        self.port.handle()
    }

    /// Sets the pool that the process finds, and all that it makes: also those whose parent's port
    /// no monitor stands before.
    pub fn set_memory(&self, pool: Reference) {
        // A manager that keeps no pools has no processes but this one.
        let _ = process::memory_set(self.port(), pool);
    }

    /// Returns the source of the process's parts.
    pub fn maker(&self, files: Reference) -> Maker<'_> {
        Maker { files, data: None, ward: self }
    }

    /// Starts the process in `child`, whose words are these. Others can ask something of it if it
    /// `answers`.
    pub fn begin<S: ResourceSource>(&self, child: &Child<S>, words: &[&[u8]], answers: bool) -> Result<(), SpawnError> {
        let (space, thread) = references(child).map_err(|status| SpawnError::Kernel("references to it", status))?;
        // Only those who look at lists of processes miss it.
        let _ = process::name_set(self.port(), &names(words)[..]);
        let begun = process::begin(self.port(), BEGIN_PROGRAM | BEGIN_INHERITS | BEGIN_SERVED, 0, if answers { child.visited() } else { 0 }, space.handle(), thread.handle());
        self.has_begun.store(begun.is_ok(), Ordering::Relaxed);
        begun.map(drop).map_err(|errno| SpawnError::Service("starting it", errno))
    }

    /// Waits for its end: the status, as that of `parent.exit`.
    pub fn wait(&self) -> Result<u64, Errno> {
        loop {
            match process::wait(Reference::PARENT, self.pid, WEXITED | WALL) {
                Ok(found) if found.status & 0x7f == 0 => return Ok(found.status >> 8 & 0xff),
                Ok(found) => return Ok(256 + (found.status & 0x7f)),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Ends it, if it has not ended.
    pub fn kill(&self) {
        // It may be over already.
        let _ = process::kill(Reference::PARENT, self.pid, 0, KILL, 0, 0);
    }
}

impl Drop for Ward {
    fn drop(&mut self) {
        if !self.has_begun.load(Ordering::Relaxed) {
            // A manager that does not answer gives the reservation up when we end.
            let _ = process::abandon(self.port());
        }
    }
}

/// Returns the name of a program in lists: the last part of its path.
pub fn short_name<'a>(command: &[&'a [u8]]) -> &'a [u8] {
    command.first().and_then(|word| word.rsplit(|byte| *byte == b'/').next()).unwrap_or_default()
}

/// The name of a command and its words, as the manager stores them.
fn names(words: &[&[u8]]) -> Vec<u8> {
    let mut names: Vec<u8> = [short_name(words)].iter().chain(words).flat_map(|word| word.iter().copied().chain([0])).collect();
    names.truncate(MAX_NAMES);
    names
}

fn references<S: ResourceSource>(child: &Child<S>) -> Result<(OwnedReference, OwnedReference), Status> {
    let space = OwnedReference::made_by(|slot| child.space().reference(slot, REFERENCE_ALL))?;
    let thread = OwnedReference::made_by(|slot| child.thread().reference(slot, REFERENCE_ALL))?;
    Ok((space, thread))
}

impl<'a> Maker<'a> {
    /// Returns the maker with a pool for data segments whose pages may go, if there is one.
    pub fn with_data_pool(self, data: Option<Reference>) -> Maker<'a> {
        Maker { data, ..self }
    }
}

impl ResourceSource for Maker<'_> {
    type File = File;
    type Segment = Prepared;

    fn open(&mut self, path: &[u8]) -> Result<File, SpawnError> {
        open(self.files, path)
    }

    fn segment(&mut self, size: u64) -> Result<Prepared, SpawnError> {
        Prepared::new(self.ward.port(), size)
    }

    fn data_pool(&mut self) -> Option<Reference> {
        self.data
    }
}
