//! Contents of a signal, and sets of signals.

/// Number of the first real-time signal.
pub const FIRST_QUEUED: u64 = 32;

/// A signal and what Linux's `siginfo` says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Number of the signal, 1 to 64.
    pub signal: u64,
    /// `si_code`.
    pub code: i32,
    /// Bytes 16 to 48 of the `siginfo`: sender and value, or the address of a fault.
    pub fields: [u64; 4],
}

impl Info {
    /// A signal from a process.
    pub fn from(signal: u64, code: i32, process: u64, user: u64) -> Info {
        Info { signal, code, fields: [process & 0xffff_ffff | user << 32, 0, 0, 0] }
    }

    /// Returns true if the signal must be queued each time, because a program has sent it with a
    /// value or to one thread.
    pub fn needs_room(&self) -> bool {
        self.signal >= FIRST_QUEUED && self.code < 0 && self.code != SI_TIMER
    }

    /// The words of the `siginfo`.
    pub fn words(&self) -> [u64; 16] {
        let mut words = [0; 16];
        words[0] = self.signal;
        words[1] = u64::from(self.code as u32);
        words[2..6].copy_from_slice(&self.fields);
        words
    }
}

/// `si_code`: sent by the system.
pub const SI_KERNEL: i32 = 0x80;
/// `si_code`: sent by `kill`.
pub const SI_USER: i32 = 0;
/// `si_code`: a timer of the process.
pub const SI_TIMER: i32 = -2;

/// A set with one signal.
pub const fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

/// Number of the last signal.
pub const LAST: u64 = 64;
