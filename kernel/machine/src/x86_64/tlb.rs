//! What the CPU that has all locks asks of others and waits for: dropping translations, and saving
//! FPU state.
//!
//! One request exists at a time. A CPU answers when its interrupt arrives (in user mode or idle) or
//! while it waits for a lock; interrupts are off everywhere else in the kernel, and everywhere else
//! soon leads to one of the two: it has no lock, so it has just come in or is about to leave. So
//! the one that asks never waits for ever.

use super::apic;
use super::cpu::{self, Cpu};
use super::fpu;
use super::guest;
use super::io;
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_core::machine::Physical;

/// CPUs that have not answered yet.
static PENDING: AtomicU64 = AtomicU64::new(0);
/// The range to drop; `SAVE_FPU` as the low end asks for the FPU state instead.
static LOW: AtomicU64 = AtomicU64::new(0);
static HIGH: AtomicU64 = AtomicU64::new(0);
const SAVE_FPU: u64 = u64::MAX;

/// Above this many pages all translations are dropped.
const PAGES_ONE_BY_ONE: u64 = 32;

/// Answers a request to this CPU, if there is one.
pub fn serve() {
    let cpu = cpu::this();
    let bit = 1 << cpu.index.get();
    if PENDING.load(Ordering::Acquire) & bit == 0 {
        return;
    }
    match LOW.load(Ordering::Relaxed) {
        SAVE_FPU => fpu::save_live(cpu),
        low => flush_local(low, HIGH.load(Ordering::Relaxed)),
    }
    PENDING.fetch_and(!bit, Ordering::Release);
}

fn request(others: u64, low: u64, high: u64) {
    LOW.store(low, Ordering::Relaxed);
    HIGH.store(high, Ordering::Relaxed);
    PENDING.store(others, Ordering::Release);
    let mut rest = others;
    while rest != 0 {
        apic::send(rest.trailing_zeros() as usize, super::vectors::FLUSH_VECTOR as u32);
        rest &= rest - 1;
    }
    while PENDING.load(Ordering::Acquire) != 0 {
        core::hint::spin_loop();
    }
}

/// Drops translations of `low..high` on this CPU.
pub fn flush_local(low: u64, high: u64) {
    if high.wrapping_sub(low) > PAGES_ONE_BY_ONE << 12 {
        // SAFETY: the same tables as before; all that is not global is dropped.
        unsafe { io::cr3_write(io::cr3_read()) };
        return;
    }
    let mut at = low & !0xfff;
    while at < high {
        // SAFETY: only forgets a cached translation.
        unsafe { asm!("invlpg [{}]", in(reg) at, options(nostack, preserves_flags)) };
        at += 0x1000;
    }
}

/// Implements `Machine::translations_flush`. A CPU changes its tables only under its own lock at
/// least, so CPUs with other tables need not be asked.
pub fn flush(cpus: u64, root: Physical, low: u64, high: u64) {
    let mine = cpu::this();
    if mine.root.load(Ordering::Relaxed) == root.0 {
        flush_local(low, high);
    }
    let all = !(1 << mine.index.get());
    guest::entry::forget(root);
    // A guest leaves its CPU to answer, and forgets all when it is entered again.
    let others = using(cpus & all, |cpu| cpu.root.load(Ordering::Relaxed) == root.0) | using(all, |cpu| guest::entry::uses(cpu, root));
    if others != 0 {
        request(others, low, high);
    }
}

/// Makes whichever other CPU has the context of `thread` put its FPU state into the page.
pub fn save_fpu_elsewhere(thread: Physical) {
    let others = using(!(1 << cpu::this().index.get()), |cpu| cpu.live.load(Ordering::Relaxed) == thread.0);
    if others != 0 {
        request(others, SAVE_FPU, 0);
    }
}

fn using(cpus: u64, condition: impl Fn(&Cpu) -> bool) -> u64 {
    let mut found = 0;
    let mut rest = cpus & cpu::started();
    while rest != 0 {
        let index = rest.trailing_zeros() as usize;
        if cpu::other(index).is_some_and(&condition) {
            found |= 1 << index;
        }
        rest &= rest - 1;
    }
    found
}
