//! The VMCS: filled from a frame, with what no frame decides, and read back into it.

use super::super::super::direct_map::{DirectTables, thread_words};
use super::super::super::{io, page_table};
use super::super::frame::{self, CACHES_OFF, CR4_BITS, Left, is_deliverable, keeps_control, read, write};
use super::super::shadow;
use super::pages::{HOST_LIST, Pages};
use super::world::{DescriptorTables, Registers};
use super::{abilities, controls, exit, field, segments, world};
use nacre_abi::Rights;
use nacre_abi::frame::word;
use nacre_core::machine::{GuestEntry, LeafKind, Physical};

const PROTECTED: u64 = 1;
const NUMERIC_ERROR: u64 = 1 << 5;
const WRITE_PROTECTED: u64 = 1 << 16;
const PAGING: u64 = 1 << 31;
const ADDRESS_EXTENSION: u64 = 1 << 5;
const VMX: u64 = 1 << 13;
const PROCESS_IDENTITIES: u64 = 1 << 17;
/// Identity in CR3.
const IDENTITY_BITS: u64 = 0xfff;
const LONG_ENABLED: u64 = 1 << 8;
const LONG_ACTIVE: u64 = 1 << 10;
/// System call, long mode, no execute.
const EFER_BITS: u64 = 1 | 1 << 8 | 1 << 11;
/// Bits that no guest has by itself: it is left when it changes what it sees of them. Neither an
/// entry nor an exit changes those of the caches, so a guest's would stay behind it.
const CR0_KEPT: u64 = NUMERIC_ERROR | CACHES_OFF;
const CR4_KEPT: u64 = !CR4_BITS | frame::MACHINE_CHECKS;
const INTERRUPTS: u64 = 1 << 9;
const TRAP: u64 = 1 << 8;
const NO_BREAKPOINTS: u64 = 0x400;
const VALID: u64 = 1 << 31;
const HAS_ERROR: u64 = 1 << 11;
const EXTERNAL: u64 = 0;
const SOFTWARE: u64 = 4;
/// Kinds of events that SVM counts among exceptions: ICEBP, and INT3 and INTO.
const MORE_EXCEPTIONS: [u64; 2] = [5, 6];
const EXCEPTION: u64 = 3;
/// Byte of the guest's APIC.
const TASK_PRIORITY: usize = 0x80 / 8;

/// Model-specific registers that change places with the kernel's: of a frame's [`word::SYSTEM`].
const LISTED: [u32; 5] = [0xc000_0081, 0xc000_0082, 0xc000_0083, 0xc000_0084, 0xc000_0102];
const SYSENTER: [u32; 3] = [field::SYSENTER_CS, field::SYSENTER_ESP, field::SYSENTER_EIP];

/// Words that stand in both as they are.
const PLAIN: [(usize, u32); 4] = [
    (word::RIP, field::RIP),
    (word::RSP, field::RSP),
    (word::PAT, field::PAT),
    (word::TIME_OFFSET, field::TIME_OFFSET),
];

/// Result of filling the VMCS.
pub enum Loaded {
    /// The guest can be entered. `waits`: it does not take the external interrupt that it has now.
    Whole { waits: bool },
    /// Tables of the guest's that the processor reads now are not there, at this address.
    Lacks(u64),
}

/// Fills the VMCS. `None`: the processor would not take it.
pub fn load(pages: &Pages, entry: &GuestEntry, registers: &mut Registers) -> Option<Loaded> {
    let (frame, is_shadow, is_kept) = (entry.frame, entry.upper.is_some(), keeps_control(entry));
    let get = |number| read(frame, number);
    registers.iter_mut().enumerate().for_each(|(number, register)| *register = get(word::REGISTERS + number));
    PLAIN.iter().for_each(|(from, to)| world::write(*to, get(*from)));
    let needed = if is_shadow { frame::NO_EXECUTE } else { 0 };
    let (cr0, cr4, efer) = (get(word::CR0), get(word::CR4), get(word::EFER) & EFER_BITS | needed);
    let is_long = efer & LONG_ENABLED != 0 && cr0 & PAGING != 0;
    if !control(pages, entry, is_long) {
        return None;
    }
    let hidden = if is_shadow { LONG_ENABLED } else { 0 };
    world::write(field::EFER, if is_long { efer | LONG_ACTIVE } else { efer & !hidden });
    let flags = frame::flags(get(word::RFLAGS), if is_shadow { PROTECTED } else { cr0 }, is_long);
    world::write(field::RFLAGS, flags);
    segments::load(frame);
    let is_held = get(word::SHADOW) & 1 == 1;
    world::write(field::ACTIVITY, 0);
    world::write(field::DR7, NO_BREAKPOINTS);
    world::fault_address_write(get(word::CR2));
    thread_words(pages.apic)[TASK_PRIORITY].set((get(word::TASK_PRIORITY) & 15) << 4);
    let inject = get(word::INJECT);
    let is_external = inject & VALID != 0 && inject >> 8 & 7 == EXTERNAL;
    let takes = flags & INTERRUPTS != 0 && !is_held;
    let waits = is_external && !takes;
    deliver(frame, if waits { 0 } else { inject })?;
    // What is delivered ends it. It is by STI, which there is no other way to have interrupts on
    // after; or by a move to SS.
    let stays = is_held && (waits || inject & VALID == 0);
    world::write(field::BLOCKING, if !stays { 0 } else if flags & INTERRUPTS != 0 { 1 } else { 2 });
    world::write(field::PENDING_DEBUG, if stays && flags & TRAP != 0 { 1 << 14 } else { 0 });
    let asks = get(word::WINDOW) != 0 || waits;
    let hides_time = entry.hides_time || get(word::TIME_READS) != 0;
    let leaving = [(asks, abilities::WINDOW), (hides_time, abilities::TIME), (get(word::PAUSES) != 0, abilities::PAUSE)];
    let leaving = leaving.iter().filter(|(is_so, _)| *is_so).fold(0, |bits, (_, bit)| bits | bit);
    controls::load(is_shadow, is_kept, is_long, leaving);
    lists(pages, frame);
    host();
    let has_directories = !is_shadow && !is_long && cr0 & PAGING != 0 && cr4 & ADDRESS_EXTENSION != 0;
    let lacking = if has_directories { directories(entry.root, get(word::CR3)) } else { None };
    Some(lacking.map_or(Loaded::Whole { waits }, Loaded::Lacks))
}

/// Fills in the control registers. `is_long`: the guest runs in long mode. False: the processor
/// would not take them.
fn control(pages: &Pages, entry: &GuestEntry, is_long: bool) -> bool {
    let [cr0, cr3, cr4] = [word::CR0, word::CR3, word::CR4].map(|number| read(entry.frame, number));
    let is_kept = keeps_control(entry);
    let (real_0, real_4) = (cr0 & !CACHES_OFF | NUMERIC_ERROR, cr4 & !frame::MACHINE_CHECKS | frame::machine_checks() | VMX);
    if let Some(upper) = entry.upper {
        if !shadow::join(pages.root, entry.root, upper, is_long) {
            return false;
        }
        world::write(field::CR3, pages.root.0);
        world::write(field::CR0, real_0 | PAGING | WRITE_PROTECTED | PROTECTED);
        world::write(field::CR4, real_4 & !PROCESS_IDENTITIES | ADDRESS_EXTENSION);
    } else {
        let hidden = if is_kept { cr4 & PROCESS_IDENTITIES } else { 0 };
        world::write(field::CR3, if hidden != 0 { cr3 & !IDENTITY_BITS } else { cr3 });
        world::write(field::CR0, real_0);
        world::write(field::CR4, real_4 & !hidden);
    }
    // As by SVM, a guest that has long mode enabled is left when it changes CR0.
    let is_enabled = read(entry.frame, word::EFER) & LONG_ENABLED != 0;
    world::write(field::CR0_MASK, if is_kept || is_enabled { u64::MAX } else { CR0_KEPT });
    world::write(field::CR4_MASK, if is_kept { u64::MAX } else { CR4_KEPT });
    world::write(field::CR0_SHOWN, cr0);
    world::write(field::CR4_SHOWN, cr4);
    cr0 >> 32 == 0 && cr4 & !CR4_BITS == 0
}

/// Asks for an event. `None`: the processor takes none such.
fn deliver(frame: Physical, inject: u64) -> Option<()> {
    if inject & VALID == 0 {
        world::write(field::INJECT, 0);
        return Some(());
    }
    if !is_deliverable(inject) {
        return None;
    }
    let kind = inject >> 8 & 7;
    if kind == SOFTWARE {
        let length = read(frame, word::NEXT).wrapping_sub(read(frame, word::RIP));
        if !(1..=15).contains(&length) {
            return None;
        }
        world::write(field::INJECT_LENGTH, length);
    }
    world::write(field::INJECT, inject & (VALID | HAS_ERROR | 0x7ff));
    world::write(field::INJECT_ERROR, inject >> 32);
    Some(())
}

/// Registers that the processor loads and stores from lists of pairs.
fn lists(pages: &Pages, frame: Physical) {
    let words = thread_words(pages.lists);
    let host = HOST_LIST as usize / 8;
    for (number, register) in LISTED.into_iter().enumerate() {
        words[2 * number].set(u64::from(register));
        words[2 * number + 1].set(read(frame, word::SYSTEM + number));
        words[host + 2 * number].set(u64::from(register));
        words[host + 2 * number + 1].set(io::msr_read(register));
    }
    [field::EXIT_STORE_COUNT, field::EXIT_LOAD_COUNT, field::ENTRY_LOAD_COUNT].iter().for_each(|count| world::write(*count, LISTED.len() as u64));
    SYSENTER.iter().enumerate().for_each(|(number, field)| world::write(*field, read(frame, word::SYSTEM + LISTED.len() + number)));
}

/// The kernel, as this CPU is in it now.
fn host() {
    const FS_BASE: u32 = 0xc000_0100;
    const GS_BASE: u32 = 0xc000_0101;
    const PAT: u32 = 0x277;
    const EFER: u32 = 0xc000_0080;
    let (tables, task) = (DescriptorTables::now(), world::task_selector());
    let fields = [
        (field::HOST_CODE, u64::from(super::super::super::descriptors::KERNEL_CODE)),
        (field::HOST_STACK, u64::from(super::super::super::descriptors::KERNEL_DATA)),
        (field::HOST_TASK, task),
        (field::HOST_TASK_BASE, tables.task(task)),
        (field::HOST_GDT, tables.segments()),
        (field::HOST_IDT, tables.interrupts()),
        (field::HOST_FS, io::msr_read(FS_BASE)),
        (field::HOST_GS, io::msr_read(GS_BASE)),
        (field::HOST_PAT, io::msr_read(PAT)),
        (field::HOST_EFER, io::msr_read(EFER)),
    ];
    fields.iter().chain(&world::host_registers()).for_each(|(number, value)| world::write(*number, *value));
}

/// The four entries that a guest with PAE has in registers. Returns the address of what its space
/// does not show.
fn directories(root: Physical, register: u64) -> Option<u64> {
    let at = register & 0xffff_ffe0;
    let leaf = page_table::lookup(&DirectTables, root, at).filter(|leaf| leaf.kind == LeafKind::Memory && leaf.rights.contains(Rights::READ));
    let Some(leaf) = leaf else { return Some(at) };
    (0..4).for_each(|number| world::write(field::DIRECTORIES + 2 * number, read(leaf.physical, number as usize)));
    None
}

/// Reads the VMCS back into the frame.
pub fn store(pages: &Pages, entry: &GuestEntry, registers: &Registers, waits: bool) -> Left {
    let frame = entry.frame;
    let put = |number, value| write(frame, number, value);
    let (exit, error, address) = exit::tell(frame, waits);
    if exit == nacre_abi::frame::EXIT_INVALID {
        return Left { exit, error, address };
    }
    registers.iter().enumerate().for_each(|(number, register)| put(word::REGISTERS + number, *register));
    PLAIN.iter().for_each(|(to, from)| put(*to, world::read(*from)));
    put(word::CR2, io::cr2_read());
    put(word::RFLAGS, world::read(field::RFLAGS));
    put(word::SHADOW, u64::from(world::read(field::BLOCKING) & 3 != 0));
    segments::store(frame);
    if !keeps_control(entry) {
        let merged = |real, shown, mask: u64| world::read(real) & !mask | world::read(shown) & mask;
        put(word::CR0, merged(field::CR0, field::CR0_SHOWN, world::read(field::CR0_MASK)));
        put(word::CR4, merged(field::CR4, field::CR4_SHOWN, CR4_KEPT));
        put(word::CR3, world::read(field::CR3));
        put(word::EFER, world::read(field::EFER));
    }
    let words = thread_words(pages.lists);
    (0..LISTED.len()).for_each(|number| put(word::SYSTEM + number, words[2 * number + 1].get()));
    SYSENTER.iter().enumerate().for_each(|(number, field)| put(word::SYSTEM + LISTED.len() + number, world::read(*field)));
    if !waits {
        put(word::INJECT, 0);
    }
    interrupted(frame);
    Left { exit, error, address }
}

/// Tells what was being delivered when the guest was left, and where its instruction ends.
fn interrupted(frame: Physical) {
    let found = world::read(field::INTERRUPTED);
    let kind = if MORE_EXCEPTIONS.contains(&(found >> 8 & 7)) { EXCEPTION } else { found >> 8 & 7 };
    let event = if found & VALID == 0 {
        0
    } else if found & HAS_ERROR != 0 {
        found & (VALID | HAS_ERROR | 0xff) | kind << 8 | world::read(field::INTERRUPTED_ERROR) << 32
    } else {
        found & (VALID | 0xff) | kind << 8
    };
    write(frame, word::INTERRUPTED, event);
    // Of an instruction that interrupts by number alone.
    let next = world::read(field::RIP).wrapping_add(world::read(field::LENGTH));
    write(frame, word::NEXT, if event & VALID != 0 && kind == SOFTWARE { next } else { 0 });
}
