//! Numbers of exits, and the events that are delivered to a guest. Manual: AMD64 Architecture
//! Programmer's Manual, volume 2, appendix C and 15.20.

/// A write of CR0.
pub const CR0_WRITE: u64 = 0x10;
/// Reads of CR0, CR3 and CR4, and writes of the last two.
pub const CONTROL_READS: [u64; 3] = [0, 3, 4];
/// A write of CR3.
pub const CR3_WRITE: u64 = 0x13;
/// A write of CR4.
pub const CR4_WRITE: u64 = 0x14;
/// A write of CR8.
pub const PRIORITY_WRITE: u64 = 0x18;
/// First of the reads of debug registers.
pub const DEBUG_READS: u64 = 0x20;
/// First of the writes.
pub const DEBUG_WRITES: u64 = 0x30;
/// First of the exceptions.
pub const EXCEPTIONS: u64 = 0x40;
/// #PF.
pub const PAGE_FAULT: u64 = EXCEPTIONS + 14;
/// The guest takes interrupts.
pub const WINDOW: u64 = 0x64;
/// RDPMC.
pub const COUNTER: u64 = 0x6f;
/// RDTSC.
pub const TIME: u64 = 0x6e;
/// CPUID.
pub const CPUID: u64 = 0x72;
/// INVD.
pub const INVALIDATE: u64 = 0x76;
/// PAUSE.
pub const PAUSE: u64 = 0x77;
/// HLT.
pub const HALT: u64 = 0x78;
/// INVLPG.
pub const INVALIDATE_PAGE: u64 = 0x79;
/// An I/O port.
pub const PORT: u64 = 0x7b;
/// A model-specific register.
pub const REGISTER: u64 = 0x7c;
/// Three faults in a row.
pub const SHUTDOWN: u64 = 0x7f;
/// VMMCALL.
pub const CALL: u64 = 0x81;
/// ICEBP.
pub const BREAK: u64 = 0x88;
/// WBINVD.
pub const WRITE_BACK: u64 = 0x89;

/// #DB.
pub const DEBUG: u8 = 1;
/// #DF.
pub const DOUBLE: u8 = 8;
/// #UD.
pub const UNDEFINED: u8 = 6;
/// #GP.
pub const PROTECTION: u8 = 13;

/// #PF.
pub const PAGE: u8 = 14;
/// An interrupt without mask.
pub const NON_MASKABLE: u64 = VALID | 2 << 8 | 2;

/// Bit of an event that is there.
pub const VALID: u64 = 1 << 31;
/// Bits of an event's kind: 0 is an external interrupt.
pub const KIND: u64 = 7 << 8;
const EXCEPTION: u64 = 3 << 8;
const HAS_ERROR: u64 = 1 << 11;

/// An external interrupt.
pub fn interrupt(vector: u8) -> u64 {
    VALID | u64::from(vector)
}

/// An exception, with its error code if it has one.
pub fn exception(vector: u8) -> u64 {
    let has_error = matches!(vector, 8 | 10..=14 | 17);
    VALID | EXCEPTION | u64::from(vector) | if has_error { HAS_ERROR } else { 0 }
}

/// Returns the exception that a guest takes for a page fault with this error code, when this was
/// being delivered. `None`: it would be the third one in a row.
pub fn page_fault(error: u32, interrupted: u64) -> Option<u64> {
    let is_exception = interrupted & VALID != 0 && interrupted & 7 << 8 == EXCEPTION;
    match interrupted as u8 {
        DOUBLE if is_exception => None,
        0 | 10..=14 if is_exception => Some(exception(DOUBLE)),
        _ => Some(exception(PAGE) | u64::from(error) << 32),
    }
}

/// Returns what is to be delivered again of an event whose delivery ended in an exit. An
/// instruction that interrupts, by number, INT3 or INTO, is made again instead.
pub fn again(interrupted: u64) -> Option<u64> {
    let is_instruction = matches!((interrupted >> 8 & 7, interrupted & 0xff), (4, _) | (3, 3 | 4));
    (interrupted & VALID != 0 && !is_instruction).then_some(interrupted)
}

/// An access to a port, from an exit's first word of information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortAccess {
    /// The port.
    pub port: u16,
    /// Bytes: 1, 2 or 4.
    pub width: u8,
    /// True for `in`.
    pub reads: bool,
    /// True for `ins` and `outs`.
    pub is_string: bool,
}

impl PortAccess {
    /// Returns the access of an exit.
    pub fn of(information: u64) -> PortAccess {
        let width = if information >> 4 & 1 != 0 { 1 } else if information >> 5 & 1 != 0 { 2 } else { 4 };
        PortAccess { port: (information >> 16) as u16, width, reads: information & 1 != 0, is_string: information >> 2 & 1 != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_decoded() {
        let access = |port, width, reads, is_string| PortAccess { port, width, reads, is_string };
        assert_eq!(PortAccess::of(0x3f8 << 16 | 1 << 4), access(0x3f8, 1, false, false));
        assert_eq!(PortAccess::of(0xcfc << 16 | 1 << 6 | 1), access(0xcfc, 4, true, false));
        assert_eq!(PortAccess::of(0x1f0 << 16 | 1 << 5 | 5), access(0x1f0, 2, true, true));
    }

    #[test]
    fn events_have_their_error_codes() {
        assert_eq!(interrupt(0x30), 0x8000_0030);
        assert_eq!(page_fault(6, 0), Some(0x6_8000_0b0e));
        assert_eq!(page_fault(6, interrupt(14)), Some(0x6_8000_0b0e));
        assert_eq!([page_fault(6, exception(14)), page_fault(6, exception(13)), page_fault(6, exception(8))], [Some(0x8000_0b08), Some(0x8000_0b08), None]);
        assert_eq!((exception(UNDEFINED), exception(PROTECTION)), (0x8000_0306, 0x8000_0b0d));
        assert_eq!((again(0x8000_0480), again(0x20), again(0x8000_0020)), (None, None, Some(0x8000_0020)));
        assert_eq!((again(0x8000_0303), again(0x8000_030e)), (None, Some(0x8000_030e)));
    }
}
