//! Terminal attributes: Linux's `struct termios` as its kernel lays it out, 36 bytes.

/// Input flags.
pub mod input {
    #![allow(missing_docs)]
    pub const STRIP: u32 = 0o40;
    pub const NEWLINE_TO_RETURN: u32 = 0o100;
    pub const IGNORE_RETURN: u32 = 0o200;
    pub const RETURN_TO_NEWLINE: u32 = 0o400;
    pub const XON: u32 = 0o2000;
    pub const ANY_STARTS: u32 = 0o4000;
    pub const UTF8: u32 = 0o40000;
}

/// Output flags.
pub mod output {
    #![allow(missing_docs)]
    pub const PROCESS: u32 = 0o1;
    pub const NEWLINE_TO_BOTH: u32 = 0o4;
    pub const RETURN_TO_NEWLINE: u32 = 0o10;
    pub const NO_RETURN_AT_START: u32 = 0o20;
    pub const NEWLINE_RETURNS: u32 = 0o40;
    pub const TABS: u32 = 0o14000;
}

/// Local flags.
pub mod local {
    #![allow(missing_docs)]
    pub const SIGNALS: u32 = 0o1;
    pub const CANONICAL: u32 = 0o2;
    pub const ECHO: u32 = 0o10;
    pub const ECHO_ERASE: u32 = 0o20;
    pub const ECHO_KILL: u32 = 0o40;
    pub const ECHO_NEWLINE: u32 = 0o100;
    pub const NO_FLUSH: u32 = 0o200;
    pub const STOP_BACKGROUND: u32 = 0o400;
    pub const ECHO_CONTROL: u32 = 0o1000;
    pub const ECHO_KILL_ERASE: u32 = 0o4000;
    pub const EXTENDED: u32 = 0o100000;
}

/// Numbers of the control characters.
pub mod control {
    #![allow(missing_docs)]
    pub const INTERRUPT: usize = 0;
    pub const QUIT: usize = 1;
    pub const ERASE: usize = 2;
    pub const KILL: usize = 3;
    pub const END_OF_FILE: usize = 4;
    pub const TIME: usize = 5;
    pub const MINIMUM: usize = 6;
    pub const START: usize = 8;
    pub const STOP: usize = 9;
    pub const SUSPEND: usize = 10;
    pub const END_OF_LINE: usize = 11;
    pub const REPRINT: usize = 12;
    pub const WORD_ERASE: usize = 14;
    pub const LITERAL_NEXT: usize = 15;
    pub const END_OF_LINE_2: usize = 16;
}

/// Number of control characters.
const CONTROLS: usize = 19;

/// Treatment of the bytes that pass through a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// See [`input`].
    pub input: u32,
    /// See [`output`].
    pub output: u32,
    /// Speed and frame; kept, without effect.
    pub hardware: u32,
    /// See [`local`].
    pub local: u32,
    /// Line discipline; kept, without effect.
    pub line: u8,
    /// See [`control`]; 0 turns one off.
    pub controls: [u8; CONTROLS],
}

/// Size of `struct termios`.
pub const SIZE: usize = 36;

impl Default for Attributes {
    /// Returns the attributes that a Linux terminal starts with.
    fn default() -> Attributes {
        Attributes {
            input: input::RETURN_TO_NEWLINE | input::XON | input::UTF8,
            output: output::PROCESS | output::NEWLINE_TO_BOTH,
            // 38400 baud, 8 bits, receiver on, hang up on close.
            hardware: 0o2277,
            local: local::SIGNALS
                | local::CANONICAL
                | local::ECHO
                | local::ECHO_ERASE
                | local::ECHO_KILL
                | local::ECHO_CONTROL
                | local::ECHO_KILL_ERASE
                | local::EXTENDED,
            line: 0,
            controls: [3, 0x1c, 0x7f, 0x15, 4, 0, 1, 0, 0x11, 0x13, 0x1a, 0, 0x12, 0x0f, 0x17, 0x16, 0, 0, 0],
        }
    }
}

impl Attributes {
    /// Returns the attributes that a pseudo-terminal of Linux starts with.
    pub fn of_pair() -> Attributes {
        Attributes { input: input::RETURN_TO_NEWLINE | input::XON, hardware: 0o277, ..Attributes::default() }
    }

    /// As `struct termios`.
    pub fn to_bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        for (word, value) in bytes.chunks_exact_mut(4).zip([self.input, self.output, self.hardware, self.local]) {
            word.copy_from_slice(&value.to_le_bytes());
        }
        bytes[16] = self.line;
        bytes[17..].copy_from_slice(&self.controls);
        bytes
    }

    /// Decodes `struct termios`; every value has a meaning.
    pub fn from_bytes(bytes: &[u8; SIZE]) -> Attributes {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let mut controls = [0; CONTROLS];
        controls.copy_from_slice(&bytes[17..]);
        Attributes { input: word(0), output: word(4), hardware: word(8), local: word(12), line: bytes[16], controls }
    }

    /// Returns true if `byte` is the control character `number`, which is turned on.
    pub fn is(&self, byte: u8, number: usize) -> bool {
        byte != 0 && self.controls[number] == byte
    }

    /// Returns true if all local flags of `flags` are set.
    pub fn has_local(&self, flags: u32) -> bool {
        self.local & flags == flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_there_and_back() {
        let attributes = Attributes::default();
        let bytes = attributes.to_bytes();
        assert_eq!(Attributes::from_bytes(&bytes), attributes);
        // The first words of what Linux's own terminals start with.
        assert_eq!(&bytes[..16], &[0, 0x45, 0, 0, 5, 0, 0, 0, 0xbf, 4, 0, 0, 0x3b, 0x8a, 0, 0]);
    }
}
