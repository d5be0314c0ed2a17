//! The library stops threads of its process, too, to give them signals. While we stop threads or
//! let them go on it does not: of two who stop one thread, either would start what the other holds.

use crate::copier::Copier;
use crate::debugger::Debugger;
use crate::inferior::Inferior;
use crate::library;
use nacre_sys::Thread;

/// Number of sleeps, and nanoseconds of each, for which a library is waited for: one that means
/// harm never ends.
const PATIENCE: u32 = 10_000;
const PAUSE: u64 = 100_000;

impl Inferior {
    /// Lets the library stop no threads until [`Debugger::let_go`]. Returns when it does not do so.
    pub fn hold(&mut self, copier: &Copier) {
        let Some(gates) = self.gates.filter(|_| self.is_foreign && !self.is_held) else { return };
        self.is_held = self.view.write(copier, gates.busy(), &1u32.to_le_bytes());
        for _ in 0..PATIENCE {
            if !self.is_held || library::half((&self.view, copier), Some(gates.turn())) != Some(1) {
                return;
            }
            // A sleep that is cut off is a shorter one.
            let _ = Thread::sleep(PAUSE);
        }
    }
}

impl Debugger {
    /// Holds the library of a process.
    pub fn hold(&mut self, process: u32) {
        let Debugger { inferiors, copier, .. } = self;
        inferiors.get_mut(&process).into_iter().for_each(|inferior| inferior.hold(copier));
    }

    /// Libraries that were held may stop threads again.
    pub fn let_go(&mut self) {
        let Debugger { inferiors, copier, .. } = self;
        for inferior in inferiors.values_mut().filter(|inferior| inferior.is_held) {
            inferior.is_held = false;
            if let Some(gates) = inferior.gates {
                // A process that has ended has no library.
                inferior.view.write(copier, gates.busy(), &[0; 4]);
            }
        }
    }
}
