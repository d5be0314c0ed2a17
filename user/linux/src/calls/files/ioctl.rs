//! `ioctl`: terminals, and the few requests that any file takes.

use crate::abi::errno::{Answer, EINVAL, EIO, ENOTTY, EPERM};
use crate::abi::file_flags::{O_ASYNC, O_NONBLOCK};
use crate::abi::registers::Frame;
use crate::abi::signal_numbers::SIGTTOU;
use crate::abi::user_fault_layouts::NEW;
use crate::calls::files::descriptors::set_flags;
use crate::calls::memory::user_faults;
use crate::operations::files::file_signals;
use crate::operations::paths::file_status;
use crate::operations::sockets::{interfaces, known_sockets};
use crate::operations::terminals::job_control::{self, get_attributes, is_terminal};
use crate::operations::terminals::terminal_io;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_kind::Socket;
use crate::state::threads::thread_table::PID;
use alloc::rc::Rc;
use nacre_proto::channel::SocketRecord;
use nacre_proto::{channel, file, process as manager, terminal};
use nacre_proto::structures::Attributes;
use nacre_sys::Reference;

const TCGETS: u32 = 0x5401;
const TCSETS: u32 = 0x5402;
const TCSETSF: u32 = 0x5404;
const TCGETA: u32 = 0x5405;
const TCSETA: u32 = 0x5406;
const TCSETAF: u32 = 0x5408;
const TCSBRK: u32 = 0x5409;
const TCXONC: u32 = 0x540a;
const TCFLSH: u32 = 0x540b;
const TIOCEXCL: u32 = 0x540c;
const TIOCNXCL: u32 = 0x540d;
const TIOCSCTTY: u32 = 0x540e;
const TIOCGPGRP: u32 = 0x540f;
const TIOCSPGRP: u32 = 0x5410;
const TIOCOUTQ: u32 = 0x5411;
const TIOCSTI: u32 = 0x5412;
const TIOCGWINSZ: u32 = 0x5413;
const TIOCSWINSZ: u32 = 0x5414;
const FIONREAD: u32 = 0x541b;
const FIONBIO: u32 = 0x5421;
const TIOCNOTTY: u32 = 0x5422;
const TIOCGETD: u32 = 0x5424;
const TCSBRKP: u32 = 0x5425;
const TIOCGSID: u32 = 0x5429;
const TIOCGPTN: u32 = 0x8004_5430;
const TIOCSPTLCK: u32 = 0x4004_5431;
const TIOCGPTLCK: u32 = 0x8004_5439;
const TIOCPKT: u32 = 0x5420;
const TIOCGPKT: u32 = 0x8004_5438;
const TIOCGPTPEER: u32 = 0x5441;
const FIONCLEX: u32 = 0x5450;
const FIOCLEX: u32 = 0x5451;
const FIOASYNC: u32 = 0x5452;

/// Upper bytes of the requests that sockets take.
const INTERFACES: u32 = 0x89;

/// `ioctl(descriptor, request, argument)`.
pub fn ioctl(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, request, argument, ..] = frame.arguments();
    let open = process.descriptors.get(descriptor)?;
    match request as u32 {
        FIOCLEX | FIONCLEX => process.descriptors.set_close_on_exec(descriptor, request as u32 == FIOCLEX).map(|()| 0),
        FIONBIO => set_nonblocking(process, &open, argument),
        FIOASYNC => set_async(process, &open, argument),
        FIONREAD => waiting(process, &open, argument),
        request if open.faults().is_some() => user_faults::request(process, &open, request, argument),
        _ if open.pipe().is_some() => Err(ENOTTY),
        request if request >> 8 == NEW >> 8 => user_faults::request_device(process, &open, request, argument),
        request if request >> 8 == INTERFACES && Socket::of(&open).is_some() => interfaces::request(process, request, argument),
        TIOCOUTQ if let Some(socket) = Socket::of(&open).filter(|socket| socket.family.is_internet()) => unsent(process, &open, socket, argument),
        request => of_terminal(process, &open, request, argument),
    }
}

/// Returns the number of bytes of a socket of the internet that the other side has not got yet.
fn unsent(process: &mut Process, open: &OpenFile, socket: Socket, argument: u64) -> Answer {
    let known = if socket.has_messages() { None } else { known_sockets::one(process, open) };
    if known.as_ref().is_some_and(|known| known.state == SocketRecord::LISTENING) {
        return Err(EINVAL);
    }
    process.memory.write_half(argument, known.map_or(0, |known| known.unsent))?;
    Ok(0)
}

fn set_nonblocking(process: &mut Process, open: &OpenFile, argument: u64) -> Answer {
    let wanted = if process.memory.read_half(argument)? == 0 { 0 } else { O_NONBLOCK };
    set_flags(open, open.flags.get() & !O_NONBLOCK | wanted)?;
    Ok(0)
}

/// Sets or clears signals to the owner on events, as `F_SETFL` does. Files other than pipes,
/// sockets and terminals send none.
fn set_async(process: &mut Process, open: &Rc<OpenFile>, argument: u64) -> Answer {
    let wanted = if process.memory.read_half(argument)? == 0 { 0 } else { O_ASYNC };
    let before = open.flags.get() & O_ASYNC;
    if wanted == before {
        return Ok(0);
    }
    if !open.is_channel() && open.pipe().is_none() && !is_terminal(open) {
        return Err(ENOTTY);
    }
    open.flags.set(open.flags.get() & !O_ASYNC | wanted);
    if wanted == 0 { Ok(0) } else { file_signals::tell_owner(process, open) }
}

/// Returns the number of bytes that can be read at once. A regular file counts from its position to
/// its end.
fn waiting(process: &mut Process, open: &OpenFile, argument: u64) -> Answer {
    const CURRENT: u64 = 1;
    let count = match open.pipe() {
        Some(end) => end.waiting() as u64,
        None if open.is_regular() => {
            let position = file::seek(open.reference()?, 0, CURRENT)?.position;
            file_status::of_file(process, open)?.size.saturating_sub(position)
        }
        None => terminal::waiting(open.reference()?)?.count,
    };
    process.memory.write_half(argument, count as u32)?;
    Ok(0)
}

/// Bytes of a `struct termio`: four sets of flags in two bytes each, instead of four, then the
/// discipline, and the first eight keys.
const SHORT: usize = 18;
/// Bytes of the line discipline and the keys in a `struct termios`, and in the short one.
const KEYS: (core::ops::Range<usize>, core::ops::Range<usize>) = (16..25, 8..17);

fn shortened(attributes: &[u8; Attributes::SIZE]) -> [u8; SHORT] {
    let mut short = [0; SHORT];
    for flags in 0..4 {
        short[2 * flags..2 * flags + 2].copy_from_slice(&attributes[4 * flags..4 * flags + 2]);
    }
    short[KEYS.1].copy_from_slice(&attributes[KEYS.0]);
    short
}

/// Changes what the short form has; the rest stays.
fn lengthen(short: [u8; SHORT], attributes: &mut [u8; Attributes::SIZE]) {
    for flags in 0..4 {
        attributes[4 * flags..4 * flags + 2].copy_from_slice(&short[2 * flags..2 * flags + 2]);
    }
    attributes[KEYS.0].copy_from_slice(&short[KEYS.1]);
}

fn of_terminal(process: &mut Process, open: &OpenFile, request: u32, argument: u64) -> Answer {
    match request {
        TCGETS => {
            let attributes = get_attributes(open)?;
            process.memory.write_bytes(argument, &attributes)?;
        }
        TCGETA => {
            let attributes = get_attributes(open)?;
            process.memory.write_bytes(argument, &shortened(&attributes))?;
        }
        TIOCGWINSZ => {
            let size = terminal::window(open.reference()?)?;
            process.memory.write_words(argument, &[size.rows & 0xffff | (size.columns & 0xffff) << 16])?;
        }
        TIOCSWINSZ => {
            let [size] = process.memory.read_words(argument)?;
            terminal::set_window(open.reference()?, size & 0xffff, size >> 16 & 0xffff)?;
        }
        TIOCSTI => {
            let byte = process.memory.readable(argument, 1)?[0];
            terminal::type_byte(open.reference()?, byte.into())?;
        }
        TIOCPKT | TIOCGPKT | TIOCGPTN | TIOCSPTLCK | TIOCGPTLCK | TIOCGPTPEER => return of_master(process, open, request, argument),
        TCSETS..=TCSETSF | TCSETA..=TCSETAF | TCSBRK | TCSBRKP | TCXONC | TCFLSH => return changing(process, open, request, argument),
        TIOCSCTTY | TIOCNOTTY | TIOCGPGRP | TIOCSPGRP | TIOCGSID => {
            get_attributes(open)?;
            return if process.is_managed() { by_manager(process, open, request, argument) } else { of_session(process, request, argument) };
        }
        TIOCOUTQ | TIOCGETD => {
            get_attributes(open)?;
            process.memory.write_half(argument, 0)?;
        }
        TIOCEXCL | TIOCNXCL => drop(get_attributes(open)?),
        _ => return Err(ENOTTY),
    }
    Ok(0)
}

/// Requests that only a pseudo-terminal's master takes.
fn of_master(process: &mut Process, open: &OpenFile, request: u32, argument: u64) -> Answer {
    if !open.is_master() {
        return Err(ENOTTY);
    }
    let target = open.reference()?;
    match request {
        TIOCGPTN => process.memory.write_half(argument, channel::terminal_facts(target, 0)?.number as u32)?,
        TIOCGPTLCK => process.memory.write_half(argument, channel::terminal_facts(target, 0)?.is_locked as u32)?,
        TIOCPKT => drop(terminal::packets(target, (process.memory.read_half(argument)? != 0).into())?),
        TIOCGPKT => process.memory.write_half(argument, (terminal::packets(target, 2)?.is_on != 0).into())?,
        TIOCSPTLCK => drop(channel::terminal_lock(target, process.memory.read_half(argument)?.into())?),
        _ => return terminal_io::open_peer(process, open, argument as u32),
    }
    Ok(0)
}

/// Requests that those in the background are stopped for.
fn changing(process: &mut Process, open: &OpenFile, request: u32, argument: u64) -> Answer {
    get_attributes(open)?;
    if !open.is_master()
        && let Some(device) = job_control::terminal_of(open)
    {
        job_control::check_background(process, device, SIGTTOU)?;
    }
    match request {
        TCSETS..=TCSETSF => {
            let attributes = process.memory.readable(argument, Attributes::SIZE as u64)?;
            terminal::set_attributes(open.reference()?, u64::from(request - TCSETS), attributes)?;
        }
        TCSETA..=TCSETAF => {
            let mut attributes = get_attributes(open)?;
            let short = process.memory.readable(argument, SHORT as u64)?.try_into().map_err(|_| EINVAL)?;
            lengthen(short, &mut attributes);
            terminal::set_attributes(open.reference()?, u64::from(request - TCSETA), &attributes)?;
        }
        TCFLSH => drop(terminal::flush(open.reference()?, argument)?),
        TCXONC => drop(terminal::flow(open.reference()?, argument)?),
        _ => {}
    }
    Ok(0)
}

/// Requests about the session, which the manager knows.
fn by_manager(process: &mut Process, open: &OpenFile, request: u32, argument: u64) -> Answer {
    let device = job_control::terminal_of(open).ok_or(ENOTTY)?;
    let owner = manager::terminal_owner(Reference::PARENT, device)?;
    // A master may be asked by everybody; its session may have no number.
    let is_known = owner.is_own != 0 || open.is_master();
    match request {
        TIOCSCTTY => terminal_io::acquire(device, argument == 1, open.reference()?)?,
        TIOCGPGRP if is_known => process.memory.write_half(argument, owner.group as u32)?,
        TIOCGSID if is_known && owner.session != 0 => process.memory.write_half(argument, owner.session as u32)?,
        TIOCSPGRP if owner.is_own != 0 => {
            job_control::check_background(process, device, SIGTTOU).map_err(|error| if error == EIO { ENOTTY } else { error })?;
            let group = process.memory.read_half(argument)?;
            if (group as i32) < 0 {
                return Err(EINVAL);
            }
            manager::foreground_set(Reference::PARENT, group.into())?;
        }
        TIOCNOTTY if owner.is_own != 0 => match manager::terminal_leave(Reference::PARENT) {
            // Who does not lead the session keeps it: it is the session's.
            Err(error) if error != EPERM => return Err(error),
            _ => {}
        },
        _ => return Err(ENOTTY),
    }
    Ok(0)
}

/// Requests about the session, whose only process this is, and those that have nothing to do here.
fn of_session(process: &mut Process, request: u32, argument: u64) -> Answer {
    match request {
        TIOCGPGRP | TIOCGSID => process.memory.write_half(argument, PID as u32)?,
        TIOCSPGRP if u64::from(process.memory.read_half(argument)?) != PID => return Err(EPERM),
        _ => {}
    }
    Ok(0)
}
