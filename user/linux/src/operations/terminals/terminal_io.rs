//! Pseudo-terminals: their names in `/dev`, and reading and writing their ends, and the console, as
//! terminals are read: nothing is taken while a call waits, so that who is stopped takes no keys of
//! others.

use crate::abi::errno::{Answer, EAGAIN, EINTR, EIO, EPERM, ERESTART, ERESTART_UNHANDLED, Errno};
use crate::abi::file_flags::{MASTER, O_ACCESS, O_CLOEXEC, O_NONBLOCK, O_PATH, PAIR, S_IFCHR};
use crate::abi::poll_events::{POLLERR, POLLIN, POLLOUT};
use crate::abi::signal_numbers::{SIGTTIN, SIGTTOU};
use crate::operations::files::readiness::{FOR_EVER, ready, wait_for_one};
use crate::operations::paths::permissions::{self, READ, WRITE};
use crate::operations::proc;
use crate::operations::terminals::job_control;
use crate::process::Process;
use crate::services::OWN_POSITION;
use crate::services::find::PIECE;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::terminal_name::{Name, name};
use crate::state::files::terminal_state::TerminalState;
use alloc::format;
use nacre_abi::Rights;
use nacre_proto::channel::{self, Outgoing, terminal_device, terminal_number};
use nacre_proto::{file, process as manager, sender, terminal};
use nacre_proto::flags::{MSG_BARE, MSG_DONTWAIT, MSG_OOB, TERMINAL_HANGUP, TERMINAL_INTERRUPT, TERMINAL_QUIT, TERMINAL_SUSPEND};
use nacre_proto::flags::TERMINAL_WINDOW;
use nacre_proto::structures::Attributes;
use nacre_sys::{OwnedReference, Reference, SpanMut};
use nacre_sys::ipc::{Buffers, Message};

const O_NOCTTY: u32 = 0o400;
/// Events of a terminal that the manager is notified of.
const EVENTS: u64 = TERMINAL_INTERRUPT | TERMINAL_QUIT | TERMINAL_SUSPEND | TERMINAL_HANGUP | TERMINAL_WINDOW;
/// Canonical mode, and the indices of the minimum number of bytes and of the time limit in the
/// attributes.
const CANONICAL: u8 = 2;
const LOCAL: usize = 12;
const TIME: usize = 17 + 5;
const MINIMUM: usize = 17 + 6;
/// Unit of `VTIME` in nanoseconds.
const TENTH: u64 = 100_000_000;
/// Interval between looks for another byte, in nanoseconds.
const LOOK: u64 = 10_000_000;
/// Maximum number of bytes of one read.
const MOST: usize = PIECE - 4096;

fn restart(error: Errno) -> Errno {
    if matches!(error, EINTR | ERESTART_UNHANDLED) { ERESTART } else { error }
}

/// Opens a terminal by its name. `None`: the server of files is to do it.
pub fn open_terminal(process: &mut Process, path: &[u8], flags: u32) -> Option<Answer> {
    let name = name(path)?;
    if flags & O_PATH != 0 {
        return proc::terminals::open_name(process, path, flags);
    }
    match name {
        Name::Own if !process.is_managed() => None,
        Name::Own => match manager::terminal(Reference::PARENT) {
            Err(error) => Some(Err(error)),
            Ok(reply) => terminal_number(reply.device).map(|number| open_slave(process, number, path, flags | O_NOCTTY)),
        },
        Name::Master => process.services.channels().ok().map(|_| open_master(process, flags)),
        Name::Slave(number) => process.services.channels().ok().map(|_| open_slave(process, number, path, flags)),
    }
}

fn enter_terminal(process: &mut Process, reference: OwnedReference, (mode, number): (u32, u64), path: &[u8], flags: u32) -> Answer {
    let file = OpenFile::new(Kind::Remote(reference), S_IFCHR | PAIR | mode, flags & (O_ACCESS | O_NONBLOCK));
    file.terminal.set(TerminalState::Device(terminal_device(number)));
    *file.opened_by.borrow_mut() = Some((None, path.to_vec()));
    process.open(file, flags & O_CLOEXEC != 0)
}

fn open_master(process: &mut Process, flags: u32) -> Answer {
    let channels = process.services.channels()?;
    let made = channel::terminal(channels, u64::from(flags & (O_ACCESS | O_NONBLOCK)))?;
    if process.identity.of_files[0] != 0 {
        channel::terminal_set_owner(channels, made.number, process.identity.of_files[0].into(), u64::MAX)?;
    }
    enter_terminal(process, made.master, (MASTER | 0o666, made.number), b"/dev/ptmx", flags)
}

fn open_slave(process: &mut Process, number: u64, path: &[u8], flags: u32) -> Answer {
    if permissions::minds_modes(process) {
        let wanted = [READ, WRITE, READ | WRITE, READ | WRITE][(flags & O_ACCESS) as usize];
        let status = proc::terminals::status_of_terminal(process, number)?;
        permissions::check_mode(process, &status, wanted)?;
    }
    let slave = channel::terminal_open(process.services.channels()?, number, u64::from(flags & (O_ACCESS | O_NONBLOCK)))?.slave;
    if flags & O_NOCTTY == 0 && process.is_managed() {
        // Who leads a session without a terminal has one now; all others go on without.
        let _ = acquire(terminal_device(number), false, slave.handle());
    }
    enter_terminal(process, slave, (0o620, number), path, flags)
}

/// Opens the slave of a master.
pub fn open_peer(process: &mut Process, master: &OpenFile, flags: u32) -> Answer {
    let number = channel::terminal_facts(master.reference()?, 0)?.number;
    open_slave(process, number, format!("/dev/pts/{number}").as_bytes(), flags)
}

/// Reads a terminal, if it is one.
pub fn read_terminal(process: &mut Process, file: &OpenFile, into: &mut [u8]) -> Option<Result<usize, Errno>> {
    let device = job_control::terminal_of(file).filter(|_| file.is_pair() || process.is_managed())?;
    if !file.is_master()
        && let Err(error) = job_control::check_background(process, device, SIGTTIN)
    {
        return Some(Err(error));
    }
    Some(await_keys(process, file, into))
}

fn await_keys(process: &mut Process, file: &OpenFile, into: &mut [u8]) -> Result<usize, Errno> {
    let target = file.reference()?;
    let most = into.len().min(MOST);
    let mut has_waited = false;
    loop {
        match keys(process, file, target, &mut into[..most]) {
            Err(EAGAIN) if !file.is_nonblocking() => {}
            Ok(0) if has_waited && ready(process, file, POLLIN) & POLLERR != 0 => return Err(EIO),
            done => return done,
        }
        let has_come = if file.is_master() {
            wait_for_one(process, file, POLLIN, FOR_EVER).map(|_| true).map_err(restart)?
        } else {
            await_input(process, file, target, most)?
        };
        process.memory.confirm(into, Rights::WRITE)?;
        if !has_come {
            // The time has passed: what is there is all.
            let there = terminal::waiting(target)?.count as usize;
            return if there == 0 { Ok(0) } else { keys(process, file, target, &mut into[..most.min(there)]) };
        }
        has_waited = true;
    }
}

/// Reads the bytes that are there at once.
fn keys(process: &mut Process, file: &OpenFile, target: Reference, into: &mut [u8]) -> Result<usize, Errno> {
    if file.is_pair() {
        return Ok((channel::receive(target, MSG_DONTWAIT | MSG_BARE, into.len() as u64, 0, 0, &mut *into)?.count as usize).min(into.len()));
    }
    if !file.is_nonblocking() && file::poll(target, POLLIN)?.events == 0 {
        return Err(EAGAIN);
    }
    let message = Message::new(file::read::LABEL, sender::words([OWN_POSITION, into.len() as u64]));
    let received = process.exchange_if(false, target, &message, Buffers { bytes: SpanMut::from(into), slots: &[] })?;
    Ok(received.words[0] as usize)
}

/// Waits until something can be read, or the time that the terminal gives a reader has passed:
/// false then.
fn await_input(process: &mut Process, file: &OpenFile, target: Reference, most: usize) -> Result<bool, Errno> {
    let mut attributes = [0; Attributes::SIZE];
    terminal::get_attributes(target, &mut attributes)?;
    let (minimum, limit) = (usize::from(attributes[MINIMUM]).min(most), u64::from(attributes[TIME]) * TENTH);
    let is_short = minimum < usize::from(attributes[MINIMUM]);
    if attributes[LOCAL] & CANONICAL != 0 || limit == 0 && !is_short {
        return wait_for_one(process, file, POLLIN, FOR_EVER).map_err(restart);
    }
    if minimum == 0 && !is_short {
        return wait_for_one(process, file, POLLIN, limit).map_err(restart);
    }
    let mut there = terminal::waiting(target)?.count as usize;
    if there == 0 && !is_short {
        return wait_for_one(process, file, POLLIN, FOR_EVER).map_err(restart);
    }
    // The time counts from byte to byte, and from the first one.
    let mut left = if limit == 0 || there == 0 { FOR_EVER } else { limit };
    while left > 0 && there < minimum {
        if process.is_interrupted() {
            return Err(ERESTART);
        }
        let pause = left.min(LOOK);
        process.sleep(pause);
        left -= pause;
        let now = terminal::waiting(target)?.count as usize;
        if now > there {
            (there, left) = (now, if limit == 0 { FOR_EVER } else { limit });
        }
    }
    Ok(there >= minimum)
}

/// Writes to an end of a pseudo-terminal.
pub fn write_pair(process: &mut Process, file: &OpenFile, from: &[u8]) -> Result<usize, Errno> {
    let target = file.reference()?;
    let (mut done, mut flags) = (0, MSG_DONTWAIT);
    while done < from.len() {
        let piece = &from[done..from.len().min(done + MOST)];
        let outgoing = Outgoing { flags, ..Outgoing::default() };
        let message = Message { bytes: piece.into(), ..Message::new(channel::send::LABEL, outgoing.words()) };
        let waits = match process.exchange_if(false, target, &message, Buffers::NONE) {
            Ok(received) => {
                done += (received.words[0] as usize).min(piece.len());
                continue;
            }
            Err(EAGAIN) if !file.is_nonblocking() => wait_for_one(process, file, POLLOUT, FOR_EVER).map(drop).map_err(restart),
            Err(EPERM) if flags & MSG_OOB == 0 => {
                flags |= MSG_OOB;
                job_control::terminal_of(file).map_or(Ok(()), |device| job_control::check_background(process, device, SIGTTOU))
            }
            Err(error) => Err(error),
        };
        match waits {
            Err(_) if done != 0 => break,
            waited => waited?,
        }
    }
    Ok(done)
}

/// The session has this terminal from now on, and the manager hears of its keys.
pub fn acquire(device: u64, steals: bool, terminal: Reference) -> Result<(), Errno> {
    let port = manager::terminal_acquire(Reference::PARENT, device, steals.into())?.port;
    terminal::attend(terminal, EVENTS, port.handle())?;
    Ok(())
}
