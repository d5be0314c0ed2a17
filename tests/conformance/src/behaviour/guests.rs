//! Guests: a processor's state in a page, run in another space.

use super::checks::{equal, fails, must, text};
use crate::fixture::{ARENA, BUFFER, EXPORTED, MAPPED_AT, MUTEX, SPACE, UNMAPPED, must as call, weak};
use alloc::string::String;
use nacre_abi::frame::{EXIT_INVALID, FRAME_VERSION, event, kind, word};
use nacre_abi::{Call, Code, ObjectType};
use core::sync::atomic::{AtomicBool, Ordering};
use nacre_raw::{read, write};
use nacre_sys::Thread;

/// The frame: a page of the buffer.
pub(super) const FRAME: u64 = BUFFER + 0x1000;
/// An address of the guest's space at which nothing is.
const HOLE: u64 = MAPPED_AT + 0x10_0000;

const PORT_EXIT: u64 = 0x7b;
const CPUID_EXIT: u64 = 0x72;
pub(super) const HALT_EXIT: u64 = 0x78;
const CALL_EXIT: u64 = 0x81;
const REGISTER_EXIT: u64 = 0x7c;
const TIME_EXIT: u64 = 0x6e;
const PAUSE_EXIT: u64 = 0x77;
const SHUTDOWN_EXIT: u64 = 0x7f;
const DEBUG_WRITE_EXIT: u64 = 0x37;
const CONTROL_WRITE_EXIT: u64 = 0x10;

pub(super) fn set(number: usize, value: u64) {
    write(FRAME + 8 * number as u64, value);
}

pub(super) fn get(number: usize) -> u64 {
    read(FRAME + 8 * number as u64)
}

/// A segment of the processor's 16-bit mode.
fn segment(number: usize, attributes: u64, base: u64) {
    set(word::SEGMENTS + 2 * number, attributes << 16 | 0xffff << 32);
    set(word::SEGMENTS + 2 * number + 1, base);
}

/// Makes a guest in 16-bit mode with this code at `MAPPED_AT`, and data segments at `HOLE`.
fn guest(code: &[u8]) {
    const DATA: u64 = 0x93;
    (0..512).for_each(|number| set(number, 0));
    let address = |number: usize| EXPORTED + 8 * number as u64;
    for (number, part) in code.chunks(8).enumerate() {
        let mut bytes = [0xf4; 8];
        bytes[..part.len()].copy_from_slice(part);
        write(address(number), u64::from_le_bytes(bytes));
    }
    set(word::VERSION, FRAME_VERSION);
    set(word::SPACE, SPACE);
    (0..6).for_each(|number| segment(number, DATA, HOLE));
    segment(1, 0x9b, MAPPED_AT);
    segment(7, 0x82, 0);
    segment(9, 0x8b, 0);
    set(word::RFLAGS, 2);
    set(word::CR0, 0x10);
    set(word::PAT, 0x0007_0406_0007_0406);
    set(word::DR6, 0xffff_0ff0);
}

/// Returns true if this machine runs guests at all.
pub(super) fn is_there() -> Result<bool, String> {
    guest(&[]);
    set(word::PENDING, 1);
    match call(Call::ThreadEnter, &[FRAME]) {
        Err(status) if status.code() == Some(Code::UnknownCall) => Ok(false),
        result => result.map(|_| true).map_err(text("entering")),
    }
}

/// Returns true if guests run by VMX here.
pub(super) fn is_intel() -> bool {
    core::arch::x86_64::__cpuid(0).ebx == u32::from_le_bytes(*b"Genu")
}

/// Enters; the exit.
pub(super) fn enter() -> Result<u64, String> {
    must(Call::ThreadEnter, &[FRAME])?;
    equal("the event", get(word::EVENT), event::EXIT)?;
    Ok(get(word::EXIT))
}

/// The guest goes on behind the instruction that it was left for.
fn pass(bytes: u64) {
    set(word::RIP, get(word::RIP) + bytes);
}

pub fn exits() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    // vmcall, or vmmcall
    let call = if is_intel() { 0xc1 } else { 0xd9 };
    // mov ax, 0x1234; out 0x80, al; cpuid; (a call); wrmsr; mov dr7, eax; hlt
    guest(&[0xb8, 0x34, 0x12, 0xe6, 0x80, 0x0f, 0xa2, 0x0f, 0x01, call, 0x0f, 0x30, 0x0f, 0x23, 0xf8, 0xf4]);
    equal("out", enter()?, PORT_EXIT)?;
    equal("its port", get(word::INFORMATION[0]) >> 16, 0x80)?;
    equal("what it writes", get(word::RAX), 0x1234)?;
    set(word::RIP, get(word::INFORMATION[1]));
    for (exit, length) in [(CPUID_EXIT, 2), (CALL_EXIT, 3), (REGISTER_EXIT, 2), (DEBUG_WRITE_EXIT, 3)] {
        equal("the exit", enter()?, exit)?;
        pass(length);
    }
    equal("hlt", enter()?, HALT_EXIT)?;
    equal("where it stands", get(word::RIP), 15)?;
    // rdtsc; hlt
    guest(&[0x0f, 0x31, 0xf4]);
    equal("a guest that may read the time", enter()?, HALT_EXIT)?;
    set(word::RIP, 0);
    set(word::TIME_READS, 1);
    equal("one that may not", enter()?, TIME_EXIT)?;
    // pause; hlt
    guest(&[0xf3, 0x90, 0xf4]);
    equal("a guest that may wait", enter()?, HALT_EXIT)?;
    set(word::RIP, 0);
    set(word::PAUSES, 1);
    equal("one that is left when it does", (enter()?, get(word::RIP)), (PAUSE_EXIT, 0))?;
    // cpuid; mov cr0, eax: long mode is enabled and stays so, without paging it is not active.
    const LONG_ENABLED: u64 = 1 << 8;
    guest(&[0x0f, 0xa2, 0x0f, 0x22, 0xc0]);
    set(word::EFER, LONG_ENABLED);
    for (exit, length) in [(CPUID_EXIT, 2), (CONTROL_WRITE_EXIT, 3)] {
        equal("the exit in a guest with long mode", enter()?, exit)?;
        equal("its long mode", get(word::EFER), LONG_ENABLED)?;
        pass(length);
    }
    Ok(())
}

pub fn kept() -> Result<(), String> {
    const CR4_WRITE_EXIT: u64 = 0x14;
    const RCX: usize = word::REGISTERS + 1;
    const PROTECTION_KEYS: u64 = 1 << 22;
    const MACHINE_CHECKS: u64 = 1 << 6;
    const CACHE_DISABLED: u64 = 1 << 30;
    const VIRTUAL_8086: u64 = 1 << 17;
    if !is_there()? {
        return Ok(());
    }
    // mov cr4, eax; mov eax, cr4; mov ecx, cr0; hlt
    guest(&[0x0f, 0x22, 0xe0, 0x0f, 0x20, 0xe0, 0x0f, 0x20, 0xc1, 0xf4]);
    set(word::RAX, PROTECTION_KEYS);
    set(word::CR0, 0x10 | CACHE_DISABLED);
    set(word::RFLAGS, VIRTUAL_8086 | 2);
    equal("a guest that wants protection keys", enter()?, CR4_WRITE_EXIT)?;
    equal("its CR4", get(word::CR4), 0)?;
    pass(3);
    equal("hlt", enter()?, HALT_EXIT)?;
    equal("a program of 16 bits outside of a 32-bit system", get(word::RFLAGS) & VIRTUAL_8086, 0)?;
    let seen = (get(word::RAX) & MACHINE_CHECKS != 0, get(RCX) & CACHE_DISABLED != 0);
    // By VMX a guest sees what it believes.
    equal("machine checks and a cache that is off", seen, if is_intel() { (false, true) } else { (true, false) })?;
    equal("its CR4, later", get(word::CR4), 0)?;
    if is_intel() {
        // mov cr0, eax
        guest(&[0x0f, 0x22, 0xc0]);
        set(word::RAX, 0x10 | CACHE_DISABLED);
        equal("a guest that wants no cache", enter()?, CONTROL_WRITE_EXIT)?;
    }
    Ok(())
}

pub fn memory() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    // mov [0x10], ax
    guest(&[0xa3, 0x10, 0x00]);
    set(word::RAX, 0xabcd);
    must(Call::ThreadEnter, &[FRAME])?;
    equal("the event", get(word::EVENT), event::MEMORY)?;
    equal("the address", get(word::INFORMATION[1]), HOLE + 0x10)?;
    equal("it writes", get(word::INFORMATION[0]) & 2, 2)?;
    // The same page as the code's, at another address.
    segment(3, 0x93, MAPPED_AT);
    equal("hlt", enter()?, HALT_EXIT)?;
    equal("what it wrote", read(EXPORTED + 0x10) & 0xffff, 0xabcd)?;
    // Beyond all spaces.
    guest(&[0xa3, 0x10, 0x00]);
    segment(3, 0x93, 0xffff_8000_0000_0000);
    must(Call::ThreadEnter, &[FRAME])?;
    match get(word::EVENT) {
        event::MEMORY => Ok(()),
        // The processor may refuse the base, or the guest's own fault finds no table.
        _ => equal("the exit", get(word::EXIT) == SHUTDOWN_EXIT || get(word::EXIT) == EXIT_INVALID, true),
    }
}

pub fn priority() -> Result<(), String> {
    const PRIORITY_EXIT: u64 = 0x18;
    const RCX: usize = word::REGISTERS + 1;
    // Intel has no such instruction.
    if !is_there()? || is_intel() {
        return Ok(());
    }
    // lock mov cr0, eax, which is AMD's name of CR8 outside of 64-bit code; lock mov ecx, cr0; hlt
    guest(&[0xf0, 0x0f, 0x22, 0xc0, 0xf0, 0x0f, 0x20, 0xc1, 0xf4]);
    set(word::RAX, 3);
    set(word::TASK_PRIORITY, 5);
    // With an interrupt that waits for others to be let in.
    set(word::WINDOW, 1);
    equal("a write", enter()?, PRIORITY_EXIT)?;
    equal("the priority", (get(word::TASK_PRIORITY), get(word::RIP)), (5, 0))?;
    pass(4);
    equal("behind it", enter()?, HALT_EXIT)?;
    equal("what it reads", get(RCX) & 15, 5)
}

pub fn pending() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    guest(&[0xf4]);
    set(word::PENDING, 1);
    must(Call::ThreadEnter, &[FRAME])?;
    equal("the event", get(word::EVENT), event::PENDING)?;
    equal("where it stands", get(word::RIP), 0)?;
    set(word::PENDING, 0);
    equal("hlt", enter()?, HALT_EXIT)
}

pub fn delivered() -> Result<(), String> {
    const WINDOW_EXIT: u64 = 0x64;
    if !is_there()? {
        return Ok(());
    }
    // sti; nop; nop; hlt; ... 0x20: (the interrupt's) out 0x81, al
    let mut code = [0x90; 0x30];
    code[..4].copy_from_slice(&[0xfb, 0x90, 0x90, 0xf4]);
    code[0x20..0x22].copy_from_slice(&[0xe6, 0x81]);
    guest(&code);
    // The table of 16-bit mode: vector 8 is at 0x20 of this segment.
    write(EXPORTED + 0x100 + 8 * 4, 0xffff << 16 | (MAPPED_AT + 0x20 - 0xf_fff0));
    segment(8, 0, MAPPED_AT + 0x100);
    set(word::WINDOW, 1);
    segment(2, 0x93, MAPPED_AT);
    set(word::RSP, 0x800);
    equal("a window", enter()?, WINDOW_EXIT)?;
    equal("interrupts are on", get(word::RFLAGS) >> 9 & 1, 1)?;
    set(word::WINDOW, 0);
    set(word::INJECT, 1 << 31 | 8);
    equal("the handler", enter()?, PORT_EXIT)?;
    equal("its port", get(word::INFORMATION[0]) >> 16, 0x81)?;
    equal("what is to be delivered", get(word::INJECT), 0)?;
    // cpuid; sti; nop; nop: with interrupts off, it waits.
    let mut code = [0x90; 0x30];
    code[..3].copy_from_slice(&[0x0f, 0xa2, 0xfb]);
    code[0x20..0x22].copy_from_slice(&[0xe6, 0x81]);
    guest(&code);
    write(EXPORTED + 0x100 + 8 * 4, 0xffff << 16 | (MAPPED_AT + 0x20 - 0xf_fff0));
    segment(8, 0, MAPPED_AT + 0x100);
    segment(2, 0x93, MAPPED_AT);
    set(word::RSP, 0x800);
    set(word::INJECT, 1 << 31 | 8);
    equal("an instruction before", enter()?, CPUID_EXIT)?;
    equal("an interrupt that waits", get(word::INJECT), 1 << 31 | 8)?;
    pass(2);
    equal("the handler, later", enter()?, PORT_EXIT)?;
    equal("what waits then", get(word::INJECT), 0)
}

pub fn refused() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    guest(&[0xf4]);
    fails("a frame that is no page", call(Call::ThreadEnter, &[FRAME + 8]), Code::BadAddress)?;
    fails("a frame that is not there", call(Call::ThreadEnter, &[UNMAPPED]), Code::BadAddress)?;
    fails("a frame of objects", call(Call::ThreadEnter, &[ARENA]), Code::BadAddress)?;
    set(word::VERSION, FRAME_VERSION + 1);
    fails("another version", call(Call::ThreadEnter, &[FRAME]), Code::BadVersion)?;
    set(word::VERSION, FRAME_VERSION);
    set(word::KIND, kind::USER + 1);
    fails("a kind that is none", call(Call::ThreadEnter, &[FRAME]), Code::BadArgument)?;
    set(word::KIND, kind::SHADOW);
    fails("no upper space", call(Call::ThreadEnter, &[FRAME]), Code::BadAddress)?;
    set(word::KIND, kind::NESTED);
    set(word::SPACE, weak(ObjectType::Space));
    fails("a space without control", call(Call::ThreadEnter, &[FRAME]), Code::Denied)?;
    set(word::SPACE, MUTEX);
    fails("no space", call(Call::ThreadEnter, &[FRAME]), Code::WrongType)?;
    set(word::SPACE, SPACE);
    set(word::CR0, 1 << 32);
    equal("a control register with more than 32 bits", enter()?, EXIT_INVALID)?;
    set(word::CR0, 0x10);
    set(word::INJECT, 1 << 31 | 7 << 8);
    equal("an event of no kind", enter()?, EXIT_INVALID)?;
    set(word::INJECT, 0);
    equal("the same guest without", enter()?, HALT_EXIT)
}

/// Values for words of a frame that are likely to be wrong in some way.
pub(super) const ODD: [u64; 16] = [
    0, 1, 0x10, 0x8000_0031, 0x8005_0033, 1 << 31, 0x20, 0x6a0, 0x500, 0xd01, u64::MAX, 1 << 63, MAPPED_AT, HOLE, 0xffff_8000_0000_0000, 0xa9b << 16 | 0xffff << 32,
];

/// Set while guests run that may run for ever.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Lets the guest be left now and then.
fn interrupt(_: usize) {
    while IS_ON.load(Ordering::Acquire) {
        let _ = Thread::sleep(2_000_000);
        set(word::PENDING, 1);
        // It is there as long as this thread is.
        let _ = Thread::FIRST.stop().and_then(|()| Thread::FIRST.start());
    }
}

/// Runs `enter` while guests that run for ever are left now and then.
pub(super) fn interrupted(enter: fn() -> Result<(), String>) -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    IS_ON.store(true, Ordering::Release);
    let other = nacre_rt::thread::spawn(interrupt, 0).map_err(|errno| alloc::format!("no thread: {errno:?}"))?;
    let result = enter();
    IS_ON.store(false, Ordering::Release);
    other.join();
    result
}

pub fn any() -> Result<(), String> {
    interrupted(enter_anything)
}

fn enter_anything() -> Result<(), String> {
    let mut random = nacre_raw::random::Random::new(1);
    for _ in 0..3000 {
        // Wherever it runs, there is nothing but `hlt`.
        guest(&[]);
        (0..512).for_each(|number| write(EXPORTED + 8 * number, 0xf4f4_f4f4_f4f4_f4f4));
        for _ in 0..1 + random.below(12) {
            let value = if random.once_in(3) { random.next() } else { random.one_of(&ODD) };
            set(word::INTERRUPTED + random.below((word::COUNT - word::INTERRUPTED) as u64) as usize, value);
        }
        set(word::KIND, random.one_of(&[kind::NESTED, kind::WATCHED]));
        must(Call::ThreadEnter, &[FRAME])?;
        let event = get(word::EVENT);
        if !matches!(event, event::EXIT | event::MEMORY | event::PENDING) {
            return Err(alloc::format!("the event {event}"));
        }
    }
    Ok(())
}
