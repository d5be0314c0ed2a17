//! What a boot protocol found out, in one form for all of them.
#![forbid(unsafe_code)]

use crate::memory_map::MemoryMap;
use nacre_abi::boot_info::MemoryRange;

/// Maximum size of the kernel command line that is kept.
pub const COMMAND_LINE_SIZE: usize = 256;

/// The kernel's own extent in physical memory.
#[derive(Clone, Copy, Debug)]
pub struct ImageLayout {
    /// Start of the kernel; its code is first.
    pub start: u64,
    /// End of the entry and exit code, which is the first of the code.
    pub entry_end: u64,
    /// End of the code and start of the constants.
    pub text_end: u64,
    /// End of the constants and start of the data.
    pub constants_end: u64,
    /// End of the data that are mapped while users run, which are the first of the data.
    pub shared_end: u64,
    /// End of the kernel.
    pub end: u64,
}

/// Facts from the boot protocol.
pub struct BootDescription {
    /// Memory that is RAM, whatever lies in it.
    pub memory: MemoryMap,
    /// The boot image, or an empty range.
    pub module: MemoryRange,
    /// Physical address of the ACPI root pointer; 0 = not told.
    pub acpi_root: u64,
    /// The kernel command line, as far as it fits.
    pub command_line: [u8; COMMAND_LINE_SIZE],
    /// Size of the part that is meaningful.
    pub command_line_size: usize,
}

impl BootDescription {
    /// Creates a description in which nothing is known.
    pub const fn new() -> BootDescription {
        BootDescription {
            memory: MemoryMap::new(),
            module: MemoryRange { start: 0, size: 0 },
            acpi_root: 0,
            command_line: [0; COMMAND_LINE_SIZE],
            command_line_size: 0,
        }
    }

    /// Takes over a command line: up to its first zero byte, cut off at what fits.
    pub fn set_command_line(&mut self, text: &[u8]) {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len()).min(COMMAND_LINE_SIZE);
        self.command_line[..end].copy_from_slice(&text[..end]);
        self.command_line_size = end;
    }

    /// The command line.
    pub fn command_line(&self) -> &[u8] {
        &self.command_line[..self.command_line_size]
    }

    /// The number after `name=` in the command line, if there is one.
    pub fn option(&self, name: &[u8]) -> Option<u64> {
        let word = self.command_line().split(|byte| *byte == b' ').find_map(|word| word.strip_prefix(name)?.strip_prefix(b"="))?;
        core::str::from_utf8(word).ok()?.parse().ok()
    }
}

impl Default for BootDescription {
    fn default() -> Self {
        BootDescription::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_by_their_whole_name() {
        let mut description = BootDescription::new();
        description.set_command_line(b"quiet cpus=3 xcpus=4\0cpus=9");
        assert_eq!(description.option(b"cpus"), Some(3));
        assert_eq!(description.option(b"xcpus"), Some(4));
        assert_eq!(description.option(b"quiet"), None);
        assert_eq!(description.option(b"pus"), None);
    }

    #[test]
    fn a_long_command_line_is_cut() {
        let mut description = BootDescription::new();
        description.set_command_line(&[b'a'; 1000]);
        assert_eq!(description.command_line().len(), COMMAND_LINE_SIZE);
    }
}
