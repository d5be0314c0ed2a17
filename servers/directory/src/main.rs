//! Drives the device of a directory of the host's: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use nacre_driver::{Carrier, DeviceMemory, Hands, patience, registers, say, serve};
use nacre_nest::clock::Clock;
use nacre_proto::Errno;
use nacre_rt::Arguments;
use nacre_virtio::{Exchange, Fault};

nacre_rt::entry!(directory);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a driver of Nacre: build it for a target without an operating system.");
}

/// Exit status of a driver that could not begin, or had to give up.
const FAILED: i32 = 1;

/// The device, which reads requests and writes answers where root does.
struct Device {
    exchange: Exchange<DeviceMemory>,
    clock: Clock,
    fault: Option<Fault>,
}

impl Device {
    fn start(hands: &mut Hands, clock: Clock) -> Result<Device, Fault> {
        let (memory, size) = (hands.for_device_and_requests(), hands.request().size());
        // Root's parts must be where the device's buffers are.
        let fits = hands.for_device().memory.size() == Exchange::<DeviceMemory>::RINGS;
        let take = |wanted| Some(memory).filter(|memory| fits && wanted == memory.memory.size());
        Ok(Device { exchange: Exchange::start(&mut hands.space, hands.function, registers, take, (size, 0))?, clock, fault: None })
    }

    fn ask(&mut self, size: u64) -> Result<u64, Fault> {
        self.exchange.send_written(size)?;
        let mut goes_on = patience(self.clock);
        loop {
            if let Some(length) = self.exchange.take_answer()? {
                return Ok(length);
            }
            if !goes_on() {
                return Err(Fault("it does not answer"));
            }
            core::hint::spin_loop();
        }
    }
}

impl Carrier for Device {
    fn carry_out(&mut self, size: u64) -> Result<u64, Errno> {
        self.ask(size).map_err(|fault| {
            self.exchange.stop();
            self.fault = Some(fault);
            Errno::EIO
        })
    }

    fn close(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    fn fault(&self) -> Option<&'static str> {
        self.fault.map(|fault| fault.0)
    }
}

fn run() -> Result<(), String> {
    let clock = Clock::find().map_err(|errno| format!("cannot find the clock: {errno}"))?;
    let mut hands = Hands::take()?;
    let mut device = Device::start(&mut hands, clock).map_err(|fault| format!("cannot be used: {}", fault.0))?;
    serve(&mut device, clock)
}

fn directory(arguments: &Arguments) -> i32 {
    match run() {
        Ok(()) => 0,
        Err(why) => {
            say(arguments.get(2).unwrap_or(b"a directory of the host"), &why);
            FAILED
        }
    }
}
