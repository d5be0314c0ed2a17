//! Segments and the task state of one CPU.

use super::layout;
use core::arch::asm;

/// Selector of the kernel's code segment.
pub const KERNEL_CODE: u16 = 0x08;
/// Selector of the kernel's stack segment.
pub const KERNEL_DATA: u16 = 0x10;
/// Base selector of `sysret`: data at +8, code at +16. No 32-bit code segment exists, so users stay
/// in 64-bit mode.
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
    /// Makes the descriptors of the CPU whose block is at `block`. Entries from user mode use the
    /// stack that ends at `entry_stack`.
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

/// Limit and base of a table, as `lgdt` and `lidt` take them.
#[repr(C, packed)]
pub struct Pointer {
    /// Last byte of the table.
    pub limit: u16,
    /// First byte of the table.
    pub base: u64,
}

fn load_table(base: u64, limit: u16) {
    let pointer = Pointer { limit, base };
    // SAFETY: the table is a valid one that stays, with the kernel's segments at the same numbers
    // as in the boot table; `gs` is set after this.
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
