//! Guests: that whoever takes something from one waits until it is left.

use crate::support::check;
use crate::support::world::{CODE, World};
use nacre_abi::frame::FRAME_VERSION;
use nacre_abi::{Call, PAGE_SIZE, Rights};
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
