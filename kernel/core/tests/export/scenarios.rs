//! What the threads of each scenario do. All that they are answered must be the same whoever is
//! first.

use super::stage::{BASE, CONDITION, FREE, INNER, MUTEX, PORTS, SET, SIZE, SPACE, Stage, Step, data, reference};
use nacre_abi::state::{SpaceState, ThreadState};
use nacre_abi::{Call, PAGE_SIZE, Rights};

/// Threads with programs, and what root prepares for them.
pub struct Scenario {
    pub name: &'static str,
    pub programs: fn() -> Vec<Vec<Step>>,
    pub prepare: fn(&Stage),
}

/// Returns the address of a thread's descriptor.
const fn descriptor(thread: u64) -> u64 {
    data(thread)
}

/// Address in the environment's space where pages are missing until a keeper brings them into
/// `INNER`.
const HOLE: u64 = 0x2000_0000;

fn call(call: Call, arguments: &[u64]) -> Step {
    Step::Call(call, arguments.to_vec())
}

/// A message of words, label and all, with a descriptor and a timeout.
fn message(which: Call, target: u64, label: u64, descriptor: u64, timeout: u64) -> Step {
    call(which, &[target, label, label + 1, label + 2, label + 3, label + 4, label + 5, label + 6, descriptor, timeout])
}

fn plain(which: Call, target: u64, label: u64) -> Step {
    message(which, target, label, 0, 0)
}

fn sleep(time: u64) -> Step {
    call(Call::ThreadSleep, &[time])
}

fn nothing(_: &Stage) {}

/// Bytes and references to send and to receive, for each of three threads.
fn descriptors(stage: &Stage) {
    for thread in 0..3 {
        let at = descriptor(thread);
        let words = [at + 0x200, 300, at + 0x800, 400, at + 0x40, 2, at + 0x80, 2];
        stage.world.write(stage.at(at), &words);
        stage.world.write(stage.at(at + 0x40), &[reference(4 * thread), reference(4 * thread + 1)]);
        stage.world.write(stage.at(at + 0x80), &[reference(4 * thread + 2), reference(4 * thread + 3)]);
        (0..40).for_each(|word| stage.world.write(stage.at(at + 0x200 + 8 * word), &[thread << 32 | word]));
        stage.ok(Call::PortReference, &[stage.at(PORTS[1]), stage.at(reference(4 * thread)), 7]);
        stage.ok(Call::MutexReference, &[stage.at(MUTEX), stage.at(reference(4 * thread + 1)), 1]);
    }
}

/// A region of `INNER` with nothing in it yet, kept by the second port and seen at `HOLE`; and a
/// region of memory to fill it from.
fn hole(stage: &Stage) {
    let [region, mapping, own] = [FREE, FREE + 0x80, FREE + 0x100].map(|at| stage.at(at));
    stage.ok(Call::RegionCreate, &[region, stage.at(INNER), PAGE_SIZE, 2 * PAGE_SIZE, Rights::ALL.0, stage.at(PORTS[1])]);
    stage.ok(Call::MappingCreate, &[mapping, stage.at(SPACE), HOLE, 2 * PAGE_SIZE, region, 0, Rights::ALL.0]);
    stage.ok(Call::RegionCreate, &[own, stage.at(SPACE), BASE + 0xa000, 2 * PAGE_SIZE, Rights::ALL.0, 0]);
    let at = data(0);
    stage.world.write(stage.at(at), &[HOLE + PAGE_SIZE + 8, 64, 0, 0, 0, 0, 0, 0]);
    stage.world.write(stage.at(data(1)), &[0, 0, data(1) + 0x800, 100, 0, 0, 0, 0]);
    stage.world.write(stage.at(BASE + 0xb008), &[1, 2, 3, 4, 5, 6, 7, 8]);
}

/// The keeper of the hole brings page `number` of it.
fn bring(number: u64) -> Step {
    call(Call::MappingCreate, &[FREE + 0x180 + 0x80 * number, INNER, (1 + number) * PAGE_SIZE, PAGE_SIZE, FREE + 0x100, number * PAGE_SIZE, Rights::ALL.0])
}

/// The first port keeps the space, and thread 1 has room for a state, which it also sends back.
fn keep(stage: &Stage) {
    let (buffer, at) = (stage.frame.buffer, data(1));
    stage.world.write(buffer, &SpaceState::default().to_words());
    stage.world.write(buffer + 64, &[stage.at(PORTS[0])]);
    stage.ok(Call::SpaceSetState, &[stage.at(SPACE), buffer, SpaceState::SIZE, buffer + 64]);
    stage.world.write(stage.at(at), &[at + 0x800, ThreadState::SIZE, at + 0x800, ThreadState::SIZE, 0, 0, at + 0x80, 1]);
    stage.world.write(stage.at(at + 0x80), &[reference(0)]);
}

/// Thread 2 lives in the inner space, which sees the same memory through the outer one.
fn inner(stage: &Stage) {
    stage.ok(Call::RegionCreate, &[stage.at(FREE), stage.at(SPACE), BASE, SIZE, Rights::ALL.0, 0]);
    stage.ok(Call::MappingCreate, &[stage.at(FREE + 0x80), stage.at(INNER), BASE, SIZE, stage.at(FREE), 0, Rights::ALL.0]);
    stage.make_thread(2, INNER);
}

/// Two pages of references to an object.
fn refer(stage: &Stage, call: Call, object: u64) {
    for slot in (BASE + 0xa000..BASE + 0xc000).step_by(64) {
        stage.ok(Call::ReferenceCreate, &[stage.at(slot)]);
        stage.ok(call, &[stage.at(object), stage.at(slot), 1]);
    }
}

fn many(stage: &Stage) {
    refer(stage, Call::PortReference, PORTS[0]);
}

/// A region that nothing is mapped from, with many references. With a mapping its end would show
/// half way: that one would lead nowhere.
fn region(stage: &Stage) {
    stage.ok(Call::RegionCreate, &[stage.at(FREE), stage.at(SPACE), BASE, PAGE_SIZE, Rights::ALL.0, 0]);
    refer(stage, Call::RegionReference, FREE);
}

/// A mapping that no thread needs, with many references.
fn mapping(stage: &Stage) {
    stage.ok(Call::RegionCreate, &[stage.at(FREE), stage.at(SPACE), BASE, PAGE_SIZE, Rights::ALL.0, 0]);
    stage.ok(Call::MappingCreate, &[stage.at(FREE + 0x80), stage.at(SPACE), HOLE, PAGE_SIZE, stage.at(FREE), 0, Rights::ALL.0]);
    refer(stage, Call::MappingReference, FREE + 0x80);
}

/// A thread that is never started, with many references.
fn thread(stage: &Stage) {
    stage.make_thread(2, SPACE);
    refer(stage, Call::ThreadReference, BASE + 3 * PAGE_SIZE);
}

/// One thread destroys an object, then makes a port, beside another that does nothing.
fn destroys(destroy: Call, object: u64) -> Vec<Vec<Step>> {
    vec![vec![call(destroy, &[object]), call(Call::PortCreate, &[BASE + 3 * PAGE_SIZE, 1, 0])], vec![]]
}

/// The first thread schedules the second, and that the third.
fn scheduled(stage: &Stage) {
    for thread in 1..3 {
        stage.ok(Call::ThreadSetScheduler, &[stage.at(BASE + PAGE_SIZE * (1 + thread)), stage.at(PORTS[thread as usize - 1]), 40 + thread]);
    }
}

/// Gives time until something comes to a port, or for a while.
fn donate(thread: u64, until: u64, timeout: u64) -> Step {
    call(Call::ThreadDonate, &[BASE + PAGE_SIZE * (1 + thread), until, 0, 0, 0, 0, 0, 0, 0, timeout])
}

fn contended(stage: &Stage) {
    stage.world.write(stage.at(data(2)), &[2, 7]);
}

/// Every scenario.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "call",
        programs: || {
            vec![
                (1..4).map(|round| plain(Call::IpcCall, PORTS[0], 10 * round)).collect(),
                vec![
                    plain(Call::IpcReceive, PORTS[0], 0),
                    plain(Call::IpcReplyReceive, PORTS[0], 100),
                    sleep(1000),
                    plain(Call::IpcReplyReceive, PORTS[0], 200),
                    plain(Call::IpcReply, 0, 300),
                ],
            ]
        },
        prepare: nothing,
    },
    Scenario {
        name: "long message",
        programs: || {
            vec![
                vec![message(Call::IpcCall, PORTS[0], 10, descriptor(0), 15_000), message(Call::IpcSend, PORTS[1], 20, descriptor(0), 0)],
                vec![
                    message(Call::IpcReceive, PORTS[0], 0, descriptor(1), 15_000),
                    sleep(1000),
                    message(Call::IpcReply, 0, 30, descriptor(1), 0),
                    sleep(1000),
                    message(Call::IpcReceive, SET, 0, descriptor(1), 0),
                ],
            ]
        },
        prepare: descriptors,
    },
    Scenario {
        name: "chain",
        programs: || {
            vec![
                vec![plain(Call::IpcCall, PORTS[0], 10)],
                vec![plain(Call::IpcReceive, PORTS[0], 0), plain(Call::IpcCall, PORTS[1], 20), plain(Call::IpcReply, 0, 30)],
                vec![plain(Call::IpcReceive, SET, 0), sleep(1500), plain(Call::IpcReply, 0, 40)],
            ]
        },
        prepare: nothing,
    },
    Scenario {
        name: "nested",
        programs: || {
            vec![
                vec![plain(Call::IpcCall, PORTS[0], 10), sleep(500)],
                vec![plain(Call::IpcReceive, PORTS[0], 0), plain(Call::IpcCall, PORTS[1], 20), plain(Call::IpcReply, 0, 30)],
                vec![Step::Store(data(2), 5), plain(Call::IpcReceive, SET, 0), Step::Store(data(2) + 8, 6), plain(Call::IpcReply, 0, 40)],
            ]
        },
        prepare: inner,
    },
    Scenario {
        name: "detached",
        programs: || {
            vec![
                vec![plain(Call::IpcCall, PORTS[0], 10)],
                vec![
                    plain(Call::IpcReceive, PORTS[0], 0),
                    call(Call::IpcDetach, &[reference(0)]),
                    plain(Call::IpcReceive, SET, 0),
                    plain(Call::IpcSend, reference(0), 30),
                    plain(Call::IpcReply, 0, 40),
                ],
                vec![sleep(1000), plain(Call::IpcCall, PORTS[1], 20)],
            ]
        },
        prepare: nothing,
    },
    Scenario {
        name: "page",
        programs: || {
            vec![
                vec![Step::Store(HOLE + 16, 99), message(Call::IpcSend, PORTS[0], 10, descriptor(0), 0)],
                vec![message(Call::IpcReceive, PORTS[0], 0, descriptor(1), 0)],
                vec![
                    plain(Call::IpcReceive, PORTS[1], 0),
                    bring(0),
                    sleep(500),
                    call(Call::IpcReplyReceive, &[PORTS[1]]),
                    bring(1),
                    call(Call::IpcReply, &[0]),
                ],
            ]
        },
        prepare: hole,
    },
    Scenario {
        name: "refused page",
        programs: || {
            vec![
                vec![Step::Store(HOLE, 99)],
                vec![message(Call::IpcReceive, PORTS[0], 0, descriptor(1), 0), Step::Store(data(0) + 0x400, 1), bring(0), call(Call::IpcReply, &[0])],
                vec![plain(Call::IpcReceive, PORTS[1], 0), sleep(500), call(Call::IpcReply, &[0, nacre_abi::fault::REFUSE.into()])],
            ]
        },
        prepare: |stage| {
            hole(stage);
            keep(stage);
        },
    },
    Scenario {
        name: "exception",
        programs: || {
            vec![
                vec![Step::Trap(3), call(Call::Null, &[]), Step::Trap(1), Step::Store(data(0) + 0x600, 4)],
                vec![
                    sleep(500),
                    message(Call::IpcReceive, PORTS[0], 0, descriptor(1), 0),
                    sleep(500),
                    call(Call::IpcReplyReceive, &[PORTS[0], 0, 0, 0, 0, 0, 0, 0, descriptor(1)]),
                    call(Call::IpcReply, &[0, 0, 0, 0, 0, 0, 0, 0, descriptor(1)]),
                ],
            ]
        },
        prepare: keep,
    },
    Scenario {
        name: "notification",
        programs: || {
            vec![
                vec![plain(Call::IpcReceive, PORTS[0], 0), plain(Call::IpcReceive, SET, 0)],
                vec![sleep(1000), call(Call::PortNotify, &[PORTS[0], 5]), sleep(1000), call(Call::PortNotify, &[PORTS[1], 9])],
            ]
        },
        prepare: nothing,
    },
    Scenario {
        name: "lock",
        programs: || {
            vec![
                vec![call(Call::MutexLock, &[MUTEX, data(2)]), call(Call::ConditionWait, &[CONDITION, data(2) + 8, 7])],
                vec![
                    sleep(1000),
                    Step::Store(data(2), 0),
                    call(Call::MutexUnlock, &[MUTEX]),
                    sleep(1000),
                    Step::Store(data(2) + 8, 8),
                    sleep(1000),
                    Step::Call(Call::ConditionSignal, vec![CONDITION, 0]),
                    call(Call::ConditionSignal, &[CONDITION, 1]),
                ],
            ]
        },
        prepare: contended,
    },
    Scenario {
        name: "time",
        programs: || {
            vec![
                vec![sleep(3000), message(Call::IpcReceive, PORTS[0], 0, 0, 3000), message(Call::IpcCall, PORTS[1], 10, 0, 3000)],
                vec![message(Call::IpcReceive, PORTS[0], 0, 0, 2000), call(Call::ThreadYield, &[])],
            ]
        },
        prepare: nothing,
    },
    Scenario {
        name: "cut off",
        programs: || {
            vec![vec![call(Call::MemoryReclaim, &[BASE + 0xa000, 2 * PAGE_SIZE]), call(Call::Null, &[])], vec![sleep(500), call(Call::ReferenceCreate, &[FREE])]]
        },
        prepare: many,
    },
    Scenario {
        name: "copy",
        programs: || {
            // Each page has what the one before it had.
            let copy = call(Call::MemoryCopy, &[BASE + 0xa000, BASE + 0xb000, 5 * PAGE_SIZE]);
            vec![vec![Step::Store(BASE + 0xa000, 5), copy, Step::Store(BASE + 0xf008, 7)], vec![sleep(500), call(Call::Null, &[])]]
        },
        prepare: |stage| stage.world.kernel.budget_full.set(1000),
    },
    Scenario {
        name: "destruction",
        programs: || vec![vec![call(Call::PortDestroy, &[PORTS[0]]), call(Call::PortCreate, &[PORTS[0], 1, 0])]],
        prepare: many,
    },
    Scenario {
        name: "given time",
        programs: || {
            // Who blocks and is stopped is ready once more when it is started: that a scheduler can
            // tell. These run until they yield, or are told to.
            let told = |port: usize| plain(Call::IpcReceive, PORTS[port], 0);
            vec![
                vec![told(0), donate(1, 0, 0), donate(1, 0, 9000)],
                vec![told(1), donate(2, PORTS[1], 0), told(1), call(Call::ThreadYield, &[]), donate(2, 0, 2000), Step::Store(data(1), 5)],
                vec![Step::Store(data(2), 6), call(Call::PortNotify, &[PORTS[1], 4]), Step::Store(data(2) + 8, 7)],
            ]
        },
        prepare: scheduled,
    },
    Scenario {
        name: "space destruction",
        programs: || destroys(Call::SpaceDestroy, INNER),
        prepare: |stage| refer(stage, Call::SpaceReference, INNER),
    },
    Scenario {
        name: "region destruction",
        programs: || destroys(Call::RegionDestroy, FREE),
        prepare: region,
    },
    Scenario {
        name: "mapping destruction",
        programs: || destroys(Call::MappingDestroy, FREE + 0x80),
        prepare: mapping,
    },
    Scenario {
        name: "thread destruction",
        programs: || destroys(Call::ThreadDestroy, BASE + 3 * PAGE_SIZE),
        prepare: thread,
    },
    Scenario {
        name: "set destruction",
        programs: || destroys(Call::PortSetDestroy, SET),
        prepare: |stage| refer(stage, Call::PortSetReference, SET),
    },
    Scenario {
        name: "mutex destruction",
        programs: || destroys(Call::MutexDestroy, MUTEX),
        prepare: |stage| refer(stage, Call::MutexReference, MUTEX),
    },
    Scenario {
        name: "condition destruction",
        programs: || destroys(Call::ConditionDestroy, CONDITION),
        prepare: |stage| refer(stage, Call::ConditionReference, CONDITION),
    },
];
