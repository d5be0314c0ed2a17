//! Places in the memory of the library for Linux programs that debuggers look at, counted from the
//! base of `gs`, which leads to a thread's block. The library checks them when it is built.

use crate::plan::LIBRARY_RANGE;

/// Bytes below the block that hold the program's registers while its thread is in the library: 18
/// words, `rbx rbp r12 r13 r14 r15`, the number of the call, two words without a meaning, `rdi rsi
/// rdx r10 r8 r9`, the instruction pointer, the flags, and the stack pointer.
pub const FRAME_SIZE: u64 = 144;
/// Place of the program's stack pointer while the entry has none of its own yet.
pub const SCRATCH: u64 = 8;
/// Place of the instruction at which the library has stopped a thread to give it a signal.
pub const RESUME: u64 = 16;
/// Place of a half word that is not 0 if the thread has to enter the library for signals.
pub const ATTENTION: u64 = 40;
/// Place of a half word that is not 0 once the thread has ended.
pub const PARKED: u64 = 48;
/// Place of a half word with the number of a signal that a debugger gives the thread. A thread that
/// enters the library for signals takes it first.
pub const INJECTED: u64 = 80 + 4 * 192;
/// Flag of a debugger's answer at the gate of signals: the program's registers were set, so a call
/// that the signal cut off is not made again.
pub const REGISTERS_SET: u64 = 1 << 32;
/// Distance from the set of signals that pass the gate of a half word that a debugger sets to 1
/// while it stops threads or lets them go on. It sets it before it looks at the library's.
pub const DEBUGGER_BUSY: u64 = 8;
/// Distance from the same set of a half word that the library sets to 1 while it stops threads or
/// lets them go on. It sets it before it looks at the debugger's.
pub const TURN_TAKEN: u64 = 12;
/// Place of a half word that holds the thread's number.
pub const THREAD_NUMBER: u64 = 80 + 4 * 186;

/// Bytes before the address at which the kernel continues system calls where sixteen half words
/// lie: [`ENTRIES_MAGIC`], and distances from that address. They lead behind the entry's count of
/// calls; to the entry of calls with known answers that do not come through the kernel, and its
/// second instruction; to that of other such calls, and its second instruction; to the way out that
/// restores all registers from the frame at the stack pointer; to the entry for signals; to the
/// gate of signals, and its second instruction; to the set of signals that pass the gate; to the
/// gate of changes, and its second instruction; to a half word that is not 0 while mappings of the
/// program change; and to the half word `nacre_sys::landing::REASONS`. The last is 0.
///
/// A thread at the gate is about to deliver a signal. `rdi` has its number, `rsi` the address of
/// its `siginfo`, `rdx` the address of its handler or 0. `r8` is 1 if the signal has cut off a call
/// that can be made again. The registers of the program are in the frame, all 18 words. The thread
/// continues with the number in `rax`, 0 if there is no signal.
///
/// Threads come to the gate of changes if the flag `nacre_sys::landing::WATCHED` is set. `rdi` says
/// what they do: [`CHANGES_BEGIN`], [`CHANGES_END`] or [`THREAD_IS_MADE`].
pub const ENTRIES: u64 = 80;
/// Number of the half words.
pub const ENTRY_WORDS: usize = 16;
/// First of them.
pub const ENTRIES_MAGIC: u32 = 0x4e61_6569;
/// Mappings of the program are about to change: nothing may stand in front of its memory.
pub const CHANGES_BEGIN: u64 = 0;
/// Mappings of the program stay as they are.
pub const CHANGES_END: u64 = 1;
/// A thread was made, which does not run yet.
pub const THREAD_IS_MADE: u64 = 2;

/// Addresses of the entries, found by a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entries {
    /// Entry of calls that come through the kernel, and its first instruction behind the count.
    pub foreign: [u64; 2],
    /// Entry of calls with known answers, and its second instruction.
    pub quick: [u64; 2],
    /// Entry of other calls that do not come through the kernel, and its second instruction.
    pub call: [u64; 2],
    /// Way out that restores all registers.
    pub leave: u64,
    /// Entry for signals.
    pub signal: u64,
    /// Gate of signals, and its second instruction.
    pub gate: [u64; 2],
    /// Place of the set of signals that pass the gate: a bit for each, the lowest for signal 1.
    pub stopping: u64,
    /// Gate of changes, and its second instruction.
    pub changes: [u64; 2],
    /// Place of a half word that is not 0 while mappings of the program change.
    pub changing: u64,
    /// Place of the reasons why answers land elsewhere.
    pub landing: u64,
}

impl Entries {
    /// Finds the entries by the half words of the list before the entry at `foreign`. `None`: there
    /// is no such list, or it leads out of the library.
    pub fn from_words(foreign: u64, words: [u32; ENTRY_WORDS]) -> Option<Entries> {
        let [ENTRIES_MAGIC, look, quick, quick_next, call, call_next, leave, signal, gate, gate_next, stopping, changes, changes_next, changing, landing, 0] = words else { return None };
        let at = |distance: u32| foreign.wrapping_add_signed(i64::from(distance.cast_signed()));
        let found = Entries {
            foreign: [foreign, at(look)],
            quick: [at(quick), at(quick_next)],
            call: [at(call), at(call_next)],
            leave: at(leave),
            signal: at(signal),
            gate: [at(gate), at(gate_next)],
            stopping: at(stopping),
            changes: [at(changes), at(changes_next)],
            changing: at(changing),
            landing: at(landing),
        };
        let all = [found.foreign, found.quick, found.call, found.gate, found.changes, [found.leave, found.signal], [found.stopping, found.changing], [found.landing; 2]];
        all.as_flattened().iter().all(|address| LIBRARY_RANGE.contains(address)).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_checked() {
        const FOREIGN: u64 = 0x7e00_0000_1000;
        let found = |words: [i32; ENTRY_WORDS]| Entries::from_words(FOREIGN, words.map(i32::cast_unsigned));
        let magic = ENTRIES_MAGIC.cast_signed();
        let entries = found([magic, 8, -64, -55, 32, 35, 100, 200, 300, 303, 4096, 400, 403, 4104, 4108, 0]).unwrap();
        assert_eq!((entries.foreign, entries.quick, entries.call), ([FOREIGN, FOREIGN + 8], [FOREIGN - 64, FOREIGN - 55], [FOREIGN + 32, FOREIGN + 35]));
        assert_eq!((entries.leave, entries.signal), (FOREIGN + 100, FOREIGN + 200));
        assert_eq!((entries.changes, entries.changing, entries.landing), ([FOREIGN + 400, FOREIGN + 403], FOREIGN + 4104, FOREIGN + 4108));
        assert_eq!((entries.gate, entries.stopping), ([FOREIGN + 300, FOREIGN + 303], FOREIGN + 4096));
        assert_eq!(found([magic + 1, 8, -64, -55, 32, 35, 100, 200, 300, 303, 4096, 400, 403, 4104, 4108, 0]), None);
        assert_eq!(found([magic, 8, -64, -55, 32, 35, 100, 200, 300, 303, 4096, 400, 403, 4104, 4108, 1]), None);
        assert_eq!(found([magic, 8, i32::MIN, -55, 32, 35, 100, 200, 300, 303, 4096, 400, 403, 4104, 4108, 0]), None);
    }
}
