//! Processors that threads may run on.

use crate::abi::errno::{EINVAL, ESRCH, Errno};
use crate::process::Process;
use crate::state::threads::thread::Thread;
use alloc::format;
use alloc::string::String;
use nacre_proto::parent;
use nacre_sys::Reference;

/// Maximum number of processors that a program is told of: the bits of a mask.
const MOST: u64 = u64::BITS as u64;
/// `CAP_SYS_NICE`.
pub const NICE: u64 = 23;

/// Returns the number of processors. If the parent does not tell, it is one.
pub fn processors(process: &mut Process) -> u64 {
    if process.processors == 0 {
        process.processors = parent::processors(Reference::PARENT).map_or(1, |reply| reply.count.clamp(1, MOST));
    }
    process.processors
}

/// All of them, a bit for each.
pub fn all_processors(process: &mut Process) -> u64 {
    u64::MAX >> (MOST - processors(process))
}

/// Returns the mask of processors on which a thread was to run.
pub fn processors_of(process: &mut Process, thread: u64) -> u64 {
    let all = all_processors(process);
    let index = process.threads.find(thread);
    index.and_then(|index| process.threads.get(index)).map_or(all, |thread| if thread.processors == 0 { all } else { thread.processors & all })
}

/// A thread of the process, by its number; 0 is the caller's.
fn own_thread(process: &mut Process, which: u64) -> Option<&mut Thread> {
    let index = if which == 0 { process.caller } else { process.threads.find(which)? };
    process.threads.get_mut(index)
}

/// A thread is to run on these; there must be one among them.
pub fn set_processors(process: &mut Process, which: u64, mask: u64) -> Result<(), Errno> {
    let (mask, all) = (mask & all_processors(process), all_processors(process));
    if mask == 0 {
        return Err(EINVAL);
    }
    own_thread(process, which).ok_or(ESRCH)?.processors = if mask == all { 0 } else { mask };
    Ok(())
}

/// `/proc/cpuinfo`.
pub fn processors_described(process: &mut Process) -> String {
    let count = processors(process);
    let one = |number: u64| {
        format!(
            "processor\t: {number}\nvendor_id\t: Nacre\ncpu family\t: 6\nmodel\t\t: 1\nmodel name\t: Nacre virtual processor\nstepping\t: 1\ncpu MHz\t\t: 1000.000\nphysical id\t: 0\nsiblings\t: {count}\ncore id\t\t: {number}\ncpu cores\t: {count}\nfpu\t\t: yes\nflags\t\t: fpu tsc cx8 cmov fxsr sse sse2 syscall nx lm\nbogomips\t: 2000.00\naddress sizes\t: 40 bits physical, 48 bits virtual\n\n"
        )
    };
    (0..count).map(one).collect()
}

/// A mask as lists have it: `0-3,5`.
pub fn list(mask: u64) -> String {
    let has = |number: u64| number < MOST && mask >> number & 1 != 0;
    let mut text = String::new();
    for first in (0..MOST).filter(|number| has(*number) && (*number == 0 || !has(number - 1))) {
        let last = (first..MOST).find(|number| !has(number + 1)).unwrap_or(first);
        text += if text.is_empty() { "" } else { "," };
        text += &if first == last { format!("{first}") } else { format!("{first}-{last}") };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_lists_of_ranges() {
        assert_eq!(list(0b1), "0");
        assert_eq!(list(0b10_1111), "0-3,5");
        assert_eq!(list(u64::MAX), "0-63");
        assert_eq!(list(1 << 63 | 2), "1,63");
        assert_eq!(list(0), "");
    }
}
