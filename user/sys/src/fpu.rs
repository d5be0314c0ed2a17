//! Registers of the FPU and of SSE of the calling thread, as FXSAVE writes them. Programs of this
//! tree are compiled without them, so a monitor's are those of the guest that its thread enters.

use crate::raw::{self, FpuArea};

/// Bytes that FXSAVE writes.
pub const SIZE: usize = raw::FPU_SIZE;
/// Offsets of MXCSR and of its bits that the processor has; 0 stands for the bits of old ones.
const MXCSR: usize = 24;
const MXCSR_MASK: usize = 28;
const OLD_MASK: u32 = 0xffbf;

fn word(bytes: &[u8; SIZE], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Returns the registers.
pub fn save() -> [u8; SIZE] {
    raw::fpu_save().0
}

/// Sets the registers. Bits of MXCSR that the processor lacks are left out.
pub fn restore(registers: &[u8; SIZE]) {
    let mask = match word(&save(), MXCSR_MASK) {
        0 => OLD_MASK,
        mask => mask,
    };
    let mut area = FpuArea(*registers);
    area.0[MXCSR..MXCSR + 4].copy_from_slice(&(word(registers, MXCSR) & mask).to_le_bytes());
    raw::fpu_restore(&area);
}
