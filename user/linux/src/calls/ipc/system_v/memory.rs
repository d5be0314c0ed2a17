//! Segments of memory: files without a name that are mapped.

use crate::abi::errno::{Answer, EEXIST, EINVAL, ENOENT, ENOMEM, Errno};
use crate::abi::registers::Frame;
use crate::calls::ipc::system_v::{self, IPC_INFO, Looks, MOST, key};
use crate::calls::memory::mapping;
use crate::operations::limit_checks;
use crate::operations::restore_state;
use crate::process::Process;
use crate::services::segment::{Paging, Segment};
use crate::state::system_v::Attached;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::{file, keyed};
use nacre_proto::flags::{IPC_CREAT, KEYED_MEMORY, SHARE_WRITE};
use nacre_sys::Reference;

const READ_ONLY: u64 = 0o10000;
const ROUND: u64 = 0o20000;
const REMAP: u64 = 0o40000;
const EXECUTE: u64 = 0o100000;
const MAP_FIXED: u64 = 0x10;
const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
const SHM_LOCK: u32 = 11;
const SHM_UNLOCK: u32 = 12;
const LOOKS: Looks = Looks { at: 13, at_any: 15, all: 14 };

fn whole_pages(size: u64) -> Result<u64, Errno> {
    size.checked_next_multiple_of(PAGE_SIZE).filter(|size| *size <= i64::MAX as u64).ok_or(ENOMEM)
}

/// `shmget(key, size, flags)`.
pub fn shmget(process: &mut Process, frame: &mut Frame) -> Answer {
    let [name, size, flags, ..] = frame.arguments();
    let (name, flags) = (key(name), flags & 0xffff_ffff);
    let port = restore_state::keyed(process)?;
    let is_new = name == 0 || flags & IPC_CREAT != 0;
    if name != 0 {
        match keyed::get(port, KEYED_MEMORY, name, size, flags) {
            Err(ENOENT) if is_new => {}
            found => return Ok(found?.number),
        }
    }
    if size == 0 {
        return Err(EINVAL);
    }
    let memory = process.services.memory_file(false)?;
    file::set_size(memory.handle(), whole_pages(size)?)?;
    Ok(keyed::get_memory(port, name, size, flags, memory.handle())?.number)
}

/// `shmat(number, address, flags)`.
pub fn shmat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, address, flags, ..] = frame.arguments();
    let address = match address % PAGE_SIZE {
        0 => address,
        _ if flags & ROUND == 0 => return Err(EINVAL),
        beyond => address - beyond,
    };
    if address == 0 && flags & REMAP != 0 {
        return Err(EINVAL);
    }
    let number = number & 0xffff_ffff;
    let port = restore_state::keyed(process)?;
    let found = keyed::attach(port, number)?;
    let shown = whole_pages(found.size).and_then(|size| show(process, found.file.handle(), (address, size), flags));
    match shown {
        Ok(attached) => {
            process.keyed.attached.push(Attached { number, ..attached });
            Ok(attached.start)
        }
        Err(error) => {
            // It is as if it had never been there.
            let _ = keyed::detach(port, number);
            Err(error)
        }
    }
}

fn show(process: &mut Process, file: Reference, (address, size): (u64, u64), flags: u64) -> Result<Attached, Errno> {
    let mut rights = Rights::READ;
    for (wanted, more) in [(flags & READ_ONLY == 0, Rights::WRITE), (flags & EXECUTE != 0, Rights::EXECUTE)] {
        rights = if wanted { rights.union(more) } else { rights };
    }
    limit_checks::check_memory(process, size, false)?;
    let reply = file::share(file, size, SHARE_WRITE)?;
    let segment = Segment::common(Some(reply.hold), reply.region, reply.size, true, Paging::Goes);
    let how = match (address, flags & REMAP) {
        (0, _) => 0,
        (_, 0) => MAP_FIXED_NOREPLACE,
        _ => MAP_FIXED,
    };
    let start = mapping::place(process, address, size, how).map_err(|error| if error == EEXIST { EINVAL } else { error })?;
    process.memory.add_part(segment, start, size, 0, rights)?;
    process.memory.share(start, start + size)?;
    Ok(Attached { start, size, number: 0 })
}

/// `shmdt(address)`.
pub fn shmdt(process: &mut Process, frame: &mut Frame) -> Answer {
    let address = frame.arguments()[0];
    let index = process.keyed.attached.iter().position(|one| one.start == address).ok_or(EINVAL)?;
    let one = process.keyed.attached[index];
    process.memory.remove(one.start, one.start + one.size)?;
    process.keyed.attached.remove(index);
    let port = restore_state::keyed(process)?;
    // If it has gone, nobody counts.
    let _ = keyed::detach(port, one.number);
    Ok(0)
}

/// `shmctl(number, command, state)`.
pub fn shmctl(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, command, address, ..] = frame.arguments();
    let (number, command) = (number & 0xffff_ffff, command as u32);
    // Behind the permissions: change, size, times of attaching and detaching, maker, last user, how
    // often.
    let tell = |known: &[u64]| match known {
        [changed, size, attached, detached, maker, last, count, ..] => {
            [*size, *attached, *detached, *changed, maker & 0xffff_ffff | last << 32, *count, 0, 0].to_vec()
        }
        _ => alloc::vec![0; 8],
    };
    if let Some(answer) = system_v::control(process, KEYED_MEMORY, (number, command, address), &LOOKS, None, tell) {
        return answer;
    }
    match command {
        SHM_LOCK | SHM_UNLOCK => system_v::state_of(process, KEYED_MEMORY, number).map(|_| 0),
        IPC_INFO => {
            let (highest, _) = process.places(KEYED_MEMORY)?;
            process.memory.write_words(address, &[1 << 46, 1, MOST, MOST, 1 << 34, 0, 0, 0, 0])?;
            Ok(highest)
        }
        command if command == LOOKS.all => {
            let (highest, count) = process.places(KEYED_MEMORY)?;
            process.memory.write_words(address, &[count, 0, 0, 0, 0, 0])?;
            Ok(highest)
        }
        _ => Err(EINVAL),
    }
}
