//! Guests and users: that whoever takes something from one waits until it is left, and where there
//! are any.

use crate::support::check;
use crate::support::world::{CODE, World};
use nacre_abi::frame::{FRAME_VERSION, event, kind, word};
use nacre_abi::{Call, Code, PAGE_SIZE, Rights, Status};
use nacre_core::machine::{Machine, Physical, thread_page::register};

/// Addresses of a frame, and of the page with the guest's space: no table leads to both but the
/// root.
const FRAME: u64 = 0x1000_0000;
const OBJECTS: u64 = 0x4000_0000_0000;

/// A thread in a space of the smallest pool, which enters a guest.
struct Scene {
    world: World,
    /// The thread's space.
    outer: u64,
    thread: u64,
    /// The frame's page in root's memory.
    frame: u64,
}

impl Scene {
    fn new() -> Scene {
        let world = World::new(1);
        world.map_ram();
        let (objects, frame, slots) = (world.page(), world.page(), world.page());
        world.ok(Call::SpaceCreate, &[objects, world.pages(5), 5, 0]);
        let outer = world.make_space(5, 0);
        world.write(frame, &[FRAME_VERSION, OBJECTS, 0]);
        for (number, (page, at)) in [(frame, FRAME), (objects, OBJECTS)].into_iter().enumerate() {
            let slot = slots + 0x300 * number as u64;
            world.ok(Call::RegionCreate, &[slot, 0, page, PAGE_SIZE, Rights::ALL.0, 0]);
            world.ok(Call::MappingCreate, &[slot + 0x100, outer, at, PAGE_SIZE, slot, 0, Rights::ALL.0]);
        }
        let thread = world.make_thread(outer);
        world.prepare(world.thread(world.physical(thread)), Call::ThreadEnter, &[FRAME]);
        Scene { world, outer, thread, frame }
    }

    /// Lets the thread make its call until a guest is to be entered.
    fn enter(&self) {
        self.world.ok(Call::ThreadStart, &[self.thread]);
        self.world.call_on(0, Call::ThreadYield, &[]);
        for _ in 0..20 {
            check(&self.world);
            if self.world.machine().guest.get().is_some() {
                return;
            }
            self.world.enter(0);
        }
        panic!("no guest is entered");
    }

    /// Lets the thread make its call until it is answered; the status.
    fn answer(&self) -> Status {
        let thread = self.world.thread(self.world.physical(self.thread));
        thread.set_register(register::PROGRAM_COUNTER, CODE);
        thread.set_register(register::STATUS, Call::ThreadEnter.number());
        for _ in 0..20 {
            self.world.enter(0);
            if self.program_counter() != CODE {
                return Status(thread.register(register::STATUS));
            }
        }
        panic!("the call is not answered");
    }

    fn word(&self, number: usize) -> u64 {
        self.world.read(self.frame + 8 * number as u64)
    }

    fn set_word(&self, number: usize, value: u64) {
        self.world.write(self.frame + 8 * number as u64, &[value]);
    }

    fn root_table(&self) -> Physical {
        Physical(self.world.machine().peek(self.world.physical(self.outer).0 + 8))
    }

    fn program_counter(&self) -> u64 {
        self.world.thread(self.world.physical(self.thread)).register(register::PROGRAM_COUNTER)
    }
}

#[test]
fn the_tables_have_the_frame_while_its_guest_runs() {
    let scene = Scene::new();
    scene.enter();
    let found = scene.world.machine().table_lookup(scene.root_table(), FRAME);
    assert_eq!(found.map(|leaf| leaf.physical), Some(scene.world.physical(scene.frame)));
    assert_eq!(scene.program_counter(), CODE);
}

#[test]
fn a_user_is_entered_where_there_are_no_guests() {
    let scene = Scene::new();
    scene.world.machine().lacks_guests.set(true);
    scene.set_word(word::KIND, kind::USER);
    scene.enter();
    let entry = scene.world.machine().guest.take().expect("a user");
    assert!(entry.is_user && !entry.hides_time && entry.upper.is_none());
    assert_eq!(entry.frame, scene.world.physical(scene.frame));
    assert_eq!(scene.program_counter(), CODE);
    for other in [kind::NESTED, kind::SHADOW, kind::WATCHED, kind::USER + 1] {
        scene.set_word(word::KIND, other);
        assert_eq!(scene.answer().code(), Some(Code::UnknownCall));
    }
    scene.world.machine().lacks_guests.set(false);
    assert_eq!(scene.answer().code(), Some(Code::BadArgument));
    assert!(scene.world.machine().guest.get().is_none());
}

#[test]
fn a_user_that_misses_a_page_is_left_and_told_of_it() {
    let scene = Scene::new();
    scene.set_word(word::KIND, kind::USER);
    scene.enter();
    scene.world.machine().guest.set(None);
    for address in [0x7000, nacre_abi::USER_END, u64::MAX] {
        scene.world.on(0, |kernel| kernel.guest_fault(address, Rights::WRITE, 6));
        assert_eq!((scene.word(word::EVENT), scene.word(word::INFORMATION[0]), scene.word(word::INFORMATION[1])), (event::MEMORY, 6, address));
        assert_ne!(scene.program_counter(), CODE);
        check(&scene.world);
        scene.set_word(word::EVENT, 0);
        scene.set_word(word::PENDING, 0);
        let thread = scene.world.thread(scene.world.physical(scene.thread));
        thread.set_register(register::PROGRAM_COUNTER, CODE);
        thread.set_register(register::STATUS, Call::ThreadEnter.number());
    }
}
