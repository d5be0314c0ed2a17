//! Frames of kind USER while other threads run, stop them, or take away what they use.

use super::checks::{equal, fails, must};
use super::guests::{FRAME, get, set};
use super::users::{begin, code};
use crate::fixture::{BUFFER, EXPORTED, FREE, MAPPED_AT, MAPPING, REGION, SPACE, must as call};
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use nacre_abi::frame::{EXIT_CALL, event, word};
use nacre_abi::{Call, Code, PAGE_SIZE, Rights};
use nacre_raw::{read, write};
use nacre_rt::thread::{self, Handle};
use nacre_sys::Thread;

/// Frame of a second thread.
const SECOND: u64 = BUFFER + 0x2000;

pub(super) fn spawn(function: fn(usize), argument: usize) -> Result<Handle, String> {
    thread::spawn(function, argument).map_err(|errno| format!("no thread: {errno:?}"))
}

/// Set while users run that run for ever.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Lets the first thread's user be left now and then.
fn interrupt(_: usize) {
    while IS_ON.load(Ordering::Acquire) {
        let _ = Thread::sleep(2_000_000);
        set(word::PENDING, 1);
        // It is there as long as this thread is.
        let _ = Thread::FIRST.stop().and_then(|()| Thread::FIRST.start());
    }
}

/// Runs `enter` while users that run for ever are left now and then.
pub(super) fn left_now_and_then(enter: fn() -> Result<(), String>) -> Result<(), String> {
    IS_ON.store(true, Ordering::Release);
    let other = spawn(interrupt, 0)?;
    let result = enter();
    IS_ON.store(false, Ordering::Release);
    other.join();
    result
}

/// Counts in each register but RCX and R11, in a word at FS and one at GS, and in XMM0, as often as
/// RCX says: `mov r11d, 1; pxor xmm0, xmm0; movq xmm1, r11`, the loop, `movq rax, xmm0; syscall`.
const COUNT_ALL: [&[u8]; 18] = [
    &[0x41, 0xbb, 1, 0, 0, 0, 0x66, 0x0f, 0xef, 0xc0, 0x66, 0x49, 0x0f, 0x6e, 0xcb],
    &[0x48, 0xff, 0xc0],
    &[0x48, 0xff, 0xc2],
    &[0x48, 0xff, 0xc3],
    &[0x48, 0xff, 0xc4],
    &[0x48, 0xff, 0xc5],
    &[0x48, 0xff, 0xc6],
    &[0x48, 0xff, 0xc7],
    &[0x49, 0xff, 0xc0, 0x49, 0xff, 0xc1],
    &[0x49, 0xff, 0xc2, 0x49, 0xff, 0xc4],
    &[0x49, 0xff, 0xc5, 0x49, 0xff, 0xc6],
    &[0x49, 0xff, 0xc7],
    &[0x66, 0x0f, 0xd4, 0xc1],
    &[0x64, 0x48, 0xff, 0x04, 0x25, 0, 0, 0, 0],
    &[0x65, 0x48, 0xff, 0x04, 0x25, 0, 0, 0, 0],
    &[0x48, 0xff, 0xc9],
    // jnz, 69 bytes back
    &[0x75, 0xbb],
    &[0x66, 0x48, 0x0f, 0x7e, 0xc0, 0x0f, 0x05],
];

/// Number of times that a user of each thread counts, and how often it is entered.
const TIMES: u64 = 100_000;
const TURNS: u64 = 10;

/// Enters the frame of a thread until its user has counted; `number` tells the threads apart.
fn count(frame: u64, number: u64) -> Result<(), String> {
    let at = |word: usize| frame + 8 * word as u64;
    let counted = EXPORTED + 0x800 + 0x80 * number;
    begin(frame);
    write(counted, 0);
    write(counted + 0x40, 0);
    write(at(word::FS_BASE), MAPPED_AT + 0x800 + 0x80 * number);
    write(at(word::GS_BASE), MAPPED_AT + 0x840 + 0x80 * number);
    let counters = || (0..16).filter(|register| ![1, 11].contains(register));
    for turn in 1..=TURNS {
        let start = |register: u64| register * 0x1111_0000 + number + turn;
        counters().for_each(|register| write(at(word::REGISTERS) + 8 * register, start(register)));
        write(at(word::REGISTERS + 1), TIMES);
        write(at(word::RIP), MAPPED_AT);
        must(Call::ThreadEnter, &[frame])?;
        equal("the exit", (read(at(word::EVENT)), read(at(word::EXIT))), (event::EXIT, EXIT_CALL))?;
        equal("what the FPU counted", read(at(word::RAX)), TIMES)?;
        for register in counters().skip(1) {
            equal("what a register counted", (register, read(at(word::REGISTERS) + 8 * register)), (register, start(register) + TIMES))?;
        }
        equal("what its words counted", (read(counted), read(counted + 0x40)), (turn * TIMES, turn * TIMES))?;
    }
    Ok(())
}

static FAILED: AtomicBool = AtomicBool::new(false);

fn count_there(number: usize) {
    if count(SECOND + 0x1000 * (number as u64 - 1), number as u64).is_err() {
        FAILED.store(true, Ordering::Release);
    }
}

pub fn at_once() -> Result<(), String> {
    code(&COUNT_ALL.concat());
    FAILED.store(false, Ordering::Release);
    let others = [spawn(count_there, 1)?, spawn(count_there, 2)?];
    let result = count(FRAME, 0);
    others.into_iter().for_each(Handle::join);
    result?;
    equal("another thread's count failed", FAILED.load(Ordering::Acquire), false)
}

/// A word in which a user counts, and where the user sees it.
const COUNTED: u64 = EXPORTED + 0x800;
const COUNTED_AT: u64 = MAPPED_AT + 0x800;

/// Makes the frame that of a user that counts for ever.
fn count_on() {
    // again: inc qword ptr [rbx]; jmp again
    code(&[0x48, 0xff, 0x03, 0xeb, 0xfb]);
    begin(FRAME);
    write(COUNTED, 0);
    set(word::REGISTERS + 3, COUNTED_AT);
}

/// Takes something away from a user that counts: the space, the mapping of the code, or the frame.
fn take(what: usize) {
    // A bound, far above what a turn on a busy host takes, for a user that does not run.
    for _ in 0..10_000 {
        if read(COUNTED) >= 1000 {
            break;
        }
        let _ = Thread::sleep(1_000_000);
    }
    let _ = match what {
        0 => call(Call::SpaceDestroy, &[SPACE]),
        1 => call(Call::MappingDestroy, &[MAPPING]),
        _ => call(Call::PortCreate, &[FRAME, 0, 0]),
    };
}

pub fn taken() -> Result<(), String> {
    for what in [1, 0] {
        count_on();
        let other = spawn(take, what)?;
        let result = call(Call::ThreadEnter, &[FRAME]);
        other.join();
        // What is in a space goes before the space itself.
        if result.is_ok() {
            equal("the event", (get(word::EVENT), get(word::INFORMATION[1]) & !0x807), (event::MEMORY, MAPPED_AT))?;
        } else {
            equal("the space was taken", what, 0)?;
            fails("the space is gone", result, Code::NotAnObject)?;
        }
        if what == 1 {
            must(Call::MappingCreate, &[MAPPING, SPACE, MAPPED_AT, PAGE_SIZE, REGION, 0, Rights::ALL.0])?;
        }
    }
    Ok(())
}

pub fn frame_taken() -> Result<(), String> {
    count_on();
    let other = spawn(take, 2)?;
    let result = call(Call::ThreadEnter, &[FRAME]);
    other.join();
    fails("the frame is no memory any more", result, Code::BadAddress)?;
    // Nothing was written to it since: the object is whole.
    must(Call::PortDestroy, &[FRAME])?;
    must(Call::MemoryReclaim, &[FRAME, PAGE_SIZE]).map(drop)
}

/// Word at the start of the page that comes and goes, while it is memory.
const MARK: u64 = 0x6d61_726b;
/// Page that comes and goes.
const COMING: u64 = EXPORTED + 3 * PAGE_SIZE;
/// Address at which users see it.
const SEEN_AT: u64 = MAPPED_AT + 0x10_0000;
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Makes the page memory and objects in turn.
fn come_and_go(_: usize) {
    while SEEN.load(Ordering::Acquire) == 0 {
        let _ = call(Call::PortCreate, &[COMING, 0x1111, 0]);
        (0..100).for_each(|_| core::hint::spin_loop());
        let _ = call(Call::MemoryReclaim, &[COMING, PAGE_SIZE, 0]);
        write(COMING, MARK);
        (0..300).for_each(|_| core::hint::spin_loop());
    }
}

pub fn races() -> Result<(), String> {
    // mov ecx, 20; again: mov rax, [rbx]; or rdx, rax; loop again; syscall
    code(&[0xb9, 20, 0, 0, 0, 0x48, 0x8b, 0x03, 0x48, 0x09, 0xc2, 0xe2, 0xf8, 0x0f, 0x05]);
    must(Call::MappingCreate, &[FREE, SPACE, SEEN_AT, PAGE_SIZE, REGION, 3 * PAGE_SIZE, Rights::ALL.0])?;
    begin(FRAME);
    SEEN.store(0, Ordering::Release);
    let other = spawn(come_and_go, 0)?;
    let result = (0..3000).try_for_each(|_| read_on());
    SEEN.store(1, Ordering::Release);
    other.join();
    result
}

fn read_on() -> Result<(), String> {
    set(word::REGISTERS + 2, 0);
    set(word::REGISTERS + 3, SEEN_AT);
    set(word::RIP, MAPPED_AT);
    must(Call::ThreadEnter, &[FRAME])?;
    let (event, seen) = (get(word::EVENT), get(word::REGISTERS + 2));
    let is_right = matches!(event, event::MEMORY) || event == event::EXIT && get(word::EXIT) == EXIT_CALL;
    if is_right && seen & !MARK == 0 { Ok(()) } else { Err(format!("event {event}, it has seen {seen:#x}")) }
}
