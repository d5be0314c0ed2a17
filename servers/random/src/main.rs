//! Drives a source of random bytes: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use nacre_abi::message::NO_REFERENCES;
use nacre_abi::rights::REFERENCE_USE;
use nacre_driver::{DeviceMemory, Hands, interrupts, registers, say};
use nacre_proto::{Errno, Event, ServerEndpoint, driver};
use nacre_rt::Arguments;
use nacre_sys::{Code, OwnedPort, OwnedReference, PortSet, Reference, io};
use nacre_virtio::{Entropy, PORTION};

nacre_rt::entry!(random);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a driver of Nacre: build it for a target without an operating system.");
}

/// Exit status of a driver that could not begin, or had to give up.
const FAILED: i32 = 1;
/// Bit of the device's interrupt in a notification.
const INTERRUPT: u64 = 1;
/// Nanoseconds between two portions.
const PAUSE: u64 = 60_000_000_000;

/// The source.
struct Source {
    device: Entropy<DeviceMemory>,
    /// The interrupt line, if the device has it for itself.
    line: Option<OwnedReference>,
}

impl Source {
    /// Gives root what has come.
    fn interrupted(&mut self) -> Result<(), String> {
        self.device.take_interrupt();
        if let Some(line) = &self.line {
            let _ = io::interrupt_acknowledge(line.handle(), 0);
        }
        let mut bytes = [0; PORTION];
        match self.device.take(&mut bytes) {
            // Root has what it had where it does not take them.
            Ok(Some(count)) => drop(driver::mix(Reference::PARENT, &bytes[..count])),
            Ok(None) => {}
            Err(fault) => return Err(format!("cannot be used any more: {}", fault.0)),
        }
        Ok(())
    }

    /// Asks for a portion each minute, until root wants no more or the device is of no use.
    fn serve(&mut self, endpoint: &mut ServerEndpoint, port: &OwnedPort) -> Result<(), String> {
        self.device.ask();
        loop {
            match endpoint.next(port.address(), PAUSE) {
                Ok(Event::Request(mut request)) => request.refuse(Errno::ENOSYS),
                Ok(Event::Notification { bits, .. }) if bits & NO_REFERENCES != 0 => return Ok(()),
                Ok(Event::Notification { bits, .. }) if bits & INTERRUPT != 0 => self.interrupted()?,
                Ok(_) => {}
                Err(status) if status.code() == Some(Code::TimedOut) => self.device.ask(),
                Err(status) => return Err(format!("hears nothing any more: {}", Errno::from(status))),
            }
        }
    }
}

fn run() -> Result<(), String> {
    let failed = |what: &'static str| move |errno: Errno| format!("cannot get {what}: {errno}");
    let port = OwnedPort::new(0, PortSet::NONE).map_err(|status| failed("a port")(status.into()))?;
    let wire = port.new_reference(REFERENCE_USE).map_err(|status| failed("a wire")(status.into()))?;
    let mut endpoint = ServerEndpoint::new(0).map_err(failed("memory"))?;
    let mut hands = Hands::take()?;
    let memory = hands.for_device();
    let device = Entropy::start(&mut hands.space, hands.function, registers, |_| Some(memory)).map_err(|fault| format!("cannot be used: {}", fault.0))?;
    let line = interrupts(&port, INTERRUPT).map_err(failed("its interrupts"))?;
    driver::ready(Reference::PARENT, wire.handle()).map_err(|errno| format!("cannot begin: {errno}"))?;
    drop(wire);
    Source { device, line }.serve(&mut endpoint, &port)
}

fn random(arguments: &Arguments) -> i32 {
    match run() {
        Ok(()) => 0,
        Err(why) => {
            say(arguments.get(2).unwrap_or(b"the source of random bytes"), &why);
            FAILED
        }
    }
}
