//! Interference of CPUs: one pair of client and server, and two pairs that have nothing to do with
//! each other, by the wall's clock.

use alloc::boxed::Box;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::Errno;
use nacre_sys::{OwnedPort, OwnedReference, OwnedThread, PortSet, Reference, ipc};

use super::fixture::{Domain, Fixture, rest};
use super::messages::serve_words;
use crate::figure::{now, say};

/// Pairs.
const PAIRS: usize = 2;
/// Round trips of a trial: so few that a busy host often leaves both CPUs alone for as long.
const ROUNDS: u64 = 60;
/// Trials of each kind.
const TRIALS: usize = 401;

/// Order to a client and its report, on cache lines of their own.
#[repr(align(128))]
struct Client {
    server: Reference,
    done: Reference,
    /// Port at which the client waits for the next trial.
    port: u64,
    /// Ticks of the trial: when its first call was made, and when its last was answered.
    begun: AtomicU64,
    ended: AtomicU64,
}

/// Clients of the trial that have not come yet.
static AWAITED: AtomicU32 = AtomicU32::new(0);

/// One pair: a space for its server and one for its client, so that nothing that is written is
/// shared with the other pair.
struct Pair {
    client: Box<Client>,
    go: OwnedReference,
    _threads: [OwnedThread; 2],
    _domains: [Domain; 2],
    _references: [OwnedReference; 2],
    _ports: [OwnedPort; 2],
}

extern "C" fn call_on_and_on(client: u64) -> ! {
    // SAFETY: who started the thread destroys it before the client goes.
    let client = unsafe { &*(client as *const Client) };
    while ipc::receive_words(client.port).is_ok() {
        AWAITED.fetch_sub(1, Ordering::AcqRel);
        while AWAITED.load(Ordering::Acquire) != 0 {
            spin_loop();
        }
        client.begun.store(now(), Ordering::Relaxed);
        for _ in 0..ROUNDS {
            if ipc::call_words(client.server, 1, [1, 2, 3, 4, 5, 6]).is_err() {
                rest();
            }
        }
        client.ended.store(now(), Ordering::Release);
        let _ = ipc::notify(client.done, 1);
    }
    rest()
}

fn pair(ground: &Fixture, port: &OwnedPort) -> Result<Pair, Errno> {
    let ports = [OwnedPort::new(0, PortSet::NONE)?, OwnedPort::new(0, PortSet::NONE)?];
    let go = ports[1].new_reference(REFERENCE_NOTIFY)?;
    let references = [ports[0].new_reference(REFERENCE_USE)?, port.new_reference(REFERENCE_NOTIFY)?];
    let client = Box::new(Client {
        server: references[0].handle(),
        done: references[1].handle(),
        port: ports[1].address(),
        begun: AtomicU64::new(0),
        ended: AtomicU64::new(0),
    });
    let domains = [ground.domain()?, ground.domain()?];
    let server = domains[0].start(serve_words, ports[0].address())?;
    let thread = domains[1].start(call_on_and_on, &raw const *client as u64)?;
    Ok(Pair { client, go, _threads: [server, thread], _domains: domains, _references: references, _ports: ports })
}

/// Ticks from the first client's start to the last one's end.
fn trial(pairs: &[Pair], port: &OwnedPort) -> Result<u64, Errno> {
    AWAITED.store(pairs.len() as u32, Ordering::Release);
    for pair in pairs {
        pair.client.ended.store(0, Ordering::Release);
        ipc::notify(pair.go.handle(), 1)?;
    }
    while pairs.iter().any(|pair| pair.client.ended.load(Ordering::Acquire) == 0) {
        ipc::receive_words(port.address())?;
    }
    let begun = pairs.iter().map(|pair| pair.client.begun.load(Ordering::Relaxed)).min().unwrap_or(0);
    let ended = pairs.iter().map(|pair| pair.client.ended.load(Ordering::Relaxed)).max().unwrap_or(0);
    Ok(ended - begun)
}

/// Tells the ticks in which each pair makes a round trip, `parallel PAIRS best TICKS median TICKS`:
/// of trials with one pair and of trials with two, which take turns in coming first.
pub fn tell(ground: &Fixture) -> Result<(), Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let pairs = [pair(ground, &port)?, pair(ground, &port)?];
    let mut ticks = [[0; TRIALS]; PAIRS];
    trial(&pairs, &port)?;
    for round in 0..TRIALS {
        for turn in 0..PAIRS {
            let kind = (round + turn) % PAIRS;
            ticks[kind][round] = trial(&pairs[..=kind], &port)? / ROUNDS;
        }
    }
    for (kind, mut ticks) in ticks.into_iter().enumerate() {
        ticks.sort_unstable();
        say(format_args!("parallel {} best {} median {}", kind + 1, ticks[0], ticks[TRIALS / 2]));
    }
    Ok(())
}
