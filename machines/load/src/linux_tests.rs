//! Tests of the loader with kernels that are made here.

use super::*;
use crate::{Unreadable, VecMemory};

const MEMORY: usize = 32 << 20;

/// Kernel with a header as Debian's has, and 1000 bytes behind the 16-bit part.
fn kernel() -> Vec<u8> {
    let mut file = vec![0; 512 * 3];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x1f1, &[2]);
    put(0x1fe, &[0x55, 0xaa, 0xeb, 0x6a]);
    put(0x202, b"HdrS");
    put(0x206, &[0x0f, 0x02]);
    put(0x211, &[0x81]);
    put(0x22c, &0x7fff_ffffu32.to_le_bytes());
    put(0x236, &[0x3f]);
    put(0x238, &2047u32.to_le_bytes());
    put(0x258, &0x100_0000u64.to_le_bytes());
    put(0x260, &0x20_0000u32.to_le_bytes());
    file.extend((0..1000).map(|index| index as u8));
    file
}

fn changed(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = kernel();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

fn load_alone(kernel: &Vec<u8>) -> Result<Start, LoadError> {
    load(&mut VecMemory::new(MEMORY), kernel, &[], "")
}

fn number(memory: &VecMemory, at: u64) -> u64 {
    let mut bytes = [0; 8];
    memory.read(at, &mut bytes).unwrap();
    u64::from_le_bytes(bytes)
}

#[test]
fn a_kernel_lies_where_it_wants_and_is_told_of_the_rest() {
    let mut memory = VecMemory::new(MEMORY);
    let parts: [&dyn ByteSource; 2] = [&b"abcde".as_slice(), &b"xyz".as_slice()];
    let start = load(&mut memory, &kernel(), &parts, "console=ttyS0 quiet").unwrap();
    assert_eq!((start.rip, start.rsi, start.cr3), (0x100_0200, 0x7000, 0x9000));
    assert_eq!(memory.0[0x100_0000..0x100_03e8], kernel()[1536..]);
    let page = |at: u64| number(&memory, 0x7000 + at);
    assert_eq!((page(0x218), page(0x228) as u32), (0x1fff_000 | 12 << 32, 0x20000));
    assert_eq!(memory.0[0x1ff_f000..0x1ff_f00c], *b"abcde\0\0\0xyz\0");
    assert_eq!(memory.0[0x20000..0x20014], *b"console=ttyS0 quiet\0");
    assert_eq!((page(0x1e8) as u8, page(0x210) as u16), (2, 0x01ff));
    assert_eq!([page(0x2d0), page(0x2d8), page(0x2e0) as u32 as u64], [0, 0x9fc00, 1]);
    assert_eq!([page(0x2e4), page(0x2ec), page(0x2f4)], [0x10_0000, 31 << 20, 1]);
    assert_eq!(page(0x202) as u32, u32::from_le_bytes(*b"HdrS"));
}

#[test]
fn files_that_are_no_kernels_are_refused() {
    for file in [
        vec![], vec![0; 600], vec![0xff; 5000], changed(0x1fe, &[0]), changed(0x202, b"hdrs"),
    ] {
        assert_eq!(load_alone(&file).unwrap_err(), LoadError::NotLinux);
    }
    for file in [changed(0x206, &[9]), changed(0x201, &[0x20]), changed(0x211, &[0x80])] {
        assert_eq!(load_alone(&file).unwrap_err(), LoadError::OldLinux);
    }
    assert_eq!(load_alone(&changed(0x1f1, &[0xff])).unwrap_err(), LoadError::Truncated);
    assert_eq!(load_alone(&kernel()[..1600].to_vec()).unwrap_err(), LoadError::Truncated);
}

/// Kernel like `kernel`, without a 64-bit entry, that starts at an address if it cannot be moved.
fn protected_kernel(at: usize, bytes: &[u8], first: u32) -> Vec<u8> {
    let mut file = changed(at, bytes);
    file[0x214..0x218].copy_from_slice(&first.to_le_bytes());
    file
}

#[test]
fn a_kernel_without_a_64_bit_entry_starts_in_protected_mode() {
    for (at, bytes) in [(0x236, [0x3e]), (0x206, [0x0a])] {
        let mut memory = VecMemory::new(MEMORY);
        let start = load(&mut memory, &protected_kernel(at, &bytes, 0x10_0000), &[], "words").unwrap();
        assert_eq!((start.rip, start.rsi, start.rbx, start.rflags), (0x10_0000, 0x7000, 0, 2));
        assert_eq!((start.cr0, start.cr3, start.cr4, start.efer), (0x31, 0, 0, 0));
        assert_eq!([(start.cs.selector, start.cs.attributes), (start.ds.selector, start.ds.attributes)], [(0x10, 0xc9b), (0x18, 0xc93)]);
        assert_eq!(memory.0[0x10_0000..0x10_03e8], kernel()[1536..]);
        assert_eq!(memory.0[0x20000..0x20006], *b"words\0");
    }
}

#[test]
fn a_kernel_that_can_be_moved_lies_where_it_wants() {
    let mut file = protected_kernel(0x236, &[0], 0x10_0000);
    file[0x234] = 1;
    assert_eq!(load_alone(&file).map(|start| (start.rip, start.cr0)), Ok((0x100_0000, 0x31)));
}

#[test]
fn a_kernel_that_moves_itself_needs_memory_for_it() {
    let refused = |first, size| load(&mut VecMemory::new(size), &protected_kernel(0x236, &[0], first), &[], "").map(drop);
    assert_eq!(refused(0x10_0000, 0x120_0000), Ok(()));
    assert_eq!(refused(0x10_0000, 0x11f_f000), Err(LoadError::KernelTooLarge));
    for first in [0, 0x1000, 0x10_0001] {
        assert_eq!(refused(first, MEMORY), Err(LoadError::BadAddress), "{first:#x}");
    }
    assert_eq!(refused(u32::MAX & !0xfff, MEMORY), Err(LoadError::KernelTooLarge));
}

#[test]
fn addresses_are_checked() {
    let address = |address: u64| {
        load_alone(&changed(0x258, &address.to_le_bytes())).map(|start| start.rip)
    };
    assert_eq!(address(0), Ok(0x100_0200));
    for (place, error) in [
        (0x7000, LoadError::BadAddress), (0x100_0001, LoadError::BadAddress),
        (u64::MAX & !0xfff, LoadError::BadAddress), (1 << 40, LoadError::KernelTooLarge),
        (0x1f0_0000, LoadError::KernelTooLarge),
    ] {
        assert_eq!(address(place), Err(error), "{place:#x}");
    }
    let huge = changed(0x260, &[0xff; 4]);
    assert_eq!(load_alone(&huge).unwrap_err(), LoadError::KernelTooLarge);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let try_load = |size, parts: &[&dyn ByteSource], text: &str| {
        load(&mut VecMemory::new(size), &kernel(), parts, text).map(drop)
    };
    let large = vec![0; 14 << 20];
    assert_eq!(try_load(MEMORY, &[&large], ""), Ok(()), "it ends with the memory");
    let one_more: &[&dyn ByteSource] = &[&large, &b"x".as_slice()];
    assert_eq!(try_load(MEMORY, one_more, ""), Err(LoadError::InitrdTooLarge));
    assert_eq!(try_load(1 << 20, &[], ""), Err(LoadError::MemoryTooSmall));
    assert_eq!(try_load(16 << 20, &[], ""), Err(LoadError::KernelTooLarge));
    assert_eq!(try_load(MEMORY, &[], &"x".repeat(2047)), Ok(()));
    assert_eq!(try_load(MEMORY, &[], &"x".repeat(2048)), Err(LoadError::CommandLineTooLong));
    assert_eq!(try_load(MEMORY, &[], "a\0b"), Err(LoadError::CommandLineWithZero));
}

/// File that says another size than it has.
struct Liar(u64);

impl ByteSource for Liar {
    fn len(&self) -> u64 {
        self.0
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> Result<(), Unreadable> {
        Err(Unreadable)
    }
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let mut memory = VecMemory::new(MEMORY);
    let result = load(&mut memory, &Liar(1 << 20), &[], "");
    assert_eq!(result.unwrap_err(), LoadError::KernelUnreadable);
    for (size, error) in [(9, LoadError::InitrdUnreadable), (u64::MAX, LoadError::InitrdTooLarge)] {
        assert_eq!(load(&mut memory, &kernel(), &[&Liar(size)], "").unwrap_err(), error);
    }
}

#[test]
fn an_initial_file_system_stays_below_the_kernels_limit() {
    let mut memory = VecMemory::new(MEMORY);
    let kernel = changed(0x22c, &0x13f_ffffu32.to_le_bytes());
    load(&mut memory, &kernel, &[&b"x".as_slice()], "").unwrap();
    assert_eq!(number(&memory, 0x7218), 0x13f_f000 | 4 << 32);
}

#[test]
fn each_error_is_a_sentence() {
    assert!(LoadError::NotLinux.to_string().contains("bzImage"));
    assert!(LoadError::OldLinux.to_string().contains("16-bit code, for a BIOS: its"));
    assert!(LoadError::MemoryTooLarge.to_string().contains("3 GiB"));
}
