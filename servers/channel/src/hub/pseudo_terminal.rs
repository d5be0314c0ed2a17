//! One pseudo-terminal: its line discipline, what was typed, and the screen.

use super::file_attributes::FileAttributes;
use super::packets::{FLUSHED_INPUT, FLUSHED_OUTPUT, Packets};
use alloc::collections::{BTreeSet, VecDeque};
use nacre_terminal::Terminal;

/// The echo of one message, and what waits on the screen with echoes, is no longer than this: the
/// rest is lost or comes later.
pub(super) const MAX_ECHO: usize = 64 << 10;

/// Argument of `terminal.flush` that drops input.
pub(super) const INPUT: u64 = 0;
pub(super) const OUTPUT: u64 = 1;

/// A pseudo-terminal.
#[derive(Default)]
pub struct Pair {
    pub(super) number: u64,
    /// Account that it was made on.
    pub(super) account: u64,
    pub(super) terminal: Terminal,
    pub(super) typed: VecDeque<u8>,
    pub(super) screen: VecDeque<u8>,
    /// Echoes that appear once output goes on.
    pub(super) held: VecDeque<u8>,
    pub(super) packets: Packets,
    pub(super) looks: FileAttributes,
    pub(super) master: u64,
    pub(super) slaves: BTreeSet<u64>,
    /// The last slave has gone, and none has come since.
    pub(super) is_left: bool,
    pub(super) is_locked: bool,
}

impl core::fmt::Debug for Pair {
    fn fmt(&self, to: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(to, "terminal {}", self.number)
    }
}

impl Pair {
    /// Lets the discipline take what was typed, as far as it has room: which events that leads to.
    pub(super) fn pump(&mut self) -> u64 {
        let (mut events, mut echoed) = (0, 0);
        self.release();
        while self.terminal.has_room() && echoed < MAX_ECHO {
            let Some(byte) = self.typed.pop_front() else { break };
            let mut echo = VecDeque::new();
            let was_stopped = self.terminal.is_stopped();
            if let Some(signal) = self.terminal.feed(byte, &mut echo) {
                events |= signal.event();
                self.packets.tell(if self.terminal.signals_flush() { FLUSHED_INPUT | FLUSHED_OUTPUT } else { 0 });
            }
            self.packets.flow((was_stopped, self.terminal.is_stopped()));
            echoed += echo.len();
            self.release();
            let room = MAX_ECHO.saturating_sub(self.screen.len() + self.held.len());
            let screen = if self.terminal.is_stopped() { &mut self.held } else { &mut self.screen };
            screen.extend(echo.into_iter().take(room));
        }
        events
    }

    /// Shows the echoes that have waited, if output goes on.
    pub(super) fn release(&mut self) {
        if !self.terminal.is_stopped() {
            self.screen.append(&mut self.held);
        }
    }

    pub(super) fn flush(&mut self, which: u64) {
        if which != OUTPUT {
            self.terminal.flush_input();
            self.typed.clear();
            self.packets.tell(FLUSHED_INPUT);
        }
        if which != INPUT {
            self.screen.clear();
            self.held.clear();
            self.packets.tell(FLUSHED_OUTPUT);
        }
    }
}
