//! Attempts of the parent: each a sentence, and the reason if it does not hold.

use crate::make::{SIGCHLD, begin_at, child, child_asked, child_with, create};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_NOTIFY;
use nacre_proto::flags::{
    ASK_FILE, ASK_LIMIT, ASK_PRIVILEGED, ASK_TEXT, BEGIN_ATTENDS, O_NONBLOCK, OWN_POSITION, POLLIN, SERVICE_CHANNELS, SERVICE_MEMORY, SOCK_STREAM, WCONTINUED,
    WEXITED, WNOHANG, WUNTRACED,
};
use nacre_proto::{Errno, channel, file, memory, parent, process};
use nacre_rt::thread;
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference, Thread, EmptySlot, ipc};

type Outcome = Result<(), String>;
/// A case: its sentence, and what tries it.
pub type Case = (&'static str, fn() -> Outcome);

/// All.
pub const CASES: &[Case] = &[
    ("a child's exit is told to who waits", exits),
    ("who waits before a child ends is answered then", late),
    ("what kills cannot be refused, and a process that never began leaves nothing", killed),
    ("a signal for which nobody cares has its default effect", defaults),
    ("an agent is told of signals, and fetches them", attended),
    ("a fault ends a process that does not keep itself", faults),
    ("orphans go to the first process", orphans),
    ("a process becomes another program and stays itself", replaced),
    ("memory comes back when processes have gone", memory_returns),
    ("memory that all share is destroyed by nobody", memory_stays),
    ("there are as many processes as are allowed", limited),
    ("a pipe joins two processes, and ends with its writer", piped),
    ("a pipe without readers breaks", broken),
    ("who watches is told once", watched),
    ("references travel through sockets", passed),
    ("a process and its children are told of no more processors than its limit says", counted),
    ("nonsense that a process answers comes to who has asked, and to nobody else", nonsense),
    ("a process without a library answers no questions, and one that is not there none either", asked),
    ("a maker that ends, or becomes another program, at any step before a child begins takes the child with it", reserved),
    ("members of a domain know of nobody outside, and outside knows of them", confined),
];

fn expect<T: PartialEq + core::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, not {expected:?}")) }
}

fn why(what: &'static str) -> impl Fn(Errno) -> String {
    move |errno| format!("{what}: {errno}")
}

fn made(words: &[&[u8]]) -> Result<u64, String> {
    child(words).map_err(why("making a child"))
}

fn wait(pid: u64, options: u64) -> Result<(u64, u64), String> {
    process::wait(Reference::PARENT, pid, options).map(|reply| (reply.pid, reply.status)).map_err(why("wait"))
}

fn kill(pid: u64, signal: u64) -> Outcome {
    process::kill(Reference::PARENT, pid, 0, signal, 0, 0).map(drop).map_err(why("kill"))
}

fn exits() -> Outcome {
    let pid = made(&[b"exit", b"3"])?;
    expect("its end", wait(u64::MAX, WEXITED)?, (pid, 0x300))?;
    expect("no more children", process::wait(Reference::PARENT, u64::MAX, WEXITED).err(), Some(Errno::ECHILD))
}

fn late() -> Outcome {
    let pid = made(&[b"sleep"])?;
    expect("not yet", wait(pid, WEXITED | WNOHANG)?, (0, 0))?;
    let killer = thread::spawn(kill_later, pid as usize).map_err(why("a thread"))?;
    let end = expect("its end", wait(pid, WEXITED)?, (pid, 15));
    killer.join();
    end
}

/// Kills a process when the others almost surely wait for its end.
fn kill_later(pid: usize) {
    let _ = Thread::sleep(20_000_000);
    let _ = kill(pid as u64, 15);
}

fn killed() -> Outcome {
    let (pid, port) = create().map_err(why("create"))?;
    drop(port);
    expect("a wait for what never began", process::wait(Reference::PARENT, pid, WEXITED).err(), Some(Errno::ECHILD))?;
    let pid = child_with(BEGIN_ATTENDS, None, &[b"sleep"]).map_err(why("making a child"))?;
    kill(pid, 15)?;
    expect("it attends, so nothing happens", wait(pid, WEXITED | WNOHANG)?, (0, 0))?;
    kill(pid, 9)?;
    expect("its end", wait(pid, WEXITED)?, (pid, 9))
}

fn defaults() -> Outcome {
    let pid = made(&[b"sleep"])?;
    kill(pid, 19)?;
    expect("stopped", wait(pid, WEXITED | WUNTRACED)?, (pid, 0x137f))?;
    kill(pid, 18)?;
    expect("continued", wait(pid, WEXITED | WCONTINUED)?, (pid, 0xffff))?;
    kill(pid, SIGCHLD)?;
    kill(pid, 15)?;
    expect("its end", wait(pid, WEXITED)?, (pid, 15))
}

fn attended() -> Outcome {
    let pid = child_with(BEGIN_ATTENDS, None, &[b"attend"]).map_err(why("making a child"))?;
    kill(pid, 12)?;
    expect("its end", wait(pid, WEXITED)?, (pid, 12 << 8))
}

fn faults() -> Outcome {
    let pid = made(&[b"fault"])?;
    expect("its end", wait(pid, WEXITED)?, (pid, 11))
}

fn orphans() -> Outcome {
    let pid = made(&[b"orphan"])?;
    expect("its end", wait(pid, WEXITED)?, (pid, 0))?;
    let (orphan, status) = wait(u64::MAX, WEXITED)?;
    expect("the orphan's end", (orphan != pid, status), (true, 0x700))
}

fn replaced() -> Outcome {
    let pid = made(&[b"replace"])?;
    expect("its end", wait(pid, WEXITED)?, (pid, 0x500))
}

fn find(service: u64) -> Result<OwnedReference, String> {
    parent::find(Reference::PARENT, service).map(|reply| reply.found).map_err(why("find"))
}

fn memory_returns() -> Outcome {
    let pool = find(SERVICE_MEMORY)?;
    let used = || memory::status(pool.handle()).map(|reply| reply.used).map_err(why("status"));
    let round = || -> Outcome {
        let pids = [made(&[b"sleep"])?, made(&[b"sleep"])?];
        pids.into_iter().try_for_each(|pid| kill(pid, 9))?;
        pids.into_iter().try_for_each(|pid| wait(pid, WEXITED).map(drop))
    };
    // The first rounds may leave us with slots and places that serve again.
    (0..3).try_for_each(|_| round())?;
    let before = used()?;
    round()?;
    expect("memory in use", used()?, before)
}

fn memory_stays() -> Outcome {
    let pool = find(SERVICE_MEMORY)?;
    expect("all of it destroyed", memory::pool_destroy(pool.handle()).err(), Some(Errno::EPERM))?;
    let shared = memory::share(pool.handle(), 0).map_err(why("share"))?.pool;
    expect("by another reference", memory::pool_destroy(shared.handle()).err(), Some(Errno::EPERM))?;
    let inner = memory::pool_create(shared.handle(), 1 << 20).map_err(why("pool_create"))?.pool;
    let shared = memory::share(inner.handle(), 0).map_err(why("share"))?.pool;
    memory::pool_destroy(inner.handle()).map_err(why("a pool of our own"))?;
    expect("a pool that is gone", memory::segment_create(shared.handle(), 4096, 0).is_err(), true)
}

/// Each step that a maker has reached, and each way in which it goes on from there.
fn reserved() -> Outcome {
    let pool = find(SERVICE_MEMORY)?;
    let used = || memory::status(pool.handle()).map(|reply| reply.used).map_err(why("status"));
    let round = |step: u8, way: u8| -> Outcome {
        let (reader, writer) = pipe(0)?;
        let pid = child_with(0, Some(writer.handle()), &[b"make", &[step, way]]).map_err(why("making a maker"))?;
        drop(writer);
        expect("the step", read(&reader), Ok(b"there".to_vec()))?;
        if way == b'k' {
            kill(pid, 9)?;
        }
        let end = if way == b'k' { 9 } else { 0x500 };
        expect("the maker's end", wait(pid, WEXITED)?, (pid, end))?;
        expect("other children", process::wait(Reference::PARENT, u64::MAX, WEXITED).err(), Some(Errno::ECHILD))?;
        expect("other processes", process::list(Reference::PARENT, 2, &mut [0; 64]).err(), Some(Errno::ESRCH))
    };
    let all = || (b'0'..=b'4').flat_map(|step| [b'k', b'e', b'b'].map(|way| (step, way)));
    // The first round may leave us with slots and places that serve again.
    all().try_for_each(|(step, way)| round(step, way))?;
    for (step, way) in all() {
        let before = used()?;
        round(step, way)?;
        expect("memory in use", (step, way, used()?), (step, way, before))?;
    }
    Ok(())
}

fn confined() -> Outcome {
    let guarded = |words: &[&[u8]]| -> Result<u64, String> {
        let (pid, port) = create().map_err(why("create"))?;
        process::domain(port.handle()).map_err(why("domain"))?;
        begin_at(port.handle(), 0, words).map_err(why("begin"))?;
        Ok(pid)
    };
    let one = guarded(&[b"sleep"])?;
    let two = guarded(&[b"spy", format!("{one}").as_bytes()])?;
    expect("what a spy finds", wait(two, WEXITED)?, (two, 0))?;
    expect("its parent", process::numbers(Reference::PARENT, one).map(|found| found.parent), Ok(1))?;
    kill(one, 9)?;
    expect("its end", wait(one, WEXITED)?, (one, 9))
}

/// Checks the limits of a world with room for eight processes, in which this program runs.
fn limited() -> Outcome {
    let made: Vec<(u64, OwnedReference)> = core::iter::from_fn(|| create().ok()).collect();
    expect("so many children", made.len(), 7)?;
    expect("one more", create().err(), Some(Errno::EAGAIN))?;
    drop(made);
    expect("room again", create().is_ok(), true)
}

fn pipe(flags: u64) -> Result<(OwnedReference, OwnedReference), String> {
    let ends = channel::pipe(find(SERVICE_CHANNELS)?.handle(), flags).map_err(why("pipe"))?;
    Ok((ends.reader, ends.writer))
}

fn read(from: &OwnedReference) -> Result<Vec<u8>, Errno> {
    let mut bytes = [0; 64];
    let count = file::read(from.handle(), OWN_POSITION, 64, &mut bytes[..])?.data;
    Ok(bytes[..count].to_vec())
}

fn piped() -> Outcome {
    let (reader, writer) = pipe(0)?;
    let pid = child_with(0, Some(writer.handle()), &[b"say", b"once"]).map_err(why("making a child"))?;
    drop(writer);
    expect("what it says", read(&reader), Ok(b"once".to_vec()))?;
    expect("the end", read(&reader), Ok(Vec::new()))?;
    expect("its end", wait(pid, WEXITED)?, (pid, 0))?;
    let (reader, writer) = pipe(0)?;
    let pid = child_with(0, Some(writer.handle()), &[b"sleep"]).map_err(why("making a child"))?;
    drop(writer);
    kill(pid, 9)?;
    expect("the end of who was killed", read(&reader), Ok(Vec::new()))?;
    wait(pid, WEXITED).map(drop)
}

fn broken() -> Outcome {
    let (reader, writer) = pipe(0)?;
    let pid = child_with(0, Some(writer.handle()), &[b"say", b"more"]).map_err(why("making a child"))?;
    expect("what it says", read(&reader).map(|bytes| bytes.starts_with(b"more")), Ok(true))?;
    drop(reader);
    expect("its end", wait(pid, WEXITED)?, (pid, u64::from(Errno::EPIPE.0) << 8))
}

fn watched() -> Outcome {
    let (reader, writer) = pipe(O_NONBLOCK)?;
    expect("nothing yet", read(&reader), Err(Errno::EAGAIN))?;
    let port = OwnedPort::new(0, PortSet::NONE).map_err(|status| format!("{status:?}"))?;
    let told = port.new_reference(REFERENCE_NOTIFY).map_err(|status| format!("{status:?}"))?;
    let watch = |expected| {
        let events = file::watch(reader.handle(), POLLIN, 2, told.handle()).map(|reply| reply.events).map_err(why("watch"))?;
        expect("events", events, expected)
    };
    watch(0)?;
    file::write(writer.handle(), OWN_POSITION, &b"x"[..]).map_err(why("write"))?;
    let received = ipc::receive_words(port.handle().address()).map_err(|status| format!("{status:?}"))?;
    expect("bits", received.notification(), Some(2))?;
    watch(POLLIN)
}

fn passed() -> Outcome {
    let ends = channel::pair(find(SERVICE_CHANNELS)?.handle(), SOCK_STREAM, 0, 0, 0, 0).map_err(why("pair"))?;
    let (reader, writer) = pipe(0)?;
    channel::send_with(ends.first.handle(), channel::Outgoing::default(), &b"take"[..], &[writer.handle()]).map_err(why("send"))?;
    drop(writer);
    let slot = EmptySlot::<Reference>::new().map_err(|status| format!("{status:?}"))?;
    let mut bytes = [0; 16];
    let reply = channel::receive_with(ends.second.handle(), 0, 16, &[slot.handle()], &mut bytes[..]).map_err(why("receive"))?;
    expect("what came", (reply.count, reply.references), (4, 1))?;
    let writer = slot.occupied();
    file::write(writer.handle(), OWN_POSITION, &b"through"[..]).map_err(why("write"))?;
    expect("what went through it", read(&reader), Ok(b"through".to_vec()))?;
    drop(writer);
    expect("the end", read(&reader), Ok(Vec::new()))
}

fn counted() -> Outcome {
    let all = parent::processors(Reference::PARENT).map_err(why("processors"))?.count;
    expect("somewhere to run", all >= 1, true)?;
    let counts = |limit: u64, words: &[&[u8]]| {
        let (pid, port) = create().map_err(why("create"))?;
        expect("no processors", process::processors_limit(port.handle(), 0).err(), Some(Errno::EINVAL))?;
        process::processors_limit(port.handle(), limit).map_err(why("processors_limit"))?;
        begin_at(port.handle(), 0, words).map_err(why("begin"))?;
        wait(pid, WEXITED).map(|(_, status)| status >> 8)
    };
    expect("of many", counts(1000, &[b"count"])?, all)?;
    expect("of one", counts(1, &[b"count"])?, 1)?;
    expect("a child's of one", counts(1, &[b"parent-of", b"count"])?, 1)
}

fn nonsense() -> Outcome {
    let pid = child_asked(&[b"nonsense"]).map_err(why("making a child"))?;
    let ask = || {
        process::ask(Reference::PARENT, pid, ASK_TEXT | ASK_PRIVILEGED, 0, 0, 0, &b"/proc/1/stat"[..], &mut [0; 8][..])
            .map(|reply| (reply.first, reply.second, reply.found))
    };
    let ask_file = || process::ask_file(Reference::PARENT, pid, ASK_FILE | ASK_PRIVILEGED, 0, 0, 0).map(|reply| reply.first);
    for number in ["too large an error", "no error", "no error and too much"] {
        expect(number, ask(), Err(Errno::EPROTO))?;
    }
    expect("too much", ask().is_err(), true)?;
    expect("a reference instead of bytes", ask(), Err(Errno::EPROTO))?;
    expect("bytes instead of a reference", ask_file(), Err(Errno::EPROTO))?;
    expect("a reference that is no file", ask_file(), Ok(u64::MAX))?;
    expect("two answers", ask(), Ok((0, 0, 0)))?;
    expect("an end instead of an answer", ask(), Err(Errno::ESRCH))?;
    expect("how it ended", wait(pid, WEXITED)?.1 >> 8, 3)
}

fn asked() -> Outcome {
    let ask = |pid| process::ask(Reference::PARENT, pid, ASK_LIMIT | ASK_PRIVILEGED, 0, 0, 0, &b""[..], &mut [0; 8][..]).err();
    let pid = made(&[b"sleep"])?;
    expect("one of ours", ask(pid), Some(Errno::EPERM))?;
    kill(pid, 9)?;
    wait(pid, WEXITED)?;
    expect("one that has gone", ask(pid), Some(Errno::ESRCH))
}
