//! One-instruction leaves: I/O ports, model-specific and control registers.

use core::arch::asm;

macro_rules! port_functions {
    ($($read:ident $write:ident $type:ty, $register:tt;)*) => {$(
        /// Reads the port.
        pub fn $read(port: u16) -> $type {
            let value;
            // SAFETY: an I/O port is no memory; what the device does on being read is its driver's
            // business.
            unsafe { asm!(concat!("in ", $register, ", dx"), in("dx") port, out($register) value, options(nomem, nostack, preserves_flags)) };
            value
        }

        /// Writes the port.
        pub fn $write(port: u16, value: $type) {
            // SAFETY: an I/O port is no memory. Devices that could write to memory are reached by
            // users only through the core's checks.
            unsafe { asm!(concat!("out dx, ", $register), in("dx") port, in($register) value, options(nomem, nostack, preserves_flags)) };
        }
    )*};
}

port_functions! {
    read_u8 write_u8 u8, "al";
    read_u16 write_u16 u16, "ax";
    read_u32 write_u32 u32, "eax";
}

/// Reads a model-specific register.
pub fn msr_read(number: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reading changes nothing; callers name registers that CPUID announces.
    unsafe { asm!("rdmsr", in("ecx") number, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags)) };
    u64::from(high) << 32 | u64::from(low)
}

/// Writes a model-specific register.
///
/// # Safety
/// The register must exist, and the value must keep every assumption the compiler makes (stack,
/// tables, entry points).
pub unsafe fn msr_write(number: u32, value: u64) {
    // SAFETY: the caller's promise.
    unsafe { asm!("wrmsr", in("ecx") number, in("eax") value as u32, in("edx") (value >> 32) as u32, options(nostack, preserves_flags)) };
}

macro_rules! control_read {
    ($read:ident $name:literal) => {
        /// Reads the control register.
        pub fn $read() -> u64 {
            let value;
            // SAFETY: reading changes nothing.
            unsafe { asm!(concat!("mov {}, ", $name), out(reg) value, options(nomem, nostack, preserves_flags)) };
            value
        }
    };
}

macro_rules! control_write {
    ($write:ident $name:literal) => {
        /// Writes the control register.
        ///
        /// # Safety
        /// The value must keep the kernel's own memory mapped and its instructions legal.
        pub unsafe fn $write(value: u64) {
            // SAFETY: the caller's promise.
            unsafe { asm!(concat!("mov ", $name, ", {}"), in(reg) value, options(nostack, preserves_flags)) };
        }
    };
}

control_read!(cr0_read "cr0");
control_read!(cr2_read "cr2");
control_read!(cr3_read "cr3");
control_write!(cr0_write "cr0");
control_write!(cr3_write "cr3");
control_write!(cr4_write "cr4");

/// Forgets which debug exceptions have happened.
pub fn debug_status_clear() {
    // SAFETY: bits 4-11 and 16 always read as 1; the rest only reports.
    unsafe { asm!("mov dr6, {}", in(reg) 0xffff_0ff0_u64, options(nomem, nostack, preserves_flags)) };
}

/// The time-stamp counter.
#[inline]
pub fn time_stamp() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reading changes nothing.
    unsafe { asm!("rdtsc", out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags)) };
    u64::from(high) << 32 | u64::from(low)
}

/// Stops this CPU for good.
pub fn halt() -> ! {
    loop {
        // SAFETY: with interrupts off nothing more happens on this CPU.
        unsafe { asm!("cli", "hlt", options(nomem, nostack)) };
    }
}
