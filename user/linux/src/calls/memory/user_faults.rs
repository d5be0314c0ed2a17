//! `userfaultfd`: a program brings pages of its own memory itself.

use crate::abi::errno::{Answer, EAGAIN, EAWAITS_PAGE, EINVAL, ENOTTY, EPERM, Errno};
use crate::abi::file_flags::{O_CLOEXEC, O_NONBLOCK, S_IFCHR, S_IFMT};
use crate::abi::registers::Frame;
use crate::abi::user_fault_layouts as layout;
use crate::operations::paths::file_status;
use crate::operations::user_faults;
use crate::process::Process;
use crate::state::capabilities::OTHERS;
use crate::state::files::in_process_file::{InProcessFile, UserFaultFile};
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::memory::registered::Registered;
use crate::state::memory::user_faults as memory_faults;
use core::cell::RefCell;
use nacre_abi::{PAGE_SIZE, Rights, USER_END};

/// Flag: faults of the program's own instructions alone are told.
const USER_MODE_ONLY: u64 = 1;

/// `userfaultfd(flags)`.
pub fn userfaultfd(process: &mut Process, frame: &mut Frame) -> Answer {
    let flags = frame.arguments()[0] & 0xffff_ffff;
    if flags & USER_MODE_ONLY == 0 && !process.identity.may(OTHERS) {
        return Err(EPERM);
    }
    open(process, flags)
}

/// A request to `/dev/userfaultfd`. `NEW` makes a file: whoever may open the device needs no right
/// beyond that.
pub fn request_device(process: &mut Process, device: &OpenFile, request: u32, flags: u64) -> Answer {
    /// Number of the device.
    const DEVICE: u64 = 0xa7e;
    let is_device = device.mode.get() & S_IFMT == S_IFCHR && file_status::of_file(process, device)?.rdevice == DEVICE;
    match request {
        _ if !is_device => Err(ENOTTY),
        layout::NEW => open(process, flags & 0xffff_ffff),
        _ => Err(EINVAL),
    }
}

fn open(process: &mut Process, flags: u64) -> Answer {
    if flags & !(USER_MODE_ONLY | u64::from(O_CLOEXEC | O_NONBLOCK)) != 0 {
        return Err(EINVAL);
    }
    process.tickets += 1;
    let file = UserFaultFile { number: process.tickets, features: None, is_for_program: flags & USER_MODE_ONLY != 0 };
    let flags = flags as u32;
    let open = OpenFile::new(Kind::Local(RefCell::new(InProcessFile::Faults(file))), 0o600, flags & O_NONBLOCK);
    process.open(open, flags & O_CLOEXEC != 0)
}

/// A request to such a file.
pub fn request(process: &mut Process, open: &OpenFile, request: u32, argument: u64) -> Answer {
    let file = open.faults().ok_or(ENOTTY)?;
    match request {
        layout::API_REQUEST => begin(process, open, file, argument),
        _ if file.features.is_none() => Err(EINVAL),
        layout::REGISTER => register(process, file, argument),
        layout::UNREGISTER => unregister(process, file, argument),
        layout::WAKE => wake(process, file, argument),
        layout::COPY => copy(process, file, argument),
        layout::ZERO_PAGE => zero(process, file, argument),
        layout::WRITE_PROTECT => protect(process, file, argument),
        layout::CONTINUE => go_on(process, file, argument),
        _ => Err(EINVAL),
    }
}

/// `UFFDIO_API`, once.
fn begin(process: &mut Process, open: &OpenFile, file: UserFaultFile, argument: u64) -> Answer {
    let [version, features, _] = process.memory.read_words::<3>(argument)?;
    if version != layout::API || features & !layout::FEATURES != 0 || file.features.is_some() {
        process.memory.write_words(argument, &[0; 3])?;
        return Err(EINVAL);
    }
    process.need_exceptions()?;
    process.memory.write_words(argument, &[layout::API, layout::FEATURES, layout::REQUESTS])?;
    if let Kind::Local(local) = &open.kind {
        *local.borrow_mut() = InProcessFile::Faults(UserFaultFile { features: Some(features), ..file });
    }
    Ok(0)
}

/// The end of a range of whole pages, of which there is one at least.
fn range_end(start: u64, size: u64) -> Result<u64, Errno> {
    let end = start.checked_add(size).filter(|end| *end <= USER_END).ok_or(EINVAL)?;
    if (start | size) % PAGE_SIZE == 0 && size != 0 { Ok(end) } else { Err(EINVAL) }
}

fn register(process: &mut Process, file: UserFaultFile, argument: u64) -> Answer {
    let [start, size, mode] = process.memory.read_words(argument)?;
    if mode == 0 || mode & !(layout::MODE_MISSING | layout::MODE_PROTECT | layout::MODE_MINOR) != 0 {
        return Err(EINVAL);
    }
    let end = range_end(start, size)?;
    let [missing, protect, minor] = [layout::MODE_MISSING, layout::MODE_PROTECT, layout::MODE_MINOR].map(|bit| mode & bit != 0);
    process.memory.fill_reserved(&mut process.services, start, end)?;
    memory_faults::register(&mut process.memory, start, end, Registered { file: file.number, missing, protect, minor, rights: Rights::NONE })?;
    let more = [(protect, layout::REQUEST_PROTECT), (minor, layout::REQUEST_CONTINUE)];
    let requests = more.iter().filter(|(is_so, _)| *is_so).fold(layout::REQUESTS_MISSING, |bits, (_, bit)| bits | bit);
    process.memory.write_words(argument + 24, &[requests])?;
    Ok(0)
}

fn unregister(process: &mut Process, file: UserFaultFile, argument: u64) -> Answer {
    let [start, size] = process.memory.read_words(argument)?;
    let end = range_end(start, size)?;
    memory_faults::unregister(&mut process.memory, start, end, None)?;
    user_faults::wake(process, file.number, start, end);
    Ok(0)
}

fn wake(process: &mut Process, file: UserFaultFile, argument: u64) -> Answer {
    let [start, size] = process.memory.read_words(argument)?;
    let end = range_end(start, size)?;
    user_faults::wake(process, file.number, start, end);
    Ok(0)
}

/// Says how many bytes were brought, and wakes who waits for them, unless it is not to.
fn finish(process: &mut Process, file: UserFaultFile, place: u64, done: Answer, [start, size]: [u64; 2], wakes: bool) -> Answer {
    let told = done.map_or_else(|error| u64::from(error.0).wrapping_neg(), |count| count);
    process.memory.write_words(place, &[told])?;
    let done = done?;
    if wakes {
        user_faults::wake(process, file.number, start, start + done);
    }
    if done == size { Ok(0) } else { Err(EAGAIN) }
}

/// Brings pages one by one: how many bytes, up to the first page that is there. `EEXIST`: that is
/// the first.
fn bring(size: u64, mut one: impl FnMut(u64) -> Result<(), Errno>) -> Answer {
    for done in (0..size).step_by(PAGE_SIZE as usize) {
        match one(done) {
            Ok(()) => {}
            Err(error) if done == 0 => return Err(error),
            Err(_) => return Ok(done),
        }
    }
    Ok(size)
}

fn copy(process: &mut Process, file: UserFaultFile, argument: u64) -> Answer {
    let [to, from, size, mode] = process.memory.read_words(argument)?;
    let end = range_end(to, size)?;
    if from.checked_add(size).is_none() || mode & !(layout::DONT_WAKE | layout::COPY_PROTECTED) != 0 {
        return Err(EINVAL);
    }
    let is_protected = mode & layout::COPY_PROTECTED != 0;
    let done = match process.memory.check_supplied(to, end, is_protected) {
        Err(error) => Err(error),
        Ok(()) => {
            let memory = &mut process.memory;
            bring(size, |done| {
                let bytes = memory.readable(from + done, PAGE_SIZE)?;
                memory.supply(to + done, Some(bytes), is_protected)
            })
        }
    };
    if done == Err(EAWAITS_PAGE) {
        return done;
    }
    finish(process, file, argument + 32, done, [to, size], mode & layout::DONT_WAKE == 0)
}

fn zero(process: &mut Process, file: UserFaultFile, argument: u64) -> Answer {
    let [start, size, mode] = process.memory.read_words(argument)?;
    let end = range_end(start, size)?;
    if mode & !layout::DONT_WAKE != 0 {
        return Err(EINVAL);
    }
    let memory = &mut process.memory;
    let done = memory.check_supplied(start, end, false).and_then(|()| bring(size, |done| memory.supply(start + done, None, false)));
    finish(process, file, argument + 24, done, [start, size], mode & layout::DONT_WAKE == 0)
}

fn go_on(process: &mut Process, file: UserFaultFile, argument: u64) -> Answer {
    let [start, size, mode] = process.memory.read_words(argument)?;
    let end = range_end(start, size)?;
    if mode & !layout::DONT_WAKE != 0 {
        return Err(EINVAL);
    }
    let memory = &mut process.memory;
    let done = memory.check_supplied(start, end, false).and_then(|()| bring(size, |done| memory.go_on(start + done)));
    finish(process, file, argument + 24, done, [start, size], mode & layout::DONT_WAKE == 0)
}

fn protect(process: &mut Process, file: UserFaultFile, argument: u64) -> Answer {
    let [start, size, mode] = process.memory.read_words(argument)?;
    let end = range_end(start, size)?;
    if mode & !(layout::PROTECTED | layout::PROTECT_DONT_WAKE) != 0 || mode == layout::PROTECTED | layout::PROTECT_DONT_WAKE {
        return Err(EINVAL);
    }
    process.memory.write_protect(start, end, mode & layout::PROTECTED != 0)?;
    if mode == 0 {
        user_faults::wake(process, file.number, start, end);
    }
    Ok(0)
}
