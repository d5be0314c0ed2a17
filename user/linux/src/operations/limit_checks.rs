//! Limits of memory and of the sizes of files.

use crate::abi::errno::{EFBIG, ENOMEM, Errno};
use crate::abi::file_flags::O_APPEND;
use crate::abi::signal_info::{Info, SI_USER};
use crate::operations::paths::file_status;
use crate::process::Process;
use crate::services::OWN_POSITION;
use crate::state::files::open_file::OpenFile;
use crate::state::limits::{ADDRESSES, CPU, CpuLimit, DATA, INFINITY, PROCESSES, SIGNALS};
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::Fill;
use nacre_abi::Rights;
use nacre_proto::flags::SEEK_CUR;
use nacre_proto::process;
use nacre_sys::Reference;

const SIGXFSZ: u64 = 25;

/// Sets a limit; the manager hears of those that it enforces.
pub fn set_limit(process: &mut Process, resource: u64, limit: [u64; 2], may_raise: bool) -> Result<(), Errno> {
    process.limits.set(resource, limit, may_raise)?;
    if resource as u32 as usize == CPU && process.limits.cpu() != CpuLimit::NONE {
        process.call_agent()?;
    }
    if matches!(resource as u32 as usize, PROCESSES | SIGNALS) {
        // Without a manager there is one process, and signals of its own.
        let _ = process::limits(Reference::PARENT, process.limits.0[PROCESSES][0], process.limits.0[SIGNALS][0]);
    }
    Ok(())
}

/// Refuses more addresses than the limits allow, and more memory that is the process's own and
/// written.
pub fn check_memory(process: &Process, more: u64, is_data: bool) -> Result<(), Errno> {
    let limits = &process.limits;
    let fits = !limits.is_limited(ADDRESSES) || limits.allows(ADDRESSES, process.memory.addresses(), more);
    let data_fits = !is_data || !limits.is_limited(DATA) || limits.allows(DATA, process.memory.data(), more);
    if fits && data_fits { Ok(()) } else { Err(ENOMEM) }
}

/// Checks the data limit for memory that exists and becomes writable.
pub fn check_memory_as_data(process: &Process, start: u64, end: u64) -> Result<(), Errno> {
    if !process.limits.is_limited(DATA) {
        return Ok(());
    }
    let fresh = |area: &&Area<Fill>| area.start < end && start < area.end && !area.rights.contains(Rights::WRITE) && !area.backing.is_shared();
    let more = process.memory.map.areas().filter(fresh).map(|area| area.end.min(end) - area.start.max(start)).sum();
    if process.limits.allows(DATA, process.memory.data(), more) { Ok(()) } else { Err(ENOMEM) }
}

/// A file is not to become as large as that: the thread gets `SIGXFSZ`, and the call says `EFBIG`.
pub fn check_file_size(process: &mut Process, size: u64) -> Result<(), Errno> {
    if size <= process.limits.file_size() {
        return Ok(());
    }
    let (caller, info) = (process.caller, Info::from(SIGXFSZ, SI_USER, process.pid(), 0));
    process.post_to(caller, info)?;
    Err(EFBIG)
}

/// Returns how many of `size` bytes may be written at `offset`. A file of maximum size takes none.
pub fn within_file_size(process: &mut Process, file: &OpenFile, offset: u64, size: usize) -> Result<usize, Errno> {
    let limit = process.limits.file_size();
    if limit == INFINITY || size == 0 || !file.is_regular() {
        return Ok(size);
    }
    let start = match offset {
        OWN_POSITION if file.flags.get() & O_APPEND != 0 => file_status::of_file(process, file)?.size,
        OWN_POSITION => nacre_proto::file::seek(file.reference()?, 0, SEEK_CUR)?.position,
        offset => offset,
    };
    check_file_size(process, start.saturating_add(1))?;
    Ok(size.min(usize::try_from(limit - start).unwrap_or(usize::MAX)))
}
