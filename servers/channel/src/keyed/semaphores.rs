//! A set of semaphores: operations on several of them, all at once or none.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// The highest value.
const HIGHEST: i64 = 32_767;
/// Flag of an operation: it is undone when the process ends.
const UNDO: u16 = 0x1000;

/// An operation on a semaphore, as in Linux's `sembuf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Index of the semaphore.
    pub index: u16,
    /// Value to add; 0: wait for zero.
    pub by: i16,
    /// Flags.
    pub flags: u16,
}

impl Operation {
    /// Decodes the six bytes of a `sembuf`.
    pub fn from_sembuf(bytes: [u8; 6]) -> Operation {
        let [a, b, c, d, e, f] = bytes;
        Operation { index: u16::from_le_bytes([a, b]), by: i16::from_le_bytes([c, d]), flags: u16::from_le_bytes([e, f]) }
    }

    /// Returns true if the operation changes a value, and is undone when the process ends.
    pub fn is_undone(&self) -> bool {
        self.flags & UNDO != 0 && self.by != 0
    }
}

/// Returns the value to add to each changed semaphore at the end, after these operations. `ERANGE`:
/// it would be too much.
pub fn undone(operations: &[Operation], before: impl Fn(u64) -> i64) -> Result<BTreeMap<u64, i64>, Errno> {
    let mut undone = BTreeMap::new();
    for operation in operations.iter().filter(|operation| operation.is_undone()) {
        let index = u64::from(operation.index);
        let place = undone.entry(index).or_insert_with(|| before(index));
        *place -= i64::from(operation.by);
        if *place > HIGHEST || *place < -HIGHEST - 1 {
            return Err(Errno::ERANGE);
        }
    }
    Ok(undone)
}

/// A set of semaphores.
#[derive(Debug)]
pub struct Set {
    values: Vec<u16>,
    pids: Vec<u32>,
    /// Time of the last use.
    pub time: u64,
}

impl Set {
    /// Makes a set of so many semaphores, all zero.
    pub fn new(count: usize) -> Result<Set, Errno> {
        let mut set = Set { values: Vec::new(), pids: Vec::new(), time: 0 };
        set.values.try_reserve_exact(count).map_err(|_| Errno::ENOMEM)?;
        set.pids.try_reserve_exact(count).map_err(|_| Errno::ENOMEM)?;
        set.values.resize(count, 0);
        set.pids.resize(count, 0);
        Ok(set)
    }

    /// Returns the number of semaphores.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The value of one, and who used it last.
    pub fn look(&self, index: u64) -> Result<(u64, u64), Errno> {
        let index = usize::try_from(index).map_err(|_| Errno::EINVAL)?;
        let value = *self.values.get(index).ok_or(Errno::EINVAL)?;
        Ok((value.into(), self.pids.get(index).copied().unwrap_or(0).into()))
    }

    /// Values from one on.
    pub fn values(&self, first: u64) -> impl Iterator<Item = u16> {
        self.values.iter().skip(usize::try_from(first).unwrap_or(usize::MAX)).copied()
    }

    /// Sets values from one on.
    pub fn set_values(&mut self, first: u64, values: &[u16], pid: u64) -> Result<(), Errno> {
        if values.iter().any(|value| i64::from(*value) > HIGHEST) {
            return Err(Errno::ERANGE);
        }
        let first = usize::try_from(first).map_err(|_| Errno::EINVAL)?;
        let end = first.checked_add(values.len()).ok_or(Errno::EINVAL)?;
        self.values.get_mut(first..end).ok_or(Errno::EINVAL)?.copy_from_slice(values);
        self.pids.get_mut(first..end).ok_or(Errno::EINVAL)?.fill(pid as u32);
        Ok(())
    }

    /// Does all operations; false: one of them has to wait, and nothing is done.
    pub fn operate(&mut self, operations: &[Operation], pid: u64) -> Result<bool, Errno> {
        if operations.iter().any(|operation| usize::from(operation.index) >= self.values.len()) {
            return Err(Errno::EFBIG);
        }
        let mut new: BTreeMap<u16, i64> = BTreeMap::new();
        for operation in operations {
            let Operation { index, by, flags } = *operation;
            let value = new.entry(index).or_insert_with(|| self.values[usize::from(index)].into());
            if by == 0 && *value != 0 || *value + i64::from(by) < 0 {
                return if flags & nacre_proto::flags::IPC_NOWAIT as u16 != 0 { Err(Errno::EAGAIN) } else { Ok(false) };
            }
            *value += i64::from(by);
            if *value > HIGHEST {
                return Err(Errno::ERANGE);
            }
        }
        for (index, value) in new {
            self.values[usize::from(index)] = value as u16;
            self.pids[usize::from(index)] = pid as u32;
        }
        Ok(true)
    }

    /// A process has ended, or was cut off, that had taken or given so much.
    pub fn undo(&mut self, index: usize, by: i64, pid: u64) {
        if let (Some(value), Some(last)) = (self.values.get_mut(index), self.pids.get_mut(index)) {
            *value = (i64::from(*value) + by).clamp(0, HIGHEST) as u16;
            *last = pid as u32;
        }
    }
}
