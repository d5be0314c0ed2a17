//! What a program was started with, as it lies at the top of its stack: arguments, environment,
//! auxiliary vector.

use alloc::vec::Vec;
use core::ffi::CStr;
use core::iter;

use nacre_abi::environment::AT_DIRECTORY;

/// Arguments, environment and auxiliary vector. The parent wrote them; they are trusted as the
/// program's own text is.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    count: usize,
    first: *const *const i8,
}

// SAFETY: what it leads to is never written.
unsafe impl Sync for Arguments {}
// SAFETY: as above.
unsafe impl Send for Arguments {}

impl Arguments {
    /// The arguments at the stack pointer with which the program started.
    ///
    /// # Safety
    /// `stack` leads to `argc`, `argv`, the environment and the auxiliary vector as on Linux, and
    /// they stay for ever.
    pub unsafe fn at(stack: *const u64) -> Arguments {
        // SAFETY: the caller's promise.
        unsafe { Arguments { count: *stack as usize, first: stack.add(1).cast() } }
    }

    /// Returns the number of arguments, the program's name included.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Argument `index`; 0 is the program's name.
    pub fn get(&self, index: usize) -> Option<&'static [u8]> {
        (index < self.count).then(|| self.string(index)).flatten()
    }

    /// All arguments, the program's name first.
    pub fn iter(&self) -> impl Iterator<Item = &'static [u8]> + Clone + use<> {
        let arguments = *self;
        (0..self.count).map_while(move |index| arguments.string(index))
    }

    /// All of the environment, as `name=value`.
    pub fn environment(&self) -> impl Iterator<Item = &'static [u8]> + Clone + use<> {
        let arguments = *self;
        (self.count + 1..).map_while(move |index| arguments.string(index))
    }

    /// The value of a name in the environment.
    pub fn variable(&self, name: &[u8]) -> Option<&'static [u8]> {
        self.environment().find_map(|entry| entry.strip_prefix(name)?.strip_prefix(b"="))
    }

    /// The value of an entry of the auxiliary vector.
    pub fn auxiliary(&self, kind: u64) -> Option<u64> {
        self.auxiliary_all().find(|(found, _)| *found == kind).map(|(_, value)| value)
    }

    /// All of the auxiliary vector.
    pub fn auxiliary_all(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let environment_size = self.environment().count();
        // SAFETY: behind the null that ends the environment stand pairs up to one whose first word
        // is 0.
        let mut at: *const u64 = unsafe { self.first.add(self.count + 1 + environment_size + 1) }.cast();
        iter::from_fn(move || {
            // SAFETY: as above; a pair is passed only if it was not the last.
            let pair = unsafe { (*at, *at.add(1)) };
            if pair.0 == 0 {
                return None;
            }
            // SAFETY: as above.
            at = unsafe { at.add(2) };
            Some(pair)
        })
    }

    /// Returns the address of the auxiliary vector.
    pub fn auxiliary_address(&self) -> u64 {
        self.first as u64 + 8 * (self.count + self.environment().count() + 2) as u64
    }

    /// The path of the current directory, absolute; empty: the root.
    pub fn directory(&self) -> &'static [u8] {
        match self.auxiliary(AT_DIRECTORY) {
            // SAFETY: the parent wrote a string that ends with a zero there, and it stays.
            Some(start) if start != 0 => unsafe { CStr::from_ptr(start as *const i8) }.to_bytes(),
            _ => b"",
        }
    }

    /// A path as seen from the root directory.
    pub fn absolute(&self, path: &[u8]) -> Vec<u8> {
        let directory = self.directory();
        if path.is_empty() || path.starts_with(b"/") || directory.is_empty() { path.to_vec() } else { [directory, b"/", path].concat() }
    }

    /// The string that word `index` behind the count leads to; `None` if it is null.
    fn string(&self, index: usize) -> Option<&'static [u8]> {
        // SAFETY: the index is at most that of the null that ends the arguments or the environment:
        // callers stop there.
        let start = unsafe { *self.first.add(index) };
        // SAFETY: a word of `argv` or the environment that is not null leads to a string that ends
        // with a zero and stays.
        (!start.is_null()).then(|| unsafe { CStr::from_ptr(start) }.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    fn example() -> Arguments {
        let word = |text: &'static CStr| text.as_ptr() as u64;
        let stack = Box::leak(Box::new([2, word(c"name"), word(c"-x"), 0, word(c"HOME=/"), word(c"HOMER=no"), 0, 6, 4096, 0x4e61_0001, 16, AT_DIRECTORY, word(c"/tmp"), 0, 0]));
        // SAFETY: laid out as it must be, and leaked.
        unsafe { Arguments::at(stack.as_ptr()) }
    }

    #[test]
    fn everything_is_found() {
        let arguments = example();
        assert_eq!(arguments.iter().collect::<Vec<_>>(), [&b"name"[..], b"-x"]);
        assert_eq!((arguments.get(1), arguments.get(2)), (Some(&b"-x"[..]), None));
        assert_eq!(arguments.variable(b"HOME"), Some(&b"/"[..]));
        assert_eq!(arguments.variable(b"HOM"), None);
        assert_eq!(arguments.environment().count(), 2);
        assert_eq!((arguments.auxiliary(6), arguments.auxiliary(0x4e61_0001), arguments.auxiliary(7)), (Some(4096), Some(16), None));
        assert_eq!(arguments.auxiliary_all().count(), 3);
        assert_eq!([&b"a/b"[..], b"/a", b""].map(|path| arguments.absolute(path)), [b"/tmp/a/b".to_vec(), b"/a".to_vec(), Vec::new()]);
    }
}
