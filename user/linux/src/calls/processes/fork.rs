//! `fork` and its kin: another process with a copy of what this one is. Private memory is copied at
//! once; what only others write, or all may see, is shown to both. With `CLONE_VM` all memory that
//! there is at that moment is shown to both, and nothing is copied.

use crate::abi::errno::{Answer, EINVAL, ENOSYS, Errno};
use crate::abi::registers::Frame;
use crate::operations::files::pidfd;
use crate::operations::fork_state::ForkState;
use crate::process::Process;
use crate::services::resource_source::{self, Maker};
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::Fill;
use crate::state::memory::promised::{self, KnownPart};
use nacre_abi::rights::REFERENCE_ALL;
use nacre_nest::{Child, Heritage, Ports, Sizes};
use nacre_proto::flags::BEGIN_ATTENDS;
use nacre_proto::{process, sender};
use nacre_sys::{OwnedReference, Reference};
use nacre_sys::ipc::{Buffers, Message};

const SIGNAL: u64 = 0xff;
/// Number of the call.
const CLONE: usize = 56;
const CLONE_VM: u64 = 0x100;
const CLONE_FS: u64 = 0x200;
const CLONE_FILES: u64 = 0x400;
const CLONE_SIGHAND: u64 = 0x800;
const CLONE_PIDFD: u64 = 0x1000;
const CLONE_PTRACE: u64 = 0x2000;
const CLONE_VFORK: u64 = 0x4000;
const CLONE_PARENT: u64 = 0x8000;
const CLONE_NEWNS: u64 = 0x2_0000;
const CLONE_NEWUSER: u64 = 0x1000_0000;
const CLONE_NEWPID: u64 = 0x2000_0000;
const CLONE_SYSVSEM: u64 = 0x4_0000;
const CLONE_SETTLS: u64 = 0x8_0000;
const CLONE_PARENT_SETTID: u64 = 0x10_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
const CLONE_UNTRACED: u64 = 0x80_0000;
const CLONE_CHILD_SETTID: u64 = 0x100_0000;
/// All that is understood here.
const KNOWN: u64 = SIGNAL
    | CLONE_VM
    | CLONE_FS
    | CLONE_PIDFD
    | CLONE_PTRACE
    | CLONE_VFORK
    | CLONE_SYSVSEM
    | CLONE_SETTLS
    | CLONE_PARENT_SETTID
    | CLONE_CHILD_CLEARTID
    | CLONE_UNTRACED
    | CLONE_CHILD_SETTID;
const SIGCHLD: u64 = 17;

/// Arguments of `clone`.
#[derive(Clone, Copy, Default)]
pub struct Request {
    /// The `CLONE_` flags.
    pub flags: u64,
    /// The signal that its end gives.
    pub exit_signal: u64,
    /// Initial stack pointer of the child, or 0 for the caller's.
    pub stack: u64,
    /// Address for a descriptor of the child in the caller's memory.
    pub descriptor: u64,
    /// Address for the child's number in the caller's memory.
    pub parent_number: u64,
    /// Address in the child's memory: its number is written there at the start, and 0 at its end.
    pub child_number: u64,
    /// Thread pointer of the child.
    pub pointer: u64,
}

/// `fork()`.
pub fn fork(process: &mut Process, frame: &mut Frame) -> Answer {
    create(process, frame, &Request { exit_signal: SIGCHLD, ..Request::default() })
}

/// `vfork()`: the child has the caller's memory, and the caller waits until it needs that no more.
pub fn vfork(process: &mut Process, frame: &mut Frame) -> Answer {
    create(process, frame, &Request { flags: CLONE_VM | CLONE_VFORK, exit_signal: SIGCHLD, ..Request::default() })
}

/// `clone` and `clone3` without `CLONE_THREAD`.
pub fn clone(process: &mut Process, frame: &mut Frame, request: &Request) -> Answer {
    let flags = request.flags;
    let both = |flag: u64, other: u64| flags & flag != 0 && flags & other != 0;
    let excluded = both(CLONE_NEWNS, CLONE_FS) || both(CLONE_NEWUSER, CLONE_FS) || both(CLONE_NEWPID, CLONE_PARENT);
    if flags & CLONE_SIGHAND != 0 && flags & CLONE_VM == 0 || request.exit_signal > 64 || excluded {
        return Err(EINVAL);
    }
    // A table of descriptors, or of handlers, is only shared by threads here; of memory, what there
    // is now.
    let shares = flags & (CLONE_FILES | CLONE_SIGHAND | CLONE_PARENT) != 0;
    if shares || flags & !KNOWN != 0 {
        if process.is_first_lack(CLONE) {
            process.report(format_args!("clone: flags {flags:#x} are not supported"));
        }
        return Err(ENOSYS);
    }
    create(process, frame, request)
}

fn create(process: &mut Process, frame: &Frame, request: &Request) -> Answer {
    if request.flags & CLONE_PIDFD != 0 {
        process.memory.writable(request.descriptor, 4)?;
    }
    let reserved = Reserved::new(process, request.exit_signal)?;
    let pid = reserved.pid;
    let child = copy(process, &frame.of_child(request.stack), request, (pid, reserved.port.handle()))?;
    let environment = PreparedEnvironment::of(&child)?;
    let descriptor = if request.flags & CLONE_PIDFD != 0 { Some(pidfd::give(process, pid, request.descriptor)?) } else { None };
    if request.flags & CLONE_VM != 0 {
        process.sites.join();
    }
    let flags = if process.attends() { BEGIN_ATTENDS } else { 0 };
    if let Err(error) = reserved.commit(flags, process.signals.ignored(), environment) {
        if request.flags & CLONE_VM != 0 {
            process.sites.leave();
        }
        descriptor.into_iter().for_each(|number| drop(process.descriptors.close(number)));
        return Err(error);
    }
    // The child runs. Nothing below may fail.
    if request.flags & CLONE_PARENT_SETTID != 0 {
        // Linux ignores a failure here as well.
        let _ = process.memory.write_half(request.parent_number, pid as u32);
    }
    if request.flags & (CLONE_VM | CLONE_VFORK) == CLONE_VM {
        process.memory.lend();
    }
    if request.flags & CLONE_VFORK != 0 {
        // Signals wait meanwhile. A child that has ended already needs nothing.
        let message = Message::new(process::released::LABEL, sender::words([pid]));
        let _ = process.exchange_if(false, Reference::PARENT, &message, Buffers::NONE);
        if request.flags & CLONE_VM != 0 {
            process.sites.leave();
        }
    }
    Ok(pid)
}

/// Reservation of a child at the process manager. The manager aborts the child when this value is
/// dropped before `commit`.
struct Reserved {
    pid: u64,
    port: OwnedReference,
    is_committed: bool,
}

impl Reserved {
    fn new(process: &mut Process, exit_signal: u64) -> Result<Reserved, Errno> {
        let made = process::create(Reference::PARENT, exit_signal).inspect_err(|error| {
            if *error == ENOSYS {
                process.report(format_args!("fork: this needs a process manager: run the program below `process`"));
            }
        })?;
        Ok(Reserved { pid: made.pid, port: made.port, is_committed: false })
    }

    /// Lets the child live in `environment` and run. After an error it has not begun.
    fn commit(mut self, flags: u64, ignored: u64, environment: PreparedEnvironment) -> Result<(), Errno> {
        environment.begin(self.port.handle(), flags, ignored)?;
        self.is_committed = true;
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if !self.is_committed {
            // A manager that does not answer gives the reservation up when this process ends.
            let _ = process::abandon(self.port.handle());
        }
    }
}

/// Makes the environment of a child at its port.
fn copy(process: &mut Process, frame: &Frame, request: &Request, (pid, port): (u64, Reference)) -> Result<Child<Maker>, Errno> {
    let mut legacy = ForkState::of(process)?;
    legacy.data.pid = pid;
    legacy.add_files(process, true)?;
    legacy.add_copy(process, frame, request.flags & CLONE_VM != 0)?;
    if let Some(copy) = &mut legacy.data.copy {
        let address = |flag: u64, address: u64| if request.flags & flag != 0 { address } else { 0 };
        copy.set_number = address(CLONE_CHILD_SETTID, request.child_number);
        copy.clear_number = address(CLONE_CHILD_CLEARTID, request.child_number);
        if request.flags & CLONE_SETTLS != 0 {
            copy.fs_base = request.pointer;
        }
    }
    let bytes = legacy.data.to_bytes()?;
    let heritage = Heritage { bytes: &bytes, references: &legacy.references, areas: &legacy.areas };
    let files = process.services.files()?;
    let mut maker = Maker { files, world: files, current: files, port, opened: None, owners: [None; 2], found: [None; 2], is_linker: true, library: process.library.take() };
    let sizes = Sizes { pool_pages: process.memory.tables.for_child(), ..Sizes::default() };
    let child = nacre_nest::fork(&mut maker, &heritage, sizes, Ports { parent: port, keeper: Reference::NONE });
    process.library = maker.library;
    let child = child.map_err(|refusal| resource_source::errno(&refusal))?;
    let mut known = KnownPart::default();
    for (number, start, end) in &legacy.copies {
        let to = child.area(*number).ok_or(EINVAL)?;
        copy_area(process, (*start, *end), to, &mut known)?;
    }
    Ok(child)
}

/// Copies a part of an area to fresh memory that is shown at `to`.
fn copy_area(process: &mut Process, (start, end): (u64, u64), to: u64, known: &mut KnownPart) -> Result<(), Errno> {
    let area = process.memory.map.area_mut(start).ok_or(EINVAL)?;
    let Area { backing: Fill::Own(part), .. } = area else { return Err(EINVAL) };
    part.while_readable(|part| promised::copy_to_fresh(part, start, to, end - start, known))?
}

/// An environment with all that its process manager is to have of it: one message is left to send.
pub struct PreparedEnvironment {
    space: OwnedReference,
    thread: OwnedReference,
    visited: u64,
    /// Set if the program is native.
    pub is_native: bool,
}

impl PreparedEnvironment {
    /// Makes the references for the manager. The environment is `child`'s, and goes with it.
    pub fn of(child: &Child<Maker>) -> Result<PreparedEnvironment, Errno> {
        Ok(PreparedEnvironment {
            space: OwnedReference::made_by(|slot| child.space().reference(slot, REFERENCE_ALL))?,
            thread: OwnedReference::made_by(|slot| child.thread().reference(slot, REFERENCE_ALL))?,
            visited: child.visited(),
            is_native: child.is_native(),
        })
    }

    /// Lets it take its place at a process's port. After an error nothing has begun.
    pub fn begin(&self, port: Reference, flags: u64, ignored: u64) -> Result<(), Errno> {
        process::begin(port, flags, ignored, self.visited, self.space.handle(), self.thread.handle())?;
        Ok(())
    }
}
