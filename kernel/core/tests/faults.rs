//! Faults of regions: what a keeper is told, and replies that bring a page, bring none, or are
//! wrong.

use crate::support::check;
use crate::support::world::{CODE, World};
use nacre_abi::fault::{MAP, REFUSE, RESUME};
use nacre_abi::message::Info;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Call, Code, PAGE_SIZE, Rights, Status, environment};
use nacre_core::machine::{Physical, thread_page::register};
use nacre_core::object::{Thread, WaitKind};

/// Window of the client's space, and of the space that the region exports.
const HERE: u64 = 0x50_0000;
const THERE: u64 = 0x20_0000;
const PAGES: u64 = 4;
const DATA: u64 = Rights::READ.0 | Rights::WRITE.0;

/// Root keeps a region of a space, which a thread of another space has mapped.
struct Stage {
    world: World,
    port: u64,
    space: u64,
    thread: u64,
    /// Region over [`PAGES`] pages of root's, and the first of them.
    source: u64,
    memory: u64,
    /// A page of slots.
    slots: u64,
}

impl Stage {
    fn new() -> Stage {
        let world = World::new(1);
        world.map_ram();
        let (objects, slots, memory) = (world.page(), world.page(), world.pages(PAGES));
        let (port, source, region, mapping) = (objects, objects + 0x80, objects + 0x100, objects + 0x180);
        world.ok(Call::PortCreate, &[port, 7, 0]);
        let (space, client) = (world.make_space(8, 0), world.make_space(8, port));
        world.ok(Call::RegionCreate, &[source, 0, memory, PAGES * PAGE_SIZE, DATA, 0]);
        world.ok(Call::RegionCreate, &[region, space, THERE, PAGES * PAGE_SIZE, Rights::ALL.0, port]);
        world.ok(Call::MappingCreate, &[mapping, client, HERE, PAGES * PAGE_SIZE, region, 0, Rights::ALL.0]);
        let thread = world.make_thread(client);
        world.ok(Call::ThreadStart, &[thread]);
        // A slot page that is one already, as a keeper's is.
        world.ok(Call::PortCreate, &[slots + 0xf80, 0, 0]);
        Stage { world, port, space, thread, source, memory, slots }
    }

    fn client(&self) -> Thread<'_> {
        self.world.thread(self.world.physical(self.thread))
    }

    /// Root waits, with this descriptor; the thread touches a page; root hears of it.
    fn fault(&self, page: u64, descriptor: u64) {
        self.world.call_on(0, Call::IpcReceive, &[self.port, 0, 0, 0, 0, 0, 0, 0, descriptor]);
        self.touch(page);
    }

    fn touch(&self, page: u64) {
        assert_eq!(self.running(), self.client().at);
        assert_eq!(self.world.access(0, HERE + page * PAGE_SIZE + 8, Rights::WRITE), None);
        assert_ne!(self.running(), self.client().at, "the keeper runs");
        let keeper = self.world.running(0).expect("the keeper");
        let told = [register::RAX, register::RDI, register::RDX, register::R8, register::R9, register::R10].map(|number| keeper.register(number));
        assert_eq!(told, [0, 7, page * PAGE_SIZE + 8, Rights::WRITE.0, 0, 0]);
        let references = Info(keeper.register(register::RSI)).references();
        assert_eq!(keeper.register(register::RSI), Info::received(0, 0, references, Info::FAULT | Info::NEEDS_REPLY).0);
        check(&self.world);
    }

    fn running(&self) -> Physical {
        self.world.running(0).expect("a thread").at
    }

    /// Words of a reply that maps one page of root's.
    fn words(&self, page: u64) -> [u64; 8] {
        let (start, offset) = (THERE + page * PAGE_SIZE, page * PAGE_SIZE);
        [self.port, MAP.into(), start, PAGE_SIZE, self.source, offset | DATA, self.space, self.slots + 0x80 * page]
    }

    /// The thread goes on, and finds the page without another fault.
    fn assert_brought(&self, page: u64) {
        let found = self.world.machine().translate(HERE + page * PAGE_SIZE + 8, Rights::WRITE);
        assert_eq!(found, Some(self.world.physical(self.memory + page * PAGE_SIZE + 8)));
        assert_eq!(self.client().fault(), 0);
        check(&self.world);
    }

    fn assert_waits(&self) {
        let keeper = self.world.running(0).expect("the keeper");
        assert_eq!(keeper.client(), self.client().at);
        assert!(self.client().waits_for(WaitKind::Reply) && self.client().fault() != 0);
        check(&self.world);
    }
}

#[test]
fn a_reply_brings_the_page_that_it_maps() {
    let stage = Stage::new();
    stage.fault(0, 0);
    for page in 0..PAGES {
        stage.world.call_on(0, Call::IpcReplyReceive, &stage.words(page));
        assert_eq!(stage.running(), stage.client().at);
        stage.assert_brought(page);
        if page + 1 < PAGES {
            stage.touch(page + 1);
        }
    }
}

#[test]
fn a_keeper_that_mapped_before_resumes() {
    let stage = Stage::new();
    stage.fault(0, 0);
    stage.world.ok(Call::MappingCreate, &[stage.slots, stage.space, THERE, PAGE_SIZE, stage.source, 0, DATA]);
    stage.world.call_on(0, Call::IpcReplyReceive, &[stage.port, RESUME.into()]);
    stage.assert_brought(0);
    // One that brings nothing hears of the same page again.
    stage.touch(1);
    stage.world.call_on(0, Call::IpcReplyReceive, &[stage.port, RESUME.into()]);
    stage.touch(1);
}

#[test]
fn every_way_to_reply_maps() {
    let stage = Stage::new();
    stage.fault(0, 0);
    stage.world.ok(Call::IpcReply, &stage.words(0));
    stage.world.call_on(0, Call::IpcReceive, &[stage.port]);
    stage.assert_brought(0);
    stage.touch(1);
    let reply = stage.slots + 0xf00;
    stage.world.ok(Call::IpcDetach, &[reply]);
    let mut words = stage.words(1);
    words[0] = reply;
    stage.world.ok(Call::IpcSend, &words);
    stage.world.call_on(0, Call::IpcReceive, &[stage.port]);
    stage.assert_brought(1);
}

#[test]
fn a_keeper_with_room_for_references_hears_of_faults_too() {
    let stage = Stage::new();
    let descriptor = stage.world.page();
    stage.world.write(descriptor, &[0, 0, 0, 0, 0, 0, descriptor + 64, 1, stage.slots + 0xe00]);
    stage.fault(0, descriptor);
    let mut words = stage.words(0).to_vec();
    words.push(descriptor);
    stage.world.call_on(0, Call::IpcReplyReceive, &words);
    stage.assert_brought(0);
    stage.touch(1);
}

#[test]
fn wrong_replies_change_nothing() {
    let stage = Stage::new();
    let narrow = stage.slots + 0xe00;
    stage.fault(0, 0);
    stage.world.ok(Call::ReferenceCreate, &[narrow]);
    stage.world.ok(Call::SpaceReference, &[stage.space, narrow, REFERENCE_USE]);
    let wrong = [
        (2, THERE + 1, Code::BadRange),
        (2, u64::MAX << 12, Code::BadRange),
        (3, 0, Code::BadRange),
        (3, 17, Code::BadRange),
        (3, u64::MAX << 12, Code::BadRange),
        (4, 0, Code::BadAddress),
        (4, stage.port, Code::WrongType),
        (4, HERE, Code::BadAddress),
        (5, PAGES * PAGE_SIZE | DATA, Code::BadRange),
        (5, DATA | 0x100, Code::BadRights),
        (5, Rights::ALL.0, Code::BadRights),
        (6, narrow, Code::Denied),
        (6, stage.port, Code::WrongType),
        (7, 0, Code::BadAddress),
        (7, stage.slots + 0xf80, Code::SlotOccupied),
        (7, stage.slots + 1, Code::BadAddress),
        (7, environment::PHYSICAL, Code::BadAddress),
    ];
    for call in [Call::IpcReplyReceive, Call::IpcReply] {
        for (word, value, code) in wrong {
            let mut words = stage.words(0);
            words[word] = value;
            let status = stage.world.call(call, &words);
            assert_eq!(status, Status::argument(code, word as u8 + 1), "word {word} = {value:#x} of {}", call.name());
            stage.assert_waits();
        }
    }
    stage.world.call_on(0, Call::IpcReplyReceive, &stage.words(0));
    stage.assert_brought(0);
    // Where something is mapped already.
    stage.touch(1);
    let again = Status::argument(Code::Overlap, 3);
    let mut words = stage.words(0);
    words[7] = stage.slots + 0x800;
    assert_eq!(stage.world.call(Call::IpcReplyReceive, &words), again);
    stage.assert_waits();
    stage.world.call_on(0, Call::IpcReplyReceive, &[stage.port, REFUSE.into()]);
    assert!(Info(stage.world.running(0).expect("the keeper").register(register::RSI)).has(Info::EXCEPTION));
    // An exception lacks no page: its thread stops.
    stage.world.call_on(0, Call::IpcReply, &stage.words(1));
    assert!(stage.client().has(Thread::STOPPED));
    check(&stage.world);
}

#[test]
fn a_reply_maps_where_the_thread_does_not_look() {
    let stage = Stage::new();
    stage.fault(0, 0);
    let mut words = stage.words(1);
    words[7] = stage.slots;
    stage.world.call_on(0, Call::IpcReplyReceive, &words);
    // It tries again, and its keeper hears of the same page.
    stage.touch(0);
    assert_eq!(stage.client().register(register::RIP), CODE + 2);
}
