//! Frames of kind USER: other registers in another space, in user mode.

use super::checks::{equal, must, text};
use super::guests::{FRAME, ODD, get, set};
use super::keepers::set_space_flags;
use super::user_races::{left_now_and_then, spawn};
use crate::fixture::{ARENA, BUFFER, EXPORTED, FREE, MAPPED_AT, MAPPING, MUTEX, PORT, REGION, SPACE, SPARE, VIEW, VIEWED_AT, must as call, population};
use alloc::format;
use alloc::string::String;
use nacre_abi::call::{CALL_BASE, CALL_COUNT};
use nacre_abi::fault::RESUME;
use nacre_abi::frame::{EXIT_CALL, EXIT_EXCEPTION, EXIT_INVALID, FRAME_VERSION, event, kind, word};
use nacre_abi::state::SpaceState;
use nacre_abi::{Call, PAGE_SIZE, Rights, USER_END};
use nacre_raw::random::Random;
use nacre_raw::{read, write};
use nacre_sys::ipc::{self, Buffers, Message};

const RAX: usize = word::RAX;
const RCX: usize = word::REGISTERS + 1;
const RBX: usize = word::REGISTERS + 3;
const RSP: usize = word::RSP;
const R11: usize = word::REGISTERS + 11;
/// Flags that every user has.
const FLAGS: u64 = 0x202;
const TRAP: u64 = 0x100;
/// An address of the space at which nothing is.
const HOLE: u64 = MAPPED_AT + 0x10_0000;
/// An address that is none.
const NOWHERE: u64 = 1 << 47;
const KERNEL: u64 = 0xffff_8000_0000_0000;

const ERROR_PRESENT: u64 = 1;
const ERROR_WRITE: u64 = 2;
const ERROR_USER: u64 = 4;
const ERROR_FETCH: u64 = 0x10;

/// Exit of an exception.
const fn exception(vector: u64) -> u64 {
    EXIT_EXCEPTION + vector
}

/// Puts code where the space shows it, with `hlt` behind it.
pub(super) fn code(code: &[u8]) {
    for number in 0..512 {
        let mut bytes = [0xf4; 8];
        if let Some(part) = code.get(8 * number..) {
            let part = &part[..part.len().min(8)];
            bytes[..part.len()].copy_from_slice(part);
        }
        write(EXPORTED + 8 * number as u64, u64::from_le_bytes(bytes));
    }
}

/// Makes the page at `frame` the frame of a user that begins at its code.
pub(super) fn begin(frame: u64) {
    (0..512).for_each(|number| write(frame + 8 * number, 0));
    let words = [(word::VERSION, FRAME_VERSION), (word::SPACE, SPACE), (word::KIND, kind::USER), (word::RIP, MAPPED_AT)];
    words.iter().for_each(|(number, value)| write(frame + 8 * *number as u64, *value));
}

fn user(bytes: &[u8]) {
    code(bytes);
    begin(FRAME);
}

/// Enters; the exit.
pub(super) fn enter() -> Result<u64, String> {
    must(Call::ThreadEnter, &[FRAME])?;
    equal("the event", get(word::EVENT), event::EXIT)?;
    Ok(get(word::EXIT))
}

/// Enters; the user is left for an access: its address and error code.
pub(super) fn misses(what: &str, address: u64, error: u64) -> Result<(), String> {
    must(Call::ThreadEnter, &[FRAME])?;
    equal(what, (get(word::EVENT), get(word::INFORMATION[1]), get(word::INFORMATION[0]) & !ERROR_PRESENT), (event::MEMORY, address, error))?;
    equal("the exit", get(word::EXIT), exception(14))
}

pub fn counts() -> Result<(), String> {
    const TIMES: u64 = 3_000_000;
    // again: inc rax; cmp rax, rbx; jne again; syscall
    user(&[0x48, 0xff, 0xc0, 0x48, 0x39, 0xd8, 0x75, 0xf8, 0x0f, 0x05]);
    for turn in 1..4 {
        set(RBX, turn * TIMES);
        set(word::RIP, MAPPED_AT);
        equal("syscall", enter()?, EXIT_CALL)?;
        equal("what it counted", get(RAX), turn * TIMES)?;
        equal("where it stands", (get(word::RIP), get(RCX)), (MAPPED_AT + 10, MAPPED_AT + 10))?;
        equal("its flags", (get(word::RFLAGS), get(R11)), (FLAGS | 0x44, FLAGS | 0x44))?;
    }
    Ok(())
}

pub fn calls() -> Result<(), String> {
    // syscall
    user(&[0x0f, 0x05]);
    let before = population();
    let numbers = (0..CALL_COUNT + 2).map(|number| CALL_BASE + number).chain([0, 1, 60, 0xffff, 0x1_0000, CALL_BASE - 1, u64::MAX, 1 << 63]);
    for number in numbers {
        let objects = [FRAME, MUTEX, PORT, MAPPING, SPACE, REGION, VIEW, ARENA, FREE];
        for (place, object) in [2, 6, 7, 8, 9, 10, 12, 13, 14].iter().zip(objects) {
            set(word::REGISTERS + place, object);
        }
        set(word::REGISTERS + 15, 0);
        set(RAX, number);
        set(RCX, 1);
        set(word::RIP, MAPPED_AT);
        equal("syscall", (number, enter()?), (number, EXIT_CALL))?;
        equal("the registers", (get(RAX), get(word::REGISTERS + 7), get(word::REGISTERS + 15)), (number, PORT, 0))?;
        equal("where it stands", get(word::RIP), MAPPED_AT + 2)?;
    }
    equal("objects", population(), before)
}

/// Code, what it ends with: the exit, the error code, and how far it came.
type Ends = (&'static [u8], u64, u64, u64);

const ENDS: [Ends; 12] = [
    // ud2; div ecx; int3
    (&[0x0f, 0x0b], exception(6), 0, 0),
    (&[0xf7, 0xf1], exception(0), 0, 0),
    (&[0xcc], exception(3), 0, 1),
    // hlt; nop, cli; in al, dx; rdmsr; wrmsr; mov cr3, rax; lgdt [rbx]; sysret
    (&[0xf4], exception(13), 0, 0),
    (&[0x90, 0xfa], exception(13), 0, 1),
    (&[0xec], exception(13), 0, 0),
    (&[0x0f, 0x32], exception(13), 0, 0),
    (&[0x0f, 0x30], exception(13), 0, 0),
    (&[0x0f, 0x22, 0xd8], exception(13), 0, 0),
    (&[0x0f, 0x01, 0x13], exception(13), 0, 0),
    (&[0x0f, 0x07], exception(13), 0, 0),
    // mov eax, 8; mov ss, eax
    (&[0xb8, 8, 0, 0, 0, 0x8e, 0xd0], exception(13), 8, 5),
];

pub fn exceptions() -> Result<(), String> {
    for (bytes, exit, error, length) in ENDS {
        user(bytes);
        set(RSP, NOWHERE);
        equal("the exit", (bytes, enter()?), (bytes, exit))?;
        equal("its error code", (bytes, get(word::INFORMATION[0])), (bytes, error))?;
        equal("where it stands", (bytes, get(word::RIP)), (bytes, MAPPED_AT + length))?;
        equal("its stack", get(RSP), NOWHERE)?;
    }
    // The vectors of programs of old, of exceptions, and of the kernel's own interrupts. QEMU (7.2,
    // for one) tells twice the index.
    for vector in [0x80, 14, 2, 0xf0, 0xf2] {
        user(&[0xcd, vector as u8]);
        equal("int", (vector, enter()?, get(word::RIP)), (vector, exception(13), MAPPED_AT))?;
        let error = get(word::INFORMATION[0]);
        equal("its error code", (error, [vector * 8 + 2, vector * 16 + 2].contains(&error)), (error, true))?;
    }
    // Processors differ: sysenter, and mov rax, [rsp] where the stack is at no address.
    for (bytes, exits) in [(&[0x0f, 0x34, 0x90, 0x90], [exception(13), exception(6)]), (&[0x48, 0x8b, 0x04, 0x24], [exception(13), exception(12)])] {
        user(bytes);
        set(RSP, NOWHERE);
        let exit = enter()?;
        equal("the exit", (bytes, exits.contains(&exit)), (bytes, true))?;
    }
    // nop; nop; syscall, by steps.
    user(&[0x90, 0x90, 0x0f, 0x05]);
    set(word::RFLAGS, TRAP);
    for step in 1..3 {
        equal("a step", enter()?, exception(1))?;
        equal("where it stands", (get(word::RIP), get(word::RFLAGS)), (MAPPED_AT + step, FLAGS | TRAP))?;
    }
    let exit = enter()?;
    equal("syscall", exit == EXIT_CALL || exit == exception(1), true)?;
    set(word::RFLAGS, 0);
    set(word::RIP, MAPPED_AT);
    equal("without steps", enter()?, EXIT_CALL)?;
    // A user's own FPU exception: fninit; fldz; fld1; fdivrp by 0, unmasked; fwait. Masked again
    // behind it, for the thread that goes on.
    user(&[0xdb, 0xe3, 0x6a, 0, 0xd9, 0x2c, 0x24, 0xd9, 0xe8, 0xd9, 0xee, 0xde, 0xf9, 0x9b]);
    set(RSP, MAPPED_AT + 0x800);
    equal("the FPU's", enter()?, exception(16))?;
    user(&[0xdb, 0xe3, 0x0f, 0x05]);
    equal("fninit", enter()?, EXIT_CALL)
}

pub fn memory() -> Result<(), String> {
    let load = [0x48, 0x8b, 0x03, 0x0f, 0x05];
    let store = [0x48, 0x89, 0x03, 0x0f, 0x05];
    // mov rax, [rbx]; syscall
    user(&load);
    for address in [HOLE, 0, USER_END - 8, USER_END, KERNEL, 0xffff_ffff_8000_0000, u64::MAX - 7] {
        set(RBX, address);
        misses("a load", address, ERROR_USER)?;
        equal("where it stands", get(word::RIP), MAPPED_AT)?;
    }
    // It is there.
    write(EXPORTED + PAGE_SIZE, 0x1234);
    must(Call::MappingCreate, &[FREE, SPACE, HOLE, PAGE_SIZE, REGION, PAGE_SIZE, Rights::READ.0])?;
    set(RBX, HOLE);
    equal("syscall", (enter()?, get(RAX)), (EXIT_CALL, 0x1234))?;
    // mov [rbx], rax; syscall, and it is not to be written, nor executed.
    code(&store);
    set(word::RIP, MAPPED_AT);
    misses("a store", HOLE, ERROR_USER | ERROR_WRITE)?;
    set(word::RIP, HOLE);
    misses("a jump", HOLE, ERROR_USER | ERROR_FETCH)?;
    must(Call::MappingDestroy, &[FREE])?;
    set(word::RIP, MAPPED_AT);
    misses("a store where nothing is any more", HOLE, ERROR_USER | ERROR_WRITE)?;
    must(Call::MappingCreate, &[FREE, SPACE, HOLE, PAGE_SIZE, REGION, PAGE_SIZE, Rights::ALL.0])?;
    set(RAX, 77);
    equal("syscall", (enter()?, read(EXPORTED + PAGE_SIZE)), (EXIT_CALL, 77))?;
    // A view: its monitor enters pages one by one.
    set(RBX, VIEWED_AT + PAGE_SIZE);
    set(word::RIP, MAPPED_AT);
    misses("a view without entries", VIEWED_AT + PAGE_SIZE, ERROR_USER | ERROR_WRITE)?;
    write(BUFFER, VIEWED_AT + PAGE_SIZE | Rights::READ.union(Rights::WRITE).0);
    write(BUFFER + 8, PAGE_SIZE);
    must(Call::ViewEnter, &[VIEW, BUFFER, 1])?;
    set(RAX, 78);
    equal("syscall", (enter()?, read(EXPORTED + PAGE_SIZE)), (EXIT_CALL, 78))?;
    must(Call::ViewForget, &[VIEW, VIEWED_AT + PAGE_SIZE, PAGE_SIZE])?;
    set(word::RIP, MAPPED_AT);
    misses("a view that has forgotten", VIEWED_AT + PAGE_SIZE, ERROR_USER | ERROR_WRITE)
}

/// Lets the frame be entered by another thread.
fn enter_there(_: usize) {
    let _ = call(Call::ThreadEnter, &[FRAME]);
}

pub fn keeper() -> Result<(), String> {
    let (region, mapping, page, missing) = (FREE, FREE + 128, FREE + 256, 0x60_0000);
    must(Call::RegionCreate, &[region, SPACE, missing, 0x4000, Rights::ALL.0, PORT])?;
    must(Call::MappingCreate, &[mapping, SPACE, HOLE, 0x4000, region, 0, Rights::ALL.0])?;
    // mov [rbx], rax; syscall
    user(&[0x48, 0x89, 0x03, 0x0f, 0x05]);
    set(RBX, HOLE + PAGE_SIZE + 8);
    set(RAX, 0xabc);
    let other = spawn(enter_there, 0)?;
    let fault = ipc::receive(PORT, Buffers::NONE, 20_000_000_000).map_err(text("a keeper that is not asked"))?;
    equal("the offset", fault.words[0] & !4095, PAGE_SIZE)?;
    equal("the access", fault.words[1], Rights::WRITE.0)?;
    must(Call::MappingCreate, &[page, SPACE, missing + PAGE_SIZE, PAGE_SIZE, REGION, 2 * PAGE_SIZE, Rights::ALL.0])?;
    ipc::reply(&Message::new(RESUME, [0; 6])).map_err(text("reply"))?;
    other.join();
    equal("the exit", (get(word::EVENT), get(word::EXIT)), (event::EXIT, EXIT_CALL))?;
    equal("what it stored", read(EXPORTED + 2 * PAGE_SIZE + 8), 0xabc)
}

pub fn objects() -> Result<(), String> {
    // mov rax, [rbx]; syscall
    user(&[0x48, 0x8b, 0x03, 0x0f, 0x05]);
    let (region, mapping) = (FREE, FREE + 128);
    must(Call::RegionCreate, &[region, 0, ARENA, PAGE_SIZE, Rights::ALL.0, 0])?;
    must(Call::MappingCreate, &[mapping, SPACE, HOLE, PAGE_SIZE, region, 0, Rights::ALL.0])?;
    set(RBX, HOLE);
    misses("a page of objects", HOLE, ERROR_USER)?;
    // The page of a table of its own, and one that becomes objects.
    must(Call::RegionCreate, &[region + 256, 0, EXPORTED + PAGE_SIZE, PAGE_SIZE, Rights::ALL.0, 0])?;
    must(Call::MappingCreate, &[mapping + 256, SPACE, HOLE + PAGE_SIZE, PAGE_SIZE, region + 256, 0, Rights::ALL.0])?;
    set(RBX, HOLE + PAGE_SIZE);
    equal("syscall", enter()?, EXIT_CALL)?;
    must(Call::PortCreate, &[EXPORTED + PAGE_SIZE, 1, 0])?;
    set(word::RIP, MAPPED_AT);
    misses("a page that became one", HOLE + PAGE_SIZE, ERROR_USER)?;
    must(Call::MemoryReclaim, &[EXPORTED + PAGE_SIZE, PAGE_SIZE]).map(drop)
}

pub fn pending() -> Result<(), String> {
    user(&[0x0f, 0x05]);
    set(word::PENDING, 1);
    must(Call::ThreadEnter, &[FRAME])?;
    equal("the event", (get(word::EVENT), get(word::RIP)), (event::PENDING, MAPPED_AT))?;
    set(word::PENDING, 0);
    equal("syscall", enter()?, EXIT_CALL)?;
    // again: jmp again
    user(&[0xeb, 0xfe]);
    left_now_and_then(|| {
        for turn in 0..20 {
            set(RAX, turn);
            must(Call::ThreadEnter, &[FRAME])?;
            equal("the event", (get(word::EVENT), get(word::RIP), get(RAX)), (event::PENDING, MAPPED_AT, turn))?;
            set(word::PENDING, 0);
        }
        Ok(())
    })
}

pub fn wrong() -> Result<(), String> {
    user(&[0x0f, 0x05]);
    for base in [word::FS_BASE, word::GS_BASE] {
        for value in [NOWHERE, 1 << 63, 0xffff_7fff_ffff_ffff] {
            set(base, value);
            equal("a base that is no address", enter()?, EXIT_INVALID)?;
        }
        set(base, KERNEL);
    }
    equal("bases in the kernel's half", enter()?, EXIT_CALL)?;
    equal("they are as they were", (get(word::FS_BASE), get(word::GS_BASE)), (KERNEL, KERNEL))?;
    for address in [NOWHERE, 1 << 63, 0xffff_7fff_ffff_ffff] {
        set(word::RIP, address);
        equal("no address", (enter()?, get(word::INFORMATION[0]), get(word::RIP)), (exception(13), 0, address))?;
    }
    for address in [0, USER_END - 1, USER_END, NOWHERE - 1, KERNEL, u64::MAX] {
        set(word::RIP, address);
        misses("a user's address no more", address, ERROR_USER | ERROR_FETCH)?;
    }
    // Whatever the flags: no interrupts off, no ports. pushfq; pop rax; syscall.
    code(&[0x9c, 0x58, 0x0f, 0x05]);
    for flags in [0, u64::MAX & !TRAP, 0x3000, 1 << 17, 0x400] {
        set(word::RIP, MAPPED_AT);
        set(RSP, MAPPED_AT + 0x800);
        set(word::RFLAGS, flags);
        equal("syscall", enter()?, EXIT_CALL)?;
        equal("interrupts, and rights to ports", get(RAX) & 0x3200, 0x200)?;
        equal("nothing else", get(RAX) & !0x25_4fd7, 0)?;
    }
    // The stack may be anywhere.
    code(&[0x0f, 0x05]);
    for stack in [0, NOWHERE, KERNEL, u64::MAX] {
        set(word::RIP, MAPPED_AT);
        set(RSP, stack);
        set(word::RFLAGS, 0);
        equal("syscall", (enter()?, get(RSP)), (EXIT_CALL, stack))?;
    }
    Ok(())
}

pub fn time() -> Result<(), String> {
    // rdtsc; syscall
    user(&[0x0f, 0x31, 0x0f, 0x05]);
    equal("with the time", enter()?, EXIT_CALL)?;
    let space = FREE;
    must(Call::SpaceCreate, &[space, SPARE, 8, 0])?;
    must(Call::MappingCreate, &[space + 256, space, MAPPED_AT, PAGE_SIZE, REGION, 0, Rights::ALL.0])?;
    set_space_flags(space, SpaceState::TIME_HIDDEN)?;
    set(word::SPACE, space);
    set(word::RIP, MAPPED_AT);
    equal("without", (enter()?, get(word::RIP)), (exception(13), MAPPED_AT))?;
    // The caller's time is shown again.
    set(word::SPACE, SPACE);
    equal("with it again", enter()?, EXIT_CALL)
}

pub fn any() -> Result<(), String> {
    left_now_and_then(enter_anything)
}

/// Instructions that go in or out of something, and prefixes.
const BYTES: [u64; 24] = [
    0x0f, 0x05, 0xcd, 0xcc, 0xcf, 0x48, 0x9d, 0xf4, 0xfb, 0xfa, 0x8e, 0xe8, 0xf0, 0x66, 0x0b, 0x34, 0x01, 0xae, 0xf3, 0xc7, 0x22, 0x90, 0xeb, 0xc3,
];

fn enter_anything() -> Result<(), String> {
    let mut random = Random::new(3);
    for _ in 0..3000 {
        user(&[]);
        for number in 0..random.below(8) {
            let mut byte = || if random.once_in(2) { random.next() as u8 } else { random.one_of(&BYTES) as u8 };
            write(EXPORTED + 8 * number, u64::from_le_bytes(core::array::from_fn(|_| byte())));
        }
        for _ in 0..random.below(12) {
            let value = if random.once_in(3) { random.next() } else { random.one_of(&ODD) };
            set(word::INTERRUPTED + random.below((word::COUNT - word::INTERRUPTED) as u64) as usize, value);
        }
        set(word::KIND, kind::USER);
        if random.once_in(2) {
            set(word::RIP, MAPPED_AT + random.below(32));
        }
        must(Call::ThreadEnter, &[FRAME])?;
        let (event, exit) = (get(word::EVENT), get(word::EXIT));
        let is_right = match event {
            event::EXIT => matches!(exit, EXIT_CALL | EXIT_INVALID | EXIT_EXCEPTION..0x60),
            event::MEMORY | event::PENDING => true,
            _ => false,
        };
        if !is_right {
            return Err(format!("the event {event}, exit {exit:#x}"));
        }
        set(word::PENDING, 0);
    }
    Ok(())
}
