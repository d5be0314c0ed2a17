//! Packet mode of a pseudo-terminal: what its master reads begins with a byte that says what it is,
//! and changes of flow are told so.

use nacre_terminal::Attributes;

/// The two keys and the flag that let the other side stop output itself.
const XON: u32 = 0o2000;
const KEYS: [u8; 2] = [0x11, 0x13];
const START: usize = 8;

/// Byte that reports flushed input, as Linux numbers it.
pub const FLUSHED_INPUT: u8 = 1;
/// Byte that reports flushed output, as Linux numbers it.
pub const FLUSHED_OUTPUT: u8 = 2;
const STOPPED: u8 = 4;
const STARTED: u8 = 8;
const NO_KEYS: u8 = 16;
const USUAL_KEYS: u8 = 32;

/// Packet mode of a terminal, and the changes that it has not reported yet.
#[derive(Default)]
pub struct Packets {
    /// Set if the mode is on.
    pub is_on: bool,
    news: u8,
}

impl Packets {
    /// Switches it; what was before is not told.
    pub fn switch(&mut self, is_on: bool) {
        if is_on != self.is_on {
            *self = Packets { is_on, news: 0 };
        }
    }

    /// Returns true if there is a change to report.
    pub fn has_news(&self) -> bool {
        self.news != 0
    }

    /// Takes the changes to report.
    pub fn take(&mut self) -> Option<u8> {
        Some(core::mem::take(&mut self.news)).filter(|news| *news != 0)
    }

    /// Something to tell.
    pub fn tell(&mut self, news: u8) {
        if self.is_on {
            self.news |= news;
        }
    }

    /// Output was stopped, or goes on.
    pub fn flow(&mut self, (was, is): (bool, bool)) {
        if self.is_on && was != is {
            self.news = self.news & !(STOPPED | STARTED) | if is { STOPPED } else { STARTED };
        }
    }

    /// The attributes have changed.
    pub fn changed(&mut self, before: &Attributes, now: &Attributes) {
        let usual = |of: &Attributes| of.input & XON != 0 && of.controls[START..START + 2] == KEYS;
        if self.is_on && usual(before) != usual(now) {
            self.news = self.news & !(NO_KEYS | USUAL_KEYS) | if usual(now) { USUAL_KEYS } else { NO_KEYS };
        }
    }
}
