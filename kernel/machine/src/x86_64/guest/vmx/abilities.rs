//! What guests are left for, and what changes places at a switch of worlds: bits of the words of a
//! VMCS, and whether this processor takes them. Manual: 25.6 to 25.8, appendix A.

use super::super::super::io;

/// Interrupts, and those without mask.
pub const PIN: u64 = 1 | 1 << 3;
/// The guest is left when a time is over. Bochs (2.7, for one) holds interrupts off from a guest
/// that is entered with its own interrupts off, until it switches them.
pub const TIMER: u64 = 1 << 6;
/// The time, in ticks of the machine's counter, and where it is told how many ticks are one of the
/// timer's, as a power of two.
pub const TIME_INSIDE: u64 = 1 << 20;
pub const MISCELLANEOUS: u32 = 0x485;
/// A time offset; HLT, MWAIT, RDPMC, writes of CR8, debug registers, all ports and MONITOR leave
/// the guest; the task priority is kept for it; the map of registers and the second word count.
pub const PRIMARY: u64 = 1 << 3 | 1 << 7 | 1 << 10 | 1 << 11 | 1 << 19 | 1 << 21 | 1 << 23 | 1 << 24 | 1 << 28 | 1 << 29 | 1 << 31;
/// The guest is left as soon as it takes interrupts.
pub const WINDOW: u64 = 1 << 2;
/// RDTSC leaves the guest.
pub const TIME: u64 = 1 << 12;
/// PAUSE leaves the guest.
pub const PAUSE: u64 = 1 << 30;
/// INVLPG leaves a shadow guest; loads and stores of CR3 one whose monitor keeps the register.
pub const INVALIDATE: u64 = 1 << 9;
pub const ROOT: u64 = 1 << 15 | 1 << 16;
/// WBINVD leaves the guest.
pub const SECONDARY: u64 = 1 << 6;
/// Extended page tables, and modes without paging.
pub const NESTED: u64 = 1 << 1 | 1 << 7;
/// INVPCID is there; it leaves a guest that INVLPG leaves.
pub const INVPCID: u64 = 1 << 12;
/// The kernel is 64-bit code; debug control is saved, PAT and EFER change places.
pub const EXIT: u64 = 1 << 2 | 1 << 9 | 1 << 18 | 1 << 19 | 1 << 20 | 1 << 21;
/// Debug control, PAT and EFER are loaded.
pub const ENTRY: u64 = 1 << 2 | 1 << 14 | 1 << 15;
pub const ENTRY_LONG: u64 = 1 << 9;
/// #DB, #AC and #MC; of a shadow guest #PF, too.
pub const EXCEPTIONS: u64 = 1 << 1 | 1 << 17 | 1 << 18;
pub const PAGE_FAULT: u64 = 1 << 14;

pub const SECONDARY_ALLOWED: u32 = 0x48b;
/// Registers that tell what may and must be in the words of `PIN`, `PRIMARY`, `EXIT` and `ENTRY`.
pub const PIN_ALLOWED: u32 = 0x48d;
pub const PRIMARY_ALLOWED: u32 = 0x48e;
pub const EXIT_ALLOWED: u32 = 0x48f;
pub const ENTRY_ALLOWED: u32 = 0x490;

/// Returns true if the processor has all that guests need here. It has VMX.
pub fn are_there() -> bool {
    const BASIC: u32 = 0x480;
    /// The four words tell what may be absent.
    const TELLS: u64 = 1 << 55;
    const TABLES: u32 = 0x48c;
    /// Four levels, written back; INVEPT, for all.
    const NEEDED: u64 = 1 << 6 | 1 << 14 | 1 << 20 | 1 << 26;
    const FEATURE_CONTROL: u32 = 0x3a;
    const LOCKED: u64 = 1;
    const ALLOWED: u64 = 1 << 2;
    let allows = |register, bits: u64| io::msr_read(register) >> 32 & bits == bits;
    io::msr_read(FEATURE_CONTROL) & (LOCKED | ALLOWED) != LOCKED
        && io::msr_read(BASIC) & TELLS != 0
        && allows(PIN_ALLOWED, PIN)
        && allows(PRIMARY_ALLOWED, PRIMARY | WINDOW | TIME | PAUSE | INVALIDATE | ROOT)
        && allows(SECONDARY_ALLOWED, SECONDARY | NESTED)
        && allows(EXIT_ALLOWED, EXIT)
        && allows(ENTRY_ALLOWED, ENTRY | ENTRY_LONG)
        && io::msr_read(TABLES) & NEEDED == NEEDED
}
