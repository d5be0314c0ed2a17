//! Lays out what a program finds at its stack pointer, as Linux does: `argc`, `argv`, the
//! environment, the auxiliary vector, then the strings that they point at.

use crate::refusal::SpawnError;
use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use nacre_abi::environment::{AT_DIRECTORY, AT_WINDOWS};
use nacre_rt::fallible;

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

/// Contents of a new stack.
pub struct Contents<'a> {
    /// The path that was loaded.
    pub path: &'a [u8],
    /// The path of the current directory; empty: the root.
    pub directory: &'a [u8],
    /// `argv`.
    pub arguments: &'a [&'a [u8]],
    /// `NAME=value` strings.
    pub environment: &'a [&'a [u8]],
    /// Sixteen bytes that differ from run to run.
    pub random: [u8; 16],
    /// Entries of the auxiliary vector, but for those that point at strings and the last.
    pub auxiliary: &'a [(u64, u64)],
    /// Table of mappings for the library of foreign calls: see
    /// [`AT_WINDOWS`](nacre_abi::environment::AT_WINDOWS).
    pub windows: &'a [[u64; 5]],
}

/// The strings, at the end of the stack.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
}

impl Strings {
    /// Adds bytes; where they are, counted from the first string.
    fn add(&mut self, bytes: &[u8]) -> u64 {
        let at = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        at
    }

    /// Adds a string of C.
    fn add_text(&mut self, text: &[u8]) -> u64 {
        let at = self.add(text);
        self.bytes.push(0);
        at
    }

    fn add_all(&mut self, texts: &[&[u8]]) -> Result<Vec<u64>, SpawnError> {
        fallible::collect(texts.iter().map(|text| self.add_text(text))).map_err(is_short)
    }
}

fn is_short(error: TryReserveError) -> SpawnError {
    SpawnError::Service("memory for its stack", error.into())
}

fn size_of_all(texts: &[&[u8]]) -> usize {
    texts.iter().map(|text| text.len() + 9).sum()
}

/// The bytes of a stack that ends at `high` (a multiple of 16), at most `limit` of them. The stack
/// pointer is at the first.
pub fn compose(high: u64, limit: usize, contents: &Contents<'_>) -> Result<Vec<u8>, SpawnError> {
    let size = size_of_all(contents.arguments) + size_of_all(contents.environment) + contents.path.len() + contents.directory.len();
    let most = size + 16 * contents.auxiliary.len() + 40 * contents.windows.len() + 256;
    if most > limit {
        return Err(SpawnError::Arguments);
    }
    let mut strings = Strings::default();
    strings.bytes.try_reserve_exact(most).map_err(is_short)?;
    strings.bytes.extend(contents.windows.iter().flatten().flat_map(|word| word.to_le_bytes()));
    let random = strings.add(&contents.random);
    let platform = strings.add_text(b"x86_64");
    let arguments = strings.add_all(contents.arguments)?;
    let environment = strings.add_all(contents.environment)?;
    let path = strings.add_text(contents.path);
    let directory = (!contents.directory.is_empty()).then(|| (AT_DIRECTORY, strings.add_text(contents.directory)));
    strings.bytes.resize((strings.bytes.len() + 8).next_multiple_of(16), 0);
    let base = high - strings.bytes.len() as u64;

    let mut words = Vec::new();
    words.try_reserve_exact(arguments.len() + environment.len() + 2 * contents.auxiliary.len() + 16).map_err(is_short)?;
    words.push(arguments.len() as u64);
    words.extend(arguments.iter().map(|at| base + at));
    words.push(0);
    words.extend(environment.iter().map(|at| base + at));
    words.push(0);
    let pointers = [(auxiliary::RANDOM, random), (auxiliary::PLATFORM, platform), (auxiliary::PROGRAM_NAME, path), (AT_WINDOWS, 0)];
    let pointers = pointers.into_iter().chain(directory).map(|(key, at)| (key, base + at));
    for (key, value) in contents.auxiliary.iter().copied().chain(pointers).chain([(auxiliary::NULL, 0)]) {
        words.extend([key, value]);
    }
    if words.len() % 2 == 1 {
        words.push(0);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(8 * words.len() + strings.bytes.len()).map_err(is_short)?;
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(strings.bytes);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const HIGH: u64 = 0x7f00_0010_0000;

    struct Stack {
        memory: Vec<u8>,
        pointer: u64,
    }

    impl Stack {
        fn word(&self, at: u64) -> u64 {
            let start = (at - self.pointer) as usize;
            u64::from_le_bytes(self.memory[start..start + 8].try_into().unwrap())
        }

        fn string(&self, at: u64) -> &[u8] {
            let start = (at - self.pointer) as usize;
            let rest = &self.memory[start..];
            &rest[..rest.iter().position(|byte| *byte == 0).unwrap()]
        }
    }

    fn composed(arguments: &[&[u8]], environment: &[&[u8]]) -> Stack {
        let contents = Contents {
            path: b"/bin/cat",
            directory: b"/tmp",
            arguments,
            environment,
            random: *b"0123456789abcdef",
            auxiliary: &[(auxiliary::ENTRY, 0x40_1000), (auxiliary::PAGE_SIZE, 4096)],
            windows: &[[1, 2, 3, 4, 5]],
        };
        let memory = compose(HIGH, 65536, &contents).unwrap();
        Stack { pointer: HIGH - memory.len() as u64, memory }
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
        assert_eq!(stack.word(stack.pointer + 136), AT_WINDOWS);
        assert_eq!(stack.word(stack.word(stack.pointer + 144) + 24), 4);
        assert_eq!(stack.word(stack.pointer + 152), AT_DIRECTORY);
        assert_eq!(stack.string(stack.word(stack.pointer + 160)), b"/tmp");
        assert_eq!(stack.word(stack.pointer + 168), 0);
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
    fn what_does_not_fit_is_refused() {
        let long = [b'x'; 1024];
        let contents = Contents { path: b"p", directory: b"", arguments: &[&long], environment: &[], random: [0; 16], auxiliary: &[], windows: &[] };
        assert_eq!(compose(HIGH, 1024, &contents), Err(SpawnError::Arguments));
        assert!(compose(HIGH, 2048, &contents).unwrap().len() <= 2048);
    }

    #[test]
    fn the_limit_holds_whatever_the_sizes() {
        for count in 0..60 {
            let text = vec![b'x'; count * 3];
            let arguments = vec![&text[..]; count];
            let auxiliary = [(auxiliary::ENTRY, 1); 20];
            let contents = Contents {
                path: &text,
                directory: &text,
                arguments: &arguments,
                environment: &arguments,
                random: [0; 16],
                auxiliary: &auxiliary,
                windows: &[],
            };
            assert!(compose(HIGH, 4096, &contents).is_ok_and(|bytes| bytes.len() <= 4096) || count > 15);
        }
    }
}
