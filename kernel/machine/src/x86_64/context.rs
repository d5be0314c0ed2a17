//! The user context that a CPU has: whose registers entry code saves, the bases of `fs` and `gs`,
//! the foreign entry, the FPU, the tables.
//!
//! The thread in `Cpu::live` may have newer bases and FPU state in the CPU than in its page. A CPU
//! that goes idle saves both and has no live thread.

use super::cpu::{self, Cpu};
use super::direct_map::thread_words;
use super::features;
use super::fpu;
use super::io;
use core::arch::asm;
use core::cell::Cell;
use core::sync::atomic::Ordering;
use nacre_core::machine::{Physical, thread_page};
use thread_page::{REGISTERS, register};

const FS_BASE: u32 = 0xc000_0100;
/// Holds the user's base while the kernel runs.
const KERNEL_GS_BASE: u32 = 0xc000_0102;

/// Every address of the user's half has its bits among these.
const USER_HALF: u64 = (1 << 47) - 1;

/// The bases that the thread's page asks for: addresses that the CPU takes, since the core admits
/// none beyond the user's half and a user's own instructions take no other.
#[inline(always)]
fn bases_of(page: &[Cell<u64>; 512]) -> (u64, u64) {
    let base = |number: usize| page[REGISTERS + number].get();
    (base(register::FS_BASE), base(register::GS_BASE))
}

#[inline(always)]
fn bases_put(page: &[Cell<u64>; 512], (fs, gs): (u64, u64)) {
    page[REGISTERS + register::FS_BASE].set(fs);
    page[REGISTERS + register::GS_BASE].set(gs);
}

/// Puts the bases in the CPU into the page. Without the instructions users cannot change them, so
/// the page is right already.
#[inline(always)]
fn bases_save(page: &[Cell<u64>; 512]) {
    if features::get().base_instructions {
        let (fs, gs): (u64, u64);
        // SAFETY: reads two bases; `gs` is the kernel's again at the end, and nothing uses it
        // between, not even what interrupts with a stack of its own.
        unsafe { asm!("rdfsbase {}", "swapgs", "rdgsbase {}", "swapgs", out(reg) fs, out(reg) gs, options(nostack, preserves_flags)) };
        bases_put(page, (fs, gs));
    }
}

#[inline(always)]
fn bases_load(page: &[Cell<u64>; 512]) {
    let (fs, gs) = bases_of(page);
    if features::get().base_instructions {
        // SAFETY: canonical values for the user's bases; `gs` is the kernel's again at the end.
        unsafe { asm!("wrfsbase {}", "swapgs", "wrgsbase {}", "swapgs", in(reg) fs, in(reg) gs, options(nostack, preserves_flags)) };
    } else {
        // SAFETY: canonical values for the user's bases.
        unsafe {
            io::msr_write(FS_BASE, fs);
            io::msr_write(KERNEL_GS_BASE, gs);
        }
    }
}

/// `bases_save` of one thread and `bases_load` of another.
#[inline(always)]
fn bases_exchange<const PLAIN: bool>(from: &[Cell<u64>; 512], to: &[Cell<u64>; 512]) {
    if !PLAIN {
        bases_save(from);
        return bases_load(to);
    }
    let (new_fs, new_gs) = bases_of(to);
    let (fs, gs): (u64, u64);
    // SAFETY: as in the two that this is made of.
    unsafe {
        asm!(
            "rdfsbase {fs}", "wrfsbase {new_fs}", "swapgs", "rdgsbase {gs}", "wrgsbase {new_gs}", "swapgs",
            fs = out(reg) fs, gs = out(reg) gs, new_fs = in(reg) new_fs, new_gs = in(reg) new_gs, options(nostack, preserves_flags)
        );
    }
    bases_put(from, (fs, gs));
}

/// The thread's entry for foreign calls. `sysret` to an address that is not canonical would fault
/// in the kernel, so it is cut to the user's half.
#[inline(always)]
fn foreign_entry(page: &[Cell<u64>; 512]) -> u64 {
    page[REGISTERS + register::FOREIGN_ENTRY].get() & USER_HALF
}

/// Uses the tables at `root`: at once, or from the next way out where users are isolated.
#[inline(always)]
pub fn root_use<const PLAIN: bool>(cpu: &Cpu, root: u64) {
    cpu.root.store(root, Ordering::Relaxed);
    if PLAIN || !features::get().isolates {
        // SAFETY: a root that `table_create` made has the kernel's half.
        unsafe { io::cr3_write(root) };
    }
}

/// Implements `Machine::switch_thread`.
#[inline(always)]
pub fn switch(from: Option<Physical>, to: Physical, root: Option<Physical>) {
    if features::get().is_plain { switch_as::<true>(from, to, root) } else { switch_as::<false>(from, to, root) }
}

#[inline(always)]
fn switch_as<const PLAIN: bool>(from: Option<Physical>, to: Physical, root: Option<Physical>) {
    let (cpu, page) = (cpu::this(), thread_words(to));
    if let Some(from) = from
        && from.0 == cpu.live.load(Ordering::Relaxed)
    {
        let from = thread_words(from);
        bases_exchange::<PLAIN>(from, page);
        fpu::leave(cpu, from);
    } else {
        bases_load(page);
    }
    cpu.live.store(to.0, Ordering::Relaxed);
    cpu.registers.set(page[REGISTERS].as_ptr() as u64);
    cpu.registers_end.set(page[REGISTERS + register::RFLAGS + 1].as_ptr() as u64);
    cpu.foreign_entry.set(foreign_entry(page));
    fpu::come(cpu, to, page);
    if let Some(root) = root {
        root_use::<PLAIN>(cpu, root.0);
    }
}

/// The CPU goes idle: nothing of a thread may stay here alone.
pub fn settle(cpu: &Cpu) {
    if let Some(thread) = cpu.live_thread() {
        let page = thread_words(thread);
        bases_save(page);
        fpu::leave(cpu, page);
        cpu.live.store(0, Ordering::Relaxed);
    }
}

/// Implements `Machine::bases_save`.
pub fn bases_settle(thread: Physical) {
    if cpu::this().live_thread() == Some(thread) {
        bases_save(thread_words(thread));
    }
}

/// Implements `Machine::bases_changed`.
pub fn bases_changed(thread: Physical) {
    let cpu = cpu::this();
    if cpu.live_thread() == Some(thread) {
        let page = thread_words(thread);
        cpu.foreign_entry.set(foreign_entry(page));
        bases_load(page);
    }
}

/// Implements `Machine::leave_space`.
pub fn leave_space() {
    root_use::<false>(cpu::this(), super::direct_map::kernel_root().0);
}
