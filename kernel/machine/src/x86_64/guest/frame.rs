//! Words of a frame, and what becomes of it whichever processor the guest ran on.

use super::super::features;
use super::super::machine::X86;
use nacre_abi::frame::{EXIT_INVALID, event, kind, word};
use nacre_core::machine::{GuestEntry, Machine, Physical};

/// Bits of CR4 that a guest may set: VME to OSXMMEXCPT, UMIP, FSGSBASE, PCIDE, OSXSAVE, SMEP, SMAP.
/// Not LA57.
pub const CR4_BITS: u64 = 0x7ff | 1 << 11 | 1 << 16 | 1 << 17 | 1 << 18 | 1 << 20 | 1 << 21;
/// Flags that there are, and the one of 16-bit programs in 32-bit systems.
const RFLAGS_BITS: u64 = 0x3f_7fd7;
const VIRTUAL_8086: u64 = 1 << 17;
const PROTECTED: u64 = 1;
/// Bits of CR0 by which caches do not work: the processor's, not the guest's alone.
pub const CACHES_OFF: u64 = 0b11 << 29;
/// Machine checks, in CR4. A processor that meets one without stops, guest or not.
pub const MACHINE_CHECKS: u64 = 1 << 6;
/// Pages that are not executable, in EFER. Tables of shadow guests have such, whatever these think.
pub const NO_EXECUTE: u64 = 1 << 11;
/// Exit for an access that the tables do not allow.
pub const MEMORY_EXIT: u64 = 0x400;

/// A guest was left.
pub struct Left {
    /// Number of the exit.
    pub exit: u64,
    /// Error code of an access that the tables do not allow.
    pub error: u64,
    /// Address of that access.
    pub address: u64,
}

/// Reads a word of the frame.
pub fn read(frame: Physical, number: usize) -> u64 {
    X86.read_word(frame.add(8 * number as u64))
}

/// Writes a word of the frame.
pub fn write(frame: Physical, number: usize, value: u64) {
    X86.write_word(frame.add(8 * number as u64), value);
}

/// Returns true if the control registers in the frame are what the guest believes, and the
/// processor's are others.
pub fn keeps_control(entry: &GuestEntry) -> bool {
    entry.upper.is_some() || read(entry.frame, word::KIND) == kind::WATCHED
}

/// Flags of a guest, out of a frame's. `is_long`: it runs in long mode, where no program has 16
/// bits by its flags.
pub fn flags(word: u64, cr0: u64, is_long: bool) -> u64 {
    let known = word & RFLAGS_BITS | 2;
    if is_long || cr0 & PROTECTED == 0 { known & !VIRTUAL_8086 } else { known }
}

/// The processor's own bit of CR4 for machine checks.
pub fn machine_checks() -> u64 {
    features::get().control_4 & MACHINE_CHECKS
}

/// Returns true if the processor takes the event that a frame asks to be delivered.
pub fn is_deliverable(inject: u64) -> bool {
    let (vector, kind) = (inject & 0xff, inject >> 8 & 7);
    inject >> 31 & 1 == 0 || matches!(kind, 0 | 4) || kind == 2 && vector == 2 || kind == 3 && vector < 32 && vector != 2
}

/// Lets what was being delivered, when a guest was left without its monitor, be delivered when it
/// goes on; but an instruction that interrupts, by number, INT3 or INTO, is simply made again.
pub fn deliver_again(frame: Physical) {
    let interrupted = read(frame, word::INTERRUPTED);
    let is_instruction = matches!((interrupted >> 8 & 7, interrupted & 0xff), (4, _) | (3, 3 | 4));
    if interrupted >> 31 & 1 == 1 && !is_instruction {
        write(frame, word::INJECT, interrupted);
    }
}

/// Tells that the guest was left for its monitor.
pub fn tell(frame: Physical) {
    write(frame, word::EVENT, event::EXIT);
}

/// Tells of a state that the processor does not take.
pub fn refuse(frame: Physical) {
    write(frame, word::EXIT, EXIT_INVALID);
    tell(frame);
}
