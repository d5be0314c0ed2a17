//! The first instructions. Two doors, for two boot protocols; both come in 32-bit protected mode
//! without paging, interrupts off, and go to long mode with tables that show the first 4 GiB of
//! physical memory three times: where it is, in the direct map, and (1 GiB of it) where the kernel
//! is linked.
//!
//! | register | PVH | Multiboot 2 |
//! | --- | --- | --- |
//! | `eax` | - | a magic number |
//! | `ebx` | address of the start record | address of the information |
//!
//! `boot_main` gets the door's number (1, 2), that address, and the time-stamp counter of the first
//! instruction.

use core::arch::global_asm;
use nacre_boot::{multiboot, pvh};
use nacre_machine::boot::ImageLayout;
use nacre_machine::{BootMemory, start};

const KERNEL_BASE: u64 = 0xffff_ffff_8000_0000;
const STACK_SIZE: usize = 16 << 10;

global_asm!(
    // Multiboot 2 header: entry address, modules at page boundaries, end.
    ".section .multiboot, \"a\"",
    ".balign 8",
    "2:",
    ".long 0xe85250d6, 0, 3f - 2b, -(0xe85250d6 + (3f - 2b))",
    ".short 3, 0",
    ".long 12, entry_multiboot - {base}, 0",
    ".short 6, 0",
    ".long 8",
    ".short 0, 0",
    ".long 8",
    "3:",
    // The note that names the PVH entry.
    ".section .note.Xen, \"a\", @note",
    ".balign 4",
    ".long 4, 8, 18",
    ".asciz \"Xen\"",
    ".quad entry_pvh - {base}",
    ".section .entry, \"ax\"",
    ".code32",
    ".global entry_pvh, entry_multiboot",
    "entry_pvh:",
    "mov edi, 1",
    "jmp 2f",
    "entry_multiboot:",
    "mov edi, 2",
    "2:",
    "cli",
    "cld",
    "rdtsc",
    "mov ebp, eax",
    "mov esp, edx",
    // Long mode and pages that are not executable are needed.
    "mov esi, ebx",
    "mov eax, 0x80000001",
    "cpuid",
    "bt edx, 29",
    "jnc 9f",
    "bt edx, 20",
    "jnc 9f",
    // 2048 pages of 2 MiB.
    "mov ebx, offset boot_pages - {base}",
    "mov eax, 0x83",
    "xor ecx, ecx",
    "3:",
    "mov [ebx + 8*ecx], eax",
    "add eax, 0x200000",
    "inc ecx",
    "cmp ecx, 2048",
    "jne 3b",
    // Four gigabytes, and the last but one of the kernel's.
    "mov ebx, offset boot_low - {base}",
    "mov eax, offset boot_pages - {base} + 3",
    "mov [ebx], eax",
    "add eax, 0x1000",
    "mov [ebx + 8], eax",
    "add eax, 0x1000",
    "mov [ebx + 16], eax",
    "add eax, 0x1000",
    "mov [ebx + 24], eax",
    "mov eax, offset boot_pages - {base} + 3",
    "mov [boot_high - {base} + 8*510], eax",
    "mov ebx, offset boot_root - {base}",
    "mov eax, offset boot_low - {base} + 3",
    "mov [ebx], eax",
    "mov [ebx + 8*256], eax",
    "mov eax, offset boot_high - {base} + 3",
    "mov [ebx + 8*511], eax",
    "mov cr3, ebx",
    "mov eax, 0x20",
    "mov cr4, eax",
    "mov ecx, 0xc0000080",
    "rdmsr",
    "or eax, 0x900",
    "wrmsr",
    "mov eax, 0x80010001",
    "mov cr0, eax",
    "lgdt [boot_table_pointer - {base}]",
    // A far jump into the 64-bit segment; the assembler has no spelling for it here.
    ".byte 0xea",
    ".long 4f - {base}",
    ".short 8",
    "9:",
    "hlt",
    "jmp 9b",
    ".code64",
    "4:",
    "movabs rax, offset entry_high",
    "jmp rax",
    "entry_high:",
    "mov eax, 0x10",
    "mov ss, eax",
    "xor eax, eax",
    "mov ds, eax",
    "mov es, eax",
    "mov edx, esp",
    "shl rdx, 32",
    "mov eax, ebp",
    "or rdx, rax",
    "lea rsp, [rip + boot_stack_end]",
    "xor ebp, ebp",
    "call {main}",
    "ud2",
    ".balign 8",
    "boot_table:",
    ".quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff",
    "boot_table_pointer:",
    ".short 23",
    ".long boot_table - {base}",
    ".section .bss.boot, \"aw\", @nobits",
    ".balign 4096",
    "boot_root: .skip 4096",
    "boot_low: .skip 4096",
    "boot_high: .skip 4096",
    "boot_pages: .skip 4 * 4096",
    "boot_stack: .skip {stack}",
    "boot_stack_end:",
    ".text",
    base = const KERNEL_BASE,
    stack = const STACK_SIZE,
    main = sym boot_main,
);

unsafe extern "C" {
    static image_start: u8;
    static image_entry_end: u8;
    static image_text_end: u8;
    static image_constants_end: u8;
    static image_shared_end: u8;
    static image_end: u8;
}

fn layout() -> ImageLayout {
    let physical = |symbol: *const u8| symbol as u64 - KERNEL_BASE;
    ImageLayout {
        start: physical(&raw const image_start),
        entry_end: physical(&raw const image_entry_end),
        text_end: physical(&raw const image_text_end),
        constants_end: physical(&raw const image_constants_end),
        shared_end: physical(&raw const image_shared_end),
        end: physical(&raw const image_end),
    }
}

extern "C" fn boot_main(door: u32, information: u32, started: u64) -> ! {
    // SAFETY: once, right after the boot tables were made.
    let memory = unsafe { BootMemory::new() };
    let description = match door {
        1 => pvh::read(&memory, information.into()),
        _ => multiboot::read(&memory, information.into()),
    };
    start(memory, &description.expect("the boot loader left no information"), layout(), started)
}
