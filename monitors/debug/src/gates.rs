//! Entries and exits of the library for Linux programs, at which `debug` puts breakpoints of its
//! own: where system calls begin, and where the library enters a program that has changed.

use crate::copier::Copier;
use crate::threads::TRAP_FLAG;
use crate::view::View;
use alloc::vec::Vec;
use nacre_abi::call::FOREIGN_NUMBER_SHIFT;
use nacre_abi::state::ThreadState;
use nacre_nest::library::{DEBUGGER_BUSY, ENTRIES, ENTRY_WORDS, Entries, FRAME_SIZE, SCRATCH, TURN_TAKEN};

/// Bytes before the end of a frame at which the instruction pointer, the flags and the stack
/// pointer lie.
const LAST_WORDS: u64 = 24;
/// Maximum length of an instruction.
const LONGEST: u64 = 15;

/// Addresses in the library of one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gates(Entries);

/// A system call that a thread is about to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemCall {
    /// Number of the call.
    pub number: u64,
    /// Address at which the program continues.
    pub next: u64,
    /// Flags of the program.
    pub flags: u64,
}

impl Gates {
    /// Reads where they are.
    pub fn read((view, copier): (&View, &Copier), foreign: u64) -> Option<Gates> {
        let mut bytes = [0; 4 * ENTRY_WORDS];
        let count = view.read(copier, foreign.checked_sub(ENTRIES)?, &mut bytes);
        let mut words = [0u32; ENTRY_WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        (count == bytes.len()).then(|| Entries::from_words(foreign, words)).flatten().map(Gates)
    }

    /// Addresses at which calls begin.
    pub fn entries(&self) -> [u64; 3] {
        [self.0.foreign[0], self.0.quick[0], self.0.call[0]]
    }

    /// Address of the way out that restores all registers.
    pub fn leave(&self) -> u64 {
        self.0.leave
    }

    /// Address of the gate of signals, and of its second instruction.
    pub fn signals(&self) -> [u64; 2] {
        self.0.gate
    }

    /// Address of the set of signals that pass the gate.
    pub fn stopping(&self) -> u64 {
        self.0.stopping
    }

    /// Address of a half word that we set to 1 while we stop threads or let them go on.
    pub fn busy(&self) -> u64 {
        self.0.stopping.saturating_add(DEBUGGER_BUSY)
    }

    /// Address of a half word that is 1 while the library stops threads or lets them go on.
    pub fn turn(&self) -> u64 {
        self.0.stopping.saturating_add(TURN_TAKEN)
    }

    /// Address of the gate of changes, and of its second instruction.
    pub fn changes(&self) -> [u64; 2] {
        self.0.changes
    }

    /// Address of a half word that is not 0 while mappings of the program change.
    pub fn changing(&self) -> u64 {
        self.0.changing
    }

    /// Address of the reasons why answers land elsewhere.
    pub fn landing(&self) -> u64 {
        self.0.landing
    }

    /// Address of the entry for signals.
    pub fn signal_entry(&self) -> u64 {
        self.0.signal
    }

    /// Returns true if a thread has made the first instruction of the entry for signals.
    pub fn begins_signal(&self, rip: u64) -> bool {
        rip.checked_sub(self.0.signal).is_some_and(|made| (1..=LONGEST).contains(&made))
    }

    /// Returns the call that a thread at one of the entries makes, and the thread's state behind
    /// the entry's first instruction, which this does in its place. `next` is the address at which
    /// the program continues.
    pub fn pass((view, copier): (&View, &Copier), Gates(gates): &Gates, state: &ThreadState, next: u64) -> Option<(SystemCall, ThreadState)> {
        let number = state.rax >> FOREIGN_NUMBER_SHIFT;
        let plain = ThreadState { rflags: state.rflags & !TRAP_FLAG, ..*state };
        let (flags, passed) = match state.rip {
            at if at == gates.foreign[0] => {
                let flags = state.r11 & !TRAP_FLAG;
                (flags, ThreadState { rip: gates.foreign[1], r11: flags, ..plain })
            }
            at if at == gates.quick[0] => {
                view.write(copier, state.gs_base.checked_add(SCRATCH)?, &state.rsp.to_le_bytes()).then_some(())?;
                (plain.rflags, ThreadState { rip: gates.quick[1], ..plain })
            }
            at if at == gates.call[0] => (plain.rflags, ThreadState { rip: gates.call[1], rcx: state.rsp, ..plain }),
            _ => return None,
        };
        Some((SystemCall { number, next, flags }, passed))
    }
}

/// Returns the instruction and the stack pointer with which a thread on the way out enters the
/// program.
pub fn target((view, copier): (&View, &Copier), state: &ThreadState) -> Option<(u64, u64)> {
    let mut bytes = [0; LAST_WORDS as usize];
    let at = state.rsp.checked_add(FRAME_SIZE - LAST_WORDS)?;
    (view.read(copier, at, &mut bytes) == bytes.len()).then_some(())?;
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let [next, _, stack] = words[..] else { return None };
    Some((next & ((1 << FOREIGN_NUMBER_SHIFT) - 1), stack))
}
