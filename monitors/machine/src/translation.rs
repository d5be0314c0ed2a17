//! Translation of a processor's addresses: by the processor itself, or by this monitor's tables,
//! and the change between the two while the guest runs.
//!
//! The tables cannot serve a processor in real mode, which runs without any: it is left when it
//! leaves that mode, and goes on with them. What they show is forgotten before they are used again,
//! since nobody tells us meanwhile what the guest forgets.

use crate::control::{self, Effect};
use crate::exits;
use crate::guest::Ground;
use crate::model::Registers;
use crate::paging::{self, Paging};
use crate::shadow::{Exit, Shadow};
use crate::access::state;
use alloc::string::{String, ToString};
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::frame::{kind, word};
use nacre_nest::Services;
use nacre_sys::Frame;

const CR0_PROTECTED: u64 = 1;
/// Entries between two changes of a guest that changes by turns.
const TURN: u64 = 50;

/// Number of times that a processor went from one translator to the other.
pub static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Translation of a processor's addresses.
pub struct Translation {
    ground: Ground,
    /// The tables, once they were needed.
    shadow: Option<Shadow>,
    /// The guest runs on the tables.
    is_shadow: bool,
    /// The model announces process identities, which are made here.
    has_identities: bool,
    entries: u64,
}

impl Translation {
    /// The translation of a guest that starts with this translator.
    pub fn new(ground: Ground, paging: Paging) -> Translation {
        Translation { ground, shadow: None, is_shadow: false, has_identities: paging != Paging::Nested, entries: 0 }
    }

    /// Returns true if the model announces process identities.
    pub fn has_identities(&self) -> bool {
        self.has_identities
    }

    /// Returns true if the tables are wanted for the next entry.
    fn wants_shadow(&mut self) -> bool {
        self.entries = self.entries.wrapping_add(1);
        match paging::wanted() {
            Paging::Nested => false,
            Paging::Shadow => true,
            Paging::Turns => self.entries / TURN % 2 == 1,
        }
    }

    /// Looks at the guest's registers before it is entered, and says in the frame how.
    pub fn look(&mut self, frame: &Frame) -> Result<(), String> {
        let wants_shadow = self.wants_shadow();
        let was_shadow = self.is_shadow;
        self.is_shadow = wants_shadow && frame.get(word::CR0) & CR0_PROTECTED != 0;
        if self.is_shadow != was_shadow {
            CHANGES.fetch_add(1, Ordering::Relaxed);
        }
        if self.is_shadow {
            let shadow = match &mut self.shadow {
                Some(shadow) => shadow,
                empty => {
                    let mut services = Services::find().map_err(|refusal| refusal.to_string())?;
                    empty.insert(Shadow::new(&mut services, &self.ground, frame)?)
                }
            };
            if !was_shadow {
                shadow.begin(frame)?;
            }
            return shadow.look(frame);
        }
        let is_watched = wants_shadow || self.has_identities;
        frame.set(word::KIND, if is_watched { kind::WATCHED } else { kind::NESTED });
        frame.set(word::SPACE, self.ground.space.0);
        Ok(())
    }

    /// Deals with an exit, if it is one of translation's.
    pub fn exit(&mut self, exit: u64, frame: &Frame, registers: &Registers) -> Result<Exit, String> {
        let effect = match exit {
            exits::CR0_WRITE => control::write_mode(frame, registers),
            exits::CR3_WRITE | exits::CR4_WRITE => control::move_register(frame, registers, state(frame).mode, self.has_identities),
            exit if exits::CONTROL_READS.contains(&exit) => control::move_register(frame, registers, state(frame).mode, self.has_identities),
            _ => {
                let tables = self.shadow.as_mut().filter(|_| self.is_shadow);
                return tables.map_or(Ok(Exit::Other), |shadow| shadow.exit(exit, frame, registers));
            }
        };
        match effect {
            Effect::Pass(length) => Ok(Exit::Pass(length)),
            Effect::Raise(vector) => Ok(Exit::Raise(vector)),
            Effect::LoadRoot { value, length } => {
                if let Some(shadow) = self.shadow.as_mut().filter(|_| self.is_shadow) {
                    shadow.load_root(frame, value)?;
                }
                Ok(Exit::Pass(length))
            }
        }
    }
}
