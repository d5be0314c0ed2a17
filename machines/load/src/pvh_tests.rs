//! ELF kernels in memory, and files that are damaged.

use super::*;
use crate::VecMemory;

const SIZE: usize = 4 << 20;
/// Address of the one segment, in the second MiB.
const AT: u64 = 0x20_0000;

/// A file with a segment of code, of which memory has 16 bytes more, and the note.
fn file() -> Vec<u8> {
    let mut file = vec![0; 0x200];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\x7fELF\x02\x01\x01");
    put(18, &62u16.to_le_bytes());
    put(32, &64u64.to_le_bytes());
    put(54, &[56, 0, 2, 0]);
    put(64, &1u32.to_le_bytes());
    put(72, &words(&[0x100, 0xffff_ffff_8020_0000, AT, 8, 24]));
    put(120, &4u32.to_le_bytes());
    put(128, &words(&[0x180, 0, 0, 24, 24]));
    put(0x100, b"the code");
    put(0x180, &[4, 0, 0, 0, 8, 0, 0, 0, 18, 0, 0, 0]);
    put(0x18c, b"Xen\0");
    put(0x190, &(AT + 2).to_le_bytes());
    file
}

fn word(memory: &VecMemory, at: u64) -> u64 {
    let mut bytes = [0; 8];
    memory.read(at, &mut bytes).unwrap();
    u64::from_le_bytes(bytes)
}

#[test]
fn a_kernel_starts_without_paging_and_finds_its_record() {
    let (mut memory, file) = (VecMemory::new(SIZE), file());
    memory.write(AT, &[9; 32]).unwrap();
    let module = vec![7u8; 5000];
    let start = load(&mut memory, &file, &[&b"ab".as_slice(), &b"cd".as_slice()], "").unwrap();
    let place = word(&memory, MODULE) as usize;
    assert_eq!((word(&memory, MODULE + 8), &memory.0[place..place + 6]), (6, &b"ab\0\0cd"[..]), "{start:?}");
    let start = load(&mut memory, &file, &[&module], "cpus=1").unwrap();
    assert_eq!((start.rip, start.rbx, start.cr0 & 1 << 31, start.efer), (AT + 2, RECORD, 0, 0));
    assert_eq!(&memory.0[AT as usize..AT as usize + 32], [&b"the code"[..], &[0; 16], &[9; 8]].concat());
    assert_eq!(word(&memory, RECORD), u64::from(MAGIC) | 1 << 32);
    let place = word(&memory, word(&memory, RECORD + 16));
    assert_eq!((place % 4096, word(&memory, MODULE + 8), &memory.0[place as usize..]), (0, 5000, &[&module[..], &vec![0; SIZE - place as usize - 5000]].concat()[..]));
    assert_eq!(&memory.0[word(&memory, RECORD + 24) as usize..][..7], b"cpus=1\0");
    assert_eq!((word(&memory, RECORD + 48), word(&memory, MAP + 24), word(&memory, MAP + 32)), (2, 1 << 20, (SIZE - (1 << 20)) as u64));
}

#[test]
fn kernels_that_cannot_run_are_refused() {
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = file();
        change(&mut file);
        load(&mut VecMemory::new(SIZE), &file, &[], "").unwrap_err()
    };
    assert_eq!(refused(&|file| file[4] = 1), LoadError::NotKernel);
    assert_eq!(refused(&|file| file[0x188] = 17), LoadError::NoEntry);
    assert_eq!(refused(&|file| file[0x192] = 0), LoadError::BadEntry);
    assert_eq!(refused(&|file| file[90] = 0), LoadError::BadAddress);
    assert_eq!(refused(&|file| file[120] = 1), LoadError::NoEntry);
    assert_eq!(refused(&|file| file.truncate(0x104)), LoadError::Truncated);
    assert_eq!(refused(&|file| file[107] = 1), LoadError::KernelTooLarge);
    assert_eq!(load(&mut VecMemory::new(SIZE), &file(), &[&vec![0u8; SIZE]], "").unwrap_err(), LoadError::InitrdTooLarge);
    assert!(has_entry(&file()) && !has_entry(&vec![0u8; 3]));
}

#[test]
fn no_damage_of_a_file_panics() {
    let whole = file();
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut file = whole.clone();
            file[at] = value;
            let _ = load(&mut VecMemory::new(SIZE), &file, &[], "");
        }
        let _ = load(&mut VecMemory::new(SIZE), &whole[..at].to_vec(), &[], "");
    }
}
