//! Devices on PCI that root gives their registers and memory. Memory of a device is never given
//! back: what a device may write must not be free.

use crate::device_memory::{DeviceMemory, MAX_REGISTERS, take, window};
use crate::{iommu, memory};
use core::ops::Range;
use nacre_abi::environment::IO_PORTS;
use nacre_abi::rights::REFERENCE_USE;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_proto::Errno;
use nacre_sys::{OwnedReference, OwnedRegion, Reference, Window, io};
use nacre_virtio::{CONSOLE, Configuration, Console, Fault, Function, Layout, Memory, Shared, VENDOR, find, find_next};

const ALL_PORTS: Reference = Reference(IO_PORTS);
/// Ports of the configuration space: which word, and its value.
const INDEX: u16 = 0xcf8;
const DATA: u16 = 0xcfc;
const ENABLE: u32 = 1 << 31;
/// Place for registers that the firmware has not placed: below the interrupt controllers, where no
/// machine has memory. Each slot has its part.
const PLACE: u32 = 0xe000_0000;

/// Rights of what a driver gets.
const GIVEN: Rights = Rights::READ.union(Rights::WRITE);

/// The configuration space, by ports.
struct Space;

impl Configuration for Space {
    fn read(&mut self, slot: u8, offset: u8) -> u32 {
        let selected = io::write(ALL_PORTS, INDEX, 4, word(slot, offset));
        selected.and_then(|()| io::read(ALL_PORTS, DATA, 4)).unwrap_or(u32::MAX)
    }

    fn write(&mut self, slot: u8, offset: u8, value: u32) {
        let selected = io::write(ALL_PORTS, INDEX, 4, word(slot, offset));
        let _ = selected.and_then(|()| io::write(ALL_PORTS, DATA, 4, value));
    }
}

fn word(slot: u8, offset: u8) -> u32 {
    ENABLE | u32::from(slot) << 11 | u32::from(offset & !3)
}

/// Starts the machine's console with many ports. Returns it with its interrupt line. `ranges` is
/// all memory of the machine.
pub fn console(ranges: &[Range<u64>]) -> Result<(Console<DeviceMemory>, u64), Fault> {
    let function = find(&mut Space, VENDOR, CONSOLE).ok_or(Fault("there is no such device"))?;
    let line = function.line(&mut Space).ok_or(Fault("the device has no interrupt"))?;
    let console = Console::start(&mut Space, function, |number| registers(function, number, ranges), &mut |size| take_for(function, size));
    if console.is_err() {
        function.turn(&mut Space, false);
    }
    Ok((console?, line))
}

/// A device that is handed to a driver: its registers are mapped and it is turned on, and it has
/// memory.
pub struct Handed {
    /// Slot of the device.
    pub slot: u8,
    /// Interrupt line of the device.
    pub line: Option<u64>,
    /// Configuration space as it is.
    pub space: Vec<u8>,
    /// Memory that the device reaches, and its address as the device counts.
    pub memory: Window,
    /// See [`Handed::memory`].
    pub address: u64,
    memory_region: OwnedRegion,
    /// Number, bytes and region of the registers.
    registers: (u64, u64, OwnedRegion),
    /// The registers, and the place of the one that takes interrupts.
    interrupts: (DeviceMemory, u64),
}

impl Handed {
    /// Returns the registers with this number, and how many bytes there are.
    pub fn registers(&self, number: u64) -> Result<(u64, OwnedReference), Errno> {
        let (known, size, region) = &self.registers;
        if *known != number {
            return Err(Errno::ENODEV);
        }
        Ok((*size, region.new_reference(REFERENCE_USE)?))
    }

    /// Returns the memory.
    pub fn memory_region(&self) -> Result<OwnedReference, Errno> {
        Ok(self.memory_region.new_reference(REFERENCE_USE)?)
    }

    /// Takes the device's interrupt: its line goes down. Returns false if there was none.
    pub fn take_interrupt(&self) -> bool {
        let (registers, at) = &self.interrupts;
        registers.read(*at, 1) != 0
    }

    /// Lets the device read and write memory, which is all zeros then, or keeps it from that.
    pub fn turn(&self, on: bool) {
        if on {
            let _ = self.memory.fill(0, self.memory.size(), 0);
        }
        Function { slot: self.slot }.turn(&mut Space, on);
    }
}

/// Prepares the device of this kind that has so many before it, with so many bytes of memory.
pub fn hand_out(ranges: &[Range<u64>], device: u16, before: usize, size: u64) -> Result<Handed, Fault> {
    const LACK: Fault = Fault("there is no memory for it");
    let function = find_next(&mut Space, VENDOR, device, before).ok_or(Fault("there is no such device"))?;
    let (layout, bar) = Layout::read(&mut Space, function)?;
    let (window, bytes) = registers(function, bar, ranges).ok_or(Fault("its registers cannot be mapped"))?;
    let shared = take_for(function, size).ok_or(LACK)?;
    let start = window.0.start() - memory::LINE;
    Ok(Handed {
        slot: function.slot,
        line: function.line(&mut Space),
        space: (0..64).flat_map(|word| Space.read(function.slot, 4 * word).to_le_bytes()).collect(),
        memory: shared.memory.0,
        address: shared.address,
        memory_region: memory::region(shared.address, size, GIVEN).map_err(|_| LACK)?,
        registers: (bar.into(), bytes, memory::region(start, bytes, GIVEN).map_err(|_| LACK)?),
        interrupts: (window, layout.interrupt_at()),
    })
}

/// Maps a function's registers and turns it on.
fn registers(function: Function, number: u8, ranges: &[Range<u64>]) -> Option<(DeviceMemory, u64)> {
    function.turn(&mut Space, false);
    let bar = function.bar(&mut Space, number)?;
    let start = if bar.start == 0 { u64::from(PLACE) + u64::from(function.slot) * MAX_REGISTERS } else { bar.start };
    if bar.start == 0 {
        function.place(&mut Space, number, start as u32);
    }
    let window = window(start, bar.size.checked_next_multiple_of(crate::frames::FRAME)?, ranges)?;
    function.turn(&mut Space, true);
    Some((window, bar.size))
}

/// Takes memory for a device, which it may reach.
fn take_for(function: Function, size: u64) -> Option<Shared<DeviceMemory>> {
    let shared = take(size.next_multiple_of(crate::frames::FRAME))?;
    iommu::allow(function.slot, shared.address, shared.memory.0.size()).ok()?;
    Some(shared)
}
