//! A session: answers packets of one gdb after the other, and tells it of stops.

use crate::packet::{Item, Reader, frame};
use crate::signals;
use crate::target::{Reason, Stop, Target, ThreadId};
use crate::text::{self, Named, put_hex, put_number, put_thread, split};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Signal of a breakpoint, a step, and a stop without another cause.
const TRAP: u8 = 5;

/// Answer to a packet.
pub(crate) enum Reply {
    /// Body of a packet.
    Body(Vec<u8>),
    /// Silence: a stop follows, or nobody waits.
    Nothing,
}

impl Reply {
    /// Success without a result.
    pub(crate) fn ok() -> Reply {
        Reply::Body(b"OK".to_vec())
    }

    /// Failure. gdb knows no numbers of errors here.
    pub(crate) fn error() -> Reply {
        Reply::Body(b"E01".to_vec())
    }

    /// A packet that is not known.
    pub(crate) fn unknown() -> Reply {
        Reply::Body(Vec::new())
    }

    /// Success or failure.
    pub(crate) fn of(is_done: bool) -> Reply {
        if is_done { Reply::ok() } else { Reply::error() }
    }

    /// Returns this text, or failure.
    pub(crate) fn text(text: Option<Vec<u8>>) -> Reply {
        text.map_or_else(Reply::error, Reply::Body)
    }
}

/// State of a session.
pub struct Session {
    reader: Reader,
    acknowledges: bool,
    /// The packet that was sent last.
    last: Vec<u8>,
    /// True once a gdb has asked something, until it goes.
    is_connected: bool,
    /// True if one had asked something before this packet.
    was_connected: bool,
    /// True from an order to go on to the stop that follows.
    pub(crate) is_running: bool,
    /// Threads that packets are about which name none.
    pub(crate) selected: Named,
    /// The last stop.
    stop: Option<Stop>,
    /// Threads that are still to be listed.
    pub(crate) listed: Vec<ThreadId>,
    /// Ends of processes that gdb is told of when it lets something go on.
    ends: VecDeque<Stop>,
}

impl Default for Session {
    fn default() -> Session {
        Session {
            reader: Reader::default(),
            acknowledges: true,
            last: Vec::new(),
            is_connected: false,
            was_connected: false,
            is_running: false,
            selected: Named::ALL,
            stop: None,
            listed: Vec::new(),
            ends: VecDeque::new(),
        }
    }
}

impl Session {
    /// Takes bytes that arrived; returns the bytes to send.
    pub fn feed(&mut self, bytes: &[u8], target: &mut impl Target) -> Vec<u8> {
        let mut answer = Vec::new();
        for byte in bytes {
            match self.reader.take(*byte) {
                Some(Item::Packet(body)) => self.packet(&body, target, &mut answer),
                Some(Item::Damaged) if self.acknowledges => answer.push(b'-'),
                Some(Item::Again) if self.acknowledges => answer.extend(&self.last),
                Some(Item::Interrupt) if self.is_running => target.interrupt(),
                Some(_) | None => {}
            }
        }
        answer
    }

    fn packet(&mut self, body: &[u8], target: &mut impl Target, answer: &mut Vec<u8>) {
        self.was_connected = core::mem::replace(&mut self.is_connected, true);
        if self.acknowledges {
            answer.push(b'+');
        }
        if let Reply::Body(body) = self.reply(body, target) {
            answer.extend(self.framed(&body));
        }
    }

    fn framed(&mut self, body: &[u8]) -> &[u8] {
        self.last = frame(body);
        &self.last
    }

    /// Returns true if a gdb has connected and has not gone.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Returns true if gdb waits for a stop.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Takes note of a stop; returns the bytes to send.
    pub fn stopped(&mut self, stop: Stop, target: &mut impl Target) -> Vec<u8> {
        if self.is_connected && !self.is_running && !matches!(stop, Stop::Thread(..)) {
            self.ends.push_back(stop);
            return Vec::new();
        }
        if let Stop::Thread(thread, ..) = stop {
            self.selected = Named { process: Some(thread.process), thread: Some(thread.thread) };
        }
        let waits = core::mem::take(&mut self.is_running);
        self.stop = Some(stop);
        if !waits || !self.is_connected {
            return Vec::new();
        }
        let body = self.stop_reply(target);
        self.framed(&body).to_vec()
    }

    /// Takes the end of a process that gdb was not told of: the body of the packet that tells.
    pub(crate) fn late_end(&mut self) -> Option<Vec<u8>> {
        let stop = self.ends.pop_front()?;
        let body = describe(&stop);
        self.stop = Some(stop);
        Some(body)
    }

    /// Describes the last stop. Where there was none, the first thread has stopped.
    fn stop_reply(&mut self, target: &mut impl Target) -> Vec<u8> {
        let first = target.threads().first().map(|thread| Stop::Thread(*thread, TRAP, Reason::Signal));
        match self.stop.as_ref().or(first.as_ref()) {
            Some(stop) => describe(stop),
            None => b"W00".to_vec(),
        }
    }

    /// Returns the thread that packets are about which name none.
    pub(crate) fn thread(&self, target: &mut impl Target) -> Option<ThreadId> {
        target.threads().into_iter().find(|thread| self.selected.has(*thread))
    }

    /// Returns the process that packets are about.
    pub(crate) fn process(&self, target: &mut impl Target) -> Option<u32> {
        self.thread(target).map(|thread| thread.process)
    }

    fn reply(&mut self, body: &[u8], target: &mut impl Target) -> Reply {
        let Some((kind, rest)) = body.split_first() else { return Reply::unknown() };
        match kind {
            b'?' => Reply::Body(self.stop_reply(target)),
            b'!' => Reply::ok(),
            b'g' | b'G' | b'p' | b'P' => self.registers(*kind, rest, target),
            b'm' | b'M' | b'X' => self.memory(*kind, rest, target),
            b'Z' | b'z' => self.breakpoint(*kind == b'Z', rest, target),
            b'H' => self.select(rest, target),
            b'T' => Reply::of(text::threads(rest).is_some_and(|named| target.threads().into_iter().any(|thread| named.has(thread)))),
            b'D' => self.detach(rest, target),
            b'k' => self.kill_all(target),
            b'q' => self.question(rest, target),
            b'Q' if rest == b"StartNoAckMode" => {
                self.acknowledges = false;
                Reply::ok()
            }
            b'Q' if rest == b"NonStop:0" => Reply::ok(),
            b'Q' => self.order(rest, target),
            b'v' => self.long(rest, target),
            b'b' if matches!(rest, b"s" | b"c") => self.go_back(rest == b"s", target),
            _ => Reply::unknown(),
        }
    }

    fn long(&mut self, rest: &[u8], target: &mut impl Target) -> Reply {
        if let Some(file) = rest.strip_prefix(b"File:") {
            return crate::files::file(file, target);
        }
        match split(rest, b';') {
            (b"Cont?", _) => Reply::Body(b"vCont;c;C;s;S;t".to_vec()),
            (b"Cont", actions) => self.go_on(actions, target),
            (b"Kill", process) => self.kill(process, target),
            (b"CtrlC", _) => {
                target.interrupt();
                Reply::ok()
            }
            (whole, _) => match whole.strip_prefix(b"NacreGone:") {
                Some(number) => self.gone(number, target),
                None => Reply::unknown(),
            },
        }
    }

    /// The connection has ended, perhaps one to who had the line before: what was debugged goes on
    /// by itself. The answer tells the host where the bytes of the next connection begin.
    fn gone(&mut self, number: &[u8], target: &mut impl Target) -> Reply {
        let mut processes: Vec<u32> = target.threads().into_iter().map(|thread| thread.process).collect();
        processes.dedup();
        processes.into_iter().filter(|_| self.was_connected).for_each(|process| target.detach(process));
        *self = Session::default();
        // The answer makes it connected; nobody is until the next packet.
        Reply::Body([b"gone:", number].concat())
    }

    fn select(&mut self, rest: &[u8], target: &mut impl Target) -> Reply {
        let named = rest.split_first().and_then(|(_, rest)| text::threads(rest));
        match (rest.first(), named) {
            (Some(b'g'), Some(named)) => {
                let found = target.threads().into_iter().find(|thread| named.has(*thread));
                if let Some(thread) = found {
                    self.selected = named;
                    target.select(thread);
                }
                Reply::of(found.is_some())
            }
            // Which threads go on is said when they do.
            (Some(b'c'), Some(_)) => Reply::ok(),
            _ => Reply::error(),
        }
    }
}

/// Returns where the first news in bytes that a connection has ended ends itself, or their length,
/// and whether no packet comes before it.
pub fn gone(bytes: &[u8]) -> (usize, bool) {
    const NEWS: &[u8] = b"$vNacreGone:";
    let start = bytes.windows(NEWS.len()).position(|part| part == NEWS);
    let end = start.and_then(|start| bytes[start..].iter().position(|byte| *byte == b'#').map(|at| (start, start + at + 3)));
    match end.filter(|(_, end)| *end <= bytes.len()) {
        Some((start, end)) => (end, !bytes[..start].contains(&b'$')),
        None => (bytes.len(), false),
    }
}

/// The body of the packet that tells of a stop.
fn describe(stop: &Stop) -> Vec<u8> {
    let mut body = Vec::new();
    let (kind, code, process) = match *stop {
        Stop::Thread(thread, signal, ref reason) => {
            body.push(b'T');
            body.extend(text::hex_byte(signals::to_gdb(signal)));
            put_reason(reason, &mut body);
            body.extend(b"thread:");
            put_thread(thread, &mut body);
            body.push(b';');
            return body;
        }
        Stop::Exited(process, status) => (b'W', status, process),
        Stop::Killed(process, signal) => (b'X', signals::to_gdb(signal), process),
    };
    body.push(kind);
    body.extend(text::hex_byte(code));
    body.extend(b";process:");
    put_number(process.into(), &mut body);
    body
}

fn put_reason(reason: &Reason, body: &mut Vec<u8>) {
    match reason {
        Reason::Signal => return,
        Reason::Breakpoint => body.extend(b"swbreak:"),
        Reason::Exec(path) => {
            body.extend(b"exec:");
            put_hex(path, body);
        }
        Reason::Fork(child) => {
            body.extend(b"fork:");
            put_thread(*child, body);
        }
        Reason::CallBegins(number) => {
            body.extend(b"syscall_entry:");
            put_number(*number, body);
        }
        Reason::CallEnds(number) => {
            body.extend(b"syscall_return:");
            put_number(*number, body);
        }
        Reason::Change(address) => {
            body.extend(b"watch:");
            put_number(*address, body);
        }
        Reason::ReplayBegins => body.extend(b"replaylog:begin"),
        Reason::ReplayEnds => body.extend(b"replaylog:end"),
    }
    body.push(b';');
}
