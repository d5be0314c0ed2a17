//! What the CPU can do, asked once, and the control bits that follow from it on every CPU.

use crate::cell::BootCell;
use super::{guest, io};
use core::arch::x86_64::{CpuidResult, __cpuid, __cpuid_count};

/// Features of the CPU, from CPUID, that the kernel uses. All CPUs are assumed to be alike.
pub struct Features {
    /// Pages of 1 GiB.
    pub huge_pages: bool,
    /// Instructions that read and write the bases of `fs` and `gs`.
    pub base_instructions: bool,
    /// The local APIC is reached through model-specific registers.
    pub x2apic: bool,
    /// The local APIC's timer compares with the time-stamp counter.
    pub tsc_deadline: bool,
    /// XSAVE and its control register.
    pub xsave: bool,
    /// Ticks of the time-stamp counter a second, if CPUID tells.
    pub tsc_frequency: Option<u64>,
    /// Guests: SVM with nested paging, or VMX.
    pub guests: bool,
    /// Guests are run by VMX.
    pub vmx: bool,
    /// Users run without the kernel's tables: see `entry`.
    pub isolates: bool,
    /// A switch of spaces needs nothing but `base_instructions` and a new root.
    pub is_plain: bool,
    /// Bits of CR4 that the kernel runs with.
    pub control_4: u64,
}

static FEATURES: BootCell<Features> = BootCell::new();

/// Returns the features that were found.
#[inline(always)]
pub fn get() -> &'static Features {
    FEATURES.get()
}

const CR4_TIME_STAMP_DISABLE: u64 = 1 << 2;
const CR4_PAE: u64 = 1 << 5;
const CR4_MACHINE_CHECK: u64 = 1 << 6;
const CR4_GLOBAL_PAGES: u64 = 1 << 7;
const CR4_FXSR: u64 = 1 << 9;
const CR4_SIMD_EXCEPTIONS: u64 = 1 << 10;
const CR4_UMIP: u64 = 1 << 11;
const CR4_VMX: u64 = 1 << 13;
const CR4_BASES: u64 = 1 << 16;
const CR4_XSAVE: u64 = 1 << 18;
const CR4_SMEP: u64 = 1 << 20;
const CR4_SMAP: u64 = 1 << 21;
const CR0_PROTECTED: u64 = 1;
const CR0_MONITOR: u64 = 1 << 1;
const CR0_NUMERIC_ERROR: u64 = 1 << 5;
const CR0_WRITE_PROTECT: u64 = 1 << 16;
const CR0_PAGING: u64 = 1 << 31;
const CR0_EXTENSION: u64 = 1 << 4;
const EFER: u32 = 0xc000_0080;
const EFER_SYSCALL: u64 = 1;
const EFER_GUESTS: u64 = 1 << 12;
const EFER_NO_EXECUTE: u64 = 1 << 11;

const fn bit(word: u32, number: u32) -> bool {
    word >> number & 1 == 1
}

fn frequency(highest: u32) -> Option<u64> {
    if highest < 0x15 {
        return None;
    }
    let leaf = __cpuid(0x15);
    let (denominator, numerator, crystal) = (u64::from(leaf.eax), u64::from(leaf.ebx), u64::from(leaf.ecx));
    (denominator != 0 && numerator != 0 && crystal != 0).then(|| crystal * numerator / denominator)
}

/// QEMU's emulation (7.2, for one) reads the frames of a user's `iret` and far return as the kernel
/// would; with SMAP they would fault for ever.
fn is_emulated(basic: CpuidResult) -> bool {
    const UNDER_HYPERVISOR: u32 = 31;
    bit(basic.ecx, UNDER_HYPERVISOR) && __cpuid(0x4000_0000).ebx == u32::from_le_bytes(*b"TCGT")
}

/// Returns true if this processor may read for users what its tables map for the kernel alone
/// (Meltdown, CVE-2017-5754): Intel's, unless they say that they do not.
fn leaks(structured_d: u32) -> bool {
    const CAPABILITIES: u32 = 0x10a;
    const NO_LEAK: u64 = 1;
    let says_no = || bit(structured_d, 29) && io::msr_read(CAPABILITIES) & NO_LEAK != 0;
    __cpuid(0).ebx == u32::from_le_bytes(*b"Genu") && !says_no()
}

/// Returns true if a processor with SVM has nested paging, and no firmware has locked it.
fn has_guests() -> bool {
    const CONTROL: u32 = 0xc001_0114;
    const DISABLED: u64 = 1 << 4;
    bit(__cpuid(0x8000_000a).edx, 0) && io::msr_read(CONTROL) & DISABLED == 0
}

fn detect(isolate: Option<u64>) -> Features {
    let highest = __cpuid(0).eax;
    let basic = __cpuid(1);
    let structured = if highest >= 7 { __cpuid_count(7, 0) } else { __cpuid(0x8000_0000) };
    let (structured_b, structured_c, structured_d) = if highest >= 7 { (structured.ebx, structured.ecx, structured.edx) } else { (0, 0, 0) };
    let isolates = isolate.map_or_else(|| leaks(structured_d), |number| number != 0);
    let extended = __cpuid(0x8000_0001);
    let vmx = bit(basic.ecx, 5) && guest::vmx::abilities::are_there();
    let svm = bit(extended.ecx, 2) && has_guests();
    let optional = [
        (bit(basic.edx, 7), CR4_MACHINE_CHECK),
        // What is global stays in sight when the root changes.
        (bit(basic.edx, 13) && !isolates, CR4_GLOBAL_PAGES),
        (bit(structured_c, 2), CR4_UMIP),
        (bit(structured_b, 0), CR4_BASES),
        (bit(basic.ecx, 26), CR4_XSAVE),
        (vmx, CR4_VMX),
        (bit(structured_b, 7), CR4_SMEP),
        (bit(structured_b, 20) && !is_emulated(basic), CR4_SMAP),
    ];
    let always = CR4_PAE | CR4_FXSR | CR4_SIMD_EXCEPTIONS;
    Features {
        huge_pages: bit(extended.edx, 26),
        base_instructions: bit(structured_b, 0),
        x2apic: bit(basic.ecx, 21),
        tsc_deadline: bit(basic.ecx, 24),
        xsave: bit(basic.ecx, 26),
        tsc_frequency: frequency(highest),
        guests: svm || vmx,
        vmx,
        isolates,
        is_plain: !isolates && bit(structured_b, 0),
        control_4: optional.iter().filter(|(has, _)| *has).fold(always, |bits, (_, bit)| bits | bit),
    }
}

/// Asks the CPU; `isolate` overrules what it says of its leaks. Once, by the first CPU.
///
/// # Safety
/// Only while one CPU runs.
pub unsafe fn initialize(isolate: Option<u64>) {
    // SAFETY: the caller's promise.
    unsafe { FEATURES.set(detect(isolate)) };
}

/// Sets the control bits of the CPU that this runs on.
pub fn enable() {
    // SAFETY: paging, long mode and write protection stay as they are; what is added is announced
    // by CPUID, and the kernel touches no user page.
    unsafe {
        io::msr_write(EFER, io::msr_read(EFER) | EFER_SYSCALL | EFER_NO_EXECUTE | if get().guests && !get().vmx { EFER_GUESTS } else { 0 });
        io::cr4_write(get().control_4);
        io::cr0_write(CR0_PROTECTED | CR0_EXTENSION | CR0_MONITOR | CR0_NUMERIC_ERROR | CR0_WRITE_PROTECT | CR0_PAGING);
    }
}

/// Implements `Machine::time_hide`.
pub fn time_hide(hidden: bool) {
    let bits = get().control_4 | if hidden { CR4_TIME_STAMP_DISABLE } else { 0 };
    // SAFETY: only changes what the user may do; the kernel itself may always read its time.
    unsafe { io::cr4_write(bits) };
}
