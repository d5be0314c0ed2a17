//! The instructions of VMX, and the switch of worlds.

use super::super::super::descriptors::Pointer;
use super::super::super::io;
use super::field;
use super::pages::Pages;
use core::arch::{asm, naked_asm};
use core::mem::offset_of;
use nacre_core::machine::Physical;

/// General registers of a guest, in the order of their numbers; RSP is a field.
pub type Registers = [u64; 16];

/// Reads a field of this CPU's VMCS.
pub fn read(field: u32) -> u64 {
    let value;
    // SAFETY: this CPU has a VMCS whenever guests are run; reading changes nothing.
    unsafe { asm!("vmread {}, {}", out(reg) value, in(reg) u64::from(field), options(nostack)) };
    value
}

/// Writes a field of this CPU's VMCS. What it means is told where it is written.
pub fn write(field: u32, value: u64) {
    // SAFETY: nothing but the VMCS changes; who enters a guest answers for what is in it.
    unsafe { asm!("vmwrite {}, {}", in(reg) u64::from(field), in(reg) value, options(nostack)) };
}

/// Turns VMX on, for this CPU, with its page.
pub fn turn_on(page: Physical) {
    // SAFETY: CR4 allows it, and the page is one that nothing else uses, with its revision.
    unsafe { asm!("vmxon [{}]", in(reg) &page.0, options(nostack)) };
}

/// Takes the CPU's VMCS, as one that was not launched.
pub fn begin(pages: &Pages) {
    // SAFETY: a page that nothing else uses, with its revision.
    unsafe { asm!("vmclear [{0}]", "vmptrld [{0}]", in(reg) &pages.control.0, options(nostack)) };
}

/// Drops all that this CPU knows of guests' addresses.
pub fn forget() {
    const ALL: u64 = 2;
    let nothing = [0u64; 2];
    // SAFETY: only forgets.
    unsafe { asm!("invept {}, [{}]", in(reg) ALL, in(reg) &nothing, options(nostack)) };
}

/// Runs the guest of the current VMCS until it is left; interrupts are off before and after.
/// Returns 0, or 1 if it was not entered.
#[unsafe(naked)]
unsafe extern "C" fn switch(registers: *mut Registers) -> u64 {
    naked_asm!(
        "push rbx; push rbp; push r12; push r13; push r14; push r15; push rdi",
        "mov eax, {stack}; vmwrite rax, rsp",
        "lea rdx, [rip + 2f]; mov eax, {after}; vmwrite rax, rdx",
        "mov rax, [rdi]; mov rcx, [rdi + 8]; mov rdx, [rdi + 16]; mov rbx, [rdi + 24]; mov rbp, [rdi + 40]; mov rsi, [rdi + 48]",
        "mov r8, [rdi + 64]; mov r9, [rdi + 72]; mov r10, [rdi + 80]; mov r11, [rdi + 88]",
        "mov r12, [rdi + 96]; mov r13, [rdi + 104]; mov r14, [rdi + 112]; mov r15, [rdi + 120]",
        "mov rdi, [rdi + 56]",
        "vmlaunch",
        "pop rdi",
        "mov eax, 1",
        "jmp 3f",
        "2:",
        "xchg rdi, [rsp]",
        "mov [rdi], rax; mov [rdi + 8], rcx; mov [rdi + 16], rdx; mov [rdi + 24], rbx; mov [rdi + 40], rbp; mov [rdi + 48], rsi",
        "mov [rdi + 64], r8; mov [rdi + 72], r9; mov [rdi + 80], r10; mov [rdi + 88], r11",
        "mov [rdi + 96], r12; mov [rdi + 104], r13; mov [rdi + 112], r14; mov [rdi + 120], r15",
        "pop rax; mov [rdi + 56], rax",
        "xor eax, eax",
        "3:",
        "pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx",
        "ret",
        stack = const field::HOST_RSP,
        after = const field::HOST_RIP,
    )
}

/// Addresses of this CPU's tables of segments and of interrupts, with their limits, which the way
/// out of a guest does not give back.
pub struct DescriptorTables {
    segments: Pointer,
    interrupts: Pointer,
}

impl DescriptorTables {
    /// Returns those in use.
    pub fn now() -> DescriptorTables {
        let (mut segments, mut interrupts) = (Pointer { limit: 0, base: 0 }, Pointer { limit: 0, base: 0 });
        // SAFETY: writes the two places.
        unsafe { asm!("sgdt [{}]", "sidt [{}]", in(reg) &mut segments, in(reg) &mut interrupts, options(nostack, preserves_flags)) };
        DescriptorTables { segments, interrupts }
    }

    /// Address of the table of segments.
    pub fn segments(&self) -> u64 {
        self.segments.base
    }

    /// Address of the table of interrupts.
    pub fn interrupts(&self) -> u64 {
        self.interrupts.base
    }

    /// Address of the task that this selector names.
    pub fn task(&self, selector: u64) -> u64 {
        let at = (self.segments.base + selector) as *const [u64; 2];
        // SAFETY: the selector is that of the kernel's task, whose descriptor has two words.
        let [low, high] = unsafe { at.read() };
        low >> 16 & 0xff_ffff | low >> 32 & 0xff00_0000 | high << 32
    }

    fn load(&self) {
        // SAFETY: the tables that were in use before.
        unsafe { asm!("lgdt [{}]", "lidt [{}]", in(reg) &self.segments, in(reg) &self.interrupts, options(nostack, preserves_flags)) };
    }
}

/// Runs the guest. False: the processor would not take it.
pub fn run(registers: &mut Registers) -> bool {
    let tables = DescriptorTables::now();
    // SAFETY: the VMCS was filled by `state::load`: every way out of the guest leads back here, its
    // memory is what its space's tables show, and ports, other registers and interrupts are not its
    // own.
    let was_refused = unsafe { switch(registers) };
    tables.load();
    was_refused == 0
}

/// A non-maskable interrupt has ended the guest, and is taken here.
pub fn non_maskable() {
    // SAFETY: the kernel's own entry, which changes no register.
    unsafe { asm!("int 2") };
}

/// The guest's CR2 comes into the processor. The kernel has no faults of its own in between.
pub fn fault_address_write(value: u64) {
    // SAFETY: only says what a page fault was about.
    unsafe { asm!("mov cr2, {}", in(reg) value, options(nomem, nostack, preserves_flags)) };
}

/// Selector of the task in use.
pub fn task_selector() -> u64 {
    let selector: u64;
    // SAFETY: only reads.
    unsafe { asm!("str {}", out(reg) selector, options(nomem, nostack, preserves_flags)) };
    selector & 0xfff8
}

/// A field of the kernel's, as this CPU has it now.
pub fn host_registers() -> [(u32, u64); 3] {
    [(field::HOST_CR0, io::cr0_read()), (field::HOST_CR3, io::cr3_read()), (field::HOST_CR4, cr4_read())]
}

fn cr4_read() -> u64 {
    let value;
    // SAFETY: reading changes nothing.
    unsafe { asm!("mov {}, cr4", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

const _: () = assert!(offset_of!(Pointer, base) == 2);
