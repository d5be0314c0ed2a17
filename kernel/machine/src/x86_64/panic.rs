//! The end: says what happened and where, stops all CPUs, and ends the virtual machine with a
//! status of its own.

use super::{apic, cpu, io, layout, serial};
use core::arch::asm;
use core::fmt::Arguments;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

/// Set by the first CPU that panics; the others stop.
#[unsafe(link_section = ".data.shared")]
pub static PANICKED: AtomicBool = AtomicBool::new(false);

/// QEMU's port for ending, and what ends it with status 171.
const DEBUG_EXIT: u16 = 0xf4;
const PANIC_STATUS: u32 = 0x55;
const DEEPEST: usize = 32;
const GS_BASE: u32 = 0xc000_0101;
const KERNEL_GS_BASE: u32 = 0xc000_0102;

/// Stack contents that `kernel_fault` leaves.
#[repr(C)]
pub struct FaultFrame {
    /// `rax rbx rcx rdx rsi rdi rbp`, then `r8` to `r15`.
    registers: [u64; 15],
    vector: u64,
    error: u64,
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
}

/// Number of the CPU, whichever of the two bases is in `gs` now.
fn cpu_number() -> Option<u64> {
    [GS_BASE, KERNEL_GS_BASE].into_iter().find_map(|register| {
        let base = io::msr_read(register);
        cpu::all().position(|cpu| core::ptr::from_ref(cpu) as u64 == base).map(|index| index as u64)
    })
}

/// Returns the end of the stack around `address`; `None` if it lies in no kernel stack.
fn stack_end(address: u64) -> Option<u64> {
    let image = layout::KERNEL + (2 << 20)..layout::KERNEL + (64 << 20);
    if image.contains(&address) {
        return Some(address + 0x4000);
    }
    let offset = address.checked_sub(layout::BLOCKS)? % layout::BLOCK_STRIDE;
    let block = address - offset;
    let kernel = (layout::STACK_END - layout::STACK_SIZE..layout::STACK_END).contains(&offset).then_some(layout::STACK_END);
    let special = layout::INTERRUPT_STACK_ENDS.into_iter().find(|end| (end - 0x1000..*end).contains(&offset));
    let exists = cpu::all().any(|cpu| layout::block(cpu.index.get() as usize) == block);
    kernel.or(special).filter(|_| exists).map(|end| block + end)
}

/// A line of the backtrace. The `nacre` command adds the function's name.
fn place(depth: usize, address: u64) {
    serial::line(format_args!("  {depth:2} {address:#x}"));
}

/// Follows the frame pointers as long as they stay in one kernel stack and ascend.
fn backtrace(rip: u64, mut frame: u64) {
    serial::line(format_args!("backtrace:"));
    place(0, rip);
    let Some(end) = stack_end(frame) else { return };
    for depth in 1..DEEPEST {
        if frame & 7 != 0 || frame + 16 > end {
            return;
        }
        // SAFETY: two aligned words inside a kernel stack, which is mapped.
        let [next, address] = unsafe { (frame as *const [u64; 2]).read_volatile() };
        if address == 0 {
            return;
        }
        place(depth, address - 1);
        if next <= frame {
            return;
        }
        frame = next;
    }
}

fn begin(what: Arguments) {
    if PANICKED.swap(true, Ordering::AcqRel) {
        io::halt();
    }
    let number = cpu_number();
    let others = cpu::all().count();
    (0..others).filter(|index| Some(*index as u64) != number).for_each(apic::send_non_maskable);
    match number {
        Some(number) => serial::line(format_args!("kernel panic on cpu {number}: {what}")),
        None => serial::line(format_args!("kernel panic: {what}")),
    }
}

fn end() -> ! {
    io::write_u32(DEBUG_EXIT, PANIC_STATUS);
    io::halt()
}

/// A panic of Rust code.
pub fn panic(info: &PanicInfo) -> ! {
    match info.location() {
        Some(at) => begin(format_args!("{} ({}:{})", info.message(), at.file(), at.line())),
        None => begin(format_args!("{}", info.message())),
    }
    let (rsp, rbp): (u64, u64);
    // SAFETY: reads two registers.
    unsafe { asm!("mov {}, rsp", "mov {}, rbp", out(reg) rsp, out(reg) rbp, options(nomem, nostack, preserves_flags)) };
    serial::line(format_args!("rsp {rsp:#x} rbp {rbp:#x} cr3 {:#x}", io::cr3_read()));
    backtrace(panic as *const () as u64, rbp);
    end()
}

/// An exception in the kernel.
pub extern "C" fn kernel_fault(frame: &FaultFrame) -> ! {
    begin(format_args!("exception {} in the kernel, error {:#x}, cr2 {:#x}", frame.vector, frame.error, io::cr2_read()));
    serial::line(format_args!("rip {:#x} rflags {:#x} rsp {:#x} cs {:#x} ss {:#x}", frame.rip, frame.rflags, frame.rsp, frame.cs, frame.ss));
    const NAMES: [&str; 15] = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];
    for (names, values) in NAMES.chunks(3).zip(frame.registers.chunks(3)) {
        serial::line(format_args!("{:3} {:#018x}  {:3} {:#018x}  {:3} {:#018x}", names[0], values[0], names[1], values[1], names[2], values[2]));
    }
    backtrace(frame.rip, frame.registers[6]);
    end()
}
