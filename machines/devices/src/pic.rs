//! Two interrupt controllers 8259A, the second behind line 2 of the first.
//!
//! States of a line: idle, requested (`requested`), in service (`in_service`). An edge or a level
//! makes a request; `acknowledge` takes it into service; an end-of-interrupt command ends that.
//! The input of the first chip from the second follows the second's output, like a level, so no
//! request of the second chip is lost or left behind.

use crate::{BadState, check_version};

/// Version of [`PicState`].
const VERSION: u32 = 1;
/// Line of the first chip that leads to the second.
const CASCADE: u8 = 2;
/// Lines of each chip whose trigger mode can be chosen: not the timer, keyboard, cascade, clock
/// and coprocessor.
const LEVEL_MASK: [u8; 2] = [0xf8, 0xde];
/// Line of a chip that a request which has gone away is reported as.
const SPURIOUS: u8 = 7;

/// State of one chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChipState {
    /// Levels of the input lines.
    pub lines: u8,
    /// Requests that wait (IRR).
    pub requested: u8,
    /// Interrupts in service (ISR).
    pub in_service: u8,
    /// Lines that are masked (IMR).
    pub mask: u8,
    /// Lines that are level-triggered (ELCR).
    pub level_lines: u8,
    /// Vector of line 0.
    pub base: u8,
    /// Line with the highest priority, 0 to 7.
    pub highest: u8,
    /// Initialization word that the data port expects next (2 to 4); 0: none, it is the mask.
    pub next_word: u8,
    /// True if a fourth initialization word follows.
    pub expects_word_4: bool,
    /// True if the chip has no other behind it, so no third initialization word follows.
    pub is_single: bool,
    /// True if all lines are level-triggered.
    pub is_level: bool,
    /// True if an acknowledged interrupt is not in service.
    pub auto_end: bool,
    /// True if an automatic end of interrupt rotates priorities.
    pub auto_rotate: bool,
    /// True if the command port reads `in_service`, not `requested`.
    pub reads_in_service: bool,
    /// True if the next read of the command port acknowledges.
    pub is_polled: bool,
    /// True if masked interrupts in service do not hold others back.
    pub special_mask: bool,
    /// True if further requests of the second chip pass while one of them is in service.
    pub special_nested: bool,
}

impl ChipState {
    fn is_level_line(&self, line: u8) -> bool {
        self.is_level || self.level_lines & (1 << line) != 0
    }

    fn set_line(&mut self, line: u8, level: bool) {
        let bit = 1u8 << line;
        let rises = level && self.lines & bit == 0;
        if rises || (level && self.is_level_line(line)) {
            self.requested |= bit;
        } else if !level && self.is_level_line(line) {
            self.requested &= !bit;
        }
        self.lines = if level { self.lines | bit } else { self.lines & !bit };
    }

    /// Returns the place of the most urgent line of `set` in the order of priorities; 8 if none.
    fn urgency(&self, set: u8) -> u32 {
        set.rotate_right(u32::from(self.highest)).trailing_zeros()
    }

    fn line_of(&self, urgency: u32) -> u8 {
        (urgency as u8).wrapping_add(self.highest) & 7
    }

    /// Returns the line whose request the chip passes on.
    fn next(&self, is_first: bool) -> Option<u8> {
        let urgency = self.urgency(self.requested & !self.mask);
        let mut holding = self.in_service;
        if self.special_mask {
            holding &= !self.mask;
        }
        if self.special_nested && is_first {
            holding &= !(1 << CASCADE);
        }
        (urgency < 8 && urgency < self.urgency(holding)).then(|| self.line_of(urgency))
    }

    fn acknowledge(&mut self, line: u8) {
        if !self.auto_end {
            self.in_service |= 1 << line;
        } else if self.auto_rotate {
            self.highest = (line + 1) & 7;
        }
        if !self.is_level_line(line) {
            self.requested &= !(1 << line);
        }
    }

    /// Returns the vector of a line.
    fn vector(&self, line: u8) -> u8 {
        self.base | line
    }

    fn command(&mut self, value: u8) {
        if value & 0x10 != 0 {
            self.initialize(value);
        } else if value & 0x08 != 0 {
            self.choose(value);
        } else {
            self.end(value >> 5, value & 7);
        }
    }

    /// Carries out initialization word 1: everything but lines and trigger modes starts afresh. An
    /// edge-triggered line must fall and rise to request again.
    fn initialize(&mut self, value: u8) {
        *self = ChipState {
            lines: self.lines,
            level_lines: self.level_lines,
            is_level: value & 8 != 0,
            is_single: value & 2 != 0,
            expects_word_4: value & 1 != 0,
            next_word: 2,
            ..ChipState::default()
        };
        self.requested = if self.is_level { self.lines } else { self.lines & self.level_lines };
    }

    /// Carries out operation word 3.
    fn choose(&mut self, value: u8) {
        self.is_polled |= value & 4 != 0;
        if value & 2 != 0 {
            self.reads_in_service = value & 1 != 0;
        }
        if value & 0x40 != 0 {
            self.special_mask = value & 0x20 != 0;
        }
    }

    /// Carries out operation word 2.
    fn end(&mut self, command: u8, line: u8) {
        let urgency = self.urgency(self.in_service);
        let current = (urgency < 8).then(|| self.line_of(urgency));
        match (command, current) {
            (0 | 4, _) => self.auto_rotate = command == 4,
            (1 | 5, Some(current)) => self.end_line(current, command == 5),
            (3 | 7, _) => self.end_line(line, command == 7),
            (6, _) => self.highest = (line + 1) & 7,
            _ => {}
        }
    }

    fn end_line(&mut self, line: u8, rotates: bool) {
        self.in_service &= !(1 << line);
        if rotates {
            self.highest = (line + 1) & 7;
        }
    }

    fn data(&mut self, value: u8) {
        match self.next_word {
            2 => {
                self.base = value & 0xf8;
                self.next_word = if self.is_single { self.word_after_3() } else { 3 };
            }
            3 => self.next_word = self.word_after_3(),
            4 => {
                self.special_nested = value & 0x10 != 0;
                self.auto_end = value & 2 != 0;
                self.next_word = 0;
            }
            _ => self.mask = value,
        }
    }

    fn word_after_3(&self) -> u8 {
        if self.expects_word_4 { 4 } else { 0 }
    }
}

/// State of both chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PicState {
    /// Version of this struct.
    pub version: u32,
    /// First chip and second chip.
    pub chips: [ChipState; 2],
}

/// Both interrupt controllers.
#[derive(Clone, Debug)]
pub struct Pic {
    chips: [ChipState; 2],
}

impl Pic {
    /// Makes the controllers as they are after power-on. Software initializes them.
    pub fn new() -> Self {
        Pic { chips: [ChipState::default(); 2] }
    }

    /// Returns the whole state.
    pub fn state(&self) -> PicState {
        PicState { version: VERSION, chips: self.chips }
    }

    /// Makes the controllers from a saved state.
    pub fn restore(state: &PicState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of the interrupt controllers")?;
        let fits = |chip: &ChipState| {
            chip.highest < 8 && matches!(chip.next_word, 0 | 2..=4) && chip.base & 7 == 0
        };
        if !state.chips.iter().all(fits) {
            return Err(BadState("an interrupt controller"));
        }
        let mut pic = Pic { chips: state.chips };
        pic.follow_cascade();
        Ok(pic)
    }

    /// Sets the level of an input line, 0 to 15. Line 2 and others beyond do not exist.
    pub fn set_line(&mut self, line: u8, level: bool) {
        if line == CASCADE || line > 15 {
            return;
        }
        self.chips[usize::from(line / 8)].set_line(line % 8, level);
        self.follow_cascade();
    }

    /// Returns true if the processor's interrupt line is high.
    pub fn pending(&self) -> bool {
        self.chips[0].next(true).is_some()
    }

    /// Returns true if a line, 0 to 15, is masked at its own chip.
    pub fn is_masked(&self, line: u8) -> bool {
        self.chips[usize::from(line / 8 % 2)].mask & (1 << (line % 8)) != 0
    }

    /// Takes the most urgent request into service and returns its vector. Without a request it is
    /// the vector of line 7 or 15, with nothing in service, as the chips report a spurious one.
    pub fn acknowledge(&mut self) -> u8 {
        let [first, second] = &mut self.chips;
        let vector = match first.next(true) {
            None => first.vector(SPURIOUS),
            Some(CASCADE) => {
                let line = second.next(false);
                if let Some(line) = line {
                    second.acknowledge(line);
                }
                first.acknowledge(CASCADE);
                second.vector(line.unwrap_or(SPURIOUS))
            }
            Some(line) => {
                first.acknowledge(line);
                first.vector(line)
            }
        };
        self.follow_cascade();
        vector
    }

    /// Reads a port: 0x20, 0x21, 0xa0, 0xa1, 0x4d0 or 0x4d1. Others read all ones.
    pub fn read(&mut self, port: u16) -> u8 {
        let chip = usize::from(port & 0x80 != 0);
        match port {
            0x20 | 0xa0 => self.read_command(chip),
            0x21 | 0xa1 => self.chips[chip].mask,
            0x4d0 | 0x4d1 => self.chips[usize::from(port & 1)].level_lines,
            _ => 0xff,
        }
    }

    fn read_command(&mut self, chip: usize) -> u8 {
        if core::mem::take(&mut self.chips[chip].is_polled) {
            return self.poll(chip);
        }
        let chip = &self.chips[chip];
        if chip.reads_in_service { chip.in_service } else { chip.requested }
    }

    /// Acknowledges the request of one chip, and returns its line with bit 7 set; 0 if none.
    fn poll(&mut self, chip: usize) -> u8 {
        let Some(line) = self.chips[chip].next(chip == 0) else { return 0 };
        self.chips[chip].acknowledge(line);
        self.follow_cascade();
        0x80 | line
    }

    /// Writes a port of those that `read` names.
    pub fn write(&mut self, port: u16, value: u8) {
        let chip = usize::from(port & 0x80 != 0);
        match port {
            0x20 | 0xa0 => self.chips[chip].command(value),
            0x21 | 0xa1 => self.chips[chip].data(value),
            0x4d0 | 0x4d1 => {
                let chip = usize::from(port & 1);
                self.chips[chip].level_lines = value & LEVEL_MASK[chip];
            }
            _ => {}
        }
        self.follow_cascade();
    }

    /// Sets the first chip's input from the second to the second's output.
    fn follow_cascade(&mut self) {
        let bit = 1 << CASCADE;
        let [first, second] = &mut self.chips;
        match second.next(false) {
            Some(_) => first.requested |= bit,
            None => first.requested &= !bit,
        }
    }
}

impl Default for Pic {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
#[path = "pic_tests.rs"]
mod tests;
