//! Steps of each scenario's threads. A table has room for sixteen steps.

use crate::stage::{BASE, CONDITION, FREE, INNER, MUTEX, PORTS, SET, SIZE, SPACE, Stage, Step, data, must, reference};
use alloc::string::String;
use alloc::vec::Vec;
use alloc::vec;
use nacre_abi::state::ThreadState;
use nacre_abi::{Call, PAGE_SIZE, Rights};
use nacre_raw::runner::{ADD, STORE, TRAP};

/// A scenario.
pub struct Scenario {
    pub id: &'static str,
    pub sentence: &'static str,
    pub programs: fn() -> Vec<Vec<Step>>,
    pub prepare: fn(&Stage) -> Result<(), String>,
}

fn call(which: Call, registers: &[u64]) -> Step {
    (which.number(), registers.to_vec())
}

/// A message with a label, words and a descriptor.
fn message(which: Call, target: u64, label: u64, descriptor: u64) -> Step {
    call(which, &[target, label, label + 1, label + 2, label + 3, label + 4, label + 5, label + 6, descriptor])
}

fn sleep() -> Step {
    call(Call::ThreadSleep, &[300_000])
}

/// Bytes and references to send and to receive, for two threads.
fn descriptors(stage: &Stage) -> Result<(), String> {
    for thread in 0..2 {
        let at = data(thread);
        stage.write(at, &[at + 0x200, 300, at + 0x400, 400, at + 0x40, 1, at + 0x80, 1]);
        stage.write(at + 0x40, &[reference(2 * thread)]);
        stage.write(at + 0x80, &[reference(2 * thread + 1)]);
        (0..40).for_each(|word| stage.write(at + 0x200 + 8 * word, &[thread << 32 | word]));
        must(Call::PortReference, &[stage.at(PORTS[1]), stage.at(reference(2 * thread)), 7])?;
    }
    Ok(())
}

/// The first port keeps the space, and thread 1 has room for a state, which it sends back.
fn keep(stage: &Stage) -> Result<(), String> {
    let at = data(1);
    stage.write(at, &[at + 0x400, ThreadState::SIZE, at + 0x400, ThreadState::SIZE, 0, 0, at + 0x80, 1]);
    stage.write(at + 0x80, &[reference(0)]);
    stage.keep(PORTS[0])
}

/// Address of pages that are missing until a keeper brings them into `INNER`.
const HOLE: u64 = 0x2000_0000;

fn hole(stage: &Stage) -> Result<(), String> {
    let [region, mapping, own] = [FREE, FREE + 0x80, FREE + 0x100].map(|at| stage.at(at));
    must(Call::RegionCreate, &[region, stage.at(INNER), PAGE_SIZE, 2 * PAGE_SIZE, Rights::ALL.0, stage.at(PORTS[1])])?;
    must(Call::MappingCreate, &[mapping, stage.at(SPACE), HOLE, 2 * PAGE_SIZE, region, 0, Rights::ALL.0])?;
    must(Call::RegionCreate, &[own, stage.at(SPACE), BASE + 0xa000, 2 * PAGE_SIZE, Rights::ALL.0, 0])?;
    stage.write(data(0), &[HOLE + PAGE_SIZE + 8, 64, 0, 0, 0, 0, 0, 0]);
    stage.write(data(2), &[0, 0, data(2) + 0x400, 100, 0, 0, 0, 0]);
    stage.write(BASE + 0xb008, &[1, 2, 3, 4, 5, 6, 7, 8]);
    Ok(())
}

fn bring(number: u64) -> Step {
    let slot = FREE + 0x180 + 0x80 * number;
    call(Call::MappingCreate, &[slot, INNER, (1 + number) * PAGE_SIZE, PAGE_SIZE, FREE + 0x100, number * PAGE_SIZE, Rights::ALL.0])
}

/// Thread 2 lives in the inner space, which sees the same memory through the outer one.
fn inner(stage: &Stage) -> Result<(), String> {
    must(Call::RegionCreate, &[stage.at(FREE), stage.at(SPACE), BASE, SIZE, Rights::ALL.0, 0])?;
    must(Call::MappingCreate, &[stage.at(FREE + 0x80), stage.at(INNER), BASE, SIZE, stage.at(FREE), 0, Rights::ALL.0])?;
    stage.make_thread(2, INNER)
}

/// Every scenario.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        id: "EXPORT0001",
        sentence: "messages with bytes and references, and a server in the middle of a request",
        programs: || {
            let server = (0..4).flat_map(|round| [sleep(), message(if round == 0 { Call::IpcReceive } else { Call::IpcReplyReceive }, PORTS[0], 100 + round, data(1))]);
            let server = server.chain([sleep(), message(Call::IpcReply, 0, 200, data(1))]).collect();
            vec![(0..4).flat_map(|round| [message(Call::IpcCall, PORTS[0], 10 + round, data(0)), sleep()]).collect(), server]
        },
        prepare: descriptors,
    },
    Scenario {
        id: "EXPORT0002",
        sentence: "a breakpoint whose keeper takes its time, and answers with a state",
        programs: || {
            let keeper = [Call::IpcReceive, Call::IpcReplyReceive, Call::IpcReplyReceive].into_iter().flat_map(|which| [sleep(), message(which, PORTS[0], 0, data(1)), sleep()]);
            vec![vec![(TRAP, vec![]), (TRAP, vec![]), (TRAP, vec![])], keeper.chain([message(Call::IpcReply, 0, 0, data(1))]).collect()]
        },
        prepare: keep,
    },
    Scenario {
        id: "EXPORT0003",
        sentence: "a page that is missing in user code, and one in a call, until a keeper brings them",
        programs: || {
            vec![
                vec![(STORE, vec![HOLE + 16, 99]), message(Call::IpcSend, PORTS[0], 10, data(0))],
                vec![sleep(), message(Call::IpcReceive, PORTS[1], 0, 0), sleep(), bring(0), call(Call::IpcReplyReceive, &[PORTS[1]]), sleep(), bring(1), call(Call::IpcReply, &[0])],
                vec![message(Call::IpcReceive, PORTS[0], 0, data(2))],
            ]
        },
        prepare: hole,
    },
    Scenario {
        id: "EXPORT0004",
        sentence: "a mutex, a condition, a notification, timers",
        programs: || {
            vec![
                vec![call(Call::MutexLock, &[MUTEX, data(2)]), call(Call::ConditionWait, &[CONDITION, data(2) + 8, 7]), message(Call::IpcReceive, SET, 0, 0)],
                vec![
                    sleep(),
                    (STORE, vec![data(2), 0]),
                    call(Call::MutexUnlock, &[MUTEX]),
                    sleep(),
                    (STORE, vec![data(2) + 8, 8]),
                    call(Call::ConditionSignal, &[CONDITION, 1]),
                    sleep(),
                    call(Call::PortNotify, &[PORTS[1], 9]),
                    call(Call::IpcReceive, &[PORTS[0], 0, 0, 0, 0, 0, 0, 0, 0, 400_000]),
                ],
                vec![sleep(), sleep()],
            ]
        },
        prepare: |stage| {
            stage.write(data(2), &[2, 7]);
            Ok(())
        },
    },
    Scenario {
        id: "EXPORT0005",
        sentence: "vector registers that are in use",
        programs: || (0..3).map(|thread| vec![(ADD, vec![data(thread), 700_000 + thread])]).collect(),
        prepare: |stage| {
            for thread in 0..3 {
                stage.write(data(thread), &[1, 2, 3, 4, 5 + thread, 6, 7, 1 << 40]);
            }
            Ok(())
        },
    },
    Scenario {
        id: "EXPORT0006",
        sentence: "foreign calls, between vector operations",
        programs: || vec![(0..6).flat_map(|number| [(ADD, vec![data(0), 100_000]), (39, vec![number])]).collect()],
        prepare: |stage| {
            stage.write(data(0), &[1, 2, 3, 4, 5, 6, 7, 8]);
            Ok(())
        },
    },
    Scenario {
        id: "EXPORT0007",
        sentence: "a chain of requests into an environment within",
        programs: || {
            vec![
                vec![message(Call::IpcCall, PORTS[0], 10, 0)],
                vec![message(Call::IpcReceive, PORTS[0], 0, 0), message(Call::IpcCall, PORTS[1], 20, 0), message(Call::IpcReply, 0, 30, 0)],
                vec![sleep(), (STORE, vec![data(2), 5]), message(Call::IpcReceive, SET, 0, 0), sleep(), message(Call::IpcReply, 0, 40, 0)],
            ]
        },
        prepare: inner,
    },
    Scenario {
        id: "EXPORT0008",
        sentence: "a client whose reply reference waits",
        programs: || {
            vec![
                vec![message(Call::IpcCall, PORTS[0], 10, 0)],
                vec![message(Call::IpcReceive, PORTS[0], 0, 0), call(Call::IpcDetach, &[reference(0)]), sleep(), sleep(), message(Call::IpcSend, reference(0), 30, 0)],
            ]
        },
        prepare: |_| Ok(()),
    },
    Scenario {
        id: "EXPORT0009",
        sentence: "a scheduler within, and threads that run on what it gives",
        programs: || {
            let give = |until, timeout| call(Call::ThreadDonate, &[BASE + 3 * PAGE_SIZE, until, 0, 0, 0, 0, 0, 0, 0, timeout]);
            let told = || message(Call::IpcReceive, PORTS[0], 0, 0);
            vec![
                vec![sleep(), sleep()],
                // On several processors the thread may still be at another when it is given time,
                // which ends that gift: so there are more than it needs.
                vec![told(), give(PORTS[0], 0), told(), give(0, 0), sleep(), give(0, 2_000_000), sleep(), give(0, 0), sleep(), give(0, 0), sleep(), give(0, 0)],
                vec![(ADD, vec![data(2), 300_000]), call(Call::PortNotify, &[PORTS[0], 6]), (ADD, vec![data(2), 300_000]), call(Call::ThreadYield, &[]), (STORE, vec![data(2) + 0x100, 7])],
            ]
        },
        prepare: |stage| {
            stage.write(data(2), &[1, 2, 3, 4, 5, 6, 7, 8]);
            must(Call::ThreadSetScheduler, &[stage.at(BASE + 3 * PAGE_SIZE), stage.at(PORTS[0]), 9])
        },
    },
];
