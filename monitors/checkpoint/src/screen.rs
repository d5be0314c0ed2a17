//! The terminal that people sit at, if one of our streams is one: an environment that goes on
//! elsewhere finds it as it left it, and hears of its keys.

use crate::outside::{Entry, Outside, What};
use alloc::vec::Vec;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::flags::TCSANOW;
use nacre_proto::{parent, terminal};
use nacre_sys::{OwnedReference, Reference};

/// Number of standard streams.
const STREAMS: u64 = 3;
/// Maximum of bytes of attributes.
const MAX_ATTRIBUTES: usize = 256;

/// The terminal.
pub struct Screen(Option<OwnedReference>);

impl Screen {
    /// Looks for it among our streams.
    pub fn find() -> Screen {
        let stream = |number| parent::stream(Reference::PARENT, number).ok().map(|reply| reply.file);
        Screen((0..STREAMS).filter_map(stream).find(|file| terminal::window(file.handle()).is_ok()))
    }

    /// A reference to it, if there is one.
    pub fn terminal(&self) -> Option<Reference> {
        self.0.as_ref().map(OwnedReference::handle)
    }

    /// Reads its attributes; none if there is none.
    pub fn attributes(&self) -> Vec<u8> {
        let mut bytes = alloc::vec![0; MAX_ATTRIBUTES];
        let read = self.terminal().and_then(|terminal| terminal::get_attributes(terminal, &mut bytes[..]).ok());
        bytes.truncate(read.map_or(0, |reply| reply.attributes as usize));
        bytes
    }

    /// Gives it these attributes, if it is there and they are some.
    pub fn set_attributes(&self, attributes: &[u8]) {
        if let Some(terminal) = self.terminal().filter(|_| !attributes.is_empty()) {
            // Of a stranger's image they may be wrong. It stays as it is then.
            let _ = terminal::set_attributes(terminal, TCSANOW, attributes);
        }
    }
}

impl Outside {
    /// Lets those within who attended a terminal do so again. One that is no terminal any more
    /// tells nobody of anything.
    pub fn attend_again(&self) {
        for entry in self.entries.iter().flatten() {
            let Entry { port, what: What::Told(_, Some(attended)) } = entry else { continue };
            let terminal = match self.entry(attended.of).map(|entry| &entry.what) {
                Some(What::Outside(Some(original), _)) => original.handle(),
                _ => continue,
            };
            if let Ok(told) = port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY) {
                let _ = terminal::attend(terminal, attended.events, told.handle());
            }
        }
    }
}
