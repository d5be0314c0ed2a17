//! Windows of devices: registers and memory of devices that programs may map, by files of these
//! names.
//!
//! The boot image lists them in `/etc/nacre/windows`, a line each: path, address, size, and `read`
//! or
//! `write`. Numbers are decimal, or hexadecimal behind `0x`.

use alloc::vec::Vec;
use core::ops::Range;
use nacre_abi::PAGE_SIZE;

/// File of the boot image that lists the windows.
pub const LIST: &[u8] = b"/etc/nacre/windows";
/// Largest number of windows.
const MAX_WINDOWS: usize = 64;
/// Addresses above this are of no device.
const END: u64 = 1 << 46;

/// A window of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceWindow {
    /// Path of its file.
    pub path: Vec<u8>,
    /// Physical address of the window.
    pub start: u64,
    /// Size in bytes, a multiple of the page size.
    pub size: u64,
    /// Programs may write there.
    pub writable: bool,
}

/// Windows that a list names. Lines that make no sense are left out, and so is what touches memory.
pub fn read(list: &[u8], memory: &[Range<u64>]) -> Vec<DeviceWindow> {
    let found = list.split(|&byte| byte == b'\n').filter_map(line);
    let is_free = |window: &DeviceWindow| memory.iter().all(|range| window.start + window.size <= range.start || range.end <= window.start);
    found.filter(is_free).take(MAX_WINDOWS).collect()
}

fn line(line: &[u8]) -> Option<DeviceWindow> {
    let mut words = line.split(|&byte| byte == b' ');
    let (path, start, size, access) = (words.next()?, number(words.next()?)?, number(words.next()?)?, words.next()?);
    let writable = match access {
        b"read" => false,
        b"write" => true,
        _ => return None,
    };
    let is_whole = (start | size).is_multiple_of(PAGE_SIZE) && size > 0 && start.checked_add(size)? <= END;
    (path.starts_with(b"/") && is_whole && words.next().is_none()).then(|| DeviceWindow { path: path.to_vec(), start, size, writable })
}

fn number(text: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(text).ok()?;
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read_and_lines_without_sense_are_left_out() {
        let list = b"/dev/hpet 0xfed00000 0x1000 read\n/dev/x 4096 8192 write\n\n/dev/y 1 4096 read\n/dev/z 4096 0 read\nz 0 4096 read\n/dev/a 4096 4096 own\n/dev/b 4096 4096 read more\n/dev/c 0x3ffffffff000 0xfffffffffffff000 read";
        let found = read(list, &[]);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], DeviceWindow { path: b"/dev/hpet".to_vec(), start: 0xfed0_0000, size: 0x1000, writable: false });
        assert_eq!((found[1].start, found[1].size, found[1].writable), (4096, 8192, true));
    }

    #[test]
    fn a_window_never_shows_memory() {
        let list = b"/dev/a 0x1000 0x3000 write";
        assert_eq!(read(list, &[0..0x1000, 0x4000..0x5000]).len(), 1);
        assert_eq!((read(list, &[0x3000..0x4000]).len(), read(list, &[0..0x1001]).len(), read(list, &[0x2000..0x2001]).len()), (0, 0, 0));
    }
}
