//! Shadow guests: guests that run on tables which their monitor fills by views.

use super::checks::{equal, must};
use super::guests::{is_intel, FRAME, HALT_EXIT, ODD, enter, get, interrupted, is_there, set};
use crate::fixture::{ARENA, BUFFER, EXPORTED, FREE, REGION, SPARE};
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicBool, Ordering};
use nacre_abi::frame::{FRAME_VERSION, event, kind, word};
use nacre_abi::rights::{RECLAIM_CLEAR, VIEW_PRIVILEGED};
use nacre_abi::{Call, PAGE_SIZE, Rights, USER_END};
use nacre_raw::{call, random::Random, read, write};
use nacre_sys::Thread;

/// Spaces of the lower and the upper half, and their views of the region, whose pages are the
/// guest's memory.
const LOWER: u64 = FREE;
const UPPER: u64 = FREE + 256;
const LOWER_VIEW: u64 = FREE + 512;
const UPPER_VIEW: u64 = FREE + 640;
const LIST: u64 = BUFFER + 0x3000;
/// Address of the guest's code, and of a page in the upper half, as its view counts.
const CODE: u64 = 0x40_0000;
const DATA: u64 = 0x7fff_0000_0000;
const UPPER_HALF: u64 = 0xffff_8000_0000_0000;

const PAGE_FAULT: u64 = 0x4e;
const INVALIDATE: u64 = 0x79;
const READ: u64 = 1;
const WRITE: u64 = 3;
const EXECUTE: u64 = 5;

/// Makes the two spaces, and a guest with this code in page 0 of its memory.
fn guest(code: &[u8]) -> Result<(), String> {
    for (number, (space, view)) in [(LOWER, LOWER_VIEW), (UPPER, UPPER_VIEW)].into_iter().enumerate() {
        must(Call::SpaceCreate, &[space, SPARE + 0xc000 * number as u64, 12, 0])?;
        must(Call::MappingCreate, &[view, space, 0, USER_END, REGION, 0, Rights::VIEW.0 | 7])?;
    }
    processor();
    for (number, part) in code.chunks(8).enumerate() {
        let mut bytes = [0xf4; 8];
        bytes[..part.len()].copy_from_slice(part);
        write(EXPORTED + 8 * number as u64, u64::from_le_bytes(bytes));
    }
    Ok(())
}

/// The state of a processor in 64-bit mode that begins at [`CODE`].
fn processor() {
    (0..512).for_each(|number| set(number, 0));
    set(word::VERSION, FRAME_VERSION);
    set(word::KIND, kind::SHADOW);
    set(word::SPACE, LOWER);
    set(word::UPPER_SPACE, UPPER);
    for (number, attributes) in [0xc93, 0xa9b, 0xc93, 0xc93, 0xc93, 0xc93, 0, 0x82, 0, 0x8b].into_iter().enumerate() {
        set(word::SEGMENTS + 2 * number, attributes << 16 | 0xffff_ffff << 32);
    }
    set(word::RFLAGS, 2);
    set(word::CR0, 0x8000_0031);
    set(word::CR3, 0x1234_5000);
    set(word::CR4, 0x2_00a0);
    set(word::EFER, 0xd01);
    set(word::PAT, 0x0007_0406_0007_0406);
    set(word::DR6, 0xffff_0ff0);
    set(word::RIP, CODE);
}

/// The state of a processor in 32-bit mode that begins at [`CODE`].
fn narrow_processor() {
    processor();
    set(word::CR0, 0x11);
    set(word::CR4, 0x10);
    set(word::EFER, 0x800);
    set(word::SEGMENTS + 2, 0xc9b << 16 | 0xffff_ffff << 32);
}

/// Enters a page of the guest's memory into a view.
fn enter_page(view: u64, address: u64, flags: u64, page: u64) -> Result<(), String> {
    write(LIST, address | flags);
    write(LIST + 8, page * PAGE_SIZE);
    equal("pages entered", must(Call::ViewEnter, &[view, LIST, 1])?.0, 1)
}

/// The guest runs to a page fault here with this error code.
fn faults(what: &str, address: u64, error: u64) -> Result<(), String> {
    equal(what, (enter()?, get(word::INFORMATION[1]), get(word::INFORMATION[0])), (PAGE_FAULT, address, error))
}

pub fn pages() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    // mov rax, [rbx]; mov [rbx], rcx; hlt
    guest(&[0x48, 0x8b, 0x03, 0x48, 0x89, 0x0b, 0xf4])?;
    let data = UPPER_HALF + DATA;
    set(word::REGISTERS + 3, data + 8);
    set(word::REGISTERS + 1, 0xabcd);
    write(EXPORTED + PAGE_SIZE + 8, 0x1122);
    faults("no code", CODE, 0x10)?;
    enter_page(LOWER_VIEW, CODE, READ, 0)?;
    faults("code that is none", CODE, 0x11)?;
    enter_page(LOWER_VIEW, CODE, EXECUTE, 0)?;
    faults("no data", data + 8, 0)?;
    enter_page(LOWER_VIEW, DATA, WRITE, 1)?;
    faults("data in the other half", data + 8, 0)?;
    enter_page(UPPER_VIEW, DATA, READ, 1)?;
    // The guest's kernel may believe that it writes whatever it likes.
    set(word::CR0, 0x8000_0021);
    faults("a write", data + 8, 3)?;
    equal("what it reads", get(word::RAX), 0x1122)?;
    enter_page(UPPER_VIEW, DATA, WRITE, 1)?;
    equal("the end", enter()?, HALT_EXIT)?;
    equal("what it writes", read(EXPORTED + PAGE_SIZE + 8), 0xabcd)?;
    set(word::RIP, CODE);
    must(Call::ViewForget, &[UPPER_VIEW, DATA, PAGE_SIZE])?;
    faults("forgotten data", data + 8, 0)?;
    must(Call::ViewForget, &[LOWER_VIEW, 0, USER_END])?;
    faults("all forgotten", CODE, 0x10)
}

pub fn not_executable() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    // mov rax, [rbx]; hlt
    guest(&[0x48, 0x8b, 0x03, 0xf4])?;
    set(word::EFER, 0x501);
    set(word::REGISTERS + 3, DATA);
    enter_page(LOWER_VIEW, CODE, EXECUTE, 0)?;
    enter_page(LOWER_VIEW, DATA, READ, 1)?;
    equal("a guest that knows of no such pages", enter()?, HALT_EXIT)?;
    equal("what it believes", get(word::EFER), 0x501)
}

pub fn control() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    // mov rax, cr3; mov cr3, rax; mov rax, cr0; mov cr0, rax; mov rax, cr4; mov cr4, rax;
    // invlpg [rax]; smsw eax; lmsw ax; clts; hlt
    let code = [0x0f, 0x20, 0xd8, 0x0f, 0x22, 0xd8, 0x0f, 0x20, 0xc0, 0x0f, 0x22, 0xc0, 0x0f, 0x20, 0xe0, 0x0f, 0x22, 0xe0, 0x0f, 0x01, 0x38];
    guest(&[&code[..], &[0x0f, 0x01, 0xe0, 0x0f, 0x01, 0xf0, 0x0f, 0x06, 0xf4]].concat())?;
    enter_page(LOWER_VIEW, CODE, EXECUTE | VIEW_PRIVILEGED, 0)?;
    // By VMX the others change nothing, so the guest is not left for them.
    let all = [(3, 3), (0x13, 3), (0, 3), (0x10, 3), (4, 3), (0x14, 3), (INVALIDATE, 3), (0, 3), (0x10, 3), (0x10, 2)];
    let some = [all[0], all[1], all[6]];
    for (exit, length) in if is_intel() { some.to_vec() } else { all.to_vec() } {
        equal("the exit", enter()?, exit)?;
        set(word::RIP, get(word::RIP) + length);
    }
    equal("the end", enter()?, HALT_EXIT)?;
    equal("its root", get(word::CR3), 0x1234_5000)?;
    equal("its other registers", [get(word::CR0), get(word::CR4), get(word::EFER)], [0x8000_0031, 0x2_00a0, 0xd01])
}

pub fn narrow() -> Result<(), String> {
    const HIGH: u64 = 0xc000_1000;
    if !is_there()? {
        return Ok(());
    }
    // mov eax, [ebx]; mov [ebx], ecx; hlt
    guest(&[0x8b, 0x03, 0x89, 0x0b, 0xf4])?;
    narrow_processor();
    set(word::REGISTERS + 3, HIGH + 8);
    set(word::REGISTERS + 1, 0xabcd);
    write(EXPORTED + PAGE_SIZE + 8, 0x1122);
    faults("no code", CODE, 0x10)?;
    enter_page(LOWER_VIEW, CODE, READ, 0)?;
    faults("code that is none", CODE, 0x11)?;
    enter_page(LOWER_VIEW, CODE, EXECUTE | VIEW_PRIVILEGED, 0)?;
    enter_page(LOWER_VIEW, HIGH, WRITE, 1)?;
    faults("data in the other space", HIGH + 8, 0)?;
    enter_page(UPPER_VIEW, HIGH, READ, 1)?;
    // Whether it believes in paging or not.
    set(word::CR0, 0x8000_0011);
    faults("a write", HIGH + 8, 3)?;
    equal("what it reads", get(word::RAX), 0x1122)?;
    enter_page(UPPER_VIEW, HIGH, WRITE, 1)?;
    equal("the end", enter()?, HALT_EXIT)?;
    equal("what it writes", read(EXPORTED + PAGE_SIZE + 8), 0xabcd)?;
    equal("its registers", [get(word::CR0), get(word::CR3), get(word::CR4), get(word::EFER)], [0x8000_0011, 0x1234_5000, 0x10, 0x800])?;
    // The same code in the next part of the lower space, and then where nothing is.
    for (rip, exit) in [(CODE + (1 << 30), HALT_EXIT), (CODE + (2 << 30), PAGE_FAULT)] {
        enter_page(LOWER_VIEW, CODE + (1 << 30), EXECUTE, 0)?;
        set(word::RIP, rip);
        equal("elsewhere", enter()?, exit)?;
    }
    Ok(())
}

pub fn watched() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    // mov eax, cr3; mov cr3, eax; mov eax, cr0; mov cr0, eax; mov eax, cr4; mov cr4, eax; clts; hlt
    let code = [0x0f, 0x20, 0xd8, 0x0f, 0x22, 0xd8, 0x0f, 0x20, 0xc0, 0x0f, 0x22, 0xc0, 0x0f, 0x20, 0xe0, 0x0f, 0x22, 0xe0, 0x0f, 0x06, 0xf4];
    guest(&code)?;
    // In a view that is all of its space, the kernel finds no pages.
    must(Call::MappingDestroy, &[LOWER_VIEW])?;
    must(Call::MappingCreate, &[LOWER_VIEW, LOWER, 0, 0x50_0000, REGION, 0, Rights::VIEW.0 | 7])?;
    narrow_processor();
    set(word::KIND, kind::WATCHED);
    set(word::CR4, 0x2_0000);
    enter_page(LOWER_VIEW, CODE, EXECUTE, 0)?;
    let all = [(3, 3), (0x13, 3), (0, 3), (0x10, 3), (4, 3), (0x14, 3), (0x10, 2)];
    for (exit, length) in if is_intel() { all[..2].to_vec() } else { all.to_vec() } {
        equal("the exit", enter()?, exit)?;
        set(word::RIP, get(word::RIP) + length);
    }
    equal("the end", enter()?, HALT_EXIT)?;
    equal("its registers", [get(word::CR0), get(word::CR3), get(word::CR4)], [0x11, 0x1234_5000, 0x2_0000])
}

pub fn privileged() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    // mov rax, [rbx]; hlt
    guest(&[0x48, 0x8b, 0x03, 0xf4])?;
    enter_page(LOWER_VIEW, CODE, EXECUTE, 0)?;
    enter_page(LOWER_VIEW, DATA, READ | VIEW_PRIVILEGED, 1)?;
    write(EXPORTED + PAGE_SIZE, 0x77);
    set(word::REGISTERS + 3, DATA);
    set(word::PRIVILEGE, 3);
    for (number, attributes) in [(1, 0xafb), (2, 0xcf3)] {
        set(word::SEGMENTS + 2 * number, attributes << 16 | 3 | 0xffff_ffff << 32);
    }
    faults("a program", DATA, 5)?;
    set(word::PRIVILEGE, 0);
    set(word::SEGMENTS + 2, 0xa9b << 16 | 0xffff_ffff << 32);
    set(word::SEGMENTS + 4, 0xc93 << 16 | 0xffff_ffff << 32);
    equal("the kernel", enter()?, HALT_EXIT)?;
    equal("what it reads", get(word::RAX), 0x77)
}

pub fn objects() -> Result<(), String> {
    const HERE: u64 = 0x50_0000;
    if !is_there()? {
        return Ok(());
    }
    // mov rax, [rbx]; hlt
    guest(&[0x48, 0x8b, 0x03, 0xf4])?;
    let (region, mapping) = (FREE + 768, FREE + 896);
    // The page of the fixture's objects, as memory of the space that the guest runs in. Its view
    // makes room.
    must(Call::MappingDestroy, &[LOWER_VIEW])?;
    must(Call::MappingCreate, &[LOWER_VIEW, LOWER, 0, HERE, REGION, 0, Rights::VIEW.0 | 7])?;
    must(Call::RegionCreate, &[region, 0, ARENA, PAGE_SIZE, Rights::ALL.0, 0])?;
    must(Call::MappingCreate, &[mapping, LOWER, HERE, PAGE_SIZE, region, 0, Rights::ALL.0])?;
    // A nested guest there misses the page, so the tables get what there is of it.
    set(word::KIND, kind::NESTED);
    set(word::CR0, 0x11);
    set(word::CR4, 0);
    set(word::EFER, 0);
    set(word::SEGMENTS + 2, 0xc9b << 16 | 0xffff_ffff << 32);
    set(word::RIP, HERE);
    must(Call::ThreadEnter, &[FRAME])?;
    equal("the nested guest", (get(word::EVENT), get(word::INFORMATION[1])), (event::MEMORY, HERE))?;
    processor();
    set(word::REGISTERS + 3, HERE);
    enter_page(LOWER_VIEW, CODE, EXECUTE, 0)?;
    faults("a page of objects", HERE, 0)
}

/// Takes a page of the guest's memory away soon.
fn take(page: usize) {
    let _ = Thread::sleep(3_000_000);
    let _ = call(Call::PortCreate, [EXPORTED + PAGE_SIZE * page as u64, 0, 0, 0, 0, 0, 0, 0]);
}

pub fn taken() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    // again: mov rax, [rbx]; jmp again
    guest(&[0x48, 0x8b, 0x03, 0xeb, 0xfb])?;
    for (page, half, view) in [(1, 0, LOWER_VIEW), (2, UPPER_HALF, UPPER_VIEW)] {
        enter_page(LOWER_VIEW, CODE, EXECUTE, 0)?;
        enter_page(view, DATA, WRITE, page)?;
        set(word::RIP, CODE);
        set(word::REGISTERS + 3, half + DATA);
        let other = nacre_rt::thread::spawn(take, page as usize).map_err(|errno| format!("no thread: {errno:?}"))?;
        let exit = enter();
        other.join();
        equal("the exit", exit?, PAGE_FAULT)?;
    }
    Ok(())
}

/// Word at the start of the page that comes and goes, while it is memory.
const MARK: u64 = 0x6d61_726b;
/// Page that comes and goes.
const COMING: u64 = EXPORTED + 3 * PAGE_SIZE;
static GOES_ON: AtomicBool = AtomicBool::new(false);

/// Makes the page memory and objects in turn.
fn come_and_go(_: usize) {
    let mut random = Random::new(7);
    let pass = |number, arguments: [u64; 3]| {
        let [first, second, third] = arguments;
        let _ = call(number, [first, second, third, 0, 0, 0, 0, 0]);
    };
    while GOES_ON.load(Ordering::Acquire) {
        pass(Call::PortCreate, [COMING, 0x1111, 0]);
        pass(Call::MutexCreate, [COMING + 512, 0, 0]);
        (0..random.below(400)).for_each(|_| core::hint::spin_loop());
        pass(Call::MemoryReclaim, [COMING, PAGE_SIZE, random.below(2) * RECLAIM_CLEAR]);
        write(COMING, MARK);
        (0..random.below(400)).for_each(|_| core::hint::spin_loop());
    }
}

pub fn races() -> Result<(), String> {
    if !is_there()? {
        return Ok(());
    }
    // mov ecx, 20; again: mov rax, [rbx]; or rdx, rax; loop again; hlt
    guest(&[0xb9, 20, 0, 0, 0, 0x48, 0x8b, 0x03, 0x48, 0x09, 0xc2, 0xe2, 0xf8, 0xf4])?;
    GOES_ON.store(true, Ordering::Release);
    let other = nacre_rt::thread::spawn(come_and_go, 0).map_err(|errno| format!("no thread: {errno:?}"))?;
    let result = read_on();
    GOES_ON.store(false, Ordering::Release);
    other.join();
    result
}

fn read_on() -> Result<(), String> {
    let mut random = Random::new(8);
    for _ in 0..4000 {
        let (view, half) = if random.once_in(2) { (LOWER_VIEW, 0) } else { (UPPER_VIEW, UPPER_HALF) };
        write(LIST, CODE | EXECUTE);
        write(LIST + 8, 0);
        let _ = call(Call::ViewEnter, [LOWER_VIEW, LIST, 1, 0, 0, 0, 0, 0]);
        write(LIST, DATA | if random.once_in(2) { READ } else { WRITE | VIEW_PRIVILEGED });
        write(LIST + 8, 3 * PAGE_SIZE);
        let _ = call(Call::ViewEnter, [view, LIST, 1, 0, 0, 0, 0, 0]);
        set(word::RIP, CODE);
        set(word::REGISTERS + 2, 0);
        set(word::REGISTERS + 3, half + DATA);
        let exit = enter()?;
        let seen = get(word::REGISTERS + 2);
        if !matches!(exit, HALT_EXIT | PAGE_FAULT) || seen & !MARK != 0 {
            return Err(format!("exit {exit:#x}, it has seen {seen:#x}"));
        }
    }
    Ok(())
}

pub fn any() -> Result<(), String> {
    interrupted(enter_anything)
}

fn enter_anything() -> Result<(), String> {
    guest(&[])?;
    (0..512).for_each(|number| write(EXPORTED + 8 * number, 0xf4f4_f4f4_f4f4_f4f4));
    let mut random = Random::new(2);
    for _ in 0..2000 {
        processor();
        for _ in 0..random.below(6) {
            let address = random.one_of(&[CODE, DATA, 0, 0x1000, USER_END - PAGE_SIZE, ODD[12]]) & !(PAGE_SIZE - 1);
            let view = random.one_of(&[LOWER_VIEW, UPPER_VIEW]);
            enter_page(view, address, random.one_of(&[READ, WRITE, EXECUTE, EXECUTE | VIEW_PRIVILEGED]), random.below(4))?;
        }
        for _ in 0..1 + random.below(8) {
            let value = if random.once_in(3) { random.next() } else { random.one_of(&ODD) };
            set(word::INTERRUPTED + random.below((word::COUNT - word::INTERRUPTED) as u64) as usize, value);
        }
        set(word::KIND, kind::SHADOW);
        set(word::UPPER_SPACE, UPPER);
        must(Call::ThreadEnter, &[FRAME])?;
        let event = get(word::EVENT);
        if !matches!(event, event::EXIT | event::PENDING) {
            return Err(format!("the event {event}"));
        }
    }
    Ok(())
}
