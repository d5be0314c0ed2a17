//! The control block: filled from a frame, with what no frame decides, and read back into it.
//! Offsets are in words of 64 bits. Manual: appendix B.

use super::super::direct_map::thread_words;
use super::frame::{self, CACHES_OFF, CR4_BITS, is_deliverable, keeps_control, read, write};
use super::pages::Pages;
use super::shadow;
use core::cell::Cell;
use nacre_abi::frame::{EXIT_INVALID, word};
use nacre_core::machine::{GuestEntry, Physical};

const ACCESSES: usize = 0;
const EXCEPTIONS: usize = 1;
const INSTRUCTIONS: usize = 2;
const PORT_MAP: usize = 8;
const REGISTER_MAP: usize = 9;
const TIME_OFFSET: usize = 10;
const IDENTITY: usize = 11;
const VIRTUAL_INTERRUPT: usize = 12;
const SHADOW: usize = 13;
const EXIT: usize = 14;
const INFORMATION: [usize; 2] = [15, 16];
const INTERRUPTED: usize = 17;
const NESTED: usize = 18;
const INJECT: usize = 21;
const ROOT: usize = 22;
const CLEAN: usize = 24;
const NEXT: usize = 25;
const SEGMENTS: usize = 128;
const PRIVILEGE: usize = 153;
const EFER: usize = 154;
const CR4: usize = 169;
const CR3: usize = 170;
const CR0: usize = 171;
const DR7: usize = 172;
const DR6: usize = 173;
const RFLAGS: usize = 174;

/// All reads and writes of DR0 to DR15: those of the processor stay the kernel's.
const ALL_DEBUG_ACCESSES: u64 = 0xffff_ffff << 32;
/// Writes of CR8. They decide which interrupts a guest takes, and QEMU (7.2, for one) stops when a
/// guest writes CR8 while its virtual controller has an interrupt.
const PRIORITY_WRITES: u64 = 1 << 24;
/// Writes of CR0 by a guest that has long mode enabled: its monitor takes it there and back.
/// QEMU (7.2, for one) does not find back from a guest whose long mode is enabled and not active:
/// it takes that for the kernel's own. So such a guest runs with long mode disabled.
const CR0_WRITES: u64 = 1 << 16;
/// Writes of CR4. Some of its bits give a guest registers that are nobody's at a switch of worlds
/// (protection keys, control-flow enforcement), and one takes machine checks from the kernel.
const CR4_WRITES: u64 = 1 << 20;
/// Reads and writes of CR0, CR3 and CR4 by a guest whose monitor keeps them.
const KEPT_REGISTERS: u64 = 0b11001 | 0b11001 << 16;
/// #DB and #AC, which a guest can make a processor deliver for ever, and #MC.
const LEAVING_EXCEPTIONS: u64 = 1 << 1 | 1 << 17 | 1 << 18;
/// Intercepts of the first word: INTR, NMI, SMI, INIT, RDPMC, CPUID, INVD, HLT, INVLPGA, ports,
/// registers, task switches, FERR_FREEZE, shutdown.
const LEAVING: u64 = 0xf | 1 << 15 | 1 << 18 | 1 << 22 | 1 << 24 | 0x3f << 26;
const LEAVING_INVALIDATE: u64 = 1 << 25;
const LEAVING_WINDOW: u64 = 1 << 4;
const LEAVING_RETURN: u64 = 1 << 20;
const LEAVING_TIME: u64 = 1 << 14;
const LEAVING_PAUSE: u64 = 1 << 23;
/// Intercepts of the second: all of SVM's, RDTSCP, ICEBP, WBINVD, MONITOR, MWAIT (both), XSETBV,
/// RDPRU.
const LEAVING_MORE: u64 = 0x7fff;
/// Intercepts of the third: INVLPGB (both), MCOMMIT, TLBSYNC.
const LEAVING_THIRD: u64 = 0b11011 << 32;
/// Intercepts of a shadow guest: #PF, and INVPCID in the third word.
const LEAVING_PAGE_FAULT: u64 = 1 << 14;
const LEAVING_PCID: u64 = 1 << 34;
/// The processor's flags, not the guest's, decide about the machine's interrupts.
const OWN_INTERRUPTS: u64 = 1 << 24;
/// An interrupt of the highest priority is asked for.
const ASKED: u64 = 1 << 8 | 0xf << 16 | 1 << 20;
/// Bit of one that was not taken yet.
const WAITS: u64 = 1 << 8;
const INTERRUPTS: u64 = 1 << 9;
const EVENT_VALID: u64 = 1 << 31;
/// One identity for all: all of its translations go at each entry.
const IDENTITY_FLUSHED: u64 = 1 | 1 << 32;
const SVME: u64 = 1 << 12;
const LONG_ENABLED: u64 = 1 << 8;
const LONG_ACTIVE: u64 = 1 << 10;
const PROTECTED: u64 = 1;
const PAGING: u64 = 1 << 31;
const WRITE_PROTECTED: u64 = 1 << 16;
const NOT_WRITE_THROUGH: u64 = 1 << 29;
const CACHE_DISABLED: u64 = 1 << 30;
const ADDRESS_EXTENSION: u64 = 1 << 5;
const PROCESS_IDENTITIES: u64 = 1 << 17;
/// Bits of the code segment's first word: 64-bit code, 32-bit code.
const CODE_LONG: u64 = 1 << 25;
const CODE_32: u64 = 1 << 26;
/// Identity in CR3.
const IDENTITY_BITS: u64 = 0xfff;
/// System call, long mode, no execute, SVME, LMSLE, FFXSR, TCE are 0, 8, 10-15.
const EFER_BITS: u64 = 1 | 1 << 8 | 1 << 10 | 1 << 11 | 1 << 14;
const NO_BREAKPOINTS: u64 = 0x400;

/// Words that stand in both as they are: of the frame, of the block. Those of a shadow guest are
/// the guest's alone.
const CONTROL: [(usize, usize); 4] = [(word::CR0, CR0), (word::CR3, CR3), (word::CR4, CR4), (word::EFER, EFER)];
const PLAIN: [(usize, usize); 9] = [
    (word::CR2, 200),
    (word::PAT, 205),
    (word::DR6, DR6),
    (word::RIP, 175),
    (word::RAX, 191),
    (word::RSP, 187),
    (word::RFLAGS, RFLAGS),
    (word::SHADOW, SHADOW),
    (word::TIME_OFFSET, TIME_OFFSET),
];
/// Runs of words that stand in both as they are: of the frame, of the block, and how many.
const RUNS: [(usize, usize, usize); 2] = [(word::SEGMENTS, SEGMENTS, 20), (word::SYSTEM, 192, 8)];

/// The general registers that the switch of worlds itself loads and stores.
pub type Registers = [u64; 16];

/// Fills the block. Each word that something is decided by is read once. False: the processor would
/// not take it.
pub fn load(pages: &Pages, entry: &GuestEntry, registers: &mut Registers) -> bool {
    let (block, frame) = (thread_words(pages.control), entry.frame);
    for (from, to) in PLAIN.into_iter().chain(CONTROL) {
        block[to].set(read(frame, from));
    }
    for (from, to, count) in RUNS {
        (0..count).for_each(|number| block[to + number].set(read(frame, from + number)));
    }
    registers.iter_mut().enumerate().for_each(|(number, register)| *register = read(frame, word::REGISTERS + number));
    block[PRIVILEGE].set((read(frame, word::PRIVILEGE) & 3) << 24);
    let needed = if entry.upper.is_some() { frame::NO_EXECUTE } else { 0 };
    let efer = block[EFER].get() & EFER_BITS & !LONG_ACTIVE | needed;
    let is_enabled = efer & LONG_ENABLED != 0;
    let is_long = is_enabled && block[CR0].get() & PAGING != 0;
    if keeps_control(entry) {
        hide_identities(block);
    }
    if let Some(upper) = entry.upper {
        shadow_control(block, pages.root);
        if !shadow::join(pages.root, entry.root, upper, is_long) {
            return false;
        }
    }
    block[EFER].set(if is_long { efer | LONG_ACTIVE } else { efer & !LONG_ENABLED } | SVME);
    block[RFLAGS].set(frame::flags(block[RFLAGS].get(), block[CR0].get(), is_long));
    block[SHADOW].set(block[SHADOW].get() & 1);
    let inject = read(frame, word::INJECT);
    let external = (inject >> 31 & 1 == 1 && inject >> 8 & 7 == 0).then_some(inject & 0xff);
    block[INJECT].set(if external.is_some() { 0 } else { inject });
    control(block, pages, entry, is_enabled, external);
    let is_right = is_deliverable(block[INJECT].get()) && is_consistent(block, is_long);
    block[CR0].set(block[CR0].get() & !CACHES_OFF);
    block[CR4].set(block[CR4].get() & !frame::MACHINE_CHECKS | frame::machine_checks());
    is_right
}

/// Lets a guest run without process identities, whatever it believes.
fn hide_identities(block: &[Cell<u64>; 512]) {
    if block[CR4].get() & PROCESS_IDENTITIES != 0 {
        block[CR4].set(block[CR4].get() & !PROCESS_IDENTITIES);
        block[CR3].set(block[CR3].get() & !IDENTITY_BITS);
    }
}

/// Lets a shadow guest run on these tables, whatever it believes, and with pages that may not be
/// written protected from its kernel, too.
fn shadow_control(block: &[Cell<u64>; 512], root: Physical) {
    block[CR0].set(block[CR0].get() | PAGING | WRITE_PROTECTED | PROTECTED);
    block[CR3].set(root.0);
    block[CR4].set(block[CR4].get() | ADDRESS_EXTENSION);
}

/// Returns true if the control registers can be together (manual: 15.5.1). Processors look
/// themselves; not every emulated one does, and runs into states that it never leaves.
fn is_consistent(block: &[Cell<u64>; 512], is_long: bool) -> bool {
    const CODE: usize = SEGMENTS + 2;
    let (cr0, cr4, code) = (block[CR0].get(), block[CR4].get(), block[CODE].get());
    let has = |word: u64, bits: u64| word & bits == bits;
    let both_sizes = has(code, CODE_LONG | CODE_32);
    let wrong = [
        cr0 >> 32 != 0,
        has(cr0, PAGING) && !has(cr0, PROTECTED),
        has(cr0, NOT_WRITE_THROUGH) && !has(cr0, CACHE_DISABLED),
        is_long && !has(cr4, ADDRESS_EXTENSION),
        is_long && both_sizes,
        cr4 & !CR4_BITS != 0,
        block[DR6].get() >> 32 != 0,
    ];
    !wrong.contains(&true)
}

/// Fills in what no frame decides. `is_enabled`: the guest has long mode enabled. `external`:
/// vector of an interrupt for it. The processor takes that as one that its virtual controller has,
/// not as an event at the entry: QEMU (7.2, for one) delivers such an event again when somebody
/// wakes its thread at that moment, whether the guest takes interrupts or not.
fn control(block: &[Cell<u64>; 512], pages: &Pages, entry: &GuestEntry, is_enabled: bool, external: Option<u64>) {
    let asks = read(entry.frame, word::WINDOW) != 0;
    // One at a time: when the guest returns from this interrupt, it is entered anew.
    let takes = block[RFLAGS].get() & INTERRUPTS != 0 && block[SHADOW].get() == 0;
    let (window, returns) = (asks && external.is_none(), asks && external.is_some() && takes);
    let hides_time = entry.hides_time || read(entry.frame, word::TIME_READS) != 0;
    let pauses = read(entry.frame, word::PAUSES) != 0;
    let when = |is_so, bit| if is_so { bit } else { 0 };
    let leaving = LEAVING | when(window, LEAVING_WINDOW) | when(returns, LEAVING_RETURN) | when(hides_time, LEAVING_TIME) | when(pauses, LEAVING_PAUSE);
    let is_shadow = entry.upper.is_some();
    block[ACCESSES].set(ALL_DEBUG_ACCESSES | PRIORITY_WRITES | CR4_WRITES | when(is_enabled, CR0_WRITES) | when(keeps_control(entry), KEPT_REGISTERS));
    block[EXCEPTIONS].set(LEAVING_EXCEPTIONS | when(is_shadow, LEAVING_PAGE_FAULT) | (leaving | when(is_shadow, LEAVING_INVALIDATE)) << 32);
    block[INSTRUCTIONS].set(LEAVING_MORE | LEAVING_THIRD | when(is_shadow, LEAVING_PCID));
    block[PORT_MAP].set(pages.ports.0);
    block[REGISTER_MAP].set(pages.registers.0);
    block[IDENTITY].set(IDENTITY_FLUSHED);
    let asked = when(window, ASKED) | external.map_or(0, |vector| ASKED | vector << 32);
    block[VIRTUAL_INTERRUPT].set(OWN_INTERRUPTS | asked | read(entry.frame, word::TASK_PRIORITY) & 0xf);
    block[NESTED].set(when(!is_shadow, 1));
    block[ROOT].set(when(!is_shadow, entry.root.0));
    block[CLEAN].set(0);
    block[DR7].set(NO_BREAKPOINTS);
    // What the last guest of this CPU left there is its own.
    [EXIT, INFORMATION[0], INFORMATION[1], INTERRUPTED].iter().for_each(|number| block[*number].set(0));
    block[NEXT].set(read(entry.frame, word::NEXT));
}

/// Reads the block back into the frame; returns the number of the exit.
pub fn store(pages: &Pages, entry: &GuestEntry, registers: &Registers) -> u64 {
    let (block, frame) = (thread_words(pages.control), entry.frame);
    // Some emulations write the lower half of a negative number alone.
    let exit = block[EXIT].get() as i32 as i64 as u64;
    write(frame, word::EXIT, exit);
    if exit == EXIT_INVALID {
        // The guest has not run, whatever the block says of it.
        return exit;
    }
    registers.iter().enumerate().for_each(|(number, register)| write(frame, word::REGISTERS + number, *register));
    for (to, from) in PLAIN {
        write(frame, to, block[from].get());
    }
    for (to, from, count) in RUNS {
        (0..count).for_each(|number| write(frame, to + number, block[from + number].get()));
    }
    let waits = waiting(block);
    write(frame, word::INJECT, waits.unwrap_or(0));
    if !keeps_control(entry) {
        store_control(block, frame);
    }
    write(frame, word::PRIVILEGE, block[PRIVILEGE].get() >> 24 & 3);
    write(frame, word::TASK_PRIORITY, block[VIRTUAL_INTERRUPT].get() & 0xf);
    // One whose delivery has failed is told of here, too: by QEMU as an exception.
    let (interrupted, vector) = (block[INTERRUPTED].get(), |event: u64| event & 0xff);
    write(frame, word::INTERRUPTED, if waits.map(vector) == Some(vector(interrupted)) { 0 } else { interrupted });
    write(frame, word::NEXT, block[NEXT].get());
    INFORMATION.iter().zip(word::INFORMATION).for_each(|(from, to)| write(frame, to, block[*from].get()));
    exit
}

/// Writes the control registers that a guest with tables of its own changes as it likes.
fn store_control(block: &[Cell<u64>; 512], frame: Physical) {
    let enabled = read(frame, word::EFER) & LONG_ENABLED;
    let hidden = if block[CR0].get() & PAGING == 0 { enabled } else { 0 };
    if enabled == 0 {
        write(frame, word::CR0, block[CR0].get());
    }
    write(frame, word::CR3, block[CR3].get());
    write(frame, word::EFER, block[EFER].get() & !SVME | hidden);
}

/// The external interrupt that the guest was given and has not taken, as a frame has it.
fn waiting(block: &[Cell<u64>; 512]) -> Option<u64> {
    let (interrupt, leaving) = (block[VIRTUAL_INTERRUPT].get(), block[EXCEPTIONS].get() >> 32);
    (interrupt & WAITS != 0 && leaving & LEAVING_WINDOW == 0).then_some(EVENT_VALID | interrupt >> 32 & 0xff)
}

/// The error code and the address of a nested page fault.
pub fn fault_of(pages: &Pages) -> (u64, u64) {
    let block = thread_words(pages.control);
    (block[INFORMATION[0]].get(), block[INFORMATION[1]].get())
}
