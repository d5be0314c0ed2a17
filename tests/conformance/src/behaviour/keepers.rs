//! Threads in a space of their own, and who keeps them.

use super::checks::{equal, fails, must, text};
use crate::fixture::{BUFFER, EXPORTED, FREE, FREE_UNIT, MAPPED_AT, PORT, REGION, SPACE, THREAD, strong};
use nacre_raw::{read, write};
use alloc::string::{String, ToString};
use nacre_abi::fault::{KIND_MEMORY, KIND_OPCODE, KIND_PROTECTION, MAP, RESUME};
use nacre_abi::message::{Info, THREAD_ENDED};
use nacre_abi::state::{SpaceState, ThreadState};
use nacre_abi::{Call, Code, ObjectType, Rights, waiting};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{FOREVER, Reference};

/// `mov [rdi], rsi ; ud2`, little endian.
const STORE_AND_FAIL: u64 = 0x0b0f_3789_48;

/// Sets the fixture's thread to run code in the page that `MAPPING` shows.
fn prepare(code: u64, state: ThreadState) -> Result<(), String> {
    write(EXPORTED, code);
    let state = ThreadState { flags: ThreadState::STOPPED, rip: MAPPED_AT, rflags: 0x202, ..state };
    for (index, word) in state.to_words().into_iter().enumerate() {
        write(BUFFER + 8 * index as u64, word);
    }
    must(Call::ThreadSetState, &[THREAD, BUFFER, ThreadState::SIZE, 0]).map(|_| ())
}

pub fn ended() -> Result<(), String> {
    let port = Reference(strong(ObjectType::Port));
    ipc::notify(port, THREAD_ENDED | 4).map_err(text("notify"))?;
    let told = ipc::receive(PORT, Buffers::NONE, FOREVER).map_err(text("receive"))?;
    equal("bits that a program may send", told.notification(), Some(4))?;
    must(Call::ThreadDestroy, &[THREAD])?;
    let told = ipc::receive(PORT, Buffers::NONE, FOREVER).map_err(text("receive"))?;
    equal("bits at the end of a thread", told.notification(), Some(THREAD_ENDED))?;
    fails("receive again", ipc::receive(PORT, Buffers::NONE, 1), Code::TimedOut)
}

/// Sets the links of the fixture's space: its keeper and its watcher.
fn set_space_links(keeper: u64, watcher: u64) -> Result<(), String> {
    let links = BUFFER + 512;
    (0..8).for_each(|index| write(links + 8 * index, 0));
    write(links, keeper);
    write(links + 8, watcher);
    for (index, word) in SpaceState::default().to_words().into_iter().enumerate() {
        write(BUFFER + 8 * index as u64, word);
    }
    must(Call::SpaceSetState, &[SPACE, BUFFER, SpaceState::SIZE, links]).map(|_| ())
}

pub fn space_ended() -> Result<(), String> {
    let watcher = FREE_UNIT;
    must(Call::PortCreate, &[watcher, 7, 0])?;
    set_space_links(PORT, watcher)?;
    must(Call::SpaceDestroy, &[SPACE])?;
    let told = ipc::receive(watcher, Buffers::NONE, 1).map_err(text("receive"))?;
    equal("bits at the end of a space", told.notification().map(|bits| bits & THREAD_ENDED), Some(THREAD_ENDED))?;
    // The watcher hears of that in the keeper's place, and once.
    must(Call::ThreadDestroy, &[THREAD])?;
    fails("receive again", ipc::receive(watcher, Buffers::NONE, 1), Code::TimedOut)?;
    match ipc::receive(PORT, Buffers::NONE, 1) {
        Ok(told) => equal("the keeper's bits", told.notification().map(|bits| bits & THREAD_ENDED), Some(0)),
        Err(_) => Ok(()),
    }
}

pub fn state() -> Result<(), String> {
    let wanted = ThreadState { rax: 1, rbx: 2, rcx: 3, rdx: 4, r15: 15, rsp: 0x7000, fs_base: 0x5000, gs_base: 0x6000, foreign_entry: 0x9000, ..ThreadState::default() };
    prepare(0, wanted)?;
    must(Call::ThreadGetState, &[THREAD, BUFFER + 4096, ThreadState::SIZE, 0])?;
    for index in 0..ThreadState::WORDS as u64 {
        equal("word", read(BUFFER + 4096 + 8 * index), read(BUFFER + 8 * index))?;
    }
    Ok(())
}

/// Starts the thread and receives what its keeper is told.
fn next_message(bytes: &mut [u8]) -> Result<ipc::Received, String> {
    ipc::receive(PORT, Buffers::new(bytes, &[]), FOREVER).map_err(text("receive"))
}

pub fn exception() -> Result<(), String> {
    prepare(STORE_AND_FAIL, ThreadState { rdi: MAPPED_AT + 64, rsi: 0xfeed, rbx: 7, ..ThreadState::default() })?;
    must(Call::ThreadStart, &[THREAD])?;
    let mut bytes = [0u8; ThreadState::SIZE as usize];
    let first = next_message(&mut bytes)?;
    equal("flag", first.info.has(Info::EXCEPTION), true)?;
    equal("kind", first.words[0], KIND_OPCODE)?;
    equal("instruction", first.words[3], MAPPED_AT + 3)?;
    equal("the store before it", read(EXPORTED + 64), 0xfeed)?;
    equal("bytes", first.bytes() as u64, ThreadState::SIZE)?;
    let mut words: [u64; ThreadState::WORDS] = core::array::from_fn(|index| u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().unwrap_or_default()));
    let state = ThreadState::from_words(words);
    equal("rbx", state.rbx, 7)?;
    words = ThreadState { rip: MAPPED_AT, rsi: 0xbeef, ..state }.to_words();
    let answer: alloc::vec::Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let message = Message::new(RESUME, [0; 6]).with_bytes(&answer[..]);
    let second = ipc::reply_receive(PORT, &message, Buffers::NONE, FOREVER).map_err(text("reply"))?;
    equal("kind again", second.words[0], KIND_OPCODE)?;
    equal("the store with the register that was set", read(EXPORTED + 64), 0xbeef)
}

/// Pages of the kernel's half: of its map of RAM, of its code behind the entries, of its devices,
/// and of a kernel stack; last, the entries themselves.
const KERNEL_PAGES: [u64; 5] = [0xffff_8000_0100_0000, 0xffff_ffff_8020_5000, 0xffff_ffff_c000_0000, 0xffff_ffff_c020_1000, 0xffff_ffff_8020_0000];
/// Bit of the machine's error code: the page is there, and access is denied.
const PRESENT: u64 = 1;

/// Says of each of [`KERNEL_PAGES`] whether the processor found it, while a user's store there
/// failed.
pub fn kernel_half() -> Result<String, String> {
    let mut seen = String::new();
    for address in KERNEL_PAGES {
        prepare(STORE_AND_FAIL, ThreadState { rdi: address, ..ThreadState::default() })?;
        must(Call::ThreadStart, &[THREAD])?;
        let told = next_message(&mut [])?;
        must(Call::ThreadStop, &[THREAD, 0])?;
        equal("kind", told.words[0], KIND_MEMORY)?;
        seen.push_str(if told.words[1] & PRESENT == 0 { "absent\n" } else { "present\n" });
    }
    Ok(seen)
}

/// `rdtsc ; ud2`, little endian.
const READ_TIME_AND_FAIL: u64 = 0x0b0f_310f;

pub(super) fn set_space_flags(space: u64, flags: u64) -> Result<(), String> {
    let state = SpaceState { flags, ..SpaceState::default() };
    for (index, word) in state.to_words().into_iter().enumerate() {
        write(BUFFER + 8 * index as u64, word);
    }
    must(Call::SpaceSetState, &[space, BUFFER, SpaceState::SIZE, 0]).map(|_| ())
}

/// Returns the exception that ends the fixture's thread when it reads the time.
fn time_exception() -> Result<u64, String> {
    prepare(READ_TIME_AND_FAIL, ThreadState::default())?;
    must(Call::ThreadStart, &[THREAD])?;
    let first = next_message(&mut [])?;
    must(Call::ThreadStop, &[THREAD, 0])?;
    Ok(first.words[0])
}

pub fn time_hidden() -> Result<(), String> {
    equal("the time shows", time_exception()?, KIND_OPCODE)?;
    set_space_flags(SPACE, SpaceState::TIME_HIDDEN)?;
    equal("the time is hidden", time_exception()?, KIND_PROTECTION)?;
    set_space_flags(SPACE, 0)?;
    equal("the time shows again", time_exception()?, KIND_OPCODE)
}

/// Code that makes a call and fails.
const CALL_AND_FAIL: u64 = 0x0b0f_050f;

/// Returns how the fixture's thread waits.
fn waits() -> Result<u64, String> {
    Ok(must(Call::ThreadTime, &[THREAD])?.1)
}

pub fn time_held() -> Result<(), String> {
    prepare(CALL_AND_FAIL, ThreadState { rax: Call::ThreadSleep.number(), rdi: 1000, ..ThreadState::default() })?;
    set_space_flags(SPACE, SpaceState::TIME_HELD)?;
    must(Call::ThreadStart, &[THREAD])?;
    must(Call::ThreadSleep, &[5_000_000])?;
    equal("it waits for a limited time", waits()?, waiting::SLEEPS | waiting::TIMED)?;
    set_space_flags(SPACE, 0)?;
    must(Call::ThreadSleep, &[5_000_000])?;
    equal("its wait goes on", waits()?, waiting::SLEEPS | waiting::TIMED)?;
    must(Call::ThreadStop, &[THREAD, 0])?;
    must(Call::ThreadStart, &[THREAD])?;
    let behind = next_message(&mut [])?;
    equal("its wait, made again, ends", behind.words[0], KIND_OPCODE)
}

/// Lets a thread touch a page that a region lacks. Its keeper answers with what `bring` returns.
fn brought(bring: impl Fn() -> Result<(u32, [u64; 6]), String>) -> Result<(), String> {
    // A region of SPACE with a keeper, mapped into another space whose thread stores into it; SPACE
    // has nothing there yet.
    let (space, region, mapping, code, thread) = (FREE, FREE + 256, FREE + 384, FREE + 512, FREE + 0x1000);
    must(Call::SpaceCreate, &[space, crate::fixture::SPARE, 8, PORT])?;
    must(Call::RegionCreate, &[region, SPACE, 0x20_0000, 0x4000, Rights::ALL.0, PORT])?;
    must(Call::MappingCreate, &[mapping, space, 0x50_0000, 0x4000, region, 0, Rights::ALL.0])?;
    must(Call::MappingCreate, &[code, space, MAPPED_AT, 0x1000, REGION, 0, Rights::ALL.0])?;
    write(EXPORTED, STORE_AND_FAIL);
    let state = ThreadState { flags: ThreadState::STOPPED, rip: MAPPED_AT, rflags: 0x202, rdi: 0x50_1008, rsi: 0xabc, ..ThreadState::default() };
    for (index, word) in state.to_words().into_iter().enumerate() {
        write(BUFFER + 8 * index as u64, word);
    }
    must(Call::ThreadCreate, &[thread, space])?;
    must(Call::ThreadSetState, &[thread, BUFFER, ThreadState::SIZE, 0])?;
    must(Call::ThreadStart, &[thread])?;
    let fault = next_message(&mut [])?;
    equal("flag", fault.info.has(Info::FAULT), true)?;
    equal("offset", fault.words[0] & !4095, 0x1000)?;
    equal("access", fault.words[1], Rights::WRITE.0)?;
    let (label, words) = bring()?;
    let next = ipc::reply_receive(PORT, &Message::new(label, words), Buffers::NONE, FOREVER).map_err(text("reply"))?;
    if !next.info.has(Info::EXCEPTION) {
        return Err("the thread did not come to its next instruction".to_string());
    }
    equal("what it stored", read(EXPORTED + 0x2008), 0xabc)
}

pub fn page() -> Result<(), String> {
    brought(|| {
        must(Call::MappingCreate, &[FREE_UNIT, SPACE, 0x20_1000, 0x1000, REGION, 0x2000, Rights::ALL.0])?;
        Ok((RESUME, [0; 6]))
    })
}

/// Tries replies that cannot map, and returns one that can.
fn mapping_reply() -> Result<(u32, [u64; 6]), String> {
    let words = [0x20_1000, 0x1000, REGION, 0x2000 | Rights::ALL.0, SPACE, FREE_UNIT];
    let wrong = [(0, 0x20_1001, Code::BadRange), (1, 0, Code::BadRange), (2, SPACE, Code::WrongType), (3, 0x2800, Code::BadRights), (4, PORT, Code::WrongType), (5, PORT, Code::SlotOccupied)];
    for (word, value, code) in wrong {
        let mut words = words;
        words[word] = value;
        fails("reply that maps", ipc::reply(&Message::new(MAP, words)), code)?;
    }
    Ok((MAP, words))
}

pub fn mapped_by_reply() -> Result<(), String> {
    brought(mapping_reply)
}
