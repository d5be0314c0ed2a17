//! Names of functions in the backtrace of a kernel panic. The kernel prints addresses; this filter
//! adds the names out of the kernel's file, line by line.

use std::path::PathBuf;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSymbol, SymbolKind};

/// The line after which addresses follow.
const BACKTRACE: &[u8] = b"backtrace:";
/// Beginning of each message on the terminal.
const PREFIX: &[u8] = b"nacre: ";
/// Maximum length of a line that is looked at. A line of a backtrace is shorter.
const LONGEST_LINE: usize = 64;
/// Maximum length of a name that is shown, in characters.
const LONGEST_NAME: usize = 120;

/// A filter of the guest's messages.
pub struct Names {
    kernel: Option<PathBuf>,
    /// Functions by their addresses, ascending; read when the first backtrace comes.
    functions: Vec<(u64, String)>,
    /// The start of the line that has not ended yet.
    line: Vec<u8>,
    in_backtrace: bool,
}

impl Names {
    /// Makes a filter that knows the functions of the kernel in this file; `None`: it knows none.
    pub fn new(kernel: Option<PathBuf>) -> Names {
        Names { kernel, functions: Vec::new(), line: Vec::new(), in_backtrace: false }
    }

    /// Returns `text` with a name at the end of each line of a backtrace. Nothing is held back.
    pub fn add(&mut self, text: &[u8]) -> Vec<u8> {
        let mut named = Vec::with_capacity(text.len());
        for byte in text {
            if *byte == b'\n' {
                let ending = if self.line.last() == Some(&b'\r') { named.pop() } else { None };
                named.extend(self.name_of_line().into_bytes());
                named.extend(ending);
                self.line.clear();
            } else if self.line.len() < LONGEST_LINE {
                self.line.push(*byte);
            }
            named.push(*byte);
        }
        named
    }

    /// Returns the name that the line which ends here lacks.
    fn name_of_line(&mut self) -> String {
        let line = self.line.strip_prefix(PREFIX).unwrap_or(&self.line).trim_ascii();
        if line == BACKTRACE {
            self.in_backtrace = true;
            self.functions = self.kernel.take().and_then(|kernel| functions(&std::fs::read(kernel).ok()?)).unwrap_or_default();
            return String::new();
        }
        let address = std::str::from_utf8(line).ok().filter(|_| self.in_backtrace).and_then(address);
        self.in_backtrace &= address.is_some();
        address.and_then(|address| self.name(address)).unwrap_or_default()
    }

    fn name(&self, address: u64) -> Option<String> {
        let last = self.functions.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
        let (start, name) = &self.functions[last];
        Some(format!(" {name}+{:#x}", address - start))
    }
}

/// The address in a line of a backtrace, which is a number and the address.
fn address(line: &str) -> Option<u64> {
    let (depth, address) = line.split_once(' ')?;
    depth.parse::<u32>().ok()?;
    u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()
}

/// Functions of an ELF file by their addresses, ascending.
fn functions(image: &[u8]) -> Option<Vec<(u64, String)>> {
    let file = ElfFile64::<object::Endianness>::parse(image).ok()?;
    let code = file.symbols().filter(|symbol| matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Label) && symbol.is_definition());
    let mut functions: Vec<(u64, String)> = code.map(|symbol| (symbol.address(), readable(symbol.name().unwrap_or_default()))).collect();
    functions.sort();
    functions.dedup_by_key(|(address, _)| *address);
    Some(functions)
}

/// The name as a person writes it: without the hash, and cut at a readable length.
fn readable(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name)).chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names { functions: vec![(0x10, "one".to_string()), (0x40, "two".to_string())], ..Names::new(None) }
    }

    #[test]
    fn lines_of_a_backtrace_get_names_and_others_do_not() {
        let mut names = names();
        names.in_backtrace = true;
        assert_eq!(names.add(b"nacre:    0 0x3f\r\n   1 0x50\n"), b"nacre:    0 0x3f one+0x2f\r\n   1 0x50 two+0x10\n");
        assert_eq!(names.add(b"   2 0xf\nother\n   3 0x50\n"), b"   2 0xf\nother\n   3 0x50\n");
    }

    #[test]
    fn text_in_parts_is_not_held_back() {
        let mut names = names();
        names.in_backtrace = true;
        assert_eq!(names.add(b"   0 0x4"), b"   0 0x4");
        assert_eq!(names.add(b"4\n"), b"4 two+0x4\n");
        assert_eq!(names.add(&[b'x'; 100]), [b'x'; 100]);
    }

    #[inline(never)]
    fn function_with_a_name(number: usize) -> usize {
        std::hint::black_box(number)
    }

    #[test]
    fn functions_come_out_of_a_file() {
        assert_eq!(function_with_a_name(7), 7);
        let own = std::fs::read(std::env::current_exe().expect("path")).expect("file");
        let all = functions(&own).expect("functions");
        assert!(all.iter().any(|(_, name)| name.contains("function_with_a_name")));
        assert_eq!(functions(b"\x7fELF\x02\x01"), None);
    }
}
