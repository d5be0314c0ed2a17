//! Requests to things outside: asked at once if the answer does not have to wait, else kept until
//! it does not. A request that is kept is plain data and a reply reference, so it can be frozen.

use crate::input::{Answer, is_console};
use crate::origin::{Source, join};
use crate::outside::{Attended, NUMBER, Outside, Parts, What};
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::message::{MAX_BYTES, MAX_REFERENCES};
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::flags::{CLOCK_MONOTONIC, KEEP_FLAGS, LOCK_WAIT, O_CREAT, O_NONBLOCK, O_RDWR, O_TRUNC, O_WRONLY, POLLERR, POLLHUP, POLLIN, POLLOUT, SERVICE_CLOCK};
use nacre_proto::{Errno, Request, clock, directory, file, nic, terminal};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, Reference, Span};

/// Maximum number of requests that wait.
const MAX_WAITING: usize = 4096;
/// Nanoseconds between two looks at what does not tell when it is ready.
const LOOK: u64 = 10_000_000;
/// Nanoseconds after which those who have gone are let go, where all else is told.
const LONG_LOOK: u64 = 1_000_000_000;
/// Number of bits by which those who wait are told. Each has one of its own; others are not told.
const BITS: u32 = 32;
/// Bits of all that wait.
pub const ALL: u64 = u64::MAX;

/// A request that waits.
pub struct Waiter {
    /// Number of the port that it came through.
    pub port: u64,
    /// The reference by which it is answered.
    pub reply: OwnedReference,
    /// Label of the message.
    pub label: u32,
    /// Words of the message.
    pub words: [u64; 6],
    /// Bytes of the message.
    pub bytes: Vec<u8>,
    /// Numbers of our ports for the things outside that the message brought.
    pub given: Vec<u64>,
    /// Bit that says that it may go on; none: nobody says so.
    pub told: Option<u64>,
}

/// Reference that a message brings to something outside.
struct Brought {
    /// Number of our port for it, if it is something outside itself.
    number: Option<u64>,
    reference: OwnedReference,
}

/// All that wait, the oldest first.
pub struct Waiters {
    /// The requests.
    pub all: Vec<Waiter>,
    wake: OwnedPort,
    /// Bits that somebody waits for.
    used: u64,
    /// The bit of the last time, until who waits for it has it.
    told: Option<u64>,
}

impl Waiters {
    /// Makes an empty list, which is told at this port.
    pub fn new(wake: OwnedPort) -> Waiters {
        Waiters { all: Vec::new(), wake, used: 0, told: None }
    }

    /// Nanoseconds after which somebody is to look again; none if nobody waits.
    pub fn patience(&self) -> Option<u64> {
        let look = |waiter: &Waiter| if waiter.told.is_some() { LONG_LOOK } else { LOOK };
        self.all.iter().map(look).min()
    }

    /// Returns the events of these that are present. If there are none, the port is told of the
    /// next.
    fn watch(&mut self, original: Reference, wanted: u64) -> u64 {
        let Ok(wake) = self.wake.new_reference(REFERENCE_USE | REFERENCE_NOTIFY) else { return 0 };
        let bit = 1 << self.used.trailing_ones().min(BITS);
        match if bit >> BITS == 0 { file::watch(original, wanted, bit, wake.handle()).ok() } else { None } {
            Some(reply) => {
                if reply.events & wanted == 0 {
                    self.used |= bit;
                    self.told = Some(bit);
                }
                reply.events & wanted
            }
            None => file::poll(original, wanted).map_or(0, |reply| reply.events & wanted),
        }
    }

    /// Lets others have a bit.
    fn free(&mut self, told: Option<u64>) {
        self.used &= !told.unwrap_or(0);
    }
}

/// A message, whoever sent it.
struct Asked<'a> {
    label: u32,
    words: [u64; 6],
    bytes: &'a [u8],
}

/// Outcome of a message to something outside.
enum Outcome {
    /// The answer: words, references, bytes.
    Now([u64; 6], Vec<OwnedReference>, Vec<u8>),
    /// There is no answer yet.
    Later,
}

/// Answers that bring something without a name that may be kept by its contents.
const UNNAMED: u32 = directory::memory::LABEL;

impl Outside {
    /// Asks what is behind the port of a request. `None`: it waits.
    pub fn ask(&mut self, request: &mut Request<'_>) -> Result<Option<Parts>, Errno> {
        let asked = Asked { label: request.label(), words: request.words(), bytes: request.bytes() };
        let word = request.word() & NUMBER;
        let given = self.translate(request)?;
        match self.try_now(word, &asked, &given)? {
            Outcome::Now(words, references, bytes) => {
                request.put(&bytes);
                Ok(Some((words, references)))
            }
            Outcome::Later if self.waiters.all.len() >= MAX_WAITING => {
                let told = self.waiters.told.take();
                self.waiters.free(told);
                Err(Errno::EAGAIN)
            }
            Outcome::Later => {
                let Asked { label, words, bytes } = asked;
                let bytes = bytes.to_vec();
                let given = given.iter().filter_map(|brought| brought.number).collect();
                self.waiters.all.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
                let reply = request.detach()?;
                let told = self.waiters.told.take();
                self.waiters.all.push(Waiter { port: word, reply, label, words, bytes, given, told });
                Ok(None)
            }
        }
    }

    /// Asks again for all that wait and have one of these bits, or none, unless the environment
    /// stands still for a command.
    pub fn go_on(&mut self, bits: u64) {
        if self.is_held {
            return;
        }
        for mut waiter in core::mem::take(&mut self.waiters.all) {
            if waiter.reply.is_null().unwrap_or(true) {
                // Who waited has gone, or was interrupted by a signal.
                self.waiters.free(waiter.told);
                continue;
            }
            if waiter.told.is_some_and(|bit| bit & bits == 0) {
                self.waiters.all.push(waiter);
                continue;
            }
            self.waiters.free(waiter.told.take());
            let asked = Asked { label: waiter.label, words: waiter.words, bytes: &waiter.bytes };
            let outcome = self.brought_again(&waiter.given).and_then(|given| self.try_now(waiter.port, &asked, &given));
            let Waiter { reply, .. } = match outcome {
                Ok(Outcome::Later) => {
                    waiter.told = self.waiters.told.take();
                    self.waiters.all.push(waiter);
                    continue;
                }
                _ => &waiter,
            };
            let message = match &outcome {
                Ok(Outcome::Now(words, _, bytes)) => Message { bytes: Span::from(&bytes[..]), ..Message::new(0, *words) },
                Ok(Outcome::Later) => continue,
                Err(errno) => Message::new(errno.0, [0; 6]),
            };
            // Who has gone does not get it.
            let _ = ipc::send(reply.handle(), &message, FOREVER);
        }
    }

    /// References to things outside, by the numbers of our ports for them.
    fn brought_again(&self, numbers: &[u64]) -> Result<Vec<Brought>, Errno> {
        let again = |number: &u64| {
            let (original, _) = self.original(*number)?;
            Ok(Brought { number: Some(*number), reference: OwnedReference::copy_of(original, REFERENCE_USE)? })
        };
        numbers.iter().map(again).collect()
    }

    fn original(&self, word: u64) -> Result<(Reference, &Source), Errno> {
        match self.entry(word).map(|entry| &entry.what) {
            Some(What::Outside(Some(original), source)) => Ok((original.handle(), source)),
            _ => Err(Errno::EIO),
        }
    }

    fn try_now(&mut self, word: u64, asked: &Asked<'_>, given: &[Brought]) -> Result<Outcome, Errno> {
        self.waiters.told = None;
        let (original, source) = self.original(word)?;
        if *source == Source::Service(SERVICE_CLOCK) {
            return self.time(original, asked);
        }
        let mut words = asked.words;
        if let Some(outcome) = self.at_console(word, asked, given)? {
            return Ok(outcome);
        }
        match asked.label {
            file::map::LABEL | file::share::LABEL => return Err(Errno::ENODEV),
            file::read::LABEL if !self.is_ready(word, POLLIN)? => return Ok(Outcome::Later),
            file::write::LABEL if !self.is_ready(word, POLLOUT)? => return Ok(Outcome::Later),
            file::lock::LABEL | file::lock_owned::LABEL => words[1] &= !LOCK_WAIT,
            _ => {}
        }
        match self.send(word, &Asked { words, ..*asked }, given) {
            Err(Errno::EAGAIN) if words != asked.words => Ok(Outcome::Later),
            outcome => {
                if let Ok(Outcome::Now([written, ..], ..)) = &outcome {
                    self.note_output(word, asked, *written);
                }
                outcome
            }
        }
    }

    /// Answers what comes to the console of a copy and is not for the console itself.
    fn at_console(&mut self, word: u64, asked: &Asked<'_>, given: &[Brought]) -> Result<Option<Outcome>, Errno> {
        let (original, source) = self.original(word)?;
        let is_console = is_console(source);
        let Some(input) = self.input.as_mut().filter(|_| is_console) else { return Ok(None) };
        match input.answer(original, asked.label, asked.words)? {
            Answer::Console => Ok(None),
            Answer::Later => Ok(Some(Outcome::Later)),
            Answer::Now(words, bytes) => Ok(Some(Outcome::Now(words, Vec::new(), bytes))),
            Answer::Events(wanted, present) => {
                let mut words = asked.words;
                words[0] = wanted;
                let mut outcome = self.send(word, &Asked { words, ..*asked }, given)?;
                if let Outcome::Now(words, ..) = &mut outcome {
                    words[0] = words[0] & !POLLIN | present;
                }
                Ok(Some(outcome))
            }
        }
    }

    /// Notes what a copy has written to the console.
    fn note_output(&mut self, word: u64, asked: &Asked<'_>, written: u64) {
        let is_output = asked.label == file::write::LABEL && self.original(word).is_ok_and(|(_, source)| is_console(source));
        if let Some(input) = self.input.as_mut().filter(|_| is_output) {
            input.log.add(&asked.bytes[..asked.bytes.len().min(written as usize)]);
        }
    }

    /// The clock of the environment goes on where it was frozen. Its formula would not.
    fn time(&self, original: Reference, asked: &Asked<'_>) -> Result<Outcome, Errno> {
        match asked.label {
            clock::read::LABEL => {
                let reply = clock::read(original, asked.words[0])?;
                let ahead = if asked.words[0] == CLOCK_MONOTONIC { self.clock_ahead } else { 0 };
                let nanoseconds = reply.nanoseconds + ahead % 1_000_000_000;
                let seconds = reply.seconds + ahead / 1_000_000_000 + nanoseconds / 1_000_000_000;
                Ok(Outcome::Now([seconds, nanoseconds % 1_000_000_000, 0, 0, 0, 0], Vec::new(), Vec::new()))
            }
            _ => Err(Errno::ENOSYS),
        }
    }

    /// Returns true if a read or write of something outside does not have to wait, or is not to. If
    /// not, the port for that is told when one may go on.
    fn is_ready(&mut self, word: u64, events: u64) -> Result<bool, Errno> {
        let (original, source) = self.original(word)?;
        let may_wait = match source {
            Source::Stream(_) => true,
            Source::File(path, _) => path.starts_with(b"/dev/"),
            _ => false,
        };
        if !may_wait || file::flags(original, KEEP_FLAGS).is_ok_and(|reply| reply.old & O_NONBLOCK != 0) {
            return Ok(true);
        }
        Ok(self.waiters.watch(original, events | POLLHUP | POLLERR) != 0)
    }

    /// References for something outside: its own objects, where ours stand for them, and ports of
    /// ours for ports of the environment.
    fn translate(&mut self, request: &mut Request<'_>) -> Result<Vec<Brought>, Errno> {
        let count = request.references().len();
        let mut given = Vec::new();
        for number in 0..count {
            let reference = request.references()[number];
            if let Some((number, original)) = self.behind(reference)? {
                given.push(Brought { number: Some(number), reference: OwnedReference::copy_of(original, REFERENCE_USE)? });
                continue;
            }
            let is_told = matches!(request.label(), file::watch::LABEL | terminal::attend::LABEL | nic::watch::LABEL);
            if !is_told || reference.get_state()?.rights & REFERENCE_NOTIFY == 0 {
                return Err(Errno::ENODEV);
            }
            let kept = request.keep(number)?;
            let attended = Attended { of: request.word() & NUMBER, events: request.words()[0] };
            let attended = Some(attended).filter(|_| request.label() == terminal::attend::LABEL);
            given.push(Brought { number: None, reference: self.add(What::Told(kept, attended))? });
        }
        Ok(given)
    }

    /// Returns the object of somebody else's behind a reference that leads to a port of ours, and
    /// the number of that port.
    fn behind(&self, reference: Reference) -> Result<Option<(u64, Reference)>, Errno> {
        let Some(number) = self.number_behind(reference)? else { return Ok(None) };
        let (original, _) = self.original(number).map_err(|_| Errno::EXDEV)?;
        Ok(Some((number, original)))
    }

    /// Returns the number of the port of ours that a reference leads to, if it does.
    pub fn number_behind(&self, reference: Reference) -> Result<Option<u64>, Errno> {
        let revealed = reference.reveal(FIRST_ADDRESS, LAST_ADDRESS - FIRST_ADDRESS)?;
        Ok(revealed.and_then(|revealed| self.places.get(&revealed.address).copied()))
    }

    fn send(&mut self, word: u64, asked: &Asked<'_>, given: &[Brought]) -> Result<Outcome, Errno> {
        let (original, source) = self.original(word)?;
        let place = source.path().map(<[u8]>::to_vec);
        let slots = (0..MAX_REFERENCES).map(|_| OwnedReference::null()).collect::<Result<Vec<_>, _>>()?;
        let handles: Vec<Reference> = slots.iter().map(OwnedReference::handle).collect();
        let sent: Vec<Reference> = given.iter().map(|brought| brought.reference.handle()).collect();
        let mut bytes = vec![0; MAX_BYTES as usize];
        let message = Message { references: &sent, ..Message::new(asked.label, asked.words).with_bytes(asked.bytes) };
        let reply = ipc::call(original, &message, Buffers::new(&mut bytes[..], &handles), FOREVER)?;
        if reply.label() != 0 {
            return Err(Errno(reply.label()));
        }
        self.note_change(place.as_deref(), asked);
        let mut ours = Vec::new();
        for reference in slots.into_iter().take(reply.references()) {
            if reference.handle().get_state()?.target != TargetType::Port as u64 {
                return Err(Errno::ENODEV);
            }
            let source = source_of(place.as_deref(), asked);
            ours.push(self.add(What::Outside(Some(reference), source))?);
        }
        bytes.truncate(reply.bytes());
        if matches!(asked.label, directory::status_at::LABEL | file::status::LABEL) {
            self.changes.translate(&mut bytes);
        }
        Ok(Outcome::Now(reply.words, ours, bytes))
    }

    /// Remembers which paths a message has changed.
    fn note_change(&mut self, place: Option<&[u8]>, asked: &Asked<'_>) {
        let [first, second, ..] = asked.words;
        match asked.label {
            directory::open::LABEL if first & (O_WRONLY | O_RDWR) != 0 || first & (O_CREAT | O_TRUNC) != 0 => {}
            directory::make_directory::LABEL | directory::remove::LABEL | directory::make_node::LABEL => {}
            directory::set_mode_at::LABEL | directory::set_owner_at::LABEL => {}
            directory::symbolic_link::LABEL | directory::link::LABEL => {
                let size = if asked.label == directory::link::LABEL { second } else { first };
                return self.changes.note(place, asked.bytes.get(size as usize..).unwrap_or_default());
            }
            directory::rename::LABEL => {
                let (from, to) = asked.bytes.split_at_checked(second as usize).unwrap_or_default();
                self.changes.note(place, from);
                return self.changes.note(place, to);
            }
            file::set_attribute::LABEL | file::remove_attribute::LABEL => return self.changes.note_file(place),
            _ => return,
        }
        if !place.is_some_and(|place| is_device(&join(place, asked.bytes))) {
            self.changes.note(place, asked.bytes);
        }
    }
}

/// Addresses of our own.
const FIRST_ADDRESS: u64 = nacre_abi::PAGE_SIZE;
const LAST_ADDRESS: u64 = nacre_abi::USER_END;

fn is_device(path: &[u8]) -> bool {
    path.starts_with(b"/dev/")
}

/// Returns the source of what the answer to a message brings.
fn source_of(place: Option<&[u8]>, asked: &Asked<'_>) -> Source {
    match (asked.label, place) {
        (directory::open::LABEL, Some(place)) => Source::File(join(place, asked.bytes), asked.words[0]),
        (directory::share::LABEL, Some(place)) => Source::File(place.to_vec(), 0),
        (directory::root::LABEL, _) => Source::Other("another root directory"),
        (UNNAMED, _) => Source::Unnamed,
        (directory::limit::LABEL, _) => Source::Other("files with limits"),
        (directory::charge::LABEL, _) => Source::Other("a file that is charged to others"),
        (directory::counter::LABEL, _) => Source::Other("a counter"),
        (directory::watcher::LABEL, _) => Source::Other("a watcher of files"),
        (file::lock_owner::LABEL, _) => Source::Other("an owner of locks"),
        (file::execute::LABEL, Some(place)) => Source::Program(place.to_vec()),
        _ => Source::Other("something"),
    }
}
