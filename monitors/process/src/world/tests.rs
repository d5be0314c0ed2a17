//! Tests of single operations on the world of processes.

use super::limits::MAX_FRESH;
use super::*;
use nacre_proto::flags::{CLD_EXITED, CLD_KILLED, CLD_STOPPED, SA_NOCLDWAIT, WALL, WCLONE, WCONTINUED, WEXITED, WNOHANG, WNOWAIT, WUNTRACED};

const LIMITS: Limits = Limits { processes: 20, threads: 24 };

pub(super) fn world() -> World {
    let mut world = World::new(LIMITS, Some(9));
    world.begin(FIRST, BEGIN_PROGRAM, 0).expect("the first begins");
    world.attach(FIRST).expect("an agent");
    world.effects();
    world
}

/// A child that runs, with an agent if `attends`.
pub(super) fn child(world: &mut World, parent: u64, attends: bool) -> u64 {
    let pid = world.create(parent, signals::CHILD).expect("a child");
    world.begin(pid, if attends { BEGIN_ATTENDS } else { 0 }, 0).expect("it begins");
    if attends {
        world.attach(pid).expect("its agent");
    }
    pid
}

pub(super) fn kill(world: &mut World, sender: u64, target: i64, number: u64) -> Result<(), Errno> {
    world.kill(sender, &Sent { target, number, ..Sent::default() })
}

/// Everything that has come to a process, as numbers.
pub(super) fn taken(world: &mut World, pid: u64) -> Vec<u64> {
    core::iter::from_fn(|| world.signal_take(pid).ok().flatten()).map(|signal| signal.number).collect()
}

pub(super) fn found(world: &mut World, parent: u64, which: i64, options: u64) -> Option<(u64, u64)> {
    let found = world.wait(parent, which, options).expect("a child")?;
    world.waited(&found, options);
    Some((found.pid, found.change.status()))
}

#[test]
fn an_exit_is_told_once() {
    let mut world = world();
    let pid = child(&mut world, FIRST, false);
    assert_eq!(found(&mut world, FIRST, -1, WEXITED), None);
    world.exit(pid, 3);
    assert_eq!(world.effects(), [Effect::Destroy(pid), Effect::Notify(FIRST), Effect::Changed(FIRST)]);
    let signal = world.signal_take(FIRST).unwrap().expect("a signal");
    assert_eq!((signal.number, signal.code, signal.sender, signal.value), (signals::CHILD, CLD_EXITED, pid, 3));
    assert_eq!(found(&mut world, FIRST, -1, WEXITED | WNOWAIT), Some((pid, 0x300)));
    assert_eq!(found(&mut world, FIRST, pid as i64, WEXITED | WNOHANG), Some((pid, 0x300)));
    assert_eq!(world.wait(FIRST, -1, WEXITED), Err(Errno::ECHILD));
    assert_eq!(world.effects(), [Effect::Forget(pid)]);
}

#[test]
fn an_end_is_told_when_all_that_ends_with_it_is_destroyed() {
    let mut world = world();
    let pid = child(&mut world, FIRST, false);
    let fresh = world.create(pid, signals::CHILD).unwrap();
    world.exit(pid, 0);
    let effects = world.effects();
    let at = |effect: Effect| effects.iter().position(|one| *one == effect).unwrap();
    assert!(at(Effect::Destroy(fresh)) < at(Effect::Changed(FIRST)), "{effects:?}");
}

#[test]
fn who_is_waited_for() {
    let mut world = world();
    let (one, two) = (child(&mut world, FIRST, false), child(&mut world, FIRST, false));
    world.group_set(FIRST, two, 0).unwrap();
    world.exit(one, 1);
    world.exit(two, 2);
    for (which, pid) in [(0, one), (-(two as i64), two), (two as i64, two), (-(FIRST as i64), one)] {
        assert_eq!(found(&mut world, FIRST, which, WEXITED | WNOWAIT).map(|found| found.0), Some(pid), "{which}");
    }
    let clone = world.create(FIRST, 0).unwrap();
    assert_eq!(world.wait(FIRST, clone as i64, WEXITED), Err(Errno::ECHILD));
    assert_eq!(world.wait(FIRST, clone as i64, WEXITED | WCLONE), Ok(None));
    assert_eq!(world.wait(FIRST, one as i64, WEXITED | WCLONE), Err(Errno::ECHILD));
    assert_eq!(world.wait(FIRST, clone as i64, WEXITED | WALL), Ok(None));
    assert_eq!(world.wait(FIRST, -1, WNOHANG), Err(Errno::EINVAL));
    assert_eq!(world.wait(one, -1, WEXITED), Err(Errno::ECHILD));
}

#[test]
fn orphans_go_to_the_first_or_to_a_reaper() {
    let mut world = world();
    let keeper = child(&mut world, FIRST, true);
    world.family(keeper, 0, true).unwrap();
    let middle = child(&mut world, keeper, false);
    let (low, dead) = (child(&mut world, middle, false), child(&mut world, middle, false));
    world.exit(dead, 7);
    world.exit(middle, 0);
    assert_eq!((world.process(low).unwrap().parent, world.process(dead).unwrap().parent), (keeper, keeper));
    assert_eq!(found(&mut world, keeper, dead as i64, WEXITED), Some((dead, 0x700)));
    world.exit(keeper, 0);
    assert_eq!(world.process(low).unwrap().parent, FIRST);
}

#[test]
fn all_end_with_the_first() {
    let mut world = world();
    child(&mut world, FIRST, false);
    world.exit(FIRST, 256 + 11);
    assert_eq!(world.effects().last(), Some(&Effect::Over(11)));
}

#[test]
fn who_does_not_care_keeps_no_dead() {
    for (ignored, flags) in [(signals::bit(signals::CHILD), 0), (0, SA_NOCLDWAIT)] {
        let mut world = world();
        world.dispositions(FIRST, ignored, flags).unwrap();
        let pid = child(&mut world, FIRST, false);
        world.exit(pid, 0);
        assert_eq!(world.process(pid).err(), Some(Errno::ESRCH));
        assert_eq!(taken(&mut world, FIRST).len(), usize::from(ignored == 0));
        assert_eq!(world.wait(FIRST, -1, WEXITED), Err(Errno::ECHILD));
    }
}

#[test]
fn without_an_agent_signals_have_their_default_effect() {
    let mut world = world();
    let pid = child(&mut world, FIRST, false);
    for harmless in [17, 23, 28, 18] {
        kill(&mut world, FIRST, pid as i64, harmless).unwrap();
    }
    world.dispositions(pid, signals::bit(15) | u64::MAX << 63, 0).unwrap();
    kill(&mut world, FIRST, pid as i64, 15).unwrap();
    assert_eq!(world.process(pid).unwrap().letter(), b'S');
    kill(&mut world, FIRST, pid as i64, 19).unwrap();
    assert!(world.effects().contains(&Effect::Stop(pid)));
    assert_eq!(found(&mut world, FIRST, -1, WUNTRACED), Some((pid, 0x137f)));
    kill(&mut world, FIRST, pid as i64, 18).unwrap();
    assert!(world.effects().contains(&Effect::Continue(pid)));
    assert_eq!(found(&mut world, FIRST, -1, WCONTINUED), Some((pid, 0xffff)));
    assert_eq!(found(&mut world, FIRST, -1, WCONTINUED), None);
    kill(&mut world, FIRST, pid as i64, 2).unwrap();
    assert_eq!(found(&mut world, FIRST, -1, WEXITED), Some((pid, 2)));
}

#[test]
fn an_agent_fetches_what_has_come() {
    let mut world = world();
    let pid = child(&mut world, FIRST, true);
    world.limits(pid, 100, 2).unwrap();
    world.effects();
    for number in [10, 10, 34, 34, 12] {
        kill(&mut world, FIRST, pid as i64, number).unwrap();
    }
    assert_eq!(kill(&mut world, FIRST, pid as i64, 35), Err(Errno::EAGAIN));
    assert!(world.effects().contains(&Effect::Notify(pid)));
    assert_eq!(taken(&mut world, pid), [10, 34, 34, 12]);
    kill(&mut world, FIRST, pid as i64, 20).unwrap();
    kill(&mut world, FIRST, pid as i64, 18).unwrap();
    assert_eq!(taken(&mut world, pid), [18], "what continues makes what stops void");
    world.dispositions(pid, signals::bit(9) | signals::bit(10), 0).unwrap();
    kill(&mut world, FIRST, pid as i64, 10).unwrap();
    assert_eq!(taken(&mut world, pid), [0; 0]);
    kill(&mut world, FIRST, pid as i64, 9).unwrap();
    assert_eq!(found(&mut world, FIRST, -1, WEXITED), Some((pid, 9)));
}

#[test]
fn signals_wait_for_who_is_to_attend() {
    let mut world = world();
    let pid = world.create(FIRST, signals::CHILD).unwrap();
    kill(&mut world, FIRST, pid as i64, 15).unwrap();
    world.begin(pid, BEGIN_ATTENDS, 0).unwrap();
    kill(&mut world, FIRST, pid as i64, 2).unwrap();
    world.effects();
    world.attach(pid).unwrap();
    assert_eq!(world.effects(), [Effect::Notify(pid)]);
    assert_eq!(taken(&mut world, pid), [15, 2]);
    let other = world.create(FIRST, signals::CHILD).unwrap();
    kill(&mut world, FIRST, other as i64, 15).unwrap();
    world.begin(other, 0, 0).unwrap();
    assert_eq!(found(&mut world, FIRST, -1, WEXITED), Some((other, 15)));
    assert_eq!(taken(&mut world, FIRST), [signals::CHILD]);
}

#[test]
fn who_may_send_to_whom() {
    let mut world = world();
    let (one, two) = (child(&mut world, FIRST, true), child(&mut world, FIRST, true));
    world.identity(one, [5, 5, 5], 0).unwrap();
    assert_eq!(kill(&mut world, one, two as i64, 15), Err(Errno::EPERM));
    assert_eq!(kill(&mut world, one, two as i64, 18), Ok(()), "the same session");
    assert_eq!(kill(&mut world, two, one as i64, 0), Ok(()));
    assert_eq!(kill(&mut world, one, 999, 15), Err(Errno::ESRCH));
    assert_eq!(kill(&mut world, one, -999, 15), Err(Errno::ESRCH));
    assert_eq!(kill(&mut world, one, one as i64, 65), Err(Errno::EINVAL));
    let lie = |target: u64| Sent { target: target as i64, number: 11, code: CLD_KILLED, ..Sent::default() };
    assert_eq!(world.kill(two, &lie(one)), Err(Errno::EPERM));
    assert_eq!(world.kill(two, &lie(two)), Ok(()));
    let thread = world.thread_create(two).unwrap();
    assert_eq!(world.kill(two, &Sent { thread, number: 12, ..Sent::default() }), Ok(()));
    assert_eq!(world.kill(two, &Sent { target: one as i64, thread, number: 12, ..Sent::default() }), Err(Errno::ESRCH));
    assert_eq!(kill(&mut world, two, -1, 16), Ok(()));
    assert_eq!((taken(&mut world, FIRST), taken(&mut world, one), taken(&mut world, two)), (alloc::vec![], alloc::vec![16], alloc::vec![18, 11, 12]));
}

#[test]
fn groups_and_sessions() {
    let mut world = world();
    let (one, two) = (child(&mut world, FIRST, false), child(&mut world, FIRST, false));
    assert_eq!(world.group_set(FIRST, one, two), Err(Errno::EPERM), "there is no such group");
    world.group_set(FIRST, two, two).unwrap();
    world.group_set(FIRST, one, two).unwrap();
    assert_eq!(world.session_create(two), Err(Errno::EPERM));
    assert_eq!(world.session_create(one), Ok(one));
    assert_eq!(world.group_set(FIRST, one, 0), Err(Errno::EPERM), "another session");
    assert_eq!(world.group_set(one, two, 0), Err(Errno::ESRCH));
    assert_eq!(world.group_set(FIRST, 0, 0), Err(Errno::EPERM), "a leader of a session");
    world.begin(two, BEGIN_PROGRAM, 0).unwrap();
    assert_eq!(world.group_set(FIRST, two, FIRST), Err(Errno::EACCES));
    assert_eq!(world.group_set(two, 0, FIRST), Ok(()));
    assert_eq!((world.foreground(two), world.foreground(one)), (Ok(FIRST), Err(Errno::ENOTTY)));
    assert_eq!(world.foreground_set(FIRST, one), Err(Errno::EPERM));
    assert_eq!(world.foreground_set(FIRST, 999), Err(Errno::ESRCH));
    assert_eq!((world.terminal_acquire(two, 1, false), world.terminal_acquire(one, 1, false)), (Err(Errno::EPERM), Ok(one)));
    assert_eq!(world.foreground(one), Ok(one));
}

#[test]
fn priorities_only_fall_but_for_the_superuser() {
    let mut world = world();
    let pid = child(&mut world, FIRST, false);
    world.identity(pid, [5, 5, 5], 0).unwrap();
    assert_eq!(world.priority_set(pid, 0, 0, 15), Ok(()));
    assert_eq!(world.priority_set(pid, 0, 0, 16), Err(Errno::EACCES));
    assert_eq!(world.priority_set(pid, 0, FIRST, 1), Err(Errno::EPERM));
    assert_eq!((world.priority(FIRST, 0, pid), world.priority(FIRST, 1, 0)), (Ok(15), Ok(20)));
    assert_eq!((world.priority(FIRST, 3, 0), world.priority(FIRST, 0, 999)), (Err(Errno::EINVAL), Err(Errno::ESRCH)));
    assert_eq!(world.priority_set(FIRST, 2, 5, 40), Ok(()));
    let heir = child(&mut world, pid, false);
    assert_eq!(world.priority(FIRST, 0, heir), Ok(40));
}

#[test]
fn a_maker_is_released_by_another_program_or_an_end() {
    let mut world = world();
    let (one, two) = (child(&mut world, FIRST, false), child(&mut world, FIRST, false));
    assert_eq!((world.is_released(FIRST, one), world.is_released(two, one)), (Ok(false), Err(Errno::ESRCH)));
    world.begin(one, BEGIN_PROGRAM, 0).unwrap();
    world.exit(two, 0);
    assert_eq!((world.is_released(FIRST, one), world.is_released(FIRST, two)), (Ok(true), Ok(true)));
}

#[test]
fn keys_go_to_the_foreground() {
    let mut world = world();
    let (job, other) = (child(&mut world, FIRST, false), child(&mut world, FIRST, false));
    world.group_set(FIRST, job, 0).unwrap();
    world.foreground_set(FIRST, job).unwrap();
    world.terminal_signal(FIRST, 20);
    assert_eq!(found(&mut world, FIRST, -1, WUNTRACED), Some((job, 0x147f)));
    let told = world.signal_take(FIRST).unwrap().expect("a signal");
    assert_eq!((told.code, told.value), (CLD_STOPPED, 20));
    world.terminal_signal(FIRST, 2);
    // A stopped process takes the signal when it continues.
    assert_eq!(found(&mut world, FIRST, -1, WEXITED), None);
    kill(&mut world, FIRST, job as i64, signals::CONTINUE).unwrap();
    assert_eq!(found(&mut world, FIRST, -1, WEXITED), Some((job, 2)));
    assert!(!world.process(other).unwrap().has_ended());
}

#[test]
fn an_orphaned_group_that_is_stopped_is_woken() {
    let mut world = world();
    let shell = child(&mut world, FIRST, false);
    world.session_create(shell).unwrap();
    let job = child(&mut world, shell, true);
    world.group_set(shell, job, 0).unwrap();
    world.set_stopped(job, 19).unwrap();
    world.exit(shell, 0);
    assert_eq!(taken(&mut world, job), [signals::HANG_UP, signals::CONTINUE]);
    assert_eq!(world.set_stopped(job, 0), Ok(()));
    assert_eq!(world.set_stopped(job, 20), Err(Errno::EIO));
}

#[test]
fn the_end_of_a_session_hangs_up() {
    let mut world = world();
    let leader = child(&mut world, FIRST, false);
    world.session_create(leader).unwrap();
    world.terminal_acquire(leader, 1, false).unwrap();
    let job = child(&mut world, leader, true);
    world.exit(leader, 0);
    assert!(world.effects().contains(&Effect::Detached(leader)));
    assert_eq!(taken(&mut world, job), [signals::HANG_UP, signals::CONTINUE]);
    assert_eq!(world.foreground(job), Err(Errno::ENOTTY));
}

#[test]
fn limits_hold() {
    let mut world = world();
    let made: Vec<u64> = core::iter::from_fn(|| world.create(FIRST, 17).ok()).collect();
    assert_eq!(made.len(), LIMITS.processes - 1);
    let threads = core::iter::from_fn(|| world.thread_create(FIRST).ok()).count();
    assert_eq!(threads, (LIMITS.threads - LIMITS.processes) / 2);
    assert_eq!(world.create(FIRST, 17), Err(Errno::EAGAIN));
    world.lost(made[0]);
    assert!(world.process(made[0]).is_err(), "one that never began leaves nothing");
    let again = world.create(FIRST, 17).expect("room again");
    assert!(again > made[0], "numbers are used again late");
    world.identity(again, [7; 3], 0).unwrap();
    world.lost(made[1]);
    world.begin(again, 0, 0).unwrap();
    world.limits(again, 1, 0).unwrap();
    assert_eq!(world.create(again, 17), Err(Errno::EAGAIN), "a limit of the user");
}

#[test]
fn a_fresh_process_is_a_reservation_of_its_maker() {
    let abort: [fn(&mut World, u64, u64); 6] = [
        |world, _, fresh| world.abandon(fresh).unwrap(),
        |world, _, fresh| world.lost(fresh),
        |world, maker, _| world.exit(maker, 0),
        |world, maker, _| world.lost(maker),
        |world, maker, _| world.renew(maker, 0).unwrap(),
        |world, maker, _| world.begin(maker, BEGIN_ATTENDS, 0).unwrap(),
    ];
    for abort in abort {
        let mut world = world();
        let maker = child(&mut world, FIRST, true);
        let fresh = world.create(maker, signals::CHILD).unwrap();
        assert_eq!(world.create(fresh, signals::CHILD), Err(Errno::EINVAL), "a reservation reserves nothing");
        assert!(world.next(FIRST, fresh).is_none_or(|(pid, _)| pid != fresh), "a reservation is in no list");
        world.effects();
        abort(&mut world, maker, fresh);
        assert!(world.process(fresh).is_err(), "its number is free");
        let effects = world.effects();
        assert!(effects.contains(&Effect::Destroy(fresh)) && effects.contains(&Effect::Forget(fresh)));
        assert_eq!(taken(&mut world, FIRST).len(), usize::from(world.living(maker).is_err()), "only a maker's end is told");
        assert!(taken(&mut world, maker).is_empty());
    }
}

#[test]
fn what_has_begun_outlives_its_maker() {
    let mut world = world();
    let maker = child(&mut world, FIRST, false);
    let (begun, killed) = (child(&mut world, maker, false), world.create(maker, signals::CHILD).unwrap());
    assert_eq!(world.abandon(begun), Err(Errno::EINVAL));
    kill(&mut world, FIRST, killed as i64, 9).unwrap();
    world.exit(maker, 0);
    assert_eq!(world.process(begun).map(|process| process.parent), Ok(FIRST));
    assert_eq!(found(&mut world, FIRST, killed as i64, WEXITED), Some((killed, 9)), "one that was killed is waited for");
}

#[test]
fn a_maker_has_few_reservations() {
    let mut world = World::new(Limits { processes: 1000, threads: 1000 }, None);
    world.begin(FIRST, 0, 0).unwrap();
    let made: Vec<u64> = core::iter::from_fn(|| world.create(FIRST, 17).ok()).collect();
    assert_eq!(made.len(), MAX_FRESH);
    world.abandon(made[0]).unwrap();
    assert!(world.create(FIRST, 17).is_ok());
}

/// Makes and ends a thread; its number.
fn use_number(world: &mut World) -> u64 {
    let thread = world.thread_create(FIRST).unwrap();
    world.thread_end(FIRST, thread).unwrap();
    thread
}

#[test]
fn numbers_come_again_when_all_others_had_their_turn() {
    let mut world = World::new(Limits { processes: 16_000, threads: 16_000 }, None);
    world.begin(FIRST, 0, 0).unwrap();
    let (early, later) = (child(&mut world, FIRST, true), child(&mut world, FIRST, true));
    world.group_set(FIRST, early, 0).unwrap();
    world.group_set(FIRST, later, early).unwrap();
    world.exit(early, 0);
    assert_eq!(found(&mut world, FIRST, early as i64, WEXITED), Some((early, 0)));
    let mut numbers: Vec<u64> = (later..HIGHEST).map(|_| use_number(&mut world)).collect();
    assert!(numbers.is_sorted() && numbers[0] == later + 1 && numbers.pop() == Some(HIGHEST));
    let kept: Vec<u64> = (0..3).map(|_| world.thread_create(FIRST).unwrap()).collect();
    assert_eq!(kept, [LOWEST_AGAIN, LOWEST_AGAIN + 1, LOWEST_AGAIN + 2]);
    // Once around: numbers in use are left out, a group's too.
    world.last_number = HIGHEST;
    world.used_next = 0;
    assert_eq!(world.thread_create(FIRST), Ok(LOWEST_AGAIN + 3));
    (world.last_number, world.used_next) = (early - 2, 0);
    assert_eq!(world.thread_create(FIRST), Ok(later + 1), "{early} is a group's, and {later} a process's");
}

#[test]
fn a_chain_of_deaths_takes_no_stack() {
    let mut world = World::new(Limits { processes: 16_000, threads: 16_000 }, None);
    world.begin(FIRST, 0, 0).unwrap();
    let mut at = FIRST;
    for _ in 0..3000 {
        at = child(&mut world, at, false);
        world.family(at, 9, false).unwrap();
    }
    world.lost(2);
    assert!(world.process(at).is_ok_and(|process| process.has_ended()));
}

#[test]
fn the_first_process_does_not_care_for_those_it_adopts() {
    let mut world = world();
    let parent = child(&mut world, FIRST, true);
    let job = child(&mut world, parent, true);
    world.group_set(parent, job, 0).unwrap();
    assert!(!world.is_orphaned(job));
    world.set_stopped(job, 20).unwrap();
    world.exit(parent, 0);
    assert!(world.is_orphaned(job));
    assert_eq!(taken(&mut world, job), [signals::HANG_UP, signals::CONTINUE]);
    // Its own it does care for.
    let own = child(&mut world, FIRST, true);
    world.group_set(FIRST, own, own).unwrap();
    assert!(!world.is_orphaned(own));
}

#[test]
fn who_uses_a_terminal_from_the_background_is_stopped() {
    const INPUT: u64 = 21;
    let mut world = world();
    let leader = child(&mut world, FIRST, true);
    world.session_create(leader).unwrap();
    assert_eq!(world.terminal_check(leader, 7, INPUT), Ok(false), "no terminal of its own");
    world.terminal_acquire(leader, 7, false).unwrap();
    assert_eq!(world.terminal_acquire(FIRST, 7, false), Err(Errno::EPERM), "it has one");
    let (one, two) = (child(&mut world, leader, true), child(&mut world, leader, true));
    for pid in [one, two] {
        world.group_set(leader, pid, one).unwrap();
    }
    assert_eq!((world.terminal_check(leader, 7, INPUT), world.terminal_check(one, 8, INPUT)), (Ok(false), Ok(false)));
    assert_eq!((world.terminal_check(one, 7, 0), world.terminal_check(one, 7, 9)), (Ok(true), Err(Errno::EINVAL)));
    assert_eq!((taken(&mut world, two), world.terminal_check(one, 7, INPUT)), (Vec::new(), Ok(true)));
    assert_eq!((taken(&mut world, one), taken(&mut world, two)), (Vec::new(), [INPUT].to_vec()));
    assert_eq!(world.terminal_owner(one, 7), Ok((leader, leader, true)));
    world.terminal_signal(leader, signals::HANG_UP);
    assert_eq!(taken(&mut world, leader), [signals::HANG_UP, signals::CONTINUE]);
    assert_eq!((world.terminal(one), world.terminal_owner(one, 7)), (Err(Errno::ENXIO), Ok((0, 0, false))));
    assert_eq!((world.terminal_leave(one), world.terminal_leave(leader)), (Err(Errno::EPERM), Ok(())));
}

#[test]
fn what_a_monitor_serves_ends_with_it() {
    let mut world = world();
    let monitor = child(&mut world, FIRST, false);
    let ward = world.create(monitor, 0).unwrap();
    world.begin(ward, BEGIN_PROGRAM | BEGIN_SERVED, 0).unwrap();
    let below = child(&mut world, ward, false);
    let inner = world.create(below, 0).unwrap();
    world.begin(inner, BEGIN_SERVED, 0).unwrap();
    let (innermost, beside) = (child(&mut world, inner, false), child(&mut world, monitor, false));
    world.exit(ward, 0);
    assert!(!world.process(below).unwrap().has_ended(), "an orphan is still served");
    // An orphan of the first process's cannot leave the monitor by beginning again.
    world.begin(below, BEGIN_SERVED, 0).unwrap();
    world.exit(monitor, 0);
    for pid in [below, inner, innermost] {
        assert!(world.process(pid).is_ok_and(Process::has_ended) || world.process(pid).is_err(), "{pid} goes on");
    }
    assert!(!world.process(beside).unwrap().has_ended(), "what was not served goes on");
}
