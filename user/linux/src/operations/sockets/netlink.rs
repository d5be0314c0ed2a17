//! Messages of netlink (Linux: netlink(7)): requests of programs, and the answers to them.

use crate::abi::errno::Errno;
use alloc::vec::Vec;

/// Bytes of a `struct nlmsghdr`.
pub const HEADER: usize = 16;
const ALIGNMENT: usize = 4;

/// Kind of an answer that tells of an error.
pub const ERROR: u16 = 2;
/// Kind of the answer behind all others.
pub const DONE: u16 = 3;
/// Kinds below are no requests.
const FIRST: u16 = 16;

/// Flag of a request.
const REQUEST: u16 = 1;
/// An answer is wanted in any case.
pub const ACKNOWLEDGE: u16 = 4;
/// All there is is wanted, not one.
pub const ALL: u16 = 0x300;
/// Flag of an answer: others follow.
const SEVERAL: u16 = 2;
/// Bytes of answers that go as one message, at most: what Linux puts into one.
const TOGETHER: usize = 3072;

/// A request.
pub struct Request<'a> {
    /// Kind.
    pub kind: u16,
    /// Flags.
    pub flags: u16,
    /// Number that the answers have, too.
    sequence: [u8; 4],
    header: &'a [u8],
    /// Bytes behind the header.
    pub body: &'a [u8],
}

/// The number at a place.
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl<'a> Request<'a> {
    /// The first request, and what follows it; `None`: there is none.
    fn first(bytes: &'a [u8]) -> Option<(Request<'a>, &'a [u8])> {
        let size = word(bytes, 0)? as usize;
        let whole = bytes.get(..size).filter(|whole| whole.len() >= HEADER)?;
        let (header, body) = whole.split_at(HEADER);
        let rest = bytes.get(size.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        let (kind, flags) = (u16::from_le_bytes([header[4], header[5]]), u16::from_le_bytes([header[6], header[7]]));
        Some((Request { kind, flags, sequence: [header[8], header[9], header[10], header[11]], header, body }, rest))
    }

    /// Returns true if all there is is asked for.
    pub fn wants_all(&self) -> bool {
        self.flags & ALL == ALL
    }

    /// The family that it is about.
    pub fn family(&self) -> u8 {
        self.body.first().copied().unwrap_or(0)
    }
}

/// Answers under way to one who asks.
pub struct Answers {
    messages: Vec<Vec<u8>>,
    receiver: u32,
}

impl Answers {
    fn put(&mut self, request: &Request<'_>, kind: u16, flags: u16, body: &[u8]) {
        let mut message = ((HEADER + body.len()) as u32).to_le_bytes().to_vec();
        message.extend([kind, flags].iter().flat_map(|half| half.to_le_bytes()));
        message.extend(request.sequence);
        message.extend(self.receiver.to_le_bytes());
        message.extend(body);
        message.resize(message.len().next_multiple_of(ALIGNMENT), 0);
        self.messages.push(message);
    }

    /// Says how a request has ended: with the error, and the request's header.
    fn end(&mut self, request: &Request<'_>, error: i32) {
        let body = [&error.to_le_bytes(), request.header].concat();
        self.put(request, ERROR, 0, &body);
    }

    /// Answers a request for one thing, or for all of them.
    pub fn tell(&mut self, request: &Request<'_>, kind: u16, bodies: &[Vec<u8>]) {
        let flags = if request.wants_all() { SEVERAL } else { 0 };
        bodies.iter().for_each(|body| self.put(request, kind, flags, body));
        if request.wants_all() {
            self.put(request, DONE, SEVERAL, &[0; 4]);
        }
    }
}

/// Appends an attribute.
pub fn attribute(into: &mut Vec<u8>, kind: u16, value: &[u8]) {
    into.extend([(4 + value.len()) as u16, kind].iter().flat_map(|half| half.to_le_bytes()));
    into.extend(value);
    into.resize(into.len().next_multiple_of(ALIGNMENT), 0);
}

/// Finds an attribute's value.
pub fn find(mut bytes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let [low, high, first, second, ..] = bytes else { return None };
        let size = usize::from(u16::from_le_bytes([*low, *high]));
        let value = bytes.get(4..size)?;
        if u16::from_le_bytes([*first, *second]) & 0x3fff == kind {
            return Some(value);
        }
        bytes = bytes.get(size.next_multiple_of(ALIGNMENT)..)?;
    }
}

/// Answers the requests of one message by `answer`, for the socket with this number. Each part is a
/// message.
pub fn answers(mut bytes: &[u8], receiver: u32, mut answer: impl FnMut(&mut Answers, &Request<'_>) -> Result<(), Errno>) -> Vec<Vec<u8>> {
    let mut answers = Answers { messages: Vec::new(), receiver };
    while let Some((request, rest)) = Request::first(bytes) {
        bytes = rest;
        if request.kind < FIRST || request.flags & REQUEST == 0 {
            continue;
        }
        match answer(&mut answers, &request) {
            Err(error) => answers.end(&request, -(error.0 as i32)),
            Ok(()) if request.flags & ACKNOWLEDGE != 0 && !request.wants_all() => answers.end(&request, 0),
            Ok(()) => {}
        }
    }
    answers.messages
}

/// Puts answers that follow each other into one message, as far as that stays small.
pub fn together(answers: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for answer in answers {
        match all.last_mut() {
            Some(last) if last.len() + answer.len() <= TOGETHER => last.extend(answer),
            _ => all.push(answer),
        }
    }
    all
}
