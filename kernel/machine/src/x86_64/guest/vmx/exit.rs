//! Why a guest was left: told by the numbers of SVM, which frames use.

use super::super::frame::{MEMORY_EXIT, read, write};
use super::{field, world};
use nacre_abi::frame::{EXIT_INVALID, word};
use nacre_core::machine::Physical;

const EXCEPTION: u64 = 0;
const INTERRUPT: u64 = 1;
const TIMER: u64 = 52;
const WINDOW: u64 = 7;
const CONTROL: u64 = 28;
const DEBUG_REGISTER: u64 = 29;
const PORT: u64 = 30;
const WRITE_REGISTER: u64 = 32;
const TABLES: u64 = 48;
/// The guest was not entered.
const FAILED: u64 = 1 << 31;

/// Numbers of both: an exit with nothing more to tell.
const PLAIN: [(u64, u64); 27] = [
    (2, 0x7f),  // shutdown
    (3, 0x63),  // INIT
    (6, 0x62),  // SMI
    (9, 0x7d),  // task switch
    (10, 0x72), // CPUID
    (12, 0x78), // HLT
    (13, 0x76), // INVD
    (14, 0x79), // INVLPG
    (15, 0x6f), // RDPMC
    (16, 0x6e), // RDTSC
    (18, 0x81), // VMCALL
    (19, 0x80), // VMX's own, to VMXON
    (20, 0x80),
    (21, 0x80),
    (22, 0x80),
    (23, 0x80),
    (24, 0x80),
    (25, 0x80),
    (26, 0x80),
    (27, 0x80),
    (31, 0x7c), // RDMSR
    (36, 0x8b), // MWAIT
    (39, 0x8a), // MONITOR
    (40, 0x77), // PAUSE
    (54, 0x89), // WBINVD
    (55, 0x8d), // XSETBV
    (58, 0xa2), // INVPCID
];

const FIRST_EXCEPTION: u64 = 0x40;
const TAKES_INTERRUPTS: u64 = 0x64;
/// INTR: nobody's business but the kernel's.
const KERNELS: u64 = 0x60;
const ANY_INSTRUCTION: u64 = 0x80;
const DEBUG: u64 = 1;
const NON_MASKABLE: u64 = 2;
const PAGE_FAULT: u64 = 14;
const WRITE_BIT: u64 = 2;
const FETCH_BIT: u64 = 4;

/// Tells a frame why its guest was left, and returns the number of the exit, with the error code
/// and the address of a fault. `waits`: an external interrupt that the guest has not taken.
pub fn tell(frame: Physical, waits: bool) -> (u64, u64, u64) {
    let (reason, qualification) = (world::read(field::REASON), world::read(field::QUALIFICATION));
    let put = |number: u64, first: u64, second: u64| {
        [(word::EXIT, number), (word::INFORMATION[0], first), (word::INFORMATION[1], second)].iter().for_each(|(at, value)| write(frame, *at, *value));
        (number, first, second)
    };
    match reason & 0xffff {
        _ if reason & FAILED != 0 => put(EXIT_INVALID, reason, qualification),
        EXCEPTION => exception(frame, qualification, put),
        INTERRUPT | TIMER => put(KERNELS, 0, 0),
        // It takes what waits for it when it is entered again.
        WINDOW => put(if waits { KERNELS } else { TAKES_INTERRUPTS }, 0, 0),
        CONTROL => put(control(qualification), 0, 0),
        DEBUG_REGISTER => put(if qualification >> 4 & 1 == 1 { 0x20 } else { 0x30 } + (qualification & 7), 0, 0),
        PORT => put(0x7b, port(qualification), world::read(field::RIP).wrapping_add(world::read(field::LENGTH))),
        WRITE_REGISTER => put(0x7c, 1, 0),
        TABLES => put(MEMORY_EXIT, error(qualification), world::read(field::FAULT_ADDRESS)),
        reason => put(PLAIN.iter().find(|(number, _)| *number == reason).map_or(ANY_INSTRUCTION, |(_, exit)| *exit), 0, 0),
    }
}

fn exception(frame: Physical, qualification: u64, put: impl Fn(u64, u64, u64) -> (u64, u64, u64)) -> (u64, u64, u64) {
    const STATUS: u64 = 0x600f;
    let vector = world::read(field::EXCEPTION) & 0xff;
    match vector {
        NON_MASKABLE => {
            world::non_maskable();
            return put(KERNELS, 0, 0);
        }
        DEBUG => write(frame, word::DR6, read(frame, word::DR6) | qualification & STATUS),
        _ => {}
    }
    let address = if vector == PAGE_FAULT { qualification } else { 0 };
    put(FIRST_EXCEPTION + vector, world::read(field::EXCEPTION_ERROR), address)
}

/// A read of a control register, or a write: CLTS and LMSW write CR0.
fn control(qualification: u64) -> u64 {
    const READS: u64 = 1;
    match qualification >> 4 & 3 {
        0 => 0x10 + (qualification & 15),
        READS => qualification & 15,
        _ => 0x10,
    }
}

/// Word by which SVM tells of an access to a port.
fn port(qualification: u64) -> u64 {
    let (bytes, bit) = ((qualification & 7) + 1, |at: u32| qualification >> at & 1);
    // Bit 3 is set for a read, bit 4 for a string, bit 5 for a repeated one.
    bit(3) | bit(4) << 2 | bit(5) << 3 | bytes << 4 | qualification >> 16 << 16
}

/// The error code of an access.
fn error(qualification: u64) -> u64 {
    const WRITES: u64 = 2;
    const FETCHES: u64 = 16;
    let is_there = u64::from(qualification >> 3 & 7 != 0);
    is_there | if qualification & WRITE_BIT != 0 { WRITES } else { 0 } | if qualification & FETCH_BIT != 0 { FETCHES } else { 0 }
}
