//! `ioctl`: terminals, and the few requests that any file takes.

use crate::control::set_flags;
use crate::descriptors::{O_NONBLOCK, OpenFile};
use crate::entry::Frame;
use crate::errno::{Answer, EINVAL, ENOTTY, Errno};
use crate::life::PID;
use crate::process::Process;
use nacre_proto::structures::Attributes;
use nacre_proto::{file, process as manager, terminal};
use nacre_sys::Reference;

const TCGETS: u32 = 0x5401;
const TCSETS: u32 = 0x5402;
const TCSETSF: u32 = 0x5404;
const TCSBRK: u32 = 0x5409;
const TCXONC: u32 = 0x540a;
const TCFLSH: u32 = 0x540b;
const TIOCSCTTY: u32 = 0x540e;
const TIOCGPGRP: u32 = 0x540f;
const TIOCSPGRP: u32 = 0x5410;
const TIOCOUTQ: u32 = 0x5411;
const TIOCGWINSZ: u32 = 0x5413;
const TIOCSWINSZ: u32 = 0x5414;
const FIONREAD: u32 = 0x541b;
const FIONBIO: u32 = 0x5421;
const TIOCNOTTY: u32 = 0x5422;
const TIOCGSID: u32 = 0x5429;
const FIONCLEX: u32 = 0x5450;
const FIOCLEX: u32 = 0x5451;

/// `ioctl(descriptor, request, argument)`.
pub fn ioctl(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, request, argument, ..] = frame.arguments();
    let open = process.descriptors.get(descriptor)?;
    match request as u32 {
        FIOCLEX | FIONCLEX => process.descriptors.set_close_on_exec(descriptor, request as u32 == FIOCLEX).map(|()| 0),
        FIONBIO => set_nonblocking(process, &open, argument),
        FIONREAD => waiting(process, &open, argument),
        _ if open.pipe().is_some() => Err(ENOTTY),
        request => of_terminal(process, &open, request, argument),
    }
}

fn set_nonblocking(process: &mut Process, open: &OpenFile, argument: u64) -> Answer {
    let wanted = if process.memory.read_half(argument)? == 0 { 0 } else { O_NONBLOCK };
    set_flags(process, open, open.flags.get() & !O_NONBLOCK | wanted)?;
    Ok(0)
}

/// How much can be read at once: of a pipe, a terminal, or from the position of a regular file to its end.
fn waiting(process: &mut Process, open: &OpenFile, argument: u64) -> Answer {
    const CURRENT: u64 = 1;
    let count = match open.pipe() {
        Some(end) => end.waiting() as u64,
        None if open.is_regular() => {
            let position = file::seek(process.services.reference(open)?, 0, CURRENT)?.position;
            crate::status::of_file(process, open)?.size.saturating_sub(position)
        }
        None => terminal::waiting(process.services.reference(open)?)?.count,
    };
    process.memory.write_half(argument, count as u32)?;
    Ok(0)
}

/// Whether a file is a terminal.
pub fn is_terminal(process: &mut Process, open: &OpenFile) -> bool {
    get_attributes(process, open).is_ok()
}

fn get_attributes(process: &mut Process, open: &OpenFile) -> Result<[u8; Attributes::SIZE], Errno> {
    let mut attributes = [0; Attributes::SIZE];
    terminal::get_attributes(process.services.reference(open)?, &mut attributes)?;
    Ok(attributes)
}

fn of_terminal(process: &mut Process, open: &OpenFile, request: u32, argument: u64) -> Answer {
    match request {
        TCGETS => {
            let attributes = get_attributes(process, open)?;
            process.memory.write_bytes(argument, &attributes)?;
        }
        TCSETS..=TCSETSF => {
            let attributes = process.memory.readable(argument, Attributes::SIZE as u64)?;
            terminal::set_attributes(process.services.reference(open)?, u64::from(request - TCSETS), attributes)?;
        }
        TIOCGWINSZ => {
            let size = terminal::window(process.services.reference(open)?)?;
            process.memory.write_words(argument, &[size.rows & 0xffff | (size.columns & 0xffff) << 16])?;
        }
        TIOCSWINSZ => {
            let [size] = process.memory.read_words(argument)?;
            terminal::set_window(process.services.reference(open)?, size & 0xffff, size >> 16 & 0xffff)?;
        }
        TCSBRK | TCXONC | TCFLSH | TIOCSCTTY | TIOCNOTTY | TIOCGPGRP | TIOCSPGRP | TIOCGSID | TIOCOUTQ => {
            get_attributes(process, open)?;
            return if process.is_managed() { by_manager(process, open, request, argument) } else { of_session(process, request, argument) };
        }
        _ => {
            get_attributes(process, open)?;
            return Err(EINVAL);
        }
    }
    Ok(0)
}

/// Requests about the session, which the manager knows.
fn by_manager(process: &mut Process, open: &OpenFile, request: u32, argument: u64) -> Answer {
    match request {
        TIOCGPGRP => process.memory.write_half(argument, manager::foreground(Reference::PARENT)?.group as u32)?,
        TIOCSPGRP => {
            let group = process.memory.read_half(argument)?;
            manager::foreground_set(Reference::PARENT, group.into())?;
        }
        TIOCGSID => process.memory.write_half(argument, manager::numbers(Reference::PARENT, 0)?.session as u32)?,
        TIOCSCTTY => {
            let terminal = process.services.reference(open)?;
            manager::terminal_acquire(Reference::PARENT, terminal)?;
        }
        TIOCOUTQ => process.memory.write_half(argument, 0)?,
        _ => {}
    }
    Ok(0)
}

/// Requests about the session, whose only process this is, and those that have nothing to do here.
fn of_session(process: &Process, request: u32, argument: u64) -> Answer {
    match request {
        TIOCGPGRP | TIOCGSID => process.memory.write_half(argument, PID as u32)?,
        TIOCOUTQ => process.memory.write_half(argument, 0)?,
        TIOCSPGRP if u64::from(process.memory.read_half(argument)?) != PID => return Err(crate::errno::EPERM),
        _ => {}
    }
    Ok(0)
}
