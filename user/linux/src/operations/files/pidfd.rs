//! Descriptors of processes: a number that is kept with an open file. It is ready when the process
//! has ended.

use crate::abi::errno::{Answer, EBADF, EINVAL, ENOSYS, EPERM, ESRCH, Errno};
use crate::abi::file_flags::{O_CLOEXEC, O_NONBLOCK, O_RDWR};
use crate::abi::registers::Frame;
use crate::abi::signal_info::{Info, LAST, SI_USER};
use crate::operations::proc;
use crate::operations::send_signal;
use crate::process::Process;
use crate::state::files::in_process_file::InProcessFile;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::proc_node::Node;
use crate::state::signals::pending::SI_TKILL;
use alloc::rc::Rc;
use core::cell::RefCell;
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// Makes the open file of a pidfd.
pub fn open_file(pid: u64, flags: u32) -> OpenFile {
    OpenFile::new(Kind::Local(RefCell::new(InProcessFile::Process(pid))), 0o600, O_RDWR | flags & O_NONBLOCK)
}

/// The process that a descriptor is, and whether calls must not wait for it.
pub fn of_descriptor(process: &Process, descriptor: u64) -> Result<(u64, bool), Errno> {
    let file = process.descriptors.get(descriptor)?;
    file.process().map(|pid| (pid, file.is_nonblocking())).ok_or(EBADF)
}

/// Returns true if the process has ended.
pub fn has_ended(pid: u64) -> bool {
    manager::list(Reference::PARENT, pid, &mut [0; 64]).map_or(true, |found| found.pid != pid || found.state == u64::from(b'Z'))
}

/// `pidfd_open(process, flags)`.
pub fn pidfd_open(process: &mut Process, frame: &mut Frame) -> Answer {
    let [pid, flags, ..] = frame.arguments();
    let flags = flags as u32;
    if flags & !O_NONBLOCK != 0 || (pid as i32) <= 0 {
        return Err(EINVAL);
    }
    let pid = pid & 0xffff_ffff;
    if pid != process.pid() {
        if process.threads.find(pid).is_some() {
            return Err(EINVAL);
        }
        manager::numbers(Reference::PARENT, pid).map_err(|error| if error == ENOSYS { ESRCH } else { error })?;
    }
    process.open(open_file(pid, flags), true)
}

/// Gives a new child's descriptor to its maker, and returns the descriptor. An error leaves none
/// open.
pub fn give(process: &mut Process, pid: u64, address: u64) -> Answer {
    let descriptor = process.open(open_file(pid, O_CLOEXEC), true)?;
    if let Err(error) = process.memory.write_half(address, descriptor as u32) {
        process.descriptors.close(descriptor)?;
        return Err(error);
    }
    Ok(descriptor)
}

/// `pidfd_send_signal(descriptor, signal, info, flags)`.
pub fn pidfd_send_signal(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, signal, address, flags, ..] = frame.arguments();
    if flags != 0 {
        return Err(EINVAL);
    }
    // A folder of `/proc` is one here too, from before there were descriptors of processes.
    let pid = match process.descriptors.get(descriptor)?.node() {
        Some(Node::Process(pid, None)) => pid,
        _ => of_descriptor(process, descriptor)?.0,
    };
    let signal = signal & 0xffff_ffff;
    if signal > LAST {
        return Err(EINVAL);
    }
    let own = process.pid();
    let info = if address == 0 {
        Info::from(signal, SI_USER, own, 0)
    } else {
        let words: [u64; 6] = process.memory.read_words(address)?;
        let code = words[1] as i32;
        if words[0] & 0xffff_ffff != signal {
            return Err(EINVAL);
        }
        if pid != own && (code >= 0 || code == SI_TKILL) {
            return Err(EPERM);
        }
        Info { signal, code, fields: [words[2], words[3], words[4], words[5]] }
    };
    send_signal::send(process, pid as i32, info)
}

/// `pidfd_getfd(descriptor, number, flags)`.
pub fn pidfd_getfd(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, number, flags, ..] = frame.arguments();
    if flags != 0 {
        return Err(EINVAL);
    }
    let (pid, _) = of_descriptor(process, descriptor)?;
    let file = if pid == process.pid() { process.descriptors.get(number)? } else { Rc::new(proc::remote_query::ask_file(process, pid, number)?) };
    let limit = process.limits.descriptors();
    process.descriptors.insert(file, 0, true, limit)
}
