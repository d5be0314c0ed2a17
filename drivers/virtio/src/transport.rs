//! A virtio device on PCI, from reset to its first request (sections 3.1 and 4.1 of the
//! specification).

use crate::memory::Memory;
use crate::pci::{Configuration, Function};
use crate::queue::Queue;
use crate::{Fault, Shared};

/// Kinds of structures that capabilities lead to.
const COMMON: u32 = 1;
const NOTIFY: u32 = 2;
const INTERRUPT: u32 = 3;
const OWN: u32 = 4;

/// Registers of the common structure.
mod register {
    pub const DEVICE_FEATURE_SELECT: u64 = 0;
    pub const DEVICE_FEATURE: u64 = 4;
    pub const DRIVER_FEATURE_SELECT: u64 = 8;
    pub const DRIVER_FEATURE: u64 = 12;
    pub const QUEUE_COUNT: u64 = 18;
    pub const STATUS: u64 = 20;
    pub const QUEUE_SELECT: u64 = 22;
    pub const QUEUE_SIZE: u64 = 24;
    pub const QUEUE_ENABLE: u64 = 28;
    pub const QUEUE_NOTIFY: u64 = 30;
    pub const QUEUE_PARTS: [u64; 3] = [32, 40, 48];
}

/// Bits of the status.
const FOUND: u64 = 1;
const DRIVEN: u64 = 2;
const RUNNING: u64 = 4;
const AGREED: u64 = 8;
/// The device follows version 1 of the specification.
const VERSION_1: u64 = 1 << 32;
/// Something may stand between the device and memory: then the driver has to know of it.
const ANY_PLATFORM: u64 = 1 << 33;
/// Looks at the status until a reset is over.
const MAX_LOOKS: u32 = 100_000;

/// A structure of registers: the number of its BAR, the first byte there, its size.
#[derive(Clone, Copy, Debug, Default)]
struct Structure {
    bar: u8,
    start: u64,
    size: u64,
}

/// The places of a device's registers, as its capabilities tell.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    structures: [Structure; 4],
    /// Bytes between the notification registers of two queues.
    stride: u64,
}

impl Layout {
    /// Reads the capabilities. All structures must be in one BAR, whose number is returned.
    pub fn read(space: &mut impl Configuration, function: Function) -> Result<(Layout, u8), Fault> {
        let mut found: [Option<Structure>; 4] = [None; 4];
        let mut stride = 0;
        for at in function.capabilities(space) {
            let kind = function.word(space, at, 0) >> 24;
            let Some(place) = (COMMON..=OWN).contains(&kind).then(|| &mut found[kind as usize - 1]) else { continue };
            if place.is_some() {
                continue;
            }
            let bar = function.word(space, at, 4) as u8;
            let (start, size) = (function.word(space, at, 8).into(), function.word(space, at, 12).into());
            *place = Some(Structure { bar, start, size });
            if kind == NOTIFY {
                stride = function.word(space, at, 16).into();
            }
        }
        let [Some(common), Some(notify), Some(interrupt), Some(own)] = found else { return Err(Fault("a structure of registers is absent")) };
        let structures = [common, notify, interrupt, own];
        if structures.iter().any(|structure| structure.bar != common.bar || structure.bar > 5) {
            return Err(Fault("registers are in several ranges"));
        }
        Ok((Layout { structures, stride }, common.bar))
    }

    /// Returns the place of the register that takes interrupts, in the BAR.
    pub fn interrupt_at(&self) -> u64 {
        self.structures[INTERRUPT as usize - 1].start
    }
}

/// A device.
pub struct Transport<M> {
    registers: M,
    layout: Layout,
}

impl<M: Memory> Transport<M> {
    /// The device whose registers are `registers`, a BAR of `size` bytes.
    pub fn new(registers: M, size: u64, layout: Layout) -> Result<Transport<M>, Fault> {
        let fits = |structure: &Structure| structure.start.checked_add(structure.size).is_some_and(|end| end <= size);
        if !layout.structures.iter().all(fits) || layout.structures[0].size < 56 {
            return Err(Fault("a structure leaves its range"));
        }
        Ok(Transport { registers, layout })
    }

    fn place(&self, kind: u32) -> Structure {
        self.layout.structures[kind as usize - 1]
    }

    fn read(&self, register: u64, width: u64) -> u64 {
        self.registers.read(self.place(COMMON).start + register, width)
    }

    fn write(&self, register: u64, width: u64, value: u64) {
        self.registers.write(self.place(COMMON).start + register, width, value);
    }

    /// Resets the device: afterwards it reads and writes no memory.
    pub fn reset(&self) -> Result<(), Fault> {
        self.write(register::STATUS, 1, 0);
        let is_reset = (0..MAX_LOOKS).any(|_| self.read(register::STATUS, 1) == 0);
        if is_reset { Ok(()) } else { Err(Fault("the device cannot be reset")) }
    }

    /// Resets the device and agrees on `features`, all of which it must have.
    pub fn begin(&self, features: u64) -> Result<(), Fault> {
        self.reset()?;
        self.write(register::STATUS, 1, FOUND | DRIVEN);
        let wanted = features | VERSION_1;
        for half in 0..2 {
            self.write(register::DEVICE_FEATURE_SELECT, 4, half);
            let (mut part, offered) = (wanted >> (32 * half) & 0xffff_ffff, self.read(register::DEVICE_FEATURE, 4));
            if offered & part != part {
                return Err(Fault("the device lacks a feature"));
            }
            part |= ANY_PLATFORM >> (32 * half) & offered & 0xffff_ffff;
            self.write(register::DRIVER_FEATURE_SELECT, 4, half);
            self.write(register::DRIVER_FEATURE, 4, part);
        }
        self.write(register::STATUS, 1, FOUND | DRIVEN | AGREED);
        let has_agreed = self.read(register::STATUS, 1) & AGREED != 0;
        if has_agreed { Ok(()) } else { Err(Fault("the device does not agree")) }
    }

    /// Sets up a queue with `count` buffers of `buffer_size` bytes in `memory`, of
    /// [`Queue::memory_size`] bytes.
    pub fn queue(&self, number: u16, memory: Shared<M>, (count, buffer_size): (usize, u64)) -> Result<Queue<M>, Fault> {
        let (queue, parts) = Queue::new(memory, count, buffer_size);
        let notify_at = self.announce(number, count as u64, parts)?;
        Ok(queue.notified_at(number, notify_at))
    }

    /// Tells the device the addresses of a queue's parts, with room for `size` buffers. Returns the
    /// place where it is notified of the queue.
    pub fn announce(&self, number: u16, size: u64, parts: [u64; 3]) -> Result<u64, Fault> {
        if u64::from(number) >= self.read(register::QUEUE_COUNT, 2) {
            return Err(Fault("the device has too few queues"));
        }
        self.write(register::QUEUE_SELECT, 2, number.into());
        if self.read(register::QUEUE_SIZE, 2) < size {
            return Err(Fault("a queue is too short"));
        }
        self.write(register::QUEUE_SIZE, 2, size);
        for (register, address) in register::QUEUE_PARTS.into_iter().zip(parts) {
            self.write(register, 4, address & 0xffff_ffff);
            self.write(register + 4, 4, address >> 32);
        }
        let notify = self.read(register::QUEUE_NOTIFY, 2).saturating_mul(self.layout.stride);
        if notify.saturating_add(2) > self.place(NOTIFY).size {
            return Err(Fault("a notification register leaves its structure"));
        }
        self.write(register::QUEUE_ENABLE, 2, 1);
        Ok(self.place(NOTIFY).start + notify)
    }

    /// Lets the device run. All queues are set up.
    pub fn run(&self) {
        self.write(register::STATUS, 1, FOUND | DRIVEN | AGREED | RUNNING);
    }

    /// Tells the device that a queue has more buffers.
    pub fn notify(&self, queue: &Queue<M>) {
        let (number, at) = queue.notification();
        self.notify_queue(number, at);
    }

    /// Tells the device at the place for it that the queue with this number has more buffers.
    pub fn notify_queue(&self, number: u16, at: u64) {
        self.registers.write(at, 2, number.into());
    }

    /// Takes the interrupt: the device's line goes down. Returns false if it was not this device's.
    pub fn take_interrupt(&self) -> bool {
        self.registers.read(self.place(INTERRUPT).start, 1) != 0
    }

    /// Reads a word of the device's own structure.
    pub fn own(&self, offset: u64) -> u32 {
        let own = self.place(OWN);
        if offset + 4 <= own.size { self.registers.read(own.start + offset, 4) as u32 } else { u32::MAX }
    }
}
