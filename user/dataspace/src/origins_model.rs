//! Copies of a file, and copies of these, beside plain arrays of bytes.

use crate::PAGE;
use crate::bank::{Bank, MIN_FRAMES, Trouble};
use crate::files_model::Shared;
use crate::model::{Any, Arrays};
use crate::policy::{Clock, Random};
use crate::spaces::Spaces;
use crate::spaces_model::{AnyStore, Tested, reach};
use crate::store::{Compressed, Files};
use std::collections::BTreeMap;

/// Pages of the file, the last of which is not full.
const COUNT: u64 = 70;
const SIZE: usize = COUNT as usize * PAGE - 1000;
/// Steps of a run.
const STEPS: usize = 1500;

/// A file that a dataspace shows, in manager 0, and copies in managers 1 and 2.
struct Scene {
    spaces: Tested,
    file: Shared,
    shown: u64,
    /// Contents of the file's memory.
    plain: Vec<u8>,
    copies: BTreeMap<u64, Vec<u8>>,
}

fn scene(seed: u64) -> Scene {
    let bank = |store: AnyStore| Bank::new(Arrays::new(MIN_FRAMES, seed), store, Box::new(Clock::default()) as Any, MIN_FRAMES);
    let packed = || Box::new(Compressed::new(6 << 20)) as AnyStore;
    let mut spaces = Spaces::new(vec![bank(Box::new(Files::<Shared>::default())), bank(packed()), bank(packed())], 1 << 20);
    let (shown, file) = (spaces.create(0, COUNT).unwrap(), Shared::default());
    let plain: Vec<u8> = (0..SIZE).map(|at| (at / PAGE) as u8).collect();
    file.0.borrow_mut().bytes = plain.clone();
    let store = spaces.bank_mut(0).unwrap().store_mut().as_any().unwrap().downcast_mut::<Files<Shared>>().unwrap();
    store.add(shown, COUNT, file.clone());
    Scene { spaces, file, shown, plain, copies: BTreeMap::new() }
}

impl Scene {
    fn check(&mut self, space: u64, at: usize) {
        let (manager, frame) = reach(&mut self.spaces, space + (at / PAGE) as u64, false).unwrap();
        let expected = self.copies.get(&space).unwrap_or(&self.plain)[at];
        assert_eq!(self.spaces.bank_mut(manager).unwrap().hands().frames[frame][at % PAGE], expected, "byte {at} of {space}");
    }

    fn write(&mut self, space: u64, at: usize, byte: u8) {
        let (manager, frame) = reach(&mut self.spaces, space + (at / PAGE) as u64, true).unwrap();
        self.spaces.bank_mut(manager).unwrap().hands().frames[frame][at % PAGE] = byte;
        self.copies.get_mut(&space).unwrap_or(&mut self.plain)[at] = byte;
    }

    /// Changes a byte of the file itself, as a message to the manager does.
    fn change(&mut self, at: usize) {
        let (all, page) = (self.shown..self.shown + COUNT, self.shown + (at / PAGE) as u64);
        self.spaces.bank_mut(0).unwrap().write_back(all.clone()).unwrap();
        self.spaces.give_copies(page..page + 1).unwrap();
        assert!(self.file.0.borrow().bytes == self.plain);
        self.file.0.borrow_mut().bytes[at] ^= 1;
        self.plain[at] ^= 1;
        self.spaces.bank_mut(0).unwrap().forget(all).unwrap();
    }

    fn step(&mut self, random: &mut Random) {
        let of_copy = self.copies.keys().nth(random.below(self.copies.len().max(1))).copied();
        let space = of_copy.filter(|_| random.below(3) > 0).unwrap_or(self.shown);
        let (at, manager) = (random.below(SIZE), 1 + random.below(2));
        match random.below(40) {
            0 | 1 if self.copies.len() < 5 => {
                // Snapshots below the copies of copies take room, too.
                let Ok(copy) = self.spaces.copy(space, manager) else { return };
                let bytes = self.copies.get(&space).unwrap_or(&self.plain).clone();
                assert!(self.copies.insert(copy, bytes).is_none());
            }
            2 if space != self.shown => {
                self.spaces.delete(space);
                self.copies.remove(&space);
            }
            3 if space != self.shown => assert!(matches!(self.spaces.transfer(space, manager), Ok(()) | Err(Trouble::Full))),
            4 => self.change(at),
            5..20 => self.check(space, at),
            _ => self.write(space, at, random.number() as u8),
        }
    }
}

#[test]
fn copies_of_a_file_hold_what_it_held() {
    for seed in 0..8 {
        let (mut scene, mut random) = (scene(seed), Random::new(seed + 5));
        for _ in 0..STEPS {
            scene.step(&mut random);
            let chaotic = random.below(3);
            scene.spaces.disturb(chaotic, &mut random, 4);
        }
        let all: Vec<u64> = scene.copies.keys().copied().chain([scene.shown]).collect();
        for space in all {
            (0..SIZE).step_by(PAGE / 4).for_each(|at| scene.check(space, at));
        }
        scene.copies.keys().for_each(|space| scene.spaces.delete(*space));
        assert!(!scene.spaces.is_copied(scene.shown), "seed {seed}: nobody takes pages from the file any more");
        for manager in [1, 2] {
            let bank = scene.spaces.bank(manager).unwrap();
            assert_eq!((bank.population(), bank.store().used(), bank.promised()), ((0, 0), 0, 0), "nothing is left behind by manager {manager}");
        }
    }
}

#[test]
fn a_file_that_goes_first_leaves_copies_with_what_they_have() {
    let mut scene = scene(3);
    let copy = scene.spaces.copy(scene.shown, 1).unwrap();
    scene.copies.insert(copy, scene.plain.clone());
    scene.check(copy, 3 * PAGE);
    scene.spaces.delete(scene.shown);
    scene.check(copy, 3 * PAGE);
    scene.copies.get_mut(&copy).unwrap()[5 * PAGE] = 0;
    scene.check(copy, 5 * PAGE);
}

#[test]
fn the_manager_of_files_takes_no_copies() {
    let mut scene = scene(4);
    assert_eq!(scene.spaces.copy(scene.shown, 0), Err(Trouble::Refused));
    let copy = scene.spaces.copy(scene.shown, 1).unwrap();
    assert!(scene.spaces.needs_origin(copy));
    scene.spaces.transfer(copy, 2).unwrap();
    assert!(!scene.spaces.needs_origin(copy) && !scene.spaces.is_copied(scene.shown));
}
