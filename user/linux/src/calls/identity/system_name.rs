//! What the system is called. The names of the host and its domain are the manager's, for its whole
//! world.

use crate::abi::errno::{Answer, EINVAL, ENOSYS, EPERM};
use crate::abi::registers::Frame;
use crate::operations::system_name::{FIELD, MACHINE, RELEASE, SYSTEM_NAME, VERSION, names};
use crate::process::Process;
use crate::state::capabilities::SYSTEM;
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// `uname(buffer)`.
pub fn uname(process: &mut Process, frame: &mut Frame) -> Answer {
    let [host, domain] = names();
    let fields = [SYSTEM_NAME.as_bytes(), &host, RELEASE.as_bytes(), VERSION.as_bytes(), MACHINE.as_bytes(), &domain];
    let mut names = [0; FIELD * 6];
    for (place, text) in names.chunks_mut(FIELD).zip(fields) {
        place.iter_mut().zip(text.iter().take(FIELD - 1)).for_each(|(to, from)| *to = *from);
    }
    process.memory.write_bytes(frame.arguments()[0], &names)?;
    Ok(0)
}

fn set(process: &mut Process, frame: &Frame, which: u64) -> Answer {
    let [name, size, ..] = frame.arguments();
    if !process.identity.may(SYSTEM) {
        return Err(EPERM);
    }
    // The size is a signed number of 32 bits.
    if size as u32 as usize >= FIELD {
        return Err(EINVAL);
    }
    let name = process.memory.readable(name, u64::from(size as u32))?;
    manager::system_name_set(Reference::PARENT, which, name).map_err(|error| {
        if error == ENOSYS {
            process.report(format_args!("sethostname: this needs a process manager: run the program below `process`"));
        }
        error
    })?;
    Ok(0)
}

/// `sethostname(name, size)`.
pub fn sethostname(process: &mut Process, frame: &mut Frame) -> Answer {
    set(process, frame, 0)
}

/// `setdomainname(name, size)`.
pub fn setdomainname(process: &mut Process, frame: &mut Frame) -> Answer {
    set(process, frame, 1)
}
