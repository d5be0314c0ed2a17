//! What the conductor is told by those who see what comes to a recorded program: workers of the
//! relay, and the thread that receives exceptions.

use crate::score::{self, Arrival};
use crate::turn::Turn;
use alloc::collections::{BTreeMap, BTreeSet};
use nacre_abi::rights::REFERENCE_NOTIFY;
use nacre_sys::ipc;
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedReference, Reference};

/// Maximum number of the program's ports of which others notify it, as the replay can do.
const MAX_PORTS: usize = 1024;

/// Reference to the conductor's port, once there is one.
static BELL: Lock<Option<OwnedReference>> = Lock::new(None);
/// References by which ports of the program are notified. They stay, so that it does not matter who
/// else keeps one.
static PORTS: Lock<BTreeMap<u64, OwnedReference>> = Lock::new(BTreeMap::new());

/// The conductor is told by this reference.
pub fn set_bell(bell: OwnedReference) {
    *BELL.lock() = Some(bell);
}

fn tell() {
    if let Some(bell) = &*BELL.lock() {
        // The port stays as long as this program.
        let _ = ipc::notify(bell.handle(), 1);
    }
}

/// A program begins, perhaps anew, or the one that was there has ended: what waits is of the one
/// before.
pub fn begin(left: BTreeSet<usize>) {
    PORTS.lock().clear();
    score::begin(left);
    tell();
}

/// The answer to a message is here. Returns when it may go on.
pub fn arrives(turn: &Turn) {
    score::arrives(turn, tell);
}

/// An answer is on its way to the program.
pub fn answered(turn: &Turn) {
    if score::with(|score| score.passes(turn.number)) {
        score::with(|score| score.is_done(Arrival::Answer(turn.number)));
        tell();
    }
}

/// A port of the program, `original`, was notified by way of the proxy with this number. Returns
/// when the program has the notification.
pub fn notified(port: u64, original: Reference, bits: u64) {
    score::notified(port, bits, tell);
    // Whether the port is still there is no affair of who notifies.
    let _ = ipc::notify(original, bits);
    score::with(|score| score.is_done(Arrival::Notice(port, bits)));
    tell();
}

/// The program has given others a port of its own, for which this proxy stands.
pub fn gives(port: u64, proxy: Reference) {
    let mut ports = PORTS.lock();
    if ports.len() < MAX_PORTS
        && let Ok(copy) = OwnedReference::copy_of(proxy, REFERENCE_NOTIFY)
    {
        ports.insert(port, copy);
    }
}

/// Notifies a port of the program, as others did when it was recorded. Returns false if the program
/// has given nobody this port.
pub fn notify(port: u64, bits: u64) -> bool {
    PORTS.lock().get(&port).is_some_and(|reference| ipc::notify(reference.handle(), bits).is_ok())
}

/// The thread that runs has come to the place where it is to be left.
pub fn reached() {
    score::with(|score| score.has_reached = true);
    tell();
}
