//! Invariants of the world of processes, after random operations.

use super::tests::world;
use super::*;
use nacre_proto::flags::{WCONTINUED, WEXITED, WNOWAIT, WUNTRACED};

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Checks the invariants of a world.
fn check(world: &World) {
    let mut numbers = BTreeSet::new();
    for (pid, process) in &world.processes {
        assert!(numbers.insert(*pid) && process.threads.iter().all(|thread| numbers.insert(*thread)), "a number means two things");
        let parent = world.processes.get(&process.parent);
        assert!(process.parent == 0 && process.session == *pid || parent.is_some_and(|parent| !parent.has_ended()), "{pid} has no living parent");
        assert!(process.stopped.is_none() || !process.has_ended());
        assert!(process.queue.is_empty() || !process.has_ended());
        let leader = world.processes.get(&process.session);
        assert!(leader.is_none_or(|leader| leader.session == process.session), "the number of a session is another's");
        assert!(world.processes.values().all(|other| other.group != process.group || other.session == process.session), "a group in two sessions");
    }
    assert_eq!(world.threads, world.processes.values().map(|process| process.threads.len()).sum::<usize>());
    assert!(world.processes.len() <= world.limits.processes && world.processes.len() + world.threads <= world.limits.threads);
    assert!(world.ending.is_empty());
}

fn act(world: &mut World, random: &mut Random) {
    let pid = 1 + random.below(40);
    let other = random.below(40);
    let options = [WEXITED, WEXITED | WUNTRACED | WCONTINUED, WEXITED | WNOWAIT][random.below(3) as usize];
    let result: Result<(), Errno> = match random.below(17) {
        0..=2 => world.create(pid, if random.below(4) == 0 { random.below(70) } else { 17 }).map(drop),
        // The first one never takes a default effect: its end ends all.
        3 | 4 => world.begin(pid, random.below(4) | if pid == FIRST { BEGIN_ATTENDS } else { 0 }, random.below(1 << 20)),
        5 => world.attach(pid),
        6 if pid != FIRST => Ok(world.exit(pid, random.below(600))),
        7 => world.wait(pid, other as i64 - 20, options).map(|found| found.into_iter().for_each(|found| world.waited(&found, options))),
        8 | 9 => {
            let target = if other > 30 { -(random.below(40) as i64) } else { other as i64 };
            let number = if pid == FIRST || target <= FIRST as i64 { 18 + random.below(5) } else { random.below(66) };
            world.kill(pid, &Sent { target, number, ..Sent::default() })
        }
        10 => world.group_set(pid, other, random.below(40)),
        11 => world.session_create(pid).map(drop),
        12 => world.thread_create(pid).and_then(|thread| if other % 2 == 0 { world.thread_end(pid, thread) } else { Ok(()) }),
        13 => world.set_stopped(pid, [0, 19, 20][random.below(3) as usize]),
        14 => world.terminal_acquire(pid, other % 3, other % 2 == 0).map(drop).or_else(|_| world.foreground_set(pid, other)),
        15 => {
            world.forget_from_outside(other);
            world.create_from_outside().map(drop)
        }
        _ if pid != FIRST => Ok(world.lost(pid)),
        _ => world.family(pid, random.below(30), other % 2 == 0),
    };
    // Most are refused; what counts is what is left.
    let _ = result;
}

/// Checks that the manager can carry out each action.
fn check_effects(world: &mut World, bodies: &mut BTreeSet<u64>) {
    for effect in world.effects() {
        match effect {
            Effect::Forget(pid) => assert!(bodies.remove(&pid), "{pid} is forgotten twice"),
            Effect::Over(_) => panic!("the first has ended"),
            _ => {}
        }
    }
    bodies.extend(world.processes.keys());
    assert!(bodies.iter().eq(world.processes.keys()), "what there is and what was not forgotten");
}

#[test]
fn whatever_is_done_the_world_stays_whole() {
    for seed in 1..200 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed));
        let mut world = world();
        world.attach(FIRST).unwrap();
        let mut bodies = BTreeSet::from([FIRST]);
        for _ in 0..400 {
            act(&mut world, &mut random);
            check(&world);
            check_effects(&mut world, &mut bodies);
        }
    }
}
