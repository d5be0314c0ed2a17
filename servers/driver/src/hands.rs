//! What root gave: the device and memory, mapped.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::{Errno, driver};
use nacre_sys::window::WINDOWS;
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space, Window};
use nacre_virtio::{Configuration, Function, Memory, Shared};

/// Bytes of a configuration space.
const SPACE: usize = 256;
/// Addresses of the memory and of the registers.
const MEMORY: u64 = WINDOWS.start;
const REGISTERS: u64 = WINDOWS.start + (1 << 32);
/// Largest window.
const MAX_WINDOW: u64 = 1 << 30;

/// Memory or registers that the device has, too.
#[derive(Clone, Copy)]
pub struct DeviceMemory(Window);

impl DeviceMemory {
    /// Returns its size in bytes.
    pub fn size(&self) -> u64 {
        self.0.size()
    }
}

impl Memory for DeviceMemory {
    fn read(&self, at: u64, width: u64) -> u64 {
        self.0.load(at, width).unwrap_or(u64::MAX)
    }

    fn write(&self, at: u64, width: u64, value: u64) {
        let _ = self.0.store(at, width, value);
    }

    fn copy_out(&self, at: u64, to: &mut [u8]) {
        let _ = self.0.read(at, to);
    }

    fn copy_in(&self, at: u64, from: &[u8]) {
        let _ = self.0.write(at, from);
    }
}

/// Configuration space as it was. Root has turned the device on.
pub struct SpaceCopy(Vec<u8>);

impl Configuration for SpaceCopy {
    fn read(&mut self, _: u8, offset: u8) -> u32 {
        let at = usize::from(offset & !3);
        self.0.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes))
    }

    fn write(&mut self, _: u8, _: u8, _: u32) {}
}

/// Device and memory that root gave. The head of this module describes it.
pub struct Hands {
    /// Configuration space of the device.
    pub space: SpaceCopy,
    /// The device.
    pub function: Function,
    /// Memory for the device alone; a request of root's; its answer.
    parts: [Window; 3],
    /// All of that, one behind the other.
    memory: Shared<DeviceMemory>,
}

impl Hands {
    /// Asks root for all of it.
    pub fn take() -> Result<Hands, String> {
        let failed = |what: &'static str| move |errno: Errno| format!("cannot get {what}: {errno}");
        let mut space = [0; SPACE];
        let device = driver::device(Reference::PARENT, &mut space[..]).map_err(failed("the device"))?;
        let given = driver::memory(Reference::PARENT).map_err(failed("memory for the device"))?;
        let size = given.part.checked_mul(2).and_then(|parts| parts.checked_add(given.device)).ok_or("memory for the device makes no sense")?;
        let memory = map(MEMORY, size, given.memory).map_err(failed("memory for the device"))?;
        let part = |start, size| memory.part(start, size).ok_or("memory for the device makes no sense");
        Ok(Hands {
            space: SpaceCopy(space.to_vec()),
            function: Function { slot: device.slot as u8 },
            parts: [part(0, given.device)?, part(given.device, given.part)?, part(given.device + given.part, given.part)?],
            memory: Shared { memory: DeviceMemory(memory), address: given.address },
        })
    }

    /// Memory for the device alone.
    pub fn for_device(&self) -> Shared<DeviceMemory> {
        Shared { memory: DeviceMemory(self.parts[0]), address: self.memory.address }
    }

    /// Memory for the device alone, a part for each time that it is asked.
    pub fn for_device_in_parts(&self) -> impl FnMut(u64) -> Option<Shared<DeviceMemory>> + use<> {
        let (memory, address, mut taken) = (self.parts[0], self.memory.address, 0);
        move |size| {
            let part = Shared { memory: DeviceMemory(memory.part(taken, size)?), address: address + taken };
            taken += size;
            Some(part)
        }
    }

    /// Memory for the device, and behind it the parts for a request and for its answer, for a
    /// device that reads and writes these itself.
    pub fn for_device_and_requests(&self) -> Shared<DeviceMemory> {
        self.memory.clone()
    }

    /// A request of root's.
    pub fn request(&self) -> Window {
        self.parts[1]
    }

    /// The answer to it.
    pub fn answer(&self) -> Window {
        self.parts[2]
    }
}

/// Maps the registers with this number; they, and how many bytes the device has there.
pub fn registers(number: u8) -> Option<(DeviceMemory, u64)> {
    let given = driver::registers(Reference::PARENT, number.into()).ok()?;
    let window = map(REGISTERS, given.size.checked_next_multiple_of(PAGE_SIZE)?, given.window).ok()?;
    Some((DeviceMemory(window), given.size))
}

/// Maps memory for good.
fn map(start: u64, size: u64, region: OwnedReference) -> Result<Window, Errno> {
    if size > MAX_WINDOW {
        return Err(Errno::ENOMEM);
    }
    OwnedMapping::new(Space::OWN, start, size, Region::through(region.handle()), 0, Rights::READ.union(Rights::WRITE))?.leak();
    Window::new(start, size).ok_or(Errno::ENOMEM)
}
