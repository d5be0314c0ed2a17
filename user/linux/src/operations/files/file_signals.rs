//! Who is told of a file's events by a signal: `F_SETOWN`, `F_SETSIG` and `O_ASYNC`. Pipes and
//! sockets tell the agent of whatever changes, which looks what it was.

use crate::abi::errno::{Answer, EINVAL, EPIPE, ESRCH, Errno};
use crate::abi::file_flags::O_ASYNC;
use crate::abi::signal_info::{Info, LAST, SI_KERNEL};
use crate::abi::signal_numbers::SIGPIPE;
use crate::operations::files::readiness::{self, Watched};
use crate::operations::proc;
use crate::process::Process;
use crate::state::files::file_owners::Owner;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_kind::Socket;
use alloc::rc::{Rc, Weak};
use nacre_proto::{channel, file, process as manager};
use nacre_sys::Reference;

/// Commands of `fcntl`.
pub const F_SETOWN: u32 = 8;
/// Command of `fcntl` that returns the owner.
pub const F_GETOWN: u32 = 9;
/// Command of `fcntl` that sets the signal.
pub const F_SETSIG: u32 = 10;
/// Command of `fcntl` that returns the signal.
pub const F_GETSIG: u32 = 11;
/// Command of `fcntl` that sets the owner: a thread, process or group.
pub const F_SETOWN_EX: u32 = 15;
/// Command of `fcntl` that returns the owner and its kind.
pub const F_GETOWN_EX: u32 = 16;
const OWNER_PROCESS: u32 = 1;
const OWNER_GROUP: u32 = 2;
const SIGIO: u64 = 29;
/// `si_code`: something can be read; something can be written.
const POLL_IN: i32 = 1;
const POLL_OUT: i32 = 2;
const READABLE: u64 = 0x41;
const WRITABLE: u64 = 0x104;

/// The commands about a file's owner.
pub fn fcntl(process: &mut Process, file: &OpenFile, command: u32, argument: u64) -> Answer {
    let mut owner = file.owner.get();
    match command {
        F_GETOWN => return Ok(i64::from(owner.owner) as u64),
        F_GETSIG => return Ok(owner.signal.into()),
        F_GETOWN_EX => {
            let kind = if owner.owner < 0 { OWNER_GROUP } else { OWNER_PROCESS };
            process.memory.write_half(argument, kind)?;
            process.memory.write_half(argument + 4, owner.owner.unsigned_abs())?;
            return Ok(0);
        }
        F_SETOWN_EX => {
            let (kind, number) = (process.memory.read_half(argument)?, process.memory.read_half(argument + 4)? as i32);
            owner.owner = match kind {
                0 | OWNER_PROCESS => number,
                OWNER_GROUP => number.checked_neg().ok_or(EINVAL)?,
                _ => return Err(EINVAL),
            };
        }
        F_SETOWN if argument as i32 == i32::MIN => return Err(EINVAL),
        F_SETOWN => {
            owner.owner = argument as i32;
            check_owner(process, owner.owner)?;
        }
        _ if argument > LAST => return Err(EINVAL),
        _ => owner.signal = argument as u8,
    }
    file.owner.set(owner);
    Ok(0)
}

/// `ESRCH` if there is no such process or group.
fn check_owner(process: &mut Process, owner: i32) -> Result<(), Errno> {
    if owner == 0 || u64::from(owner.unsigned_abs()) == process.pid() {
        return Ok(());
    }
    let sent = manager::kill(Reference::PARENT, i64::from(owner) as u64, 0, 0, 0, 0);
    sent.map(drop).map_err(|error| if error == ESRCH { ESRCH } else { error })
}

/// Begins to send signals to a file's owner on events.
pub fn tell_owner(process: &mut Process, file: &Rc<OpenFile>) -> Answer {
    if file.is_channel() {
        process.told.retain(|other| other.strong_count() != 0 && other.as_ptr() != Rc::as_ptr(file));
        process.told.push(Rc::downgrade(file));
        look_for_owner(process, file, false);
    }
    Ok(0)
}

/// Looks at all files whose owners are told: something may have changed.
pub fn tell_owners(process: &mut Process) {
    for file in process.told.clone().iter().filter_map(Weak::upgrade) {
        if file.flags.get() & O_ASYNC != 0 {
            look_for_owner(process, &file, true);
        }
    }
}

/// Tells a file's owner of what has changed, and asks to hear of the next change.
fn look_for_owner(process: &mut Process, file: &OpenFile, tells: bool) {
    const LOOKS: u32 = 8;
    let _ = (0..LOOKS).any(|_| !look_once(process, file, tells));
}

/// Looks once; true if something changed after the look, and is not told of.
fn look_once(process: &mut Process, file: &OpenFile, tells: bool) -> bool {
    let Some(now) = file.reference().ok().and_then(|target| channel::look(target, READABLE | WRITABLE).ok()) else { return false };
    let mut owner = file.owner.get();
    let before = core::mem::replace(&mut owner.changes, [now.arrivals, now.departures]);
    file.owner.set(owner);
    if tells && now.arrivals != before[0] && now.events & READABLE != 0 {
        signal_owner(process, owner, POLL_IN);
    } else if tells && now.departures != before[1] && now.events & WRITABLE != 0 {
        signal_owner(process, owner, POLL_OUT);
    }
    let [arrivals, departures] = owner.changes;
    let what = (READABLE | WRITABLE | 1 << 40, Some(owner.changes));
    let watched = readiness::watch_with(process, file, what, |_, target, agent, bits| {
        let now = channel::expect(target, READABLE | WRITABLE, arrivals, departures, bits, agent)?;
        Ok([now.arrivals, now.departures] != [arrivals, departures])
    });
    if watched == Watched::UNKNOWN {
        file.flags.set(file.flags.get() & !O_ASYNC);
    }
    watched.is_ready
}

fn signal_owner(process: &mut Process, owner: Owner, code: i32) {
    let signal = if owner.signal == 0 { SIGIO } else { owner.signal.into() };
    let code = if owner.signal == 0 { SI_KERNEL } else { code };
    if owner.owner != 0 && u64::from(owner.owner.unsigned_abs()) == process.pid() && owner.owner > 0 {
        // A queue that is full loses signals, as Linux's does.
        let _ = process.post(Info::from(signal, code, 0, 0));
    } else if owner.owner != 0 {
        let _ = manager::kill(Reference::PARENT, i64::from(owner.owner) as u64, 0, signal, i64::from(code) as u64, 0);
    }
}

/// Moves a file's position back by so many bytes. A file that has none stays as it is.
pub fn step_back(file: &OpenFile, bytes: u64) {
    const CURRENT: u64 = 1;
    let offset = bytes.wrapping_neg();
    if file.node().is_none_or(|node| node.is_folder()) || proc::open::seek(file, offset, CURRENT).is_none() {
        let _ = file.reference().map(|target| file::seek(target, offset, CURRENT));
    }
}

/// The answer to a write; a broken pipe is a signal too.
pub fn written(process: &mut Process, file: &OpenFile, answer: Answer) -> Answer {
    if answer == Err(EPIPE) && Socket::of(file).is_none_or(|socket| !socket.has_messages()) {
        let (caller, info) = (process.caller, Info::from(SIGPIPE, SI_KERNEL, 0, 0));
        process.post_to(caller, info)?;
    }
    answer
}
