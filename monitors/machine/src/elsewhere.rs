//! The machine goes on elsewhere, or in a copy: it is told so after a thaw, a move and a fork. Then
//! its clock shows the calendar of the machine that it is in now, and the guest gets a new
//! identity, by which its system knows that its random numbers are not its own any more.

use crate::board::BOARD;
use crate::entropy::FileRandom;
use nacre_abi::Code;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_machine_load::generation::IDENTITY_SIZE;
use nacre_machine_virtio::Random;
use nacre_nest::{Services, attending};
use nacre_proto::{Errno, Event, ServerEndpoint};
use nacre_rt::thread;
use nacre_sys::lock::Lock;
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, PortSet};

/// Bit that says that the machine goes on elsewhere.
pub const BIT: u64 = 1;

/// Source of identities.
static SOURCE: Lock<Option<FileRandom>> = Lock::new(None);

/// Makes the port that is told, and a reference for whoever tells.
pub fn port() -> Result<(OwnedPort, OwnedReference), Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let reference = port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY)?;
    Ok((port, reference))
}

/// Returns a new identity of the guest; one that says nothing where there are no random bytes.
fn identity() -> [u8; IDENTITY_SIZE] {
    let mut bytes = [0; IDENTITY_SIZE];
    if let Some(source) = SOURCE.lock().as_mut() {
        source.fill(&mut bytes);
    }
    bytes
}

/// Gives the guest its first identity, and starts the thread that hears of new machines at this
/// port.
pub fn begin(services: &Services, port: OwnedPort) -> Result<(), Errno> {
    *SOURCE.lock() = FileRandom::open(services);
    identify();
    // It goes on for as long as the program.
    thread::spawn(serve, port.leak().0 as usize).inspect(attending::count).map(drop)
}

/// Gives the guest an identity, if there are any: at its start, and when it starts anew.
pub fn identify() {
    if SOURCE.lock().is_some() {
        BOARD.identify(&identity());
    }
}

fn serve(port: usize) {
    let Ok(mut endpoint) = ServerEndpoint::new(0) else { return };
    loop {
        match endpoint.next(port as u64, FOREVER) {
            Ok(Event::Notification { bits, .. }) if bits & BIT != 0 => BOARD.go_on_elsewhere(&identity()),
            Ok(_) => {}
            Err(status) if status.code() == Some(Code::Interrupted) => {}
            Err(_) => return,
        }
    }
}
