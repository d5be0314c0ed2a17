//! Resource limits and what is used. Descriptors, addresses and the break are limited here, processes and signals by the manager.

use crate::abi::errno::{Answer, EFBIG, EINVAL, ENOMEM, Errno};
use crate::abi::file_flags::O_APPEND;
use crate::abi::registers::Frame;
use crate::abi::signal_info::{Info, SI_USER};
use crate::abi::time_units::MONOTONIC;
use crate::operations::cpu_time;
use crate::operations::paths::file_status;
use crate::process::Process;
use crate::services::OWN_POSITION;
use crate::state::capabilities::RESOURCES;
use crate::state::files::open_file::OpenFile;
use crate::state::limits::{ADDRESSES, CPU, CpuLimit, DATA, INFINITY, PROCESSES, SIGNALS};
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::Fill;
use nacre_abi::Rights;
use nacre_proto::flags::SEEK_CUR;
use nacre_proto::process;
use nacre_sys::Reference;

const SIGXFSZ: u64 = 25;

impl Process {
    /// Sets a limit; the manager hears of those that it enforces.
    pub fn set_limit(&mut self, resource: u64, limit: [u64; 2], may_raise: bool) -> Result<(), Errno> {
        self.limits.set(resource, limit, may_raise)?;
        if resource as u32 as usize == CPU && self.limits.cpu() != CpuLimit::NONE {
            self.call_agent()?;
        }
        if matches!(resource as u32 as usize, PROCESSES | SIGNALS) {
            // Without a manager there is one process, and signals of its own.
            let _ = process::limits(Reference::PARENT, self.limits.0[PROCESSES][0], self.limits.0[SIGNALS][0]);
        }
        Ok(())
    }

    /// Refuses more addresses than the limits allow, and more memory that is the process's own and written.
    pub fn check_memory(&self, more: u64, is_data: bool) -> Result<(), Errno> {
        let limits = &self.limits;
        let fits = !limits.is_limited(ADDRESSES) || limits.allows(ADDRESSES, self.memory.addresses(), more);
        let data_fits = !is_data || !limits.is_limited(DATA) || limits.allows(DATA, self.memory.data(), more);
        if fits && data_fits { Ok(()) } else { Err(ENOMEM) }
    }
}

impl Process {
    /// A file is not to become as large as that: the thread gets `SIGXFSZ`, and the call says `EFBIG`.
    pub fn check_file_size(&mut self, size: u64) -> Result<(), Errno> {
        if size <= self.limits.file_size() {
            return Ok(());
        }
        let (caller, info) = (self.caller, Info::from(SIGXFSZ, SI_USER, self.pid(), 0));
        self.post_to(caller, info)?;
        Err(EFBIG)
    }

    /// How many of `size` bytes may be written to a file at `offset`; a file that is as large as it may be takes none.
    pub fn within_file_size(&mut self, file: &OpenFile, offset: u64, size: usize) -> Result<usize, Errno> {
        let limit = self.limits.file_size();
        if limit == INFINITY || size == 0 || !file.is_regular() {
            return Ok(size);
        }
        let start = match offset {
            OWN_POSITION if file.flags.get() & O_APPEND != 0 => file_status::of_file(self, file)?.size,
            OWN_POSITION => nacre_proto::file::seek(file.reference()?, 0, SEEK_CUR)?.position,
            offset => offset,
        };
        self.check_file_size(start.saturating_add(1))?;
        Ok(size.min(usize::try_from(limit - start).unwrap_or(usize::MAX)))
    }
}

impl Process {
    /// The same for memory that is there and is to be written from now on.
    pub fn check_memory_as_data(&self, start: u64, end: u64) -> Result<(), Errno> {
        if !self.limits.is_limited(DATA) {
            return Ok(());
        }
        let fresh = |area: &&Area<Fill>| area.start < end && start < area.end && !area.rights.contains(Rights::WRITE) && !area.backing.is_shared();
        let more = self.memory.map.areas().filter(fresh).map(|area| area.end.min(end) - area.start.max(start)).sum();
        if self.limits.allows(DATA, self.memory.data(), more) { Ok(()) } else { Err(ENOMEM) }
    }
}

/// `getrlimit(resource, limit)`.
pub fn getrlimit(process: &mut Process, frame: &mut Frame) -> Answer {
    let [resource, limit, ..] = frame.arguments();
    process.memory.write_words(limit, &process.limits.get(resource)?)?;
    Ok(0)
}

/// `setrlimit(resource, limit)`.
pub fn setrlimit(process: &mut Process, frame: &mut Frame) -> Answer {
    let [resource, limit, ..] = frame.arguments();
    let limit = process.memory.read_words(limit)?;
    let may_raise = process.identity.may(RESOURCES);
    process.set_limit(resource, limit, may_raise)?;
    Ok(0)
}

/// `prlimit64(process, resource, new, old)`: of another process, its own library says and sets them.
pub fn prlimit64(process: &mut Process, frame: &mut Frame) -> Answer {
    let [target, resource, new, old, ..] = frame.arguments();
    let (target, resource) = (u64::from(target as u32), u64::from(resource as u32));
    let new = if new != 0 { Some(process.memory.read_words(new)?) } else { None };
    let is_own = target == 0 || target == process.pid() || process.threads.find(target).is_some();
    let before = if is_own { process.limits.get(resource)? } else { process.ask_limit(target, resource, new)? };
    if let Some(new) = new.filter(|_| is_own) {
        let may_raise = process.identity.may(RESOURCES);
        process.set_limit(resource, new, may_raise)?;
    }
    if old != 0 {
        process.memory.write_words(old, &before)?;
    }
    Ok(0)
}

/// `getrusage(who, usage)`. All time is the program's: what servers do for it is not told.
pub fn getrusage(process: &mut Process, frame: &mut Frame) -> Answer {
    const SELF: i32 = 0;
    const CHILDREN: i32 = -1;
    const THREAD: i32 = 1;
    let [who, usage, ..] = frame.arguments();
    let used = match who as i32 {
        SELF => process.used(),
        THREAD => process.me().used(),
        CHILDREN => process.times_told()[1],
        _ => return Err(EINVAL),
    };
    let mut words = [0; 18];
    words[..2].copy_from_slice(&cpu_time::seconds(used));
    if who as i32 != CHILDREN {
        words[4] = process.memory.size() / 1024;
    }
    process.memory.write_words(usage, &words)?;
    Ok(0)
}

/// `sysinfo(info)`.
pub fn sysinfo(process: &mut Process, frame: &mut Frame) -> Answer {
    let (uptime, _) = process.services.clock(MONOTONIC)?;
    let (limit, used) = process.services.memory_status()?;
    let words = [uptime, 0, 0, 0, limit, limit.saturating_sub(used), 0, 0, 0, 0, 1, 0, 0, 1];
    process.memory.write_words(frame.arguments()[0], &words)?;
    Ok(0)
}

/// `getcpu(cpu, node, cache)`.
pub fn getcpu(process: &mut Process, frame: &mut Frame) -> Answer {
    for address in &frame.arguments()[..2] {
        if *address != 0 {
            process.memory.write_half(*address, 0)?;
        }
    }
    Ok(0)
}
