//! The tables that the unit walks: of the bus's devices, and of what each of them may reach (VT-d
//! specification 3.3, chapter 9).
//!
//! A device sees physical addresses as they are, of the memory that it was given and of no other.

use crate::PAGE;
use alloc::collections::BTreeMap;
use nacre_virtio::{Fault, Memory, Shared};

/// Entries of a table.
const ENTRIES: u64 = 512;
/// Bits of an entry: of the outer tables, and of those of addresses.
const PRESENT: u64 = 1;
const READ_WRITE: u64 = 3;
const ADDRESS: u64 = !0xfff;
/// Functions of a device's slot.
const FUNCTIONS: u64 = 8;
/// Fault of a machine that has no memory left for a table.
const LACK: Fault = Fault("there is no memory for tables of devices");

/// Number of levels of tables of addresses, as the unit can walk them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Addresses of 39 bits.
    Three = 3,
    /// Addresses of 48 bits.
    Four = 4,
}

impl Depth {
    /// Returns how the entry of a device tells it.
    fn code(self) -> u64 {
        self as u64 - 2
    }

    /// Returns the first address that it does not have.
    pub fn end(self) -> u64 {
        1 << (12 + 9 * self as u64)
    }
}

/// All tables. The head of this module describes them.
pub struct Tables<M> {
    depth: Depth,
    root: u64,
    devices: u64,
    /// Tables by their addresses.
    pages: BTreeMap<u64, M>,
}

impl<M: Memory> Tables<M> {
    /// Tables by which no device reaches anything. `take` gives a page of zeros.
    pub fn new(depth: Depth, take: &mut impl FnMut() -> Option<Shared<M>>) -> Result<Tables<M>, Fault> {
        let mut tables = Tables { depth, root: 0, devices: 0, pages: BTreeMap::new() };
        tables.root = tables.add(take)?;
        tables.devices = tables.add(take)?;
        // Devices of all other buses have no entry.
        tables.set(tables.root, 0, tables.devices | PRESENT);
        Ok(tables)
    }

    /// Returns the address of the outermost table.
    pub fn root(&self) -> u64 {
        self.root
    }

    fn add(&mut self, take: &mut impl FnMut() -> Option<Shared<M>>) -> Result<u64, Fault> {
        let page = take().filter(|page| page.address.is_multiple_of(PAGE)).ok_or(LACK)?;
        self.pages.insert(page.address, page.memory);
        Ok(page.address)
    }

    fn get(&self, table: u64, word: u64) -> u64 {
        self.pages.get(&table).map_or(0, |page| page.read(8 * word, 8))
    }

    fn set(&self, table: u64, word: u64, value: u64) {
        if let Some(page) = self.pages.get(&table) {
            page.write(8 * word, 8, value);
        }
    }

    /// The table that an entry leads to, made if there is none.
    fn below(&mut self, table: u64, word: u64, take: &mut impl FnMut() -> Option<Shared<M>>) -> Result<u64, Fault> {
        let entry = self.get(table, word);
        if entry & PRESENT != 0 {
            return Ok(entry & ADDRESS);
        }
        let below = self.add(take)?;
        self.set(table, word, below | READ_WRITE);
        Ok(below)
    }

    /// The outermost table of what the first function of a slot reaches, made if there is none.
    fn device(&mut self, slot: u8, take: &mut impl FnMut() -> Option<Shared<M>>) -> Result<u64, Fault> {
        let word = 2 * FUNCTIONS * u64::from(slot & 31);
        let entry = self.get(self.devices, word);
        if entry & PRESENT != 0 {
            return Ok(entry & ADDRESS);
        }
        let top = self.add(take)?;
        // Each device is a domain of its own; domain 0 is nobody's.
        self.set(self.devices, word + 1, self.depth.code() | u64::from(slot & 31) + 1 << 8);
        self.set(self.devices, word, top | PRESENT);
        Ok(top)
    }

    /// Lets the device in this slot reach whole pages.
    pub fn allow(&mut self, slot: u8, start: u64, size: u64, take: &mut impl FnMut() -> Option<Shared<M>>) -> Result<(), Fault> {
        let end = start.checked_add(size).filter(|end| *end <= self.depth.end() && (start | size).is_multiple_of(PAGE));
        let end = end.ok_or(Fault("its memory is out of a device's reach"))?;
        let top = self.device(slot, take)?;
        for page in (start..end).step_by(PAGE as usize) {
            let mut table = top;
            for level in (1..self.depth as u32).rev() {
                table = self.below(table, (page >> (12 + 9 * level)) % ENTRIES, take)?;
            }
            self.set(table, (page >> 12) % ENTRIES, page | READ_WRITE);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::rc::Rc;
    use alloc::vec;
    use alloc::vec::Vec;
    use core::cell::RefCell;

    /// A page of memory.
    #[derive(Clone)]
    pub struct Page(Rc<RefCell<Vec<u8>>>);

    impl Memory for Page {
        fn read(&self, at: u64, width: u64) -> u64 {
            let bytes = self.0.borrow();
            bytes[at as usize..(at + width) as usize].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
        }

        fn write(&self, at: u64, width: u64, value: u64) {
            self.0.borrow_mut()[at as usize..(at + width) as usize].copy_from_slice(&value.to_le_bytes()[..width as usize]);
        }

        fn copy_out(&self, _: u64, _: &mut [u8]) {}

        fn copy_in(&self, _: u64, _: &[u8]) {}
    }

    /// The unit's walk, as the specification has it: what a function of bus 0 reaches at an
    /// address.
    fn walk(tables: &Tables<Page>, bus: u64, function: u64, address: u64) -> Option<u64> {
        let entry = tables.get(tables.root(), 2 * bus);
        (entry & 1 != 0).then_some(())?;
        let (low, high) = (tables.get(entry & ADDRESS, 2 * function), tables.get(entry & ADDRESS, 2 * function + 1));
        (low & 0xf == 1 && high >> 8 != 0).then_some(())?;
        let levels = (high & 7) + 2;
        (address < 1 << (12 + 9 * levels)).then_some(())?;
        let (mut table, mut entry) = (low & ADDRESS, 0);
        for level in (0..levels).rev() {
            entry = tables.get(table, address >> (12 + 9 * level) & 511);
            (entry & 3 == 3).then_some(())?;
            table = entry & ADDRESS;
        }
        Some(entry & ADDRESS | address & 0xfff)
    }

    /// Gives pages from here on, so many.
    fn pages(count: u64) -> impl FnMut() -> Option<Shared<Page>> {
        let mut given = 0;
        move || {
            given += 1;
            let page = Page(Rc::new(RefCell::new(vec![0; 4096])));
            (given <= count).then_some(Shared { memory: page, address: 0x100_0000 + given * PAGE })
        }
    }

    #[test]
    fn each_device_reaches_what_it_was_given_and_nothing_else() {
        for depth in [Depth::Three, Depth::Four] {
            let mut take = pages(1000);
            let mut tables = Tables::new(depth, &mut take).unwrap();
            tables.allow(3, 0x20_0000, 0x3000, &mut take).unwrap();
            tables.allow(3, 0x40_3f_f000, 0x2000, &mut take).unwrap();
            tables.allow(31, 0x20_1000, 0x1000, &mut take).unwrap();
            let reached = |slot: u64, address| walk(&tables, 0, 8 * slot, address) == Some(address);
            for (slot, address, expected) in [
                (3, 0x20_0000, true),
                (3, 0x20_2fff, true),
                (3, 0x20_3000, false),
                (3, 0x1f_ffff, false),
                (3, 0x40_3f_ffff, true),
                (3, 0x40_40_0fff, true),
                (3, 0x40_40_1000, false),
                (31, 0x20_1fff, true),
                (31, 0x20_0000, false),
                (4, 0x20_0000, false),
            ] {
                assert_eq!(reached(slot, address), expected, "{slot} {address:x} {depth:?}");
            }
            assert!((1..8).all(|function| walk(&tables, 0, 24 + function, 0x20_0000).is_none()));
            assert!((1..256).all(|bus| walk(&tables, bus, 24, 0x20_0000).is_none()));
            // The tables themselves are nobody's.
            assert!((0..1000).all(|page| (0..32).all(|slot| walk(&tables, 0, 8 * slot, 0x100_0000 + page * PAGE).is_none())));
        }
    }

    #[test]
    fn what_cannot_be_reached_is_refused() {
        let mut take = pages(100);
        let mut tables = Tables::new(Depth::Three, &mut take).unwrap();
        for (start, size) in [(1 << 39, 0x1000), ((1 << 39) - 0x1000, 0x2000), (0x1001, 0x1000), (0x1000, 1), (u64::MAX & !0xfff, 0x2000)] {
            assert!(tables.allow(1, start, size, &mut take).is_err(), "{start:x} {size:x}");
        }
        assert!(tables.allow(1, 0, 1 << 30, &mut pages(3)).is_err());
    }
}
