//! What only the superuser may do. Others are told that they may not (`EPERM`), as on Linux; of
//! what nobody can do here, the superuser is told that it is not there (`ENOSYS`).

use crate::abi::errno::{Answer, EINVAL, ENOSYS, ENOTDIR, EPERM, Errno};
use crate::abi::file_flags::{CURRENT, O_DIRECTORY, O_PATH};
use crate::abi::registers::Frame;
use crate::operations::paths::path_status;
use crate::operations::paths::permissions::{self, EXECUTE, S_IFMT};
use crate::process::Process;
use crate::state::capabilities::SYSTEM;
use crate::state::files::open_file::{Kind, OpenFile};
use alloc::rc::Rc;
use nacre_proto::structures::Status;

/// `CAP_SYS_MODULE`.
const MODULES: u64 = 16;
/// `CAP_SYS_RAWIO`.
const PORTS: u64 = 17;
/// `CAP_SYS_CHROOT`.
const ROOTS: u64 = 18;
/// `CAP_SYS_PACCT`.
const ACCOUNTS: u64 = 20;
/// `CAP_SYS_BOOT`.
const BOOT: u64 = 22;
/// `CAP_SYS_TIME`.
const TIME: u64 = 25;
/// `CAP_SYS_TTY_CONFIG`.
const TERMINALS: u64 = 26;
/// `CAP_SYSLOG`.
const LOG: u64 = 34;
/// I/O ports that there are.
const PORT_COUNT: u64 = 0x1_0000;

/// The answer to who has the capability, and to who has not.
fn refuse(process: &mut Process, number: usize, capability: u64) -> Answer {
    if !process.identity.may(capability) {
        return Err(EPERM);
    }
    process.report_lacking(number);
    Err(ENOSYS)
}

/// Calls that look at nothing before they ask who calls.
macro_rules! refused {
    ($($number:literal $name:ident $capability:ident $what:literal;)*) => {
        $(#[doc = $what]
        pub fn $name(process: &mut Process, _: &mut Frame) -> Answer {
            refuse(process, $number, $capability)
        })*
    };
}

refused! {
    103 syslog LOG "`syslog(type, buffer, size)`: nobody but the superuser reads what the system says.";
    153 vhangup TERMINALS "`vhangup()`.";
    155 pivot_root SYSTEM "`pivot_root(new, old)`.";
    167 swapon SYSTEM "`swapon(path, flags)`.";
    168 swapoff SYSTEM "`swapoff(path)`.";
    169 reboot BOOT "`reboot(magic, magic, command, argument)`.";
    175 init_module MODULES "`init_module(image, size, parameters)`.";
    176 delete_module MODULES "`delete_module(name, flags)`.";
    246 kexec_load BOOT "`kexec_load(entry, count, segments, flags)`.";
    313 finit_module MODULES "`finit_module(file, parameters, flags)`.";
    320 kexec_file_load BOOT "`kexec_file_load(kernel, files, size, line, flags)`.";
}

/// `adjtimex(parameters)`.
pub fn adjtimex(process: &mut Process, frame: &mut Frame) -> Answer {
    adjust(process, 159, frame.arguments()[0])
}

/// `clock_adjtime(clock, parameters)`.
pub fn clock_adjtime(process: &mut Process, frame: &mut Frame) -> Answer {
    adjust(process, 305, frame.arguments()[1])
}

/// Refuses to adjust a clock: `EPERM` if the caller would change something and may not, else
/// `ENOSYS`.
fn adjust(process: &mut Process, number: usize, parameters: u64) -> Answer {
    if process.memory.read_half(parameters)? != 0 && !process.identity.may(TIME) {
        return Err(EPERM);
    }
    process.report_lacking(number);
    Err(ENOSYS)
}

/// `acct(path)`: without a path it stays off, as it is.
pub fn acct(process: &mut Process, frame: &mut Frame) -> Answer {
    match frame.arguments()[0] {
        0 if process.identity.may(ACCOUNTS) => Ok(0),
        _ => refuse(process, 163, ACCOUNTS),
    }
}

/// The place must be there first; what is there.
fn look_at(process: &mut Process, path: u64) -> Result<Status, Errno> {
    let place = process.place(CURRENT, path)?;
    permissions::check_place(process, place, true, 0)?;
    path_status::of_place(process, place, 0)
}

fn refuse_at(process: &mut Process, path: u64, number: usize) -> Answer {
    look_at(process, path)?;
    refuse(process, number, SYSTEM)
}

/// `chroot(path)`: a directory, which the user may search. Paths that begin in it do not lead out
/// of it.
pub fn chroot(process: &mut Process, frame: &mut Frame) -> Answer {
    const S_IFDIR: u64 = 0o040000;
    let status = look_at(process, frame.arguments()[0])?;
    if status.mode & S_IFMT != S_IFDIR {
        return Err(ENOTDIR);
    }
    permissions::check_mode(process, &status, EXECUTE)?;
    if !process.identity.may(ROOTS) {
        return Err(EPERM);
    }
    let place = process.place(CURRENT, frame.arguments()[0])?;
    let rooted = process.ask_at(place, |directory, path| nacre_proto::directory::root(directory, path))?.directory;
    process.root = Some(Rc::new(OpenFile::new(Kind::Remote(rooted), status.mode as u32, O_PATH | O_DIRECTORY)));
    Ok(0)
}

/// `mount(source, target, type, flags, data)`.
pub fn mount(process: &mut Process, frame: &mut Frame) -> Answer {
    refuse_at(process, frame.arguments()[1], 165)
}

/// `umount2(target, flags)`.
pub fn umount2(process: &mut Process, frame: &mut Frame) -> Answer {
    const KNOWN: u64 = 15;
    let [target, flags, ..] = frame.arguments();
    if flags & 0xffff_ffff & !KNOWN != 0 {
        return Err(EINVAL);
    }
    refuse_at(process, target, 166)
}

/// `iopl(level)`: the level that there is can be asked for.
pub fn iopl(process: &mut Process, frame: &mut Frame) -> Answer {
    const HIGHEST: u64 = 3;
    match frame.arguments()[0] & 0xffff_ffff {
        0 => Ok(0),
        1..=HIGHEST => refuse(process, 172, PORTS),
        _ => Err(EINVAL),
    }
}

/// `ioperm(first, count, on)`: ports are off already.
pub fn ioperm(process: &mut Process, frame: &mut Frame) -> Answer {
    let [first, count, on, ..] = frame.arguments();
    let end = first.checked_add(count).filter(|end| *end > first && *end <= PORT_COUNT);
    match end {
        None => Err(EINVAL),
        Some(_) if on as u32 == 0 => Ok(0),
        Some(_) => refuse(process, 173, PORTS),
    }
}
