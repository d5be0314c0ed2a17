//! Segments and the task state of one CPU, and the interrupt table of all.

use crate::cell::BootCell;
use super::entry;
use super::layout;
use core::arch::asm;

/// Selector of the kernel's code segment.
pub const KERNEL_CODE: u16 = 0x08;
/// Selector of the kernel's stack segment.
pub const KERNEL_DATA: u16 = 0x10;
/// What `sysret` counts from: data at +8, code at +16. No 32-bit code segment exists, so users stay in 64-bit mode.
pub const USER_BASE: u16 = 0x18;
/// Selector of the users' stack segment.
pub const USER_DATA: u16 = (USER_BASE + 8) | 3;
/// Selector of the users' code segment.
pub const USER_CODE: u16 = (USER_BASE + 16) | 3;
const TASK: u16 = 0x30;

/// A 64-bit task state segment, in halves because it is packed.
#[repr(C)]
struct TaskState {
    words: [u32; 26],
}

/// Descriptors of one CPU.
#[repr(C, align(16))]
pub struct Descriptors {
    table: [u64; 8],
    task: TaskState,
}

impl Descriptors {
    /// For the CPU whose block is at `block`; user mode is left on the stack that ends at `entry_stack`.
    pub fn new(block: u64, entry_stack: u64) -> Descriptors {
        let mut words = [0; 26];
        let mut set = |at: usize, value: u64| {
            words[at] = value as u32;
            words[at + 1] = (value >> 32) as u32;
        };
        set(1, entry_stack);
        for (number, end) in layout::INTERRUPT_STACK_ENDS.into_iter().enumerate() {
            set(9 + 2 * number, block + end);
        }
        // The I/O permission map lies beyond the limit: no port is allowed.
        words[25] = 104 << 16;
        Descriptors { table: [0; 8], task: TaskState { words } }
    }

    /// Makes the CPU that this runs on use them. They must stay where they are.
    pub fn load(&'static self) {
        let table = [0, 0x00af_9b00_0000_ffff, 0x00cf_9300_0000_ffff, 0, 0x00cf_f300_0000_ffff, 0x00af_fb00_0000_ffff];
        let task = &raw const self.task as u64;
        let target = (&raw const self.table).cast_mut().cast::<u64>();
        let low = 103 | (task & 0xff_ffff) << 16 | 0x89 << 40 | (task >> 24 & 0xff) << 56;
        for (number, entry) in table.into_iter().chain([low, task >> 32]).enumerate() {
            // SAFETY: inside `self.table`, which no other CPU reads and this one not before `lgdt`.
            unsafe { target.add(number).write_volatile(entry) };
        }
        load_table(target as u64, 63);
    }
}

#[repr(C, packed)]
struct Pointer {
    limit: u16,
    base: u64,
}

fn load_table(base: u64, limit: u16) {
    let pointer = Pointer { limit, base };
    // SAFETY: the table is a valid one that stays, with the kernel's segments at the same numbers as in the boot table; `gs` is set after this.
    unsafe {
        asm!(
            "lgdt [{pointer}]",
            "push {code}",
            "lea {scratch}, [rip + 2f]",
            "push {scratch}",
            "retfq",
            "2:",
            "mov ss, {data:e}",
            "mov ds, {zero:e}",
            "mov es, {zero:e}",
            "mov fs, {zero:e}",
            "mov gs, {zero:e}",
            "ltr {task:x}",
            pointer = in(reg) &pointer,
            code = const KERNEL_CODE,
            data = in(reg) u32::from(KERNEL_DATA),
            zero = in(reg) 0u32,
            task = in(reg) TASK,
            scratch = out(reg) _,
        );
    }
}

/// One gate of the interrupt table.
#[derive(Clone, Copy)]
#[repr(C)]
struct Gate {
    low: u64,
    high: u64,
}

impl Gate {
    /// An interrupt gate to `address`; `ring` may raise it with an instruction; `stack` is the number of an interrupt stack, 0 = the kernel stack.
    fn new(address: u64, ring: u64, stack: u64) -> Gate {
        let low = address & 0xffff | u64::from(KERNEL_CODE) << 16 | stack << 32 | (0x8e | ring << 5) << 40 | (address >> 16 & 0xffff) << 48;
        Gate { low, high: address >> 32 }
    }
}

#[unsafe(link_section = ".data.shared")]
static INTERRUPTS: BootCell<[Gate; 256]> = BootCell::new();

/// Fills the interrupt table. Once, by the first CPU.
///
/// # Safety
/// Only while one CPU runs.
pub unsafe fn interrupts_create() {
    let mut gates = [Gate { low: 0, high: 0 }; 256];
    for (vector, gate) in gates.iter_mut().enumerate() {
        let ring = if vector == 3 || vector == 4 { 3 } else { 0 };
        *gate = match vector {
            2 => Gate::new(entry::non_maskable as *const () as u64, 0, 2),
            8 => Gate::new(entry::stub(vector), 0, 1),
            18 => Gate::new(entry::stub(vector), 0, 3),
            _ => Gate::new(entry::stub(vector), ring, 0),
        };
    }
    // SAFETY: one CPU runs, as the caller promises.
    unsafe { INTERRUPTS.set(gates) };
}

/// Makes the CPU that this runs on use the interrupt table.
pub fn interrupts_load() {
    let pointer = Pointer { limit: 4095, base: core::ptr::from_ref(INTERRUPTS.get()) as u64 };
    // SAFETY: the table is complete and stays.
    unsafe { asm!("lidt [{}]", in(reg) &pointer, options(readonly, nostack, preserves_flags)) };
}
