//! Entries and exits of the library for Linux programs, at which `debug` puts breakpoints of its
//! own: where system calls begin, and where the library enters a program that has changed.

use crate::copier::Copier;
use crate::library::is_in_library;
use crate::threads::TRAP_FLAG;
use crate::view::View;
use alloc::vec::Vec;
use nacre_abi::call::FOREIGN_NUMBER_SHIFT;
use nacre_abi::state::ThreadState;
use nacre_nest::library::{ENTRIES, ENTRIES_MAGIC, FRAME_SIZE, SCRATCH};

/// Half words of the list.
const WORDS: usize = 8;
/// Bytes before the end of a frame at which the instruction pointer, the flags and the stack
/// pointer lie.
const LAST_WORDS: u64 = 24;

/// Addresses in the library of one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gates {
    /// Entry of calls that come through the kernel.
    pub foreign: u64,
    /// Second instruction of it that matters.
    look: u64,
    /// Entry of calls with known answers, and its second instruction.
    quick: [u64; 2],
    /// Entry of other calls that do not come through the kernel, and its second instruction.
    call: [u64; 2],
    /// Way out that restores all registers.
    pub leave: u64,
}

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

/// Returns the addresses that a list says, which lies before the entry at `foreign`.
fn from_list(foreign: u64, bytes: &[u8; 4 * WORDS]) -> Option<Gates> {
    let mut words = [0u32; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let [ENTRIES_MAGIC, look, quick, quick_next, call, call_next, leave, 0] = words else { return None };
    let at = |distance: u32| foreign.wrapping_add_signed(i64::from(distance.cast_signed()));
    let gates = Gates { foreign, look: at(look), quick: [at(quick), at(quick_next)], call: [at(call), at(call_next)], leave: at(leave) };
    let all = [gates.look, gates.quick[0], gates.quick[1], gates.call[0], gates.call[1], gates.leave];
    all.into_iter().all(is_in_library).then_some(gates)
}

impl Gates {
    /// Reads where they are.
    pub fn read((view, copier): (&View, &Copier), foreign: u64) -> Option<Gates> {
        let mut bytes = [0; 4 * WORDS];
        let count = view.read(copier, foreign.checked_sub(ENTRIES)?, &mut bytes);
        (count == bytes.len()).then(|| from_list(foreign, &bytes)).flatten()
    }

    /// Addresses at which calls begin.
    pub fn entries(&self) -> [u64; 3] {
        [self.foreign, self.quick[0], self.call[0]]
    }

    /// Returns the call that a thread at one of the entries makes, and the thread's state behind
    /// the entry's first instruction, which this does in its place. `next` is the address at which
    /// the program continues.
    pub fn pass((view, copier): (&View, &Copier), gates: &Gates, state: &ThreadState, next: u64) -> Option<(SystemCall, ThreadState)> {
        let number = state.rax >> FOREIGN_NUMBER_SHIFT;
        let plain = ThreadState { rflags: state.rflags & !TRAP_FLAG, ..*state };
        let (flags, passed) = match state.rip {
            at if at == gates.foreign => {
                let flags = state.r11 & !TRAP_FLAG;
                (flags, ThreadState { rip: gates.look, r11: flags, ..plain })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_checked() {
        const FOREIGN: u64 = 0x7e00_0000_1000;
        let words = |words: [i32; WORDS]| {
            let mut bytes = [0; 4 * WORDS];
            bytes.chunks_exact_mut(4).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
            from_list(FOREIGN, &bytes)
        };
        let magic = ENTRIES_MAGIC.cast_signed();
        let gates = words([magic, 8, -64, -55, 32, 35, 100, 0]).unwrap();
        assert_eq!(gates.entries(), [FOREIGN, FOREIGN - 64, FOREIGN + 32]);
        assert_eq!((gates.look, gates.leave), (FOREIGN + 8, FOREIGN + 100));
        assert_eq!(words([magic + 1, 8, -64, -55, 32, 35, 100, 0]), None);
        assert_eq!(words([magic, 8, -64, -55, 32, 35, 100, 1]), None);
        assert_eq!(words([magic, 8, i32::MIN, -55, 32, 35, 100, 0]), None);
    }
}
