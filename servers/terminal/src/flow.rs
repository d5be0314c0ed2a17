//! Flow control: whether what programs write is held back, as a key or a call asked. Whoever has
//! the screen looks at `is_stopped`, and takes no output meanwhile.
//!
//! What a call has stopped no key starts again.

use crate::Terminal;
use crate::attributes::{control, input};

/// Flow control of output.
#[derive(Clone, Copy, Default)]
pub struct Flow {
    /// Set while somebody looks at the screen. Without that the keys are keys like others.
    pub(crate) is_followed: bool,
    is_stopped: bool,
    by_call: bool,
}

impl Terminal {
    /// The terminal of somebody who holds output back when it is stopped.
    pub fn with_flow(mut self) -> Terminal {
        self.flow.is_followed = true;
        self
    }

    /// Returns true if output is to wait.
    pub fn is_stopped(&self) -> bool {
        self.flow.is_stopped
    }

    /// Output waits from now on.
    pub fn stop_output(&mut self) {
        self.flow = Flow { is_stopped: true, by_call: true, ..self.flow };
    }

    /// Lets output go on, if a call had stopped it.
    pub fn start_output(&mut self) {
        if core::mem::take(&mut self.flow.by_call) {
            self.flow.is_stopped = false;
        }
    }

    /// The key that stops output, or the one that starts it, for the other side.
    pub fn flow_key(&self, stops: bool) -> Option<u8> {
        let key = self.attributes.controls[if stops { control::STOP } else { control::START }];
        (key != 0).then_some(key)
    }

    pub(crate) fn start_by_key(&mut self) {
        self.flow.is_stopped &= self.flow.by_call;
    }

    pub(crate) fn controls_flow(&self) -> bool {
        self.flow.is_followed && self.attributes.input & input::XON != 0
    }

    /// Takes a byte that is one of the two keys, and returns true. Any other byte starts output,
    /// too, if the attributes say so.
    pub(crate) fn take_flow(&mut self, byte: u8) -> bool {
        if !self.controls_flow() {
            return false;
        }
        let (starts, stops) = (self.attributes.is(byte, control::START), self.attributes.is(byte, control::STOP));
        if stops && !starts {
            self.flow.is_stopped = true;
        } else if starts || self.attributes.input & input::ANY_STARTS != 0 {
            self.start_by_key();
        }
        starts || stops
    }
}
