//! Lays out what a program finds at its stack pointer, as Linux does: `argc`, `argv`, the environment, the auxiliary vector, then the
//! strings that they point at.

use crate::refusal::Refusal;
use alloc::vec::Vec;

/// Keys of the auxiliary vector that every program gets; Linux's numbers.
pub mod auxiliary {
    #![allow(missing_docs)]
    pub const NULL: u64 = 0;
    pub const HEADERS: u64 = 3;
    pub const HEADER_ENTRY: u64 = 4;
    pub const HEADER_COUNT: u64 = 5;
    pub const PAGE_SIZE: u64 = 6;
    pub const BASE: u64 = 7;
    pub const FLAGS: u64 = 8;
    pub const ENTRY: u64 = 9;
    pub const USER: u64 = 11;
    pub const EFFECTIVE_USER: u64 = 12;
    pub const GROUP: u64 = 13;
    pub const EFFECTIVE_GROUP: u64 = 14;
    pub const PLATFORM: u64 = 15;
    pub const HARDWARE: u64 = 16;
    pub const CLOCK_TICKS: u64 = 17;
    pub const SECURE: u64 = 23;
    pub const RANDOM: u64 = 25;
    pub const PROGRAM_NAME: u64 = 31;
}

/// What goes on the stack.
pub struct Contents<'a> {
    /// The path that was loaded.
    pub path: &'a [u8],
    /// `argv`.
    pub arguments: &'a [&'a [u8]],
    /// `NAME=value` strings.
    pub environment: &'a [&'a [u8]],
    /// Sixteen bytes that differ from run to run.
    pub random: [u8; 16],
    /// Entries of the auxiliary vector, but for those that point at strings and the last.
    pub auxiliary: &'a [(u64, u64)],
}

/// Fills a stack from its end downward. `low` is the address of `memory`'s first byte.
struct Writer<'a> {
    memory: &'a mut [u8],
    low: u64,
    at: usize,
}

impl Writer<'_> {
    fn take(&mut self, size: usize) -> Result<&mut [u8], Refusal> {
        self.at = self.at.checked_sub(size).ok_or(Refusal::Arguments)?;
        Ok(&mut self.memory[self.at..self.at + size])
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<u64, Refusal> {
        self.take(bytes.len())?.copy_from_slice(bytes);
        Ok(self.low + self.at as u64)
    }

    /// A string of C. One with a zero inside ends there, as it would for the program.
    fn string(&mut self, text: &[u8]) -> Result<u64, Refusal> {
        self.bytes(&[0])?;
        self.bytes(text)
    }

    /// Strings in a row; their addresses in order.
    fn strings(&mut self, texts: &[&[u8]]) -> Result<Vec<u64>, Refusal> {
        let mut addresses = Vec::with_capacity(texts.len());
        for text in texts.iter().rev() {
            addresses.push(self.string(text)?);
        }
        addresses.reverse();
        Ok(addresses)
    }
}

/// Writes `contents` to the end of `memory`, which the program will see from address `low` on (a multiple of 16, as its end is).
/// At most a quarter of it is used. Returns the stack pointer.
pub fn compose(memory: &mut [u8], low: u64, contents: &Contents<'_>) -> Result<u64, Refusal> {
    let size = memory.len();
    let quarter = size / 4;
    let mut writer = Writer { memory: &mut memory[size - quarter..], low: low + (size - quarter) as u64, at: quarter };
    writer.bytes(&[0; 8])?;
    let path = writer.string(contents.path)?;
    let environment = writer.strings(contents.environment)?;
    let arguments = writer.strings(contents.arguments)?;
    let platform = writer.string(b"x86_64")?;
    let random = writer.bytes(&contents.random)?;

    let mut words = Vec::with_capacity(arguments.len() + environment.len() + 2 * contents.auxiliary.len() + 16);
    words.push(arguments.len() as u64);
    words.extend(arguments);
    words.push(0);
    words.extend(environment);
    words.push(0);
    let strings = [(auxiliary::RANDOM, random), (auxiliary::PLATFORM, platform), (auxiliary::PROGRAM_NAME, path)];
    for (key, value) in contents.auxiliary.iter().copied().chain(strings).chain([(auxiliary::NULL, 0)]) {
        words.extend([key, value]);
    }

    // The stack pointer must be a multiple of 16.
    writer.at &= !15;
    if words.len() % 2 == 1 {
        writer.take(8)?;
    }
    let place = writer.take(8 * words.len())?;
    for (bytes, word) in place.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    Ok(writer.low + writer.at as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const LOW: u64 = 0x7f00_0010_0000;

    struct Stack {
        memory: Vec<u8>,
        pointer: u64,
    }

    impl Stack {
        fn word(&self, at: u64) -> u64 {
            let start = (at - LOW) as usize;
            u64::from_le_bytes(self.memory[start..start + 8].try_into().unwrap())
        }

        fn string(&self, at: u64) -> &[u8] {
            let start = (at - LOW) as usize;
            let rest = &self.memory[start..];
            &rest[..rest.iter().position(|byte| *byte == 0).unwrap()]
        }
    }

    fn composed(arguments: &[&[u8]], environment: &[&[u8]]) -> Stack {
        let mut memory = vec![0; 65536];
        let contents = Contents {
            path: b"/bin/cat",
            arguments,
            environment,
            random: *b"0123456789abcdef",
            auxiliary: &[(auxiliary::ENTRY, 0x40_1000), (auxiliary::PAGE_SIZE, 4096)],
        };
        let pointer = compose(&mut memory, LOW, &contents).unwrap();
        Stack { memory, pointer }
    }

    #[test]
    fn a_program_finds_what_linux_would_give_it() {
        let stack = composed(&[b"cat", b"", b"-n"], &[b"HOME=/"]);
        assert_eq!(stack.word(stack.pointer), 3);
        let argument = |n: u64| stack.string(stack.word(stack.pointer + 8 + 8 * n));
        assert_eq!((argument(0), argument(1), argument(2)), (&b"cat"[..], &b""[..], &b"-n"[..]));
        assert_eq!(stack.word(stack.pointer + 32), 0);
        assert_eq!(stack.string(stack.word(stack.pointer + 40)), b"HOME=/");
        assert_eq!(stack.word(stack.pointer + 48), 0);
        assert_eq!(stack.word(stack.pointer + 56), auxiliary::ENTRY);
        assert_eq!(stack.word(stack.pointer + 64), 0x40_1000);
        assert_eq!(stack.word(stack.pointer + 88), auxiliary::RANDOM);
        assert_eq!(stack.word(stack.pointer + 104), auxiliary::PLATFORM);
        assert_eq!(stack.string(stack.word(stack.pointer + 112)), b"x86_64");
        assert_eq!(stack.string(stack.word(stack.pointer + 128)), b"/bin/cat");
        assert_eq!(stack.word(stack.pointer + 136), 0);
    }

    #[test]
    fn the_stack_pointer_is_aligned_whatever_the_strings() {
        for count in 0..20 {
            let text = vec![b'x'; count];
            let arguments = vec![&text[..]; count];
            assert_eq!(composed(&arguments, &[]).pointer % 16, 0);
        }
    }

    #[test]
    fn what_does_not_fit_a_quarter_is_refused() {
        let mut memory = vec![0; 4096];
        let long = vec![b'x'; 1024];
        let contents =
            Contents { path: b"p", arguments: &[&long], environment: &[], random: [0; 16], auxiliary: &[] };
        assert_eq!(compose(&mut memory, 0x1000, &contents), Err(Refusal::Arguments));
        assert!(memory[..3072].iter().all(|byte| *byte == 0));
    }
}
