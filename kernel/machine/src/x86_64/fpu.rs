//! The FPU: given to a thread at its first use, saved when the thread leaves the CPU, restored when
//! it comes back unless its state still is in the registers.
//!
//! A thread that never used it costs nothing: `CR0.TS` stays set and the first use traps. A
//! processor that speculates with the registers in spite of `CR0.TS` (LazyFP, CVE-2018-3665) would
//! show one thread's registers to another, so there each thread gets its own state when it comes,
//! used or not. States: *unused* (bit 0 of the thread's machine word is clear), *in the page* (the
//! bit is set), *live* (the thread is the CPU's live thread: registers may be newer than the page).
//! The registers of CPU `c` still hold what the page says if `fpu_owner` of `c` is the thread and
//! the thread's second machine word is `c + 1`.

use crate::cell::BootCell;
use super::cpu::{self, Cpu};
use super::direct_map::thread_words;
use super::features;
use super::io;
use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count};
use core::cell::Cell;
use nacre_core::machine::{Physical, thread_page};

const X87: u64 = 1;
const SSE: u64 = 2;
const AVX: u64 = 4;
const AVX_512: u64 = 0xe0;
const TASK_SWITCHED: u64 = 8;
const USED: u64 = 1;

/// Word numbers in the FPU area.
const MXCSR_WORD: usize = thread_page::FPU + 3;
const HEADER_WORD: usize = thread_page::FPU + 64;
const HEADER_WORDS: usize = 8;

struct Fpu {
    /// Components that XSAVE handles; 0 = FXSAVE.
    components: u64,
    /// Bits of MXCSR that may be set.
    mxcsr_mask: u32,
    /// A thread that never used the FPU has registers of its own all the same.
    eager: bool,
}

static FPU: BootCell<Fpu> = BootCell::new();

fn set_components(components: u64) {
    // SAFETY: a subset of what CPUID announces, x87 included.
    unsafe { asm!("xsetbv", in("ecx") 0, in("eax") components as u32, in("edx") 0, options(nomem, nostack, preserves_flags)) };
}

/// The largest set of components whose area fits a thread page.
fn choose_components() -> u64 {
    let leaf = __cpuid_count(0xd, 0);
    for wanted in [X87 | SSE | AVX | AVX_512, X87 | SSE | AVX, X87 | SSE] {
        if u64::from(leaf.eax) & wanted == wanted {
            set_components(wanted);
            if u64::from(__cpuid_count(0xd, 0).ebx) <= nacre_abi::state::FPU_SIZE {
                return wanted;
            }
        }
    }
    X87
}

#[repr(align(64))]
struct LegacyArea([u32; 128]);

fn mxcsr_mask() -> u32 {
    let mut area = LegacyArea([0; 128]);
    // SAFETY: writes the 512 aligned bytes.
    unsafe { asm!("fninit", "fxsave64 [{}]", in(reg) &mut area, options(nostack, preserves_flags)) };
    if area.0[7] == 0 { 0xffbf } else { area.0[7] }
}

/// Returns true if this processor may speculate with registers that `CR0.TS` protects. No bit of
/// CPUID tells; of Intel's family 6 most do.
fn leaks() -> bool {
    const FAMILY: u32 = 0x0fff_0f00;
    __cpuid(0).ebx == u32::from_le_bytes(*b"Genu") && __cpuid(1).eax & FAMILY == 0x600
}

/// Chooses what is saved, and when: `eager` overrules what CPUID says. Once, by the first CPU,
/// after `features::enable`.
///
/// # Safety
/// Only while one CPU runs.
pub unsafe fn initialize(eager: Option<u64>) {
    trap(false);
    let components = if features::get().xsave { choose_components() } else { 0 };
    let mxcsr_mask = mxcsr_mask();
    // SAFETY: the caller's promise.
    unsafe { FPU.set(Fpu { components, mxcsr_mask, eager: eager.map_or_else(leaks, |number| number != 0) }) };
}

/// Prepares the CPU that this runs on.
pub fn enable(cpu: &Cpu) {
    if FPU.get().components != 0 {
        set_components(FPU.get().components);
    }
    trap(!FPU.get().eager);
    cpu.fpu_traps.set(!FPU.get().eager);
}

fn trap(traps: bool) {
    if traps {
        // SAFETY: only makes uses of the FPU trap.
        unsafe { io::cr0_write(io::cr0_read() & !4 | TASK_SWITCHED) };
    } else {
        // SAFETY: the kernel does not use the FPU but here.
        unsafe { io::cr0_write(io::cr0_read() & !(TASK_SWITCHED | 4)) };
    }
}

#[inline]
fn allow(cpu: &Cpu, allowed: bool) {
    cpu.fpu_traps.set(!allowed);
    if allowed {
        // SAFETY: only ends the trap.
        unsafe { asm!("clts", options(nomem, nostack, preserves_flags)) };
    } else {
        trap(true);
    }
}

fn area(page: &[Cell<u64>; 512]) -> *mut u8 {
    page[thread_page::FPU].as_ptr().cast()
}

fn save(page: &[Cell<u64>; 512]) {
    let components = FPU.get().components;
    if components == 0 {
        // SAFETY: the area is 512 bytes and more, aligned, in a page that only the kernel reaches.
        unsafe { asm!("fxsave64 [{}]", in(reg) area(page), options(nostack, preserves_flags)) };
    } else {
        // SAFETY: as above; the components were chosen to fit the area.
        unsafe { asm!("xsave64 [{}]", in(reg) area(page), in("eax") components as u32, in("edx") 0, options(nostack, preserves_flags)) };
    }
}

/// Loads the registers from the page, whose state comes from `save`, `trapped` or `import`: so the
/// instruction cannot fault.
fn restore(page: &[Cell<u64>; 512]) {
    let components = FPU.get().components;
    if components == 0 {
        // SAFETY: the area is aligned, and MXCSR has no reserved bit.
        unsafe { asm!("fxrstor64 [{}]", in(reg) area(page), options(nostack, preserves_flags)) };
    } else {
        // SAFETY: the area is aligned; MXCSR and the header have no reserved bit.
        unsafe { asm!("xrstor64 [{}]", in(reg) area(page), in("eax") components as u32, in("edx") 0, options(nostack, preserves_flags)) };
    }
}

/// Implements `Machine::fpu_import`.
pub fn import(thread: Physical) {
    let (page, Fpu { components, mxcsr_mask, .. }) = (thread_words(thread), FPU.get());
    page[MXCSR_WORD].set(page[MXCSR_WORD].get() & u64::from(*mxcsr_mask));
    page[HEADER_WORD].set(page[HEADER_WORD].get() & components);
    page[HEADER_WORD + 1..HEADER_WORD + HEADER_WORDS].iter().for_each(|word| word.set(0));
    page[thread_page::MACHINE].set(page[thread_page::MACHINE].get() | USED);
    page[thread_page::MACHINE_SECOND].set(0);
}

/// Puts the live thread's state into its page; it stays live.
pub fn save_live(cpu: &Cpu) {
    if let Some(thread) = cpu.live_thread().filter(|_| !cpu.fpu_traps.get()) {
        save(thread_words(thread));
    }
}

/// The live thread leaves the CPU. `page` is its own.
#[inline(always)]
pub fn leave(cpu: &Cpu, page: &[Cell<u64>; 512]) {
    if !cpu.fpu_traps.get() {
        save(page);
    }
}

/// A thread comes to the CPU.
#[inline(always)]
pub fn come(cpu: &Cpu, thread: Physical, page: &[Cell<u64>; 512]) {
    let used = page[thread_page::MACHINE].get() & USED != 0;
    if cpu.fpu_traps.get() == used {
        change(cpu, thread, page, used);
    } else if used {
        take(cpu, thread, page);
    }
}

/// A thread comes to a CPU on which using the FPU traps and should not, or the other way round.
#[cold]
#[inline(never)]
fn change(cpu: &Cpu, thread: Physical, page: &[Cell<u64>; 512], used: bool) {
    if FPU.get().eager {
        begin(page);
    } else {
        allow(cpu, used);
    }
    if !cpu.fpu_traps.get() {
        take(cpu, thread, page);
    }
}

/// The first state of a thread.
fn begin(page: &[Cell<u64>; 512]) {
    page[thread_page::FPU..HEADER_WORD + HEADER_WORDS].iter().for_each(|word| word.set(0));
    page[thread_page::FPU].set(0x37f);
    page[MXCSR_WORD].set(0x1f80);
    page[thread_page::MACHINE].set(page[thread_page::MACHINE].get() | USED);
    page[thread_page::MACHINE_SECOND].set(0);
}

fn take(cpu: &Cpu, thread: Physical, page: &[Cell<u64>; 512]) {
    let here = cpu.index.get() + 1;
    if cpu.fpu_owner.get() == thread.0 && page[thread_page::MACHINE_SECOND].get() == here {
        return;
    }
    restore(page);
    cpu.fpu_owner.set(thread.0);
    page[thread_page::MACHINE_SECOND].set(here);
}

/// The live thread used the FPU while that traps: for the first time.
pub fn trapped(cpu: &Cpu) {
    let Some(thread) = cpu.live_thread() else { return };
    let page = thread_words(thread);
    allow(cpu, true);
    if page[thread_page::MACHINE].get() & USED == 0 {
        begin(page);
    }
    page[thread_page::MACHINE_SECOND].set(0);
    take(cpu, thread, page);
}

/// `Machine::fpu_settle`, as far as this CPU can do it. Returns false if another CPU may have the
/// state.
pub fn settle(thread: Physical, discard: bool) -> bool {
    let cpu = cpu::this();
    let here = cpu.live_thread() == Some(thread);
    if discard {
        thread_words(thread)[thread_page::MACHINE_SECOND].set(0);
        cpu::forget(thread);
        return true;
    }
    if here {
        save_live(cpu);
    }
    here
}
