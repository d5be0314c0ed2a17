//! The unit that holds devices to their memory, if the machine has one. It is the machine's own: it
//! stands before all devices, whoever drives them.

use crate::boot::BootFacts;
use crate::device_memory::{DeviceMemory, take, window};
use crate::memory;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use nacre_iommu::{Iommu, PAGE, Physical, Refused, find};
use nacre_sys::Window;
use nacre_sys::lock::Lock;
use nacre_virtio::Fault;

/// The unit, once it was started.
static UNIT: Lock<Option<Iommu<DeviceMemory>>> = Lock::new(None);

/// Memory below this is the kernel's: what a boot loader copied there cannot be looked at.
const START: u64 = 0xa_0000;
/// Addresses above this are of no table of the firmware's.
const END: u64 = 1 << 46;
/// Number of pages of the firmware's that are looked at, at most.
const MAX_PAGES: usize = 64;

/// Tables of the firmware's, which lie beside the machine's memory: pages are mapped as they are
/// looked at.
struct Firmware {
    own: Vec<Range<u64>>,
    pages: BTreeMap<u64, Option<Window>>,
}

impl Firmware {
    fn page(&mut self, start: u64) -> Option<Window> {
        if let Some(known) = self.pages.get(&start) {
            return *known;
        }
        let is_other = (START..END).contains(&start) && self.own.iter().all(|range| start + PAGE <= range.start || range.end <= start);
        let mapped = is_other && self.pages.len() < MAX_PAGES && memory::map_window(start, PAGE, false).is_ok();
        let page = if mapped { memory::window(start, PAGE) } else { None };
        self.pages.insert(start, page);
        page
    }
}

impl Physical for Firmware {
    fn read(&mut self, at: u64, into: &mut [u8]) -> Option<()> {
        let mut done = 0;
        while done < into.len() {
            let from = at.checked_add(done as u64)?;
            let inside = from % PAGE;
            let count = (into.len() - done).min((PAGE - inside) as usize);
            self.page(from - inside)?.read(inside, &mut into[done..done + count])?;
            done += count;
        }
        Some(())
    }
}

/// Has the unit refuse all devices everything. A machine without one is left as it is.
pub fn start(facts: &BootFacts) -> Result<(), Fault> {
    if facts.acpi_root == 0 {
        return Ok(());
    }
    let own = facts.own_ranges();
    let mut firmware = Firmware { own: own.clone(), pages: BTreeMap::new() };
    let Some(at) = find(&mut firmware, facts.acpi_root) else { return Ok(()) };
    let registers = window(at, PAGE, &own).ok_or(Fault("its registers cannot be mapped"))?;
    *UNIT.lock() = Some(Iommu::start(registers, || take(PAGE))?);
    Ok(())
}

/// Lets the device in this slot reach memory: whole pages.
pub fn allow(slot: u8, start: u64, size: u64) -> Result<(), Fault> {
    match &mut *UNIT.lock() {
        Some(unit) => unit.allow(slot, start, size, || take(PAGE)),
        None => Ok(()),
    }
}

/// Takes an access that a device was refused, if there was one.
pub fn take_refused() -> Option<Refused> {
    UNIT.lock().as_ref()?.take_refused()
}
