//! Drives the network card, and serves its frames: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod frames;

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use frames::Failure;
use nacre_abi::message::{MAX_BYTES, NO_REFERENCES};
use nacre_abi::rights::REFERENCE_USE;
use nacre_driver::{DeviceMemory, Hands, interrupts, registers, say};
use nacre_proto::nic::{self, Server, facts, receive, send, watch};
use nacre_proto::server::Output;
use nacre_proto::{Errno, Event, HandlerResult, Request, ServerEndpoint, driver};
use nacre_rt::Arguments;
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, PortSet, Reference, io, ipc};
use nacre_virtio::{Fault, MAX_FRAME, Network};

nacre_rt::entry!(card);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a driver of Nacre: build it for a target without an operating system.");
}

/// Exit status of a driver that could not begin, or had to give up.
const FAILED: i32 = 1;
/// Bit of the card's interrupt in a notification.
const INTERRUPT: u64 = 1;

/// The card, and the client that is told of frames.
struct Card {
    device: Network<DeviceMemory>,
    /// The interrupt line, if the card has it for itself.
    line: Option<OwnedReference>,
    fault: Option<Fault>,
    /// Port that is told that frames have come, and with which bits.
    watcher: Option<(OwnedReference, u64)>,
    /// Frames for an answer.
    answer: Vec<u8>,
}

impl Card {
    /// Starts the card. Its interrupts go to `port`.
    fn start(hands: &mut Hands, port: &OwnedPort) -> Result<Card, String> {
        let memory = hands.for_device_in_parts();
        let device = Network::start(&mut hands.space, hands.function, registers, memory).map_err(|fault| String::from(fault.0))?;
        let line = interrupts(port, INTERRUPT).map_err(|errno| format!("its interrupts cannot be had: {errno}"))?;
        Ok(Card { device, line, fault: None, watcher: None, answer: vec![0; MAX_BYTES as usize] })
    }

    fn tell(&self) {
        if let Some((port, bits)) = &self.watcher {
            // One that has gone need not hear of it.
            let _ = ipc::notify(port.handle(), *bits);
        }
    }

    /// Does what is due after an interrupt.
    fn interrupted(&mut self) {
        self.device.take_interrupt();
        if let Some(line) = &self.line {
            let _ = io::interrupt_acknowledge(line.handle(), 0);
        }
        self.tell();
    }

    /// Takes the card out of use if it broke the rules. Returns the client's error.
    fn judge(&mut self, failure: Failure) -> Errno {
        match failure {
            Failure::Client(errno) => errno,
            Failure::Card(fault) => {
                self.device.stop();
                self.fault = Some(fault);
                Errno::EIO
            }
        }
    }

    /// Carries out requests as they come, until root wants no more or the card is of no use.
    fn serve(&mut self, endpoint: &mut ServerEndpoint, port: &OwnedPort) -> Result<(), String> {
        loop {
            match endpoint.next(port.address(), FOREVER) {
                Ok(Event::Request(mut request)) => nic::dispatch(self, &mut request),
                Ok(Event::Notification { bits, .. }) if bits & NO_REFERENCES != 0 => return Ok(()),
                Ok(Event::Notification { bits, .. }) if bits & INTERRUPT != 0 => self.interrupted(),
                Ok(_) => {}
                Err(status) => return Err(format!("gets no more requests: {}", Errno::from(status))),
            }
            if let Some(fault) = self.fault {
                return Err(format!("cannot be used any more: {}", fault.0));
            }
        }
    }
}

impl Server for Card {
    fn facts(&mut self, _: &mut Request<'_>) -> HandlerResult<facts::Output> {
        let [a, b, c, d, e, f] = self.device.address();
        facts::Output { address: u64::from_le_bytes([a, b, c, d, e, f, 0, 0]), frame: MAX_FRAME as u64 }.now()
    }

    fn send(&mut self, _: &mut Request<'_>, bytes: &[u8]) -> HandlerResult<send::Output> {
        let count = frames::send(&mut self.device, bytes).map_err(|failure| self.judge(failure))?;
        send::Output { count }.now()
    }

    fn receive(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<receive::Output> {
        let size = size.min(MAX_BYTES) as usize;
        let count = frames::receive(&mut self.device, &mut self.answer[..size]).map_err(|failure| self.judge(failure))?;
        request.put(&self.answer[..count]);
        receive::Output::default().now()
    }

    fn watch(&mut self, request: &mut Request<'_>, bits: u64, _: Reference) -> HandlerResult<watch::Output> {
        if bits == 0 {
            return Err(Errno::EINVAL);
        }
        self.watcher = Some((request.keep(0)?, bits));
        // What has come already is told of, too.
        self.tell();
        watch::Output::default().now()
    }
}

fn run() -> Result<(), String> {
    let failed = |what: &'static str| move |errno: Errno| format!("cannot get {what}: {errno}");
    let port = OwnedPort::new(0, PortSet::NONE).map_err(|status| failed("a port")(status.into()))?;
    let wire = port.new_reference(REFERENCE_USE).map_err(|status| failed("a wire")(status.into()))?;
    let mut endpoint = ServerEndpoint::new(MAX_BYTES as usize).map_err(failed("memory"))?;
    let mut hands = Hands::take()?;
    let mut card = Card::start(&mut hands, &port).map_err(|why| format!("cannot be used: {why}"))?;
    driver::ready(Reference::PARENT, wire.handle()).map_err(|errno| format!("cannot begin: {errno}"))?;
    drop(wire);
    card.serve(&mut endpoint, &port)
}

fn card(arguments: &Arguments) -> i32 {
    match run() {
        Ok(()) => 0,
        Err(why) => {
            say(arguments.get(2).unwrap_or(b"the network card"), &why);
            FAILED
        }
    }
}
