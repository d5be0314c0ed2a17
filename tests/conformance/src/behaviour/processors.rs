//! Tests of several processors at the same objects. They hold on one processor too, but test less
//! there.

use super::checks::{equal, must, text};
use crate::fixture::{BUFFER, EXPORTED, FREE, FREE_UNIT, MAPPED_AT, PORT, REGION, SPACE, SPARE, strong};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};
use nacre_abi::fault::RESUME;
use nacre_abi::message::Info;
use nacre_abi::state::ThreadState;
use nacre_abi::{Call, ObjectType, Rights};
use nacre_raw::{read, write};
use nacre_rt::thread::{self, Handle};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{Reference, Thread};

/// Threads that read.
const READERS: u64 = 3;
/// `2: mov rax, [rdi] ; mov [rsi], rax ; inc qword ptr [rsi + 8] ; jmp 2b`, little endian.
const READ_ON_AND_ON: [u64; 2] = [0xff48_0689_4807_8b48, 0xf4eb_0846];
/// Address at which the readers see the page that is revoked.
const SEEN_AT: u64 = MAPPED_AT + 0x10_0000;
/// Addresses at which the readers and this program see their notes: the region's second page.
const NOTES_AT: u64 = MAPPED_AT + 0x20_0000;
const NOTES: u64 = EXPORTED + 0x1000;
/// The page that is revoked: the region's third.
const PAGE: u64 = EXPORTED + 0x2000;
/// The mapping of it.
const SEEN: u64 = FREE + 256;
/// Number of times that a page is revoked.
const ROUNDS: u64 = 40;
/// A guard against hanging, far above what a turn on a busy host takes.
const SECONDS: u64 = 20_000_000_000;

fn reader(number: u64) -> u64 {
    FREE + 0x1000 * (number + 1)
}

fn note(number: u64) -> u64 {
    NOTES + 64 * number
}

fn show() -> Result<(), String> {
    must(Call::MappingCreate, &[SEEN, SPACE, SEEN_AT, 0x1000, REGION, 0x2000, Rights::READ.0]).map(|_| ())
}

fn start_readers() -> Result<(), String> {
    READ_ON_AND_ON.iter().zip(0..).for_each(|(word, index)| write(EXPORTED + 8 * index, *word));
    must(Call::MappingCreate, &[FREE + 384, SPACE, NOTES_AT, 0x1000, REGION, 0x1000, Rights::ALL.0])?;
    for number in 0..READERS {
        let rsi = NOTES_AT + 64 * number;
        let state = ThreadState { flags: ThreadState::STOPPED, rip: MAPPED_AT, rflags: 0x202, rdi: SEEN_AT, rsi, ..ThreadState::default() };
        state.to_words().into_iter().zip(0..).for_each(|(word, index)| write(BUFFER + 8 * index, word));
        must(Call::ThreadCreate, &[reader(number), SPACE])?;
        must(Call::ThreadSetState, &[reader(number), BUFFER, ThreadState::SIZE, 0])?;
        must(Call::ThreadStart, &[reader(number)])?;
    }
    Ok(())
}

/// Waits until a reader has read again.
fn await_reading(number: u64) {
    let before = read(note(number) + 8);
    while read(note(number) + 8) == before {
        Thread::yield_now();
    }
}

/// Waits until every reader has faulted; each is answered through a reference in a slot of its own.
fn await_faults() -> Result<(), String> {
    for number in 0..READERS {
        ipc::receive(PORT, Buffers::NONE, SECONDS).map_err(text("a reader does not fault"))?;
        ipc::detach(FREE_UNIT + 64 * number).map_err(text("detach"))?;
    }
    Ok(())
}

/// Writes a secret as soon as the call that revokes has returned, and checks that no reader ever
/// reads it. Each reader faults instead, and continues when the page is back.
pub fn revoked() -> Result<(), String> {
    write(PAGE, 0);
    show()?;
    start_readers()?;
    for round in 0..ROUNDS {
        (0..READERS).for_each(await_reading);
        must(Call::MappingDestroy, &[SEEN])?;
        write(PAGE, u64::MAX);
        await_faults()?;
        for number in 0..READERS {
            equal("what was read last", read(note(number)), round)?;
        }
        write(PAGE, round + 1);
        show()?;
        for number in 0..READERS {
            let answer = Message::new(RESUME, [0; 6]);
            ipc::send(Reference(FREE_UNIT + 64 * number), &answer, SECONDS).map_err(text("resume"))?;
        }
    }
    Ok(())
}

/// Clients and servers at one port, all at once.
const CLIENTS: usize = 3;
const SERVERS: usize = 2;
/// Calls of each client.
const CALLS: u64 = 40;
/// Label that ends a server.
const END: u32 = 1000;

/// Clients that are not done, and answers that were another's.
static BUSY: AtomicUsize = AtomicUsize::new(0);
static WRONG: AtomicUsize = AtomicUsize::new(0);

fn target() -> Reference {
    Reference(strong(ObjectType::Port))
}

/// Answers each call with its words, all turned over. It names the port by its address, where for a
/// moment there may be none.
fn turn_over(_: usize) {
    let mut received = ipc::receive_words(PORT);
    loop {
        received = match received {
            Ok(message) if !message.info.has(Info::NEEDS_REPLY) => ipc::receive_words(PORT),
            Ok(message) if message.label() == END => break,
            Ok(message) => match ipc::reply_receive_words(PORT, 0, message.words.map(|word| !word)) {
                Err(_) => ipc::reply(&Message::new(0, message.words.map(|word| !word))).and_then(|()| ipc::receive_words(PORT)),
                next => next,
            },
            Err(_) => ipc::receive_words(PORT),
        };
    }
    let _ = ipc::reply(&Message::new(0, [0; 6]));
}

fn ask(me: usize) {
    for number in 0..CALLS {
        let words = core::array::from_fn(|index| number << 16 | (me << 8 | index) as u64);
        let right = ipc::call_words(target(), 1, words).is_ok_and(|answer| answer.words == words.map(|word| !word));
        WRONG.fetch_add(usize::from(!right), Ordering::Relaxed);
    }
    BUSY.fetch_sub(1, Ordering::Release);
}

/// Every call is answered once, with what its client asked for, while the port moves to and fro and
/// is notified.
pub fn one_port() -> Result<(), String> {
    let spawn = |function, number| thread::spawn(function, number).map_err(|errno| format!("no thread: {errno:?}"));
    BUSY.store(CLIENTS, Ordering::Release);
    WRONG.store(0, Ordering::Release);
    let mut threads = Vec::new();
    for number in 0..SERVERS {
        threads.push(spawn(turn_over, number)?);
    }
    for number in 0..CLIENTS {
        threads.push(spawn(ask, number)?);
    }
    while BUSY.load(Ordering::Acquire) != 0 {
        must(Call::PortMove, &[PORT, FREE])?;
        must(Call::PortMove, &[FREE, PORT])?;
        ipc::notify(target(), 1).map_err(text("notify"))?;
        Thread::yield_now();
    }
    for _ in 0..SERVERS {
        ipc::call_words(target(), END, [0; 6]).map_err(text("ending a server"))?;
    }
    threads.into_iter().for_each(Handle::join);
    equal("wrong answers", WRONG.load(Ordering::Acquire), 0)
}

/// Threads that touch the same pages, pages, and rounds.
const TOUCHERS: usize = 3;
const TOUCHED: u64 = 8;
const TOUCH_ROUNDS: u64 = 60;
/// The round that threads are to begin, and threads that have not ended it.
static ROUND: AtomicUsize = AtomicUsize::new(0);

/// Writes a word of its own into each page, in each round.
fn touch(me: usize) {
    for round in 1..=TOUCH_ROUNDS {
        while ROUND.load(Ordering::Acquire) < round as usize {
            Thread::yield_now();
        }
        for page in 0..TOUCHED {
            write(SPARE + 4096 * page + 8 * me as u64, round);
        }
        BUSY.fetch_sub(1, Ordering::Release);
    }
}

/// A page that one thread clears while another has written to it already would lose what that
/// wrote.
pub fn touched_at_once() -> Result<(), String> {
    ROUND.store(0, Ordering::Release);
    let mut threads = Vec::new();
    for number in 0..TOUCHERS {
        threads.push(thread::spawn(touch, number).map_err(|errno| format!("no thread: {errno:?}"))?);
    }
    for round in 1..=TOUCH_ROUNDS {
        must(Call::MemoryReclaim, &[SPARE, 4096 * TOUCHED, nacre_abi::rights::RECLAIM_CLEAR])?;
        BUSY.store(TOUCHERS, Ordering::Release);
        ROUND.store(round as usize, Ordering::Release);
        while BUSY.load(Ordering::Acquire) != 0 {
            Thread::yield_now();
        }
        for page in 0..TOUCHED {
            for word in 0..TOUCHERS as u64 {
                equal("what a thread wrote", read(SPARE + 4096 * page + 8 * word), round)?;
            }
            equal("the rest", read(SPARE + 4096 * page + 8 * TOUCHERS as u64), 0)?;
        }
    }
    threads.into_iter().for_each(Handle::join);
    Ok(())
}
