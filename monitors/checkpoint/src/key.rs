//! The key that freezes: the terminal tells us of it, and gives it to nobody who reads.

use crate::outside::WAKE;
use alloc::format;
use alloc::string::String;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::flags::TERMINAL_ATTENTION;
use nacre_proto::{Errno, terminal};
use nacre_sys::{OwnedPort, PortSet, Reference};

/// Word of the port at which we are told of the key. It is no entry of any environment.
pub const KEYED: u64 = WAKE - 2;

/// The key, as we attend to it.
pub struct Key {
    _port: OwnedPort,
}

impl Key {
    /// Makes the set's port hear of the key at this terminal.
    pub fn attend(set: PortSet, terminal: Reference) -> Result<Key, String> {
        let failed = |errno: Errno| format!("cannot hear of a key: {errno}");
        let port = OwnedPort::new(KEYED, set).map_err(|status| failed(status.into()))?;
        let told = port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY).map_err(|status| failed(status.into()))?;
        terminal::attend(terminal, TERMINAL_ATTENTION, told.handle()).map_err(failed)?;
        Ok(Key { _port: port })
    }
}
