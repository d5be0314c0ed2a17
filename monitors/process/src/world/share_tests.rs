//! Shares, domains and claims: what one party can take from others, and know of them.

use super::tests::{child, found, kill, taken, world};
use super::*;
use nacre_proto::flags::WEXITED;

#[test]
fn who_takes_all_threads_leaves_some() {
    let mut world = World::new(Limits { processes: 100, threads: 1000 }, None);
    world.begin(FIRST, 0, 0).unwrap();
    let mut left: usize = 999;
    for _ in 0..20 {
        let greedy = child(&mut world, FIRST, false);
        left -= 1;
        let taken = core::iter::from_fn(|| world.thread_create(greedy).ok()).count();
        assert!(taken <= left.div_ceil(2), "{taken} of {left}");
        left -= taken;
    }
    assert!(left >= 30, "some are kept for processes");
    child(&mut world, FIRST, false);
}

#[test]
fn the_last_processes_are_for_those_who_put_an_end_to_it() {
    let mut world = World::new(Limits { processes: 200, threads: 1000 }, None);
    world.begin(FIRST, 0, 0).unwrap();
    let bomb = child(&mut world, FIRST, false);
    world.identity(bomb, [7; 3], 7).unwrap();
    let fill = |world: &mut World, maker| while world.create(maker, 0).and_then(|pid| world.begin(pid, 0, 0)).is_ok() {};
    fill(&mut world, bomb);
    assert_eq!(world.processes.len(), 190);
    let superuser = world.create(FIRST, 0).unwrap();
    world.begin(superuser, 0, 0).unwrap();
    fill(&mut world, superuser);
    assert_eq!(world.processes.len(), 195);
    assert!(world.create(FIRST, 0).is_ok());
}

#[test]
fn a_limit_of_a_user_counts_threads() {
    let mut world = world();
    let pid = child(&mut world, FIRST, false);
    world.identity(pid, [7; 3], 7).unwrap();
    world.limits(pid, 3, 0).unwrap();
    world.thread_create(pid).unwrap();
    assert!(world.create(pid, 0).is_ok());
    assert_eq!((world.create(pid, 0), world.thread_create(pid)), (Err(Errno::EAGAIN), Err(Errno::EAGAIN)));
}

/// A process in a domain of its own.
fn guarded(world: &mut World, maker: u64) -> u64 {
    let pid = world.create(maker, signals::CHILD).unwrap();
    world.domain_create(pid).unwrap();
    world.begin(pid, BEGIN_ATTENDS, 0).unwrap();
    world.attach(pid).unwrap();
    pid
}

#[test]
fn members_of_a_domain_know_of_nobody_outside() {
    let mut world = world();
    let (one, two) = (guarded(&mut world, FIRST), guarded(&mut world, FIRST));
    let member = child(&mut world, one, true);
    let thread = world.thread_create(two).unwrap();
    for stranger in [FIRST, two] {
        for caller in [one, member] {
            assert!(world.seen(caller, stranger).is_err() && world.owner_of(caller, stranger).is_err());
            assert_eq!(kill(&mut world, caller, stranger as i64, 0), Err(Errno::ESRCH));
            assert_eq!(world.priority(caller, 0, stranger), Err(Errno::ESRCH));
            assert_eq!(world.priority_set(caller, 0, stranger, 3), Err(Errno::ESRCH));
        }
    }
    assert!(world.kill(one, &Sent { thread, number: 9, ..Sent::default() }).is_err() && world.owner_of(one, thread).is_err());
    let known: Vec<u64> = (0..100).filter_map(|pid| world.next(member, pid)).map(|(pid, _)| pid).collect();
    assert!(known.iter().all(|pid| [one, member].contains(pid)) && known.contains(&one));
    let own = world.process(one).unwrap();
    assert_eq!((world.parent_seen(one, own), world.parent_seen(FIRST, own)), (0, FIRST));
    // All and the group of all are members alone.
    kill(&mut world, one, -1, 10).unwrap();
    kill(&mut world, one, 0, 12).unwrap();
    assert_eq!((taken(&mut world, member), taken(&mut world, one)), (alloc::vec![10, 12], alloc::vec![12]));
    assert!(taken(&mut world, two).is_empty() && taken(&mut world, FIRST).is_empty());
    // Outside sees in, and is not seen to have sent.
    kill(&mut world, FIRST, member as i64, 10).unwrap();
    assert_eq!(world.signal_take(member).unwrap().map(|signal| (signal.number, signal.sender)), Some((10, 0)));
}

#[test]
fn a_domain_reaches_no_terminal_and_no_group_outside() {
    let mut world = world();
    let (guard, shell) = (child(&mut world, FIRST, true), child(&mut world, FIRST, true));
    world.group_set(FIRST, shell, shell).unwrap();
    world.group_set(FIRST, guard, guard).unwrap();
    let one = guarded(&mut world, guard);
    assert_eq!(world.foreground_set(one, shell), Err(Errno::ESRCH));
    assert_eq!(world.group_set(one, 0, shell), Err(Errno::EPERM));
    world.foreground_set(FIRST, shell).unwrap();
    assert_eq!(world.terminal_check(one, 9, 21), Ok(true));
    assert!(taken(&mut world, FIRST).is_empty() && taken(&mut world, guard).is_empty(), "only members are stopped");
    let login = child(&mut world, FIRST, true);
    world.session_create(login).unwrap();
    world.terminal_acquire(login, 5, false).unwrap();
    let leader = child(&mut world, one, true);
    world.session_create(leader).unwrap();
    assert_eq!(world.terminal_acquire(leader, 5, true), Err(Errno::EPERM));
    assert_eq!(world.terminal_owner(leader, 5), Ok((0, 0, false)));
    assert_eq!(world.terminal_owner(FIRST, 5), Ok((login, login, false)));
}

#[test]
fn domains_nest_and_hold_their_share() {
    let mut world = World::new(Limits { processes: 100, threads: 1000 }, None);
    world.begin(FIRST, 0, 0).unwrap();
    let outer = guarded(&mut world, FIRST);
    let (left, right) = (guarded(&mut world, outer), guarded(&mut world, outer));
    assert!(world.sees(outer, left) && world.sees(FIRST, left));
    assert!(!world.sees(left, right) && !world.sees(left, outer) && !world.sees(outer, FIRST));
    for pid in [left, outer] {
        while let Ok(made) = world.create(pid, 0) {
            world.begin(made, 0, 0).unwrap();
        }
    }
    let held = |world: &World, pid: u64| world.processes.values().filter(|process| process.domain.starts_with(&world.processes[&pid].domain)).count();
    assert!(held(&world, left) <= 49 && held(&world, outer) <= 50, "{} {}", held(&world, left), held(&world, outer));
    assert_eq!(core::iter::from_fn(|| world.domain_create(right).ok()).count(), 14, "sixteen deep");
}

#[test]
fn bounds_nest_and_bind_nobody_outside() {
    let mut world = world();
    let (outer, beside) = (child(&mut world, FIRST, true), child(&mut world, FIRST, true));
    world.bound_create(outer, 5).unwrap();
    let inner = child(&mut world, outer, true);
    world.bound_create(inner, 3).unwrap();
    let ended = child(&mut world, inner, true);
    let thread = world.thread_create(inner).unwrap();
    assert_eq!([world.create(inner, 0), world.thread_create(inner), world.thread_create(ended)], [Err(Errno::EAGAIN); 3]);
    world.exit(ended, 0);
    assert_eq!(world.create(inner, 0), Err(Errno::EAGAIN), "it has not been waited for");
    let last = child(&mut world, outer, true);
    assert_eq!(world.create(outer, 0), Err(Errno::EAGAIN));
    world.thread_end(inner, thread).unwrap();
    assert_eq!(world.create(inner, 0).map(drop), Ok(()));
    assert_eq!([world.create(outer, 0), world.create(last, 0)], [Err(Errno::EAGAIN); 2]);
    assert!(world.create(beside, 0).is_ok() && world.create(FIRST, 0).is_ok());
    assert_eq!(world.bound_create(beside, 0), Err(Errno::EINVAL));
    assert_eq!(core::iter::from_fn(|| world.bound_create(last, 9).ok()).count(), 15, "sixteen deep");
}

#[test]
fn an_asker_is_what_the_world_knows_of_it() {
    let mut world = world();
    let pid = child(&mut world, FIRST, false);
    assert_eq!(world.claims(pid, 7 | ASK_PRIVILEGED), Ok((7 | ASK_PRIVILEGED, 0)));
    world.identity(pid, [5, 6, 7], 8).unwrap();
    assert_eq!(world.claims(pid, 7 | ASK_PRIVILEGED), Ok((7, 5 | 8 << 32)));
}

#[test]
fn an_exit_never_looks_like_a_stop() {
    for (status, told) in [(256 + 0x7f, 9), (256, 9), (256 + 255, 9), (u64::MAX, 9), (256 + 11 + 128, 11 + 128), (255, 0xff00)] {
        let mut world = world();
        let pid = child(&mut world, FIRST, false);
        world.exit(pid, status);
        assert_eq!(found(&mut world, FIRST, -1, WEXITED), Some((pid, told)), "{status:#x}");
    }
}
