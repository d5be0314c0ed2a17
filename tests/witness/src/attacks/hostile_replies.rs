//! A keeper answers faults as it likes: with mappings of foreign objects at any address and with
//! any rights, twice, for other threads than it was asked about, and for threads that have gone.

use crate::children::numbers;
use crate::innocent;
use crate::outcome::{Outcome, Verdict};
use crate::tools::{MOMENT, Outpost, PATIENCE, find, moment, object_memory, ports, program_state, why};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::fault::{MAP, REFUSE, RESUME, STOP};
use nacre_abi::message::Info;
use nacre_abi::rights::REFERENCE_ALL;
use nacre_abi::state::ThreadState;
use nacre_abi::{PAGE_SIZE, Rights, USER_END};
use nacre_nest::places::Place;
use nacre_proto::flags::SERVICE_MEMORY;
use nacre_proto::memory;
use nacre_raw::random::Random;
use nacre_rt::memory::Segment;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{EmptySlot, OwnedMapping, OwnedPort, OwnedReference, OwnedRegion, OwnedThread, PortSet, Reference, Space, Thread};

/// Stages that are set up one after the other, and answers on each.
const STAGES: u64 = 12;
const ANSWERS: u64 = 150;
/// Address of the window that lacks its pages, in the child's space and in the one that exports it.
const WINDOW: u64 = 0x10_0000;
const SIZE: u64 = 0x10_0000;
/// Threads that fault.
const THREADS: usize = 3;
/// Pages for the mappings that replies make.
const SLOT_PAGES: u64 = 2;
/// Rights of the keeper's own region, which replies try to exceed.
const FEW: Rights = Rights::READ.union(Rights::EXECUTE);
/// Code of the pages that the child sees: `mov eax, 0x5ec2e7`, and a jump to itself.
const CODE: [u8; 8] = [0xb8, 0xe7, 0xc2, 0x5e, 0x00, 0xeb, 0xfe, 0x90];
/// Value of a thread's `rax` when it has run that code.
const RUN: u64 = 0x005e_c2e7;

/// Child, its exporter, the keeper's port, and what replies name.
struct Stage {
    threads: Vec<OwnedThread>,
    child: Outpost,
    _shown: OwnedMapping,
    /// Region that lacks all its pages.
    region: OwnedRegion,
    source: Outpost,
    /// Region over the keeper's own pages, with [`FEW`] rights.
    own: OwnedRegion,
    /// Region of another server.
    foreign: Option<memory::segment_create::Reply>,
    ports: Vec<(&'static str, OwnedReference)>,
    port: OwnedPort,
    slots: Segment,
    /// Addresses of the keeper's own that replies may fill. A mapping that begins in the first half
    /// ends in the second.
    place: Place,
}

/// Words of a reply that maps.
type Words = [u64; 6];

impl Stage {
    fn new(data: u64) -> Result<Stage, String> {
        let port = OwnedPort::new(1, PortSet::NONE).map_err(why("a port"))?;
        let keeper = port.new_reference(REFERENCE_ALL).map_err(why("its reference"))?;
        let source = Outpost::with_keeper(Reference::NONE)?.ok_or("a space without keeper was refused")?;
        let child = Outpost::with_keeper(keeper.handle())?.ok_or("a keeper of one's own was refused")?;
        let region = OwnedRegion::new(source.space.handle(), WINDOW, SIZE, Rights::ALL, keeper.handle()).map_err(why("a region"))?;
        let shown = OwnedMapping::new(child.space.handle(), WINDOW, SIZE, region.handle(), 0, Rights::ALL).map_err(why("a mapping"))?;
        let thread = |_| OwnedThread::make(|slot| Thread::create(slot, child.space.handle()));
        let threads = (0..THREADS).map(thread).collect::<Result<_, _>>().map_err(why("a thread"))?;
        let foreign = find(SERVICE_MEMORY).and_then(|pool| memory::segment_create(pool.handle(), SIZE, 0)).ok();
        let own = OwnedRegion::new(Space::OWN, data, PAGE_SIZE, FEW, Reference::NONE).map_err(why("a region"))?;
        let place = Place::take(2 * SIZE).ok_or("no addresses are left")?;
        Ok(Stage { threads, child, _shown: shown, region, source, own, foreign, ports: ports(), port, slots: object_memory(SLOT_PAGES)?, place })
    }

    /// Regions that a reply may map, each with the most rights that it gives.
    fn regions(&self) -> Vec<(u64, u64, Rights)> {
        let mut regions = alloc::vec![(self.own.address(), PAGE_SIZE, FEW), (self.region.address(), SIZE, Rights::ALL)];
        regions.extend(self.foreign.iter().map(|made| (made.region.handle().0, SIZE, Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE))));
        regions
    }

    /// Objects and references of other kinds, and addresses that are none.
    fn wrong(&self, random: &mut Random) -> u64 {
        let mut all = alloc::vec![0, 1, u64::MAX, USER_END, WINDOW, self.own.address() + 8, self.slots.start(), self.port.address()];
        all.extend([self.child.thread.address(), self.child.space.address(), Reference::PARENT.0, self.place.window().start()]);
        all.extend(self.ports.iter().map(|(_, port)| port.handle().0));
        all.extend(self.foreign.iter().map(|made| made.segment.handle().0));
        random.one_of(&all)
    }

    /// Spaces of the keeper's: its own is 0.
    fn spaces(&self) -> [u64; 3] {
        [0, self.child.space.address(), self.source.space.address()]
    }

    /// Words of a reply: most are right, so that many replies have one fault alone.
    fn words(&self, random: &mut Random) -> Words {
        let page = |random: &mut Random| PAGE_SIZE * random.below(SIZE / PAGE_SIZE);
        let regions: Vec<u64> = self.regions().iter().map(|(region, ..)| *region).collect();
        let region = if random.once_in(4) { self.wrong(random) } else { random.one_of(&regions) };
        let space = if random.once_in(6) { self.wrong(random) } else { random.one_of(&self.spaces()) };
        // In the keeper's own space a mapping may stand in front of the keeper's code.
        let base = if space == 0 { self.place.window().start() } else { WINDOW };
        let outside = if space == 0 { base + 1 } else { random.one_of(&[0, 1, WINDOW + 8, USER_END, USER_END - PAGE_SIZE, !0, !0xfff]) };
        let start = if random.once_in(5) { outside } else { base + page(random) };
        let size = if random.once_in(4) { random.one_of(&[0, 1, 4095, SIZE, 1 << 47, !0, !0xfff]) } else { PAGE_SIZE };
        let offset = if random.once_in(3) { random.one_of(&[PAGE_SIZE, SIZE - PAGE_SIZE, SIZE, !0xfff, 1 << 47]) } else { 0 };
        let rights = if random.once_in(3) { random.below(PAGE_SIZE) } else { random.below(64) };
        let slot = if random.once_in(5) { self.wrong(random) } else { self.slots.start() + 64 * random.below(SLOT_PAGES * PAGE_SIZE / 64) };
        [start, size.min(if space == 0 { SIZE } else { u64::MAX }), region, offset | rights, space, slot]
    }

    /// Checks a mapping that the kernel has made: it must be one that `mapping_create` may make.
    fn check(&self, words: Words) -> Result<(), String> {
        let [start, size, region, word, space, slot] = words;
        let (offset, rights) = (word & !(PAGE_SIZE - 1), Rights(word % PAGE_SIZE));
        // Overlays and views exclude each other, and a view may be larger than its region.
        let kind = if rights.is_view() { Rights::VIEW } else { Rights::OVER };
        let allowed = rights.0 & !(Rights::ALL.0 | kind.0) == 0;
        let shown = if rights.is_view() { 0 } else { size };
        let is_range = size > 0 && (start | size).is_multiple_of(PAGE_SIZE) && start.checked_add(size).is_some_and(|end| end <= USER_END);
        let fits = self.regions().iter().any(|&(known, most, given)| {
            known == region && offset.checked_add(shown).is_some_and(|end| end <= most) && given.contains(rights.of_memory())
        });
        let slots = self.slots.start()..self.slots.start() + SLOT_PAGES * PAGE_SIZE;
        let is_right = allowed && is_range && fits && self.spaces().contains(&space) && slots.contains(&slot);
        if is_right { Ok(()) } else { Err(format!("a reply mapped with {words:x?}")) }
    }

    /// Lets one of the threads run from the page `number` of the window.
    fn fault(&self, thread: Thread, number: u64) -> Result<(), String> {
        // One that waits for an answer, or spins, begins anew.
        thread.stop().map_err(why("stopping a thread"))?;
        thread.set_state(&program_state(WINDOW + number * PAGE_SIZE)).map_err(why("its registers"))?;
        thread.start().map_err(why("its start"))
    }

    /// Replaces the thread in a slot, which is destroyed while the keeper owes it an answer.
    fn replace(&mut self, number: usize) -> Result<(), String> {
        let fresh = OwnedThread::make(|slot| Thread::create(slot, self.child.space.handle())).map_err(why("a thread"))?;
        self.threads[number] = fresh;
        Ok(())
    }
}

/// Bytes and a label that answer neither a fault nor an exception rightly.
fn message<'a>(random: &mut Random, words: Words, bytes: &'a mut [u8], references: &'a [Reference]) -> Message<'a> {
    bytes.fill_with(|| random.next() as u8);
    let label = if random.once_in(2) { MAP } else { random.one_of(&[RESUME.into(), STOP.into(), REFUSE.into(), 4, 0x0101, u64::from(u32::MAX)]) as u32 };
    let count = random.one_of(&[0, 0, 1, ThreadState::SIZE, ThreadState::SIZE, bytes.len() as u64]) as usize;
    let message = Message::new(label, words).with_bytes(&bytes[..count]);
    if random.once_in(4) { message.with_references(references) } else { message }
}

/// Answers the fault that was received last, in one of the ways. Returns true if that made a
/// mapping.
fn answer(stage: &mut Stage, random: &mut Random, is_fault: bool) -> Result<bool, String> {
    let words = stage.words(random);
    let named: Vec<Reference> = stage.ports.iter().map(|(_, port)| port.handle()).take(2).collect();
    let mut bytes = [0; 2048];
    let message = message(random, words, &mut bytes, &named);
    let way = random.below(6);
    let gone = random.below(THREADS as u64) as usize;
    if way == 5 {
        // The next message is received without an answer to this one.
        return Ok(false);
    }
    if way >= 3 {
        // Whoever waits is perhaps this one.
        stage.replace(gone)?;
    }
    let (first, second) = if way % 2 == 1 {
        let slot = EmptySlot::<Reference>::new().map_err(why("a slot"))?;
        let Ok(reference) = ipc::detach(slot.address()) else { return Ok(false) };
        if way == 3 {
            stage.replace(gone)?;
        }
        let statuses = (ipc::send(reference, &message, PATIENCE), ipc::send(reference, &message, PATIENCE));
        // A reply uses the reference up.
        let _ = reference.destroy();
        statuses
    } else {
        (ipc::reply(&message), ipc::reply(&message))
    };
    if first.is_ok() && second.is_ok() {
        return Err("one fault was answered twice".into());
    }
    let has_mapped = is_fault && message.label == MAP && (first.is_ok() || second.is_ok());
    if has_mapped { stage.check(words).map(|()| true) } else { Ok(false) }
}

/// Answers faults of a fresh child wrongly; the mappings go with it. Returns how many were made.
fn lie(random: &mut Random, data: u64) -> Result<u64, String> {
    let mut stage = Stage::new(data)?;
    let mut mapped = 0;
    if ipc::reply(&Message::new(MAP, stage.words(random))).is_ok() {
        return Err("a fault that nobody reported was answered".into());
    }
    for _ in 0..ANSWERS {
        let number = random.below(THREADS as u64) as usize;
        stage.fault(stage.threads[number].handle(), random.below(SIZE / PAGE_SIZE))?;
        let Ok(received) = ipc::receive(stage.port.address(), Buffers::NONE, MOMENT) else { continue };
        let is_fault = received.info.has(Info::FAULT);
        if is_fault || received.info.has(Info::EXCEPTION) {
            mapped += u64::from(answer(&mut stage, random, is_fault)?);
        }
    }
    Ok(mapped)
}

/// Answers the fault of a fresh child rightly: its thread must run the page that it gets.
fn serve(data: u64) -> Result<(), String> {
    let stage = Stage::new(data)?;
    stage.fault(stage.child.thread.handle(), 1)?;
    let received = ipc::receive(stage.port.address(), Buffers::NONE, PATIENCE).map_err(why("a fault"))?;
    if !received.info.has(Info::FAULT) {
        return Err("a page that lacks is no fault".into());
    }
    let words = [WINDOW + PAGE_SIZE, PAGE_SIZE, stage.own.address(), FEW.0, stage.source.space.address(), stage.slots.start()];
    ipc::reply(&Message::new(MAP, words)).map_err(why("a right answer"))?;
    let thread = stage.child.thread.handle();
    for _ in 0..PATIENCE / MOMENT {
        moment();
        thread.stop().map_err(why("stopping a thread"))?;
        if thread.get_state().map_err(why("its registers"))?.rax == RUN {
            return Ok(());
        }
        thread.start().map_err(why("its start"))?;
    }
    Err("a thread whose page came does not run".into())
}

/// Lies to children and serves others in turn. `SEED,STAGES`.
pub fn attack(argument: &[u8]) -> Outcome {
    let [seed, stages] = numbers(argument, [1, STAGES]);
    let mut random = Random::new(seed);
    let place = Place::take(PAGE_SIZE).ok_or("no addresses are left")?;
    let (page, start) = (place.window(), place.window().start());
    let _data = Segment::map(start, PAGE_SIZE, Rights::EXECUTE).map_err(why("a page"))?;
    (0..PAGE_SIZE).step_by(CODE.len()).try_for_each(|at| page.write(at, &CODE)).ok_or("the page is too short")?;
    let mut mapped = 0;
    for number in 0..stages {
        mapped += lie(&mut random, start).map_err(|why| format!("stage {number}: {why}"))?;
        serve(start).map_err(|why| format!("after stage {number}: {why}"))?;
        innocent::calls().map_err(|why| format!("after stage {number}: {why}"))?;
        let mut now = [0; CODE.len()];
        if (0..PAGE_SIZE).step_by(CODE.len()).any(|at| page.read(at, &mut now).is_none() || now != CODE) {
            return Err("a child wrote to a page that it may read alone".into());
        }
    }
    // Replies that never map would test little of what a reply may do.
    if mapped > 0 { Ok(Verdict::Refused) } else { Err("no reply made a mapping".into()) }
}
