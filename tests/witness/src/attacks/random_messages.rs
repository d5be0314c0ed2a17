//! Random messages at every port that the environment gives, and at every port that their answers
//! bring. Operations, words, bytes and references are random; references are the program's own
//! ports, spaces, threads and regions, and those that it received.
//!
//! The argument is `SEED,COUNT`. The program never sends what may rightfully end or stop itself or
//! its own world.

use nacre_raw::random::Random;
use crate::tools::{Outpost, object_memory, ports, why};
use crate::outcome::{Outcome, Verdict};
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::{Code, PAGE_SIZE, Rights};
use nacre_proto::{Errno, PROTOCOLS, file, mailbox, memory, parent, process, terminal};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{Object, OwnedPort, OwnedReference, OwnedRegion, PortSet, Reference, Space, Span, SpanMut};

/// Seed and number of messages without an argument.
const USUAL: (u64, u64) = (1, 3000);
/// Time that a message waits for its answer: 1 ms.
const WAIT: u64 = 1_000_000;
/// Maximum of received references that are kept.
const MAX_KEPT: usize = 96;
/// Operations that are looked at for one that the target may serve.
const TRIES: usize = 64;
/// Slots that a call offers.
const SLOTS: usize = 8;

/// Boundary values of words.
const EDGES: [u64; 16] =
    [0, 1, 2, 3, 7, 8, 63, 64, 4095, 4096, 4097, 1 << 31, u32::MAX as u64, 1 << 46, 1 << 63, u64::MAX];

/// Paths and other texts that bytes start with. Nothing in `/bin` is among them, so the shell
/// outside finds its programs.
const TEXTS: [&[u8]; 12] =
    [b"/", b".", b"..", b"/tmp/w", b"/tmp/w/x", b"/etc/passwd", b"/dev/null", b"/dev/ptmx", b"/proc/self/mem", b"x\0y", b"", b"/tmp/../tmp/w"];

/// Operations that a program may use against itself, its own world or its own terminal.
const RIGHTFUL: [u32; 28] = [
    file::hand_out::LABEL,
    parent::exit::LABEL,
    parent::keep::LABEL,
    parent::report::LABEL,
    memory::pool_destroy::LABEL,
    process::abandon::LABEL,
    process::begin::LABEL,
    process::renew::LABEL,
    process::kill::LABEL,
    process::stopped::LABEL,
    process::group_set::LABEL,
    process::session_create::LABEL,
    process::limits::LABEL,
    process::identity::LABEL,
    process::family::LABEL,
    process::stream_set::LABEL,
    process::memory_set::LABEL,
    process::thread_end::LABEL,
    process::terminal_acquire::LABEL,
    process::terminal_leave::LABEL,
    process::foreground_set::LABEL,
    process::dispositions::LABEL,
    process::processors_limit::LABEL,
    mailbox::expect::LABEL,
    terminal::flow::LABEL,
    terminal::set_attributes::LABEL,
    terminal::attend::LABEL,
    terminal::type_byte::LABEL,
];

/// A target of messages, or a reference to send.
struct Held {
    reference: OwnedReference,
    /// A child made by `process.create`: everything may be done to it.
    is_child: bool,
    /// A stream of the program: writing there would show on the console.
    is_stream: bool,
    /// Bits of the protocols that it may serve: it has not yet answered `ENOSYS` to them.
    protocols: u32,
}

impl Held {
    fn new(reference: OwnedReference, is_child: bool, is_stream: bool) -> Held {
        Held { reference, is_child, is_stream, protocols: u32::MAX }
    }
}

/// All that the attack sends to and sends along.
struct Stock {
    random: Random,
    given: Vec<Held>,
    received: Vec<Held>,
    own: Vec<OwnedReference>,
    labels: Vec<u32>,
    bytes: Vec<u8>,
    buffer: Vec<u8>,
}

impl Stock {
    fn choose(&mut self) -> usize {
        let all = if self.random.once_in(2) { self.given.len() } else { self.given.len() + self.received.len() };
        self.random.below(all as u64) as usize
    }

    fn held(&mut self, number: usize) -> &mut Held {
        let given = self.given.len();
        if number < given { &mut self.given[number] } else { &mut self.received[number - given] }
    }

    /// A reference to send: the program's own, one that was given or received, or a bad address.
    fn any_reference(&mut self) -> Reference {
        match self.random.below(8) {
            0..4 => self.own[self.random.below(self.own.len() as u64) as usize].handle(),
            4 if self.random.once_in(8) => Reference(self.random.one_of(&EDGES)),
            _ => {
                let number = self.choose();
                self.held(number).reference.handle()
            }
        }
    }

    /// An operation, mostly one that the target may serve.
    fn label(&mut self, protocols: u32) -> u32 {
        match self.random.below(32) {
            0 => return self.random.next() as u32,
            1 => return (self.random.below(16) << 16 | self.random.below(64)) as u32,
            _ => {}
        }
        for _ in 0..TRIES {
            let label = self.labels[self.random.below(self.labels.len() as u64) as usize];
            if protocols & bit(label) != 0 {
                return label;
            }
        }
        self.labels[0]
    }

    fn word(&mut self) -> u64 {
        match self.random.below(4) {
            0 => self.random.one_of(&EDGES),
            1 => self.random.next(),
            2 => self.random.below(64) * PAGE_SIZE,
            _ => self.random.below(8),
        }
    }

    fn fill_bytes(&mut self) {
        let size = match self.random.below(8) {
            0 => self.random.below(MAX_BYTES + 1),
            1 => MAX_BYTES,
            _ => self.random.below(80),
        };
        let text = TEXTS[self.random.below(TEXTS.len() as u64) as usize];
        self.bytes.clear();
        if !self.random.once_in(3) {
            self.bytes.extend_from_slice(text);
        } else {
            self.bytes.extend((0..size).map(|_| self.random.next() as u8));
        }
    }

    /// Sends one message, and keeps what its answer brings.
    fn step(&mut self) -> Result<(), String> {
        let number = self.choose();
        let target = self.held(number);
        let (to, is_child, is_stream, protocols) = (target.reference.handle(), target.is_child, target.is_stream, target.protocols);
        let label = self.label(protocols);
        let mut words: [u64; 6] = core::array::from_fn(|_| self.word());
        if label == process::create::LABEL {
            // The end of a child is a signal of the program's own choice.
            words[0] = 0;
        }
        self.fill_bytes();
        let count = if self.random.once_in(2) { self.random.below(4) + 5 * u64::from(self.random.once_in(8)) } else { 0 };
        let references: Vec<Reference> = (0..count.min(8)).map(|_| self.any_reference()).collect();
        if (RIGHTFUL.contains(&label) && (!is_child || label == process::kill::LABEL)) || (is_stream && label == file::write::LABEL) {
            return Ok(());
        }
        let message = Message { bytes: Span::from(&self.bytes[..]), references: &references, ..Message::new(label, words) };
        match self.random.below(16) {
            0 => drop(ipc::notify(to, words[0])),
            1 => drop(ipc::send(to, &message, WAIT)),
            _ => self.call(number, label, words, &references)?,
        }
        Ok(())
    }

    fn call(&mut self, number: usize, label: u32, words: [u64; 6], references: &[Reference]) -> Result<(), String> {
        let slots: Vec<OwnedReference> = (0..SLOTS).map(|_| OwnedReference::null()).collect::<Result<_, _>>().map_err(why("slots"))?;
        let to = self.held(number).reference.handle();
        let places: Vec<Reference> = slots.iter().map(OwnedReference::handle).collect();
        let message = Message { bytes: Span::from(&self.bytes[..]), references, ..Message::new(label, words) };
        let room = if self.random.once_in(8) { 0 } else { self.buffer.len() };
        let buffers = Buffers { bytes: SpanMut::from(&mut self.buffer[..room]), slots: &places };
        let received = match ipc::call(to, &message, buffers, WAIT) {
            Ok(received) => received,
            Err(status) => {
                let given = self.given.len();
                if number >= given && status.code() == Some(Code::NullReference) {
                    self.received.swap_remove(number - given);
                }
                return Ok(());
            }
        };
        if received.label() == Errno::ENOSYS.0 {
            self.held(number).protocols &= !bit(label);
        }
        let is_stream = label == parent::stream::LABEL;
        for reference in slots.into_iter().take(received.references()) {
            let held = Held::new(reference, label == process::create::LABEL, is_stream);
            if label >> 16 == memory::NUMBER && !self.random.once_in(8) {
                continue;
            }
            if self.received.len() < MAX_KEPT {
                self.received.push(held);
            } else {
                let number = self.random.below(MAX_KEPT as u64) as usize;
                self.received[number] = held;
            }
        }
        Ok(())
    }
}

/// Bit of an operation's protocol.
fn bit(label: u32) -> u32 {
    1 << (label >> 16 & 31)
}

/// Seed and count of an argument `SEED,COUNT`.
fn numbers(argument: &[u8]) -> (u64, u64) {
    let text = core::str::from_utf8(argument).unwrap_or_default();
    let parse = |(seed, count): (&str, &str)| Some((seed.parse().ok()?, count.parse().ok()?));
    text.split_once(',').and_then(parse).unwrap_or(USUAL)
}

fn copy<T: Object>(object: T, make: impl Fn(T, Reference) -> Result<(), nacre_sys::Status>) -> Result<OwnedReference, String> {
    OwnedReference::made_by(|slot| make(object, slot)).map_err(why("a reference"))
}

/// Sends the messages; whoever stands above must still serve afterwards.
pub fn attack(argument: &[u8]) -> Outcome {
    let (seed, count) = numbers(argument);
    let memory = object_memory(16)?;
    let outpost = Outpost::with_keeper(Reference::NONE)?.ok_or("a space without keeper was refused")?;
    let port = OwnedPort::new(seed, PortSet::NONE).map_err(why("a port"))?;
    let region = OwnedRegion::new(Space::OWN, memory.start(), memory.size(), Rights::ALL, Reference::NONE).map_err(why("a region"))?;
    let own = Vec::from([
        port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY).map_err(why("a reference"))?,
        OwnedReference::null().map_err(why("a null reference"))?,
        region.new_reference(REFERENCE_USE).map_err(why("a reference"))?,
        copy(outpost.space.handle(), |space, slot| space.reference(slot, nacre_abi::rights::REFERENCE_ALL))?,
        copy(outpost.thread.handle(), |thread, slot| thread.reference(slot, nacre_abi::rights::REFERENCE_ALL))?,
        copy(Reference::PARENT, |parent, slot| parent.reference(slot, REFERENCE_USE))?,
    ]);
    let mut given: Vec<Held> = ports()
        .into_iter()
        .map(|(name, reference)| Held::new(reference, false, matches!(name, "input" | "output" | "messages")))
        .collect();
    let parent = copy(Reference::PARENT, |parent, slot| parent.reference(slot, REFERENCE_USE))?;
    given.push(Held::new(parent, false, false));
    let labels = PROTOCOLS.iter().flat_map(|protocol| protocol.operations).map(|operation| operation.label).collect();
    let buffer = alloc::vec![0; MAX_BYTES as usize];
    let mut stock = Stock { random: Random::new(seed), given, received: Vec::new(), own, labels, bytes: Vec::new(), buffer };
    (0..count).try_for_each(|_| stock.step())?;
    Ok(Verdict::Refused)
}
