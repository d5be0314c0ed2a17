//! The local interrupt controller of each CPU: interrupts between CPUs, their ends, the timer.
//! Intel's manual, volume 3, chapter 11.

use crate::cell::BootCell;
use super::cpu;
use super::features;
use super::io;
use super::layout;
use super::vectors::{SPURIOUS_VECTOR, TIMER_VECTOR};
use nacre_core::machine::MAX_CPUS;

/// Number of the register, in units of 16 bytes.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Register {
    Identity = 0x02,
    TaskPriority = 0x08,
    End = 0x0b,
    Spurious = 0x0f,
    CommandLow = 0x30,
    CommandHigh = 0x31,
    Timer = 0x32,
    Local0 = 0x35,
    Local1 = 0x36,
    InitialCount = 0x38,
    CurrentCount = 0x39,
    Divider = 0x3e,
}

const BASE: u32 = 0x1b;
const BASE_ENABLED: u64 = 1 << 11;
const BASE_X2APIC: u64 = 1 << 10;
const X2APIC_FIRST: u32 = 0x800;
const TSC_DEADLINE: u32 = 0x6e0;
const MASKED: u32 = 1 << 16;
const DEADLINE_MODE: u32 = 2 << 17;
const SOFTWARE_ENABLED: u32 = 1 << 8;
const DIVIDE_BY_ONE: u32 = 0xb;
const DELIVERY_PENDING: u32 = 1 << 12;
const ASSERT: u32 = 1 << 14;
const INITIALIZE: u32 = 5 << 8;
const STARTUP: u32 = 6 << 8;
const NON_MASKABLE: u32 = 4 << 8;

/// Numbers of the local controllers, by CPU.
static NUMBERS: BootCell<[u32; MAX_CPUS]> = BootCell::new();

/// Remembers the numbers. Once, by the first CPU.
///
/// # Safety
/// Only while one CPU runs.
pub unsafe fn initialize(numbers: [u32; MAX_CPUS]) {
    // SAFETY: the caller's promise.
    unsafe { NUMBERS.set(numbers) };
}

/// Physical address of the registers.
pub fn base() -> u64 {
    io::msr_read(BASE) & 0x000f_ffff_ffff_f000
}

fn pointer(register: Register) -> *mut u32 {
    (layout::LOCAL_APIC + 16 * register as u64) as *mut u32
}

fn read(register: Register) -> u32 {
    if features::get().x2apic {
        return io::msr_read(X2APIC_FIRST + register as u32) as u32;
    }
    // SAFETY: the registers are mapped there.
    unsafe { pointer(register).read_volatile() }
}

fn write(register: Register, value: u32) {
    if features::get().x2apic {
        // SAFETY: the register exists; none touches memory.
        unsafe { io::msr_write(X2APIC_FIRST + register as u32, u64::from(value)) };
        return;
    }
    // SAFETY: the registers are mapped there; none touches memory.
    unsafe { pointer(register).write_volatile(value) };
}

/// Number of the local controller of the CPU that this runs on, before the kernel knows which CPU
/// that is.
pub fn identity() -> u32 {
    let value = read(Register::Identity);
    if features::get().x2apic { value } else { value >> 24 }
}

/// Switches the controller of this CPU on.
pub fn enable() {
    let mode = if features::get().x2apic { BASE_X2APIC } else { 0 };
    // SAFETY: announced by CPUID; the address stays.
    unsafe { io::msr_write(BASE, io::msr_read(BASE) | BASE_ENABLED | mode) };
    write(Register::TaskPriority, 0);
    write(Register::Local0, MASKED);
    write(Register::Local1, MASKED);
    write(Register::Divider, DIVIDE_BY_ONE);
    let deadline = if features::get().tsc_deadline { DEADLINE_MODE } else { 0 };
    write(Register::Timer, TIMER_VECTOR as u32 | deadline);
    write(Register::Spurious, SPURIOUS_VECTOR as u32 | SOFTWARE_ENABLED);
}

/// Lets the next interrupt of this CPU come.
#[inline]
pub fn end_of_interrupt() {
    write(Register::End, 0);
}

#[inline(never)]
fn command(destination: u32, value: u32) {
    if features::get().x2apic {
        // The write is no barrier for the stores before it, which the other CPU is to see.
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        // SAFETY: interrupts other CPUs as asked; each vector has an entry.
        unsafe { io::msr_write(X2APIC_FIRST + Register::CommandLow as u32, u64::from(destination) << 32 | u64::from(value)) };
        return;
    }
    write(Register::CommandHigh, destination << 24);
    write(Register::CommandLow, value);
    while read(Register::CommandLow) & DELIVERY_PENDING != 0 {
        core::hint::spin_loop();
    }
}

/// Interrupts CPU `index`.
pub fn send(index: usize, vector: u32) {
    command(NUMBERS.get()[index], ASSERT | vector);
}

/// Interrupts the CPU that this runs on, as soon as it takes interrupts.
pub fn send_self(vector: u32) {
    send(cpu::index(), vector);
}

/// Resets a CPU that waits for its start.
pub fn send_initialize(index: usize) {
    command(NUMBERS.get()[index], ASSERT | INITIALIZE);
}

/// Starts a CPU that was reset at page `page` of the first MiB.
pub fn send_startup(index: usize, page: u8) {
    command(NUMBERS.get()[index], ASSERT | STARTUP | u32::from(page));
}

/// Interrupts CPU `index` even where it takes no interrupts.
pub fn send_non_maskable(index: usize) {
    command(NUMBERS.get()[index], ASSERT | NON_MASKABLE);
}

/// Lets the timer run down from `count`; 0 stops it.
pub fn timer_count(count: u32) {
    write(Register::InitialCount, count);
}

/// Returns the timer's remaining count.
pub fn timer_left() -> u32 {
    read(Register::CurrentCount)
}

/// Holds the timer's interrupt back, for measuring.
pub fn timer_mask(masked: bool) {
    let mode = if features::get().tsc_deadline && !masked { DEADLINE_MODE } else { 0 };
    write(Register::Timer, TIMER_VECTOR as u32 | mode | if masked { MASKED } else { 0 });
}

/// Sets the deadline in ticks of the time-stamp counter; 0 = none.
pub fn timer_deadline(ticks: u64) {
    // SAFETY: announced by CPUID; interrupts this CPU with a vector that has an entry.
    unsafe { io::msr_write(TSC_DEADLINE, ticks) };
}
