//! The unit's registers, by one that follows the rules or does not.

use crate::Iommu;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;
use nacre_virtio::{Memory, Shared};

/// Bytes that are memory, or registers that answer.
#[derive(Clone)]
struct Fake {
    bytes: Rc<RefCell<Vec<u8>>>,
    is_unit: bool,
    is_deaf: bool,
}

impl Fake {
    fn new(is_unit: bool, is_deaf: bool) -> Fake {
        let fake = Fake { bytes: Rc::new(RefCell::new(vec![0; 4096])), is_unit, is_deaf };
        if is_unit {
            // Tables of three levels, one fault at 0x220; forgetting at 0xf8.
            fake.put(0x08, 8, 1 << 9 | 0x22 << 24);
            fake.put(0x10, 8, 0xf << 8);
        }
        fake
    }

    fn put(&self, at: u64, width: u64, value: u64) {
        self.bytes.borrow_mut()[at as usize..(at + width) as usize].copy_from_slice(&value.to_le_bytes()[..width as usize]);
    }
}

impl Memory for Fake {
    fn read(&self, at: u64, width: u64) -> u64 {
        self.bytes.borrow()[at as usize..(at + width) as usize].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    fn write(&self, at: u64, width: u64, value: u64) {
        let forgets = [0x28, 0xf8].contains(&at);
        match at {
            _ if !self.is_unit => self.put(at, width, value),
            _ if self.is_deaf => {}
            0x18 => self.put(0x1c, 4, value),
            0x228 => self.put(at, width, self.read(at, 8) & !value),
            _ => self.put(at, width, if forgets { value & !(1 << 63) } else { value }),
        }
    }

    fn copy_out(&self, _: u64, _: &mut [u8]) {}

    fn copy_in(&self, _: u64, _: &[u8]) {}
}

/// Gives pages of zeros.
fn pages() -> impl FnMut() -> Option<Shared<Fake>> {
    let mut next = 0;
    move || {
        next += 4096;
        Some(Shared { memory: Fake::new(false, false), address: next })
    }
}

#[test]
fn a_unit_judges_from_its_start_on_and_tells_what_it_refused() {
    let (unit, mut take) = (Fake::new(true, false), pages());
    let mut iommu = Iommu::start(unit.clone(), &mut take).unwrap();
    assert_eq!((unit.read(0x1c, 4) >> 30, unit.read(0x20, 8)), (2, 4096));
    iommu.allow(2, 0x5000, 0x2000, &mut take).unwrap();
    assert_eq!(iommu.take_refused(), None);
    unit.put(0x220, 8, 0x1234_5000);
    unit.put(0x228, 8, 1 << 63 | 7 << 3);
    assert_eq!(iommu.take_refused().map(|refused| (refused.slot, refused.page)), Some((7, 0x1234_5000)));
    assert_eq!(iommu.take_refused(), None);
}

#[test]
fn a_unit_that_does_nothing_is_not_used() {
    assert!(Iommu::start(Fake::new(true, true), pages()).is_err());
    assert!(Iommu::start(Fake::new(false, false), pages()).is_err());
}

#[test]
fn a_unit_whose_registers_lie_elsewhere_is_not_used() {
    for (at, value) in [(0x10, 0x3ff << 8), (0x08, 1 << 9 | 0x3ff << 24), (0x08, 1 << 9 | 0x22 << 24 | 0xff << 40)] {
        let unit = Fake::new(true, false);
        unit.put(at, 8, value);
        assert!(Iommu::start(unit, pages()).is_err());
    }
}
