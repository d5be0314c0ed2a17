//! The interrupt table of all CPUs: which entry each vector takes, and on which stack.

use crate::cell::BootCell;
use super::descriptors::{KERNEL_CODE, Pointer};
use super::entry;
use core::arch::asm;

/// One gate of the interrupt table.
#[derive(Clone, Copy)]
#[repr(C)]
struct Gate {
    low: u64,
    high: u64,
}

impl Gate {
    /// An interrupt gate to `address`; `ring` may raise it with an instruction; `stack` is the
    /// number of an interrupt stack, 0 = the kernel stack.
    fn new(address: u64, ring: u64, stack: u64) -> Gate {
        let low = address & 0xffff | u64::from(KERNEL_CODE) << 16 | stack << 32 | (0x8e | ring << 5) << 40 | (address >> 16 & 0xffff) << 48;
        Gate { low, high: address >> 32 }
    }
}

/// The usual table, and that of a CPU that runs a frame of kind USER: its stubs lead elsewhere.
#[unsafe(link_section = ".data.shared")]
static INTERRUPTS: [BootCell<[Gate; 256]>; 2] = [const { BootCell::new() }; 2];

/// Fills the interrupt tables. Once, by the first CPU.
///
/// # Safety
/// Only while one CPU runs.
pub unsafe fn create() {
    for (table, stub) in INTERRUPTS.iter().zip([entry::stub::<false>, entry::stub::<true> as fn(usize) -> u64]) {
        let mut gates = [Gate { low: 0, high: 0 }; 256];
        for (vector, gate) in gates.iter_mut().enumerate() {
            let ring = if vector == 3 || vector == 4 { 3 } else { 0 };
            *gate = match vector {
                2 => Gate::new(entry::non_maskable as *const () as u64, 0, 2),
                8 => Gate::new(stub(vector), 0, 1),
                // A step can come behind a `syscall`, where the stack is still the user's.
                1 | 18 => Gate::new(stub(vector), 0, 3),
                _ => Gate::new(stub(vector), ring, 0),
            };
        }
        // SAFETY: one CPU runs, as the caller promises.
        unsafe { table.set(gates) };
    }
}

/// Address of a table: 0, the usual one, or 1.
pub fn base(table: usize) -> u64 {
    core::ptr::from_ref(INTERRUPTS[table].get()) as u64
}

/// Makes the CPU that this runs on use the interrupt table.
pub fn load() {
    let pointer = Pointer { limit: 4095, base: base(0) };
    // SAFETY: the table is complete and stays.
    unsafe { asm!("lidt [{}]", in(reg) &pointer, options(readonly, nostack, preserves_flags)) };
}
