//! A program that does its worst to whoever stands above it, in an order that its seed says: what
//! its calls answer matters to nobody, but that it is answered.

use crate::roles::{self, PATH, RIGHT};
use crate::victim::Random;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use nacre_abi::message::{KERNEL_BITS, MAX_REFERENCES};
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::{Call, Code, Rights, environment};
use nacre_nest::host::KILLED;
use nacre_proto::flags::{O_RDONLY, SERVICE_CLOCK, SERVICE_FILES, SERVICE_MEMORY};
use nacre_proto::{PROTOCOLS, directory, file, memory, parent};
use nacre_rt::memory::Segment;
use nacre_rt::thread;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference, Span, SpanMut, Thread, EmptySlot};

/// Status of a program that did what only a kernel may do.
const PROTECTED: u64 = 256 + 11;
/// Two pages, behind which there is nothing.
const AREA: u64 = 0x3000_0000_0000;
const AREA_SIZE: u64 = 0x2000;
/// References that are kept.
const MAX_HELD: usize = 64;
/// Threads that wait for what never comes: more than a monitor has workers.
const CROWD: usize = 40;
/// Threads that are destroyed in the middle of a call.
const DYING: u32 = 4;

/// Returns the status with which the program of this seed ends.
pub fn end_of(seed: u64) -> u64 {
    [RIGHT, KILLED, PROTECTED][seed as usize % 3]
}

/// Returns true if that program leaves threads behind that wait for ever. As long as it has
/// threads, it has not ended because it destroyed one.
fn leaves_a_crowd(seed: u64) -> bool {
    seed % 2 == 0 && end_of(seed) == RIGHT
}

struct Mischief {
    random: Random,
    services: Vec<OwnedReference>,
    held: Vec<OwnedReference>,
    bytes: Vec<u8>,
    dying: u32,
    /// A thread that was to be destroyed lives on, so that the program would not end.
    undying: bool,
}

static GO: AtomicBool = AtomicBool::new(false);
static TARGET: AtomicU64 = AtomicU64::new(0);

/// Makes `moves` moves and ends as the seed says; 1 if it was not answered at the end as it should
/// be, 4 if it could not destroy a thread of its own.
pub fn run(seed: u64, moves: u64) -> i32 {
    if Segment::map(AREA, AREA_SIZE, Rights::OBJECTS).map(Segment::leak).is_err() {
        return 2;
    }
    let services = [SERVICE_FILES, SERVICE_MEMORY, SERVICE_CLOCK].into_iter().filter_map(|service| roles::find(service).ok()).collect();
    let random = Random::new(seed);
    let mut mischief = Mischief { random, services, held: Vec::with_capacity(MAX_HELD), bytes: alloc::vec![0; 1 << 16], dying: 0, undying: false };
    for _ in 0..moves {
        mischief.step();
    }
    mischief.held.clear();
    if mischief.undying {
        return 4;
    }
    if roles::ask() != Ok(512) {
        return 1;
    }
    if leaves_a_crowd(seed) && !crowd() {
        return 3;
    }
    match end_of(seed) {
        KILLED => roles::give_up(),
        PROTECTED => {
            // Its own memory goes with this; that of who stands above it must not.
            let _ = roles::find(SERVICE_MEMORY).and_then(|pool| memory::pool_destroy(pool.handle()));
            nacre_raw::privileged("hlt")
        }
        _ => RIGHT as i32,
    }
}

/// Threads that ask what nobody answers; the parent must answer all the same.
fn crowd() -> bool {
    let Ok(silent) = roles::find(crate::victim::SILENT) else { return true };
    TARGET.store(silent.leak().0, Ordering::Relaxed);
    for _ in 0..CROWD {
        if thread::spawn(ask_for_ever, 0).is_err() {
            return false;
        }
    }
    // Once they wait, there is no worker left to bring memory for more of them.
    GO.store(true, Ordering::Release);
    let _ = Thread::sleep(20_000_000);
    roles::find(SERVICE_CLOCK).is_ok()
}

fn ask_for_ever(_: usize) {
    while !GO.load(Ordering::Acquire) {
        let _ = Thread::sleep(1_000_000);
    }
    loop {
        let _ = ipc::call_words(Reference(TARGET.load(Ordering::Relaxed)), 0x7f_0001, [0; 6]);
    }
}

/// Without locks of this program's: it is destroyed in the middle.
fn ask_until_destroyed(_: usize) {
    loop {
        let target = Reference(TARGET.load(Ordering::Relaxed));
        for label in [parent::stream::LABEL, directory::open::LABEL, file::status::LABEL, memory::status::LABEL] {
            let message = Message { bytes: Span::from(PATH), references: &[Reference(environment::PARENT)], ..Message::new(label, [1; 6]) };
            let _ = ipc::call(target, &message, Buffers::NONE, nacre_sys::FOREVER);
            let _ = ipc::call_words(target, label, [2; 6]);
        }
    }
}

/// Destroys a thread. Where memory lies deep the kernel may say so of what it would find the next
/// time.
fn is_destroyed(thread: Thread) -> bool {
    const TRIES: usize = 1000;
    (0..TRIES).map(|_| thread.destroy()).find(|result| !matches!(result, Err(status) if status.code() == Some(Code::TooDeep))).is_some_and(|result| result.is_ok())
}

impl Mischief {
    fn step(&mut self) {
        match self.random.below(16) {
            0 => self.half_messages(),
            1 => self.notifications(),
            2 => self.hoard(),
            3 => self.own_ports(),
            4 => self.dying_thread(),
            5 if self.random.below(4) == 0 => self.eat(),
            6..8 => self.message(true),
            _ => self.message(false),
        }
    }

    fn target(&mut self) -> Reference {
        let all = 2 + self.services.len() + self.held.len();
        match self.random.below(all as u64) as usize {
            0 | 1 => Reference::PARENT,
            number if number < 2 + self.services.len() => self.services[number - 2].handle(),
            number => self.held[number - 2 - self.services.len()].handle(),
        }
    }

    fn label(&mut self) -> u32 {
        let operations = PROTOCOLS[self.random.below(PROTOCOLS.len() as u64) as usize].operations;
        let label = match self.random.below(8) {
            0 => self.random.next() as u32 & 0x1f_001f,
            _ => operations[self.random.below(operations.len() as u64) as usize].label,
        };
        // The end comes at the end, and without its memory it comes at once; who keeps itself has
        // an end of which nobody hears; lines to whoever runs the system would reach a person.
        let is_spared = [parent::exit::LABEL, parent::keep::LABEL, parent::report::LABEL, memory::pool_destroy::LABEL, file::hand_out::LABEL].contains(&label);
        if is_spared { parent::find::LABEL } else { label }
    }

    fn words(&mut self) -> [u64; 6] {
        core::array::from_fn(|_| if self.random.below(3) > 0 { self.random.below(5) } else { self.random.next() })
    }

    /// References of all kinds, the right ones among them.
    fn references(&mut self) -> ([Reference; 8], usize) {
        let wild = [environment::PARENT, environment::SPACE, environment::THREAD].map(Reference);
        let chosen = core::array::from_fn(|_| if self.random.below(2) == 0 { wild[self.random.below(3) as usize] } else { self.target() });
        let count = if self.random.below(2) == 0 { 0 } else { self.random.below(MAX_REFERENCES + 1) };
        (chosen, count as usize)
    }

    /// Returns the number of bytes of a message: those of a path, none, or the maximum.
    fn fill(&mut self) -> usize {
        let size = [0, 1, 16, 200, 4096, 1 << 16][self.random.below(6) as usize];
        for byte in &mut self.bytes[..size.min(256)] {
            *byte = [b'/', b'.', b'a', self.random.next() as u8][self.random.below(4) as usize];
        }
        if size >= PATH.len() && self.random.below(2) == 0 {
            self.bytes[..PATH.len()].copy_from_slice(PATH);
            return PATH.len();
        }
        size
    }

    /// A message of any form, cut off by a short time as often as not.
    fn message(&mut self, one_way: bool) {
        let (target, label, words) = (self.target(), self.label(), self.words());
        let ((references, count), size) = (self.references(), self.fill());
        let timeout = if self.random.below(2) == 0 { 20_000_000 } else { 256 << self.random.below(12) };
        let message = Message { bytes: Span::from(&self.bytes[..size]), references: &references[..count], ..Message::new(label, words) };
        if one_way {
            let _ = ipc::send(target, &message, timeout);
            return;
        }
        let (mut first, mut second) = (EmptySlot::<Reference>::new().ok(), EmptySlot::<Reference>::new().ok());
        let slots = [&first, &second].map(|slot| slot.as_ref().map_or(Reference::NONE, EmptySlot::handle));
        let room = if slots.contains(&Reference::NONE) { 0 } else { self.random.below(3) as usize };
        let mut buffer = [0; 512];
        let size = self.random.below(513) as usize;
        let result = ipc::call(target, &message, Buffers { bytes: SpanMut::from(&mut buffer[..size]), slots: &slots[..room] }, timeout);
        let received = result.map_or(0, |received| received.references());
        for slot in [&mut first, &mut second].into_iter().take(received) {
            self.keep(slot.take().map(EmptySlot::occupied));
        }
        // References that came although the call failed stand in slots that are given back.
        for slot in [first, second].into_iter().flatten() {
            let _ = slot.handle().destroy();
        }
    }

    fn keep(&mut self, reference: Option<OwnedReference>) {
        let Some(reference) = reference else { return };
        if self.held.len() == MAX_HELD {
            let place = self.random.below(MAX_HELD as u64) as usize;
            self.held[place] = reference;
        } else {
            self.held.push(reference);
        }
    }

    /// Descriptors, buffers and slots that end where there is nothing.
    fn half_messages(&mut self) {
        for _ in 0..8 {
            let (target, label) = (self.target(), self.label());
            let end = AREA + AREA_SIZE;
            let place = [AREA + 0x100, end - 8, end - 64, end - 4096, end, 0][self.random.below(6) as usize];
            let size = [0, 8, 64, 4096, 1 << 16, u64::MAX][self.random.below(6) as usize];
            let words = [place, size, place, size, AREA + 0x200, self.random.below(10), AREA + 0x300, self.random.below(10)];
            let descriptor = [AREA + 0x1000, end - 64, end - 8, end][self.random.below(4) as usize];
            for (index, word) in (0..).zip(words) {
                nacre_raw::write(AREA + 0x1000 + 8 * index, word);
                nacre_raw::write(end - 64 + 8 * index, word);
                nacre_raw::write(AREA + 0x200 + 8 * index, [environment::PARENT, target.0, end, place][self.random.below(4) as usize]);
                nacre_raw::write(AREA + 0x300 + 8 * index, [AREA + 0x400 + 64 * index, end - 64, place][self.random.below(3) as usize]);
            }
            let call = if self.random.below(2) == 0 { Call::IpcCall } else { Call::IpcSend };
            nacre_raw::message(call, target.0, u64::from(label), self.words(), descriptor, 5_000_000);
        }
    }

    fn notifications(&mut self) {
        for _ in 0..100 {
            let bits = self.random.next();
            let _ = ipc::notify(self.target(), if self.random.below(2) == 0 { bits } else { KERNEL_BITS });
        }
    }

    /// Many files at once.
    fn hoard(&mut self) {
        let files = self.services[0].handle();
        let opened: Vec<OwnedReference> = (0..100).map_while(|_| directory::open(files, O_RDONLY, 0, PATH).ok()).map(|reply| reply.file).collect();
        for file in &opened[..opened.len().min(20)] {
            let _ = file::map(file.handle(), 0, u64::MAX);
        }
        // All of them stay while something else is tried.
        self.message(false);
    }

    /// Ports of its own, where files and directories are expected, many at once, some gone before
    /// the answer.
    fn own_ports(&mut self) {
        let ports: Vec<OwnedPort> = (0..32).filter_map(|word| OwnedPort::new(word, PortSet(0)).ok()).collect();
        let references: Vec<OwnedReference> = ports.iter().filter_map(|port| port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY).ok()).collect();
        let paths = [PATH, b"/tmp/x"].concat();
        for eight in references.chunks(8) {
            let given: Vec<Reference> = eight.iter().map(OwnedReference::handle).collect();
            let (target, label) = (self.target(), self.label());
            let message = Message { bytes: Span::from(&paths[..]), references: &given, ..Message::new(label, [0, PATH.len() as u64, 0, 0, 0, 0]) };
            let _ = ipc::call(target, &message, Buffers::NONE, 5_000_000);
            let _ = directory::link(self.services[0].handle(), 0, PATH.len() as u64, &paths[..], given[0]);
            let _ = directory::rename(self.services[0].handle(), 0, u64::MAX, &paths[..], given[0]);
        }
    }

    /// A thread that is destroyed in the middle of a call; its stack is not given back.
    fn dying_thread(&mut self) {
        if self.dying == DYING {
            return;
        }
        self.dying += 1;
        TARGET.store(self.target().0, Ordering::Relaxed);
        let Ok(handle) = thread::spawn(ask_until_destroyed, 0) else { return };
        let _ = Thread::sleep(1000 << self.random.below(11));
        self.undying |= !handle.thread().is_some_and(is_destroyed);
    }

    /// All memory that there is, while something else is tried.
    fn eat(&mut self) {
        let Ok(pool) = roles::find(SERVICE_MEMORY) else { return };
        let mut eaten: [Option<OwnedReference>; 64] = [const { None }; 64];
        let mut size = 32 << 20;
        for place in &mut eaten {
            while size >= 4096 && place.is_none() {
                match memory::segment_create(pool.handle(), size, 0) {
                    Ok(reply) => *place = Some(reply.segment),
                    Err(_) => size /= 2,
                }
            }
        }
        (0..8).for_each(|_| self.message(false));
    }
}
