//! Tests of walks.

use super::*;
use nacre_machine_memory::{OutOfRange, VecMemory};

const LONG: Paging =
    Paging { cr0: CR0_PG | CR0_WP, cr3: 0x1000, cr4: CR4_PAE, efer: EFER_LMA | EFER_NXE };
const READ: Access = Access { write: false, user: false, fetch: false };
const WRITE: Access = Access { write: true, ..READ };
const USER_READ: Access = Access { user: true, ..READ };
const FETCH: Access = Access { fetch: true, ..READ };

fn put(memory: &mut VecMemory, at: u64, entry: u64) {
    memory.write(at, &entry.to_le_bytes()).unwrap();
}

/// Four levels: tables at 0x1000 to 0x4000, and a last entry for the address 0x5000.
fn long_tables(last: u64) -> VecMemory {
    let mut memory = VecMemory::new(0x10000);
    for (table, next) in [(0x1000, 0x2000), (0x2000, 0x3000), (0x3000, 0x4000)] {
        put(&mut memory, table, next | 7);
    }
    put(&mut memory, 0x4028, last);
    memory
}

fn place(memory: &VecMemory, paging: &Paging, address: u64, access: Access) -> Result<u64, u32> {
    match walk(memory, paging, address, access) {
        Ok(translation) => Ok(translation.address),
        Err(WalkError::PageFault(code)) => Err(code),
        Err(WalkError::NotCanonical) => Err(u32::MAX),
    }
}

#[test]
fn four_levels_lead_to_a_page() {
    let memory = long_tables(0xab_cdef_c063);
    assert_eq!(place(&memory, &LONG, 0x5678, WRITE), Ok(0xab_cdef_c678));
    assert_eq!(place(&memory, &LONG, 0x5678, USER_READ), Err(5));
    assert_eq!(place(&memory, &LONG, 0x6000, WRITE), Err(2));
    assert_eq!(place(&memory, &LONG, 1 << 47, READ), Err(u32::MAX));
    assert_eq!(place(&memory, &LONG, u64::MAX, USER_READ), Err(4));
    let translation = walk(&memory, &LONG, 0x5000, READ).unwrap();
    assert_eq!(translation.rights, Access { write: true, user: false, fetch: true });
}

#[test]
fn rights_are_checked_as_the_registers_say() {
    let read_only = long_tables(0x9005);
    assert_eq!(place(&read_only, &LONG, 0x5000, WRITE), Err(3));
    let unprotected = Paging { cr0: CR0_PG, ..LONG };
    assert_eq!(place(&read_only, &unprotected, 0x5000, WRITE), Ok(0x9000));
    assert_eq!(place(&read_only, &unprotected, 0x5000, Access { user: true, ..WRITE }), Err(7));
    let kept_out = Paging { cr4: CR4_PAE | CR4_SMEP, ..LONG };
    assert_eq!(place(&read_only, &kept_out, 0x5000, FETCH), Err(0x11));
    assert_eq!(place(&read_only, &LONG, 0x5000, FETCH), Ok(0x9000));
    let no_execute = long_tables(0x9003 | NO_EXECUTE);
    assert_eq!(place(&no_execute, &LONG, 0x5000, FETCH), Err(0x11));
    assert_eq!(place(&no_execute, &LONG, 0x5000, READ), Ok(0x9000));
}

#[test]
fn reserved_bits_are_refused() {
    let old = Paging { efer: EFER_LMA, ..LONG };
    assert_eq!(place(&long_tables(0x9003 | NO_EXECUTE), &old, 0x5000, READ), Err(9));
    assert_eq!(place(&long_tables(0x9003 | 1 << 40), &LONG, 0x5000, WRITE), Err(0xb));
    for (table, entry) in [(0x1000, 0x2087), (0x2000, 0x87), (0x3000, 0x2087)] {
        let mut memory = long_tables(0x9003);
        put(&mut memory, table, entry);
        assert_eq!(place(&memory, &LONG, 0x5000, READ), Err(9), "{table:#x}");
    }
}

#[test]
fn large_pages_keep_the_lower_part_of_the_address() {
    let mut memory = long_tables(0);
    put(&mut memory, 0x3000, 0x4060_0083 | 0x1000);
    let translation = walk(&memory, &LONG, 0x12_3456, READ).unwrap();
    assert_eq!((translation.address, translation.page_size), (0x4072_3456, 2 << 20));
}

#[test]
fn three_levels_lead_to_a_page() {
    let paging = Paging { efer: 0, cr3: 0x1020, ..LONG };
    let mut memory = long_tables(0x9007);
    put(&mut memory, 0x1020 + 8, 0x3001);
    put(&mut memory, 0x3000, 0x4007);
    assert_eq!(place(&memory, &paging, 0xffff_ffff_4000_5123, USER_READ), Ok(0x9123));
    assert_eq!(place(&memory, &paging, 0x5123, READ), Err(0));
    put(&mut memory, 0x1020 + 8, 0x3003);
    assert_eq!(place(&memory, &paging, 0x4000_5123, READ), Err(9), "pointers have no rights");
    for (bit, result) in [(0x20, Ok(0x9123)), (0x40, Err(9)), (0x100, Err(9))] {
        put(&mut memory, 0x1020 + 8, 0x3001 | bit);
        assert_eq!(place(&memory, &paging, 0x4000_5123, READ), result, "{bit:#x}");
    }
}

#[test]
fn two_levels_lead_to_a_page() {
    let paging = Paging { cr4: 0, efer: 0, cr3: 0x1018, ..LONG };
    let mut memory = VecMemory::new(0x10000);
    let half = |memory: &mut VecMemory, at, entry: u32| {
        memory.write(at, &entry.to_le_bytes()).unwrap();
    };
    half(&mut memory, 0x1004, 0x2087);
    half(&mut memory, 0x2014, 0xffff_f005);
    assert_eq!(place(&memory, &paging, 0x40_5123, USER_READ), Ok(0xffff_f123));
    let with_large = Paging { cr4: CR4_PSE, ..paging };
    half(&mut memory, 0x1004, 0x0080_6083);
    assert_eq!(place(&memory, &with_large, 0x7f_5123, WRITE), Ok(0x3_00bf_5123));
    half(&mut memory, 0x1004, 0x00a0_0083);
    assert_eq!(place(&memory, &with_large, 0x40_0000, READ), Err(9));
}

#[test]
fn without_paging_addresses_have_32_bits() {
    let memory = VecMemory::new(0);
    assert_eq!(place(&memory, &Paging::default(), 0x1_2345_6789, WRITE), Ok(0x2345_6789));
}

#[test]
fn tables_outside_memory_are_absent() {
    let memory = VecMemory::new(0x1000);
    for paging in [LONG, Paging { efer: 0, ..LONG }, Paging { efer: 0, cr4: 0, ..LONG }] {
        for cr3 in [0x1000, u64::MAX] {
            assert_eq!(place(&memory, &Paging { cr3, ..paging }, 0x5000, WRITE), Err(2));
        }
    }
}

/// Memory that counts reads, and whose entries all lead to itself.
struct Counting(core::cell::Cell<usize>);

impl GuestMemory for Counting {
    fn size(&self) -> u64 {
        u64::MAX
    }

    fn read(&self, _: u64, into: &mut [u8]) -> Result<(), OutOfRange> {
        self.0.set(self.0.get() + 1);
        into.copy_from_slice(&0x7u64.to_le_bytes()[..into.len()]);
        Ok(())
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), OutOfRange> {
        Err(OutOfRange)
    }
}

#[test]
fn each_entry_is_read_once() {
    let memory = Counting(core::cell::Cell::new(0));
    assert!(walk(&memory, &LONG, 0x1234_5678, USER_READ).is_ok());
    assert_eq!(memory.0.get(), 4);
}
