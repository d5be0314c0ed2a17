//! Requests of root's, as they come by the wire: each is carried out once, however often root asks
//! for its answer.

use alloc::format;
use alloc::string::String;
use nacre_abi::message::NO_REFERENCES;
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::clock::Clock;
use nacre_proto::flags::REPORT_MESSAGE;
use nacre_proto::{Errno, Event, ServerEndpoint, driver, parent};
use nacre_sys::{Code, OwnedPort, PortSet, Reference};

/// Nanoseconds without a request after which [`Carrier::tick`] is called.
pub const IDLE: u64 = 5_000_000_000;

/// A device that carries out requests.
pub trait Carrier {
    /// Carries out the request of so many bytes that lies in its part of the memory, and returns
    /// the size of the answer in the other part.
    fn carry_out(&mut self, size: u64) -> Result<u64, Errno>;
    /// Brings everything to the device: there are no more requests.
    fn close(&mut self) -> Result<(), Errno>;
    /// Uses the time between requests.
    fn tick(&mut self) {}
    /// Returns why the device is of no use any more, if it is not. The driver ends then.
    fn fault(&self) -> Option<&'static str> {
        None
    }
}

/// A carrier, and the result of its last request.
struct Once<'a, C> {
    carrier: &'a mut C,
    number: u64,
    result: Result<u64, Errno>,
}

impl<C: Carrier> Once<'_, C> {
    /// Carries out the request with this number, once however often it is asked for.
    fn carry_out(&mut self, size: u64, number: u64) -> Result<u64, Errno> {
        if self.number != number {
            self.number = number;
            self.result = if size == 0 { self.carrier.close().map(|()| 0) } else { self.carrier.carry_out(size) };
        }
        self.result
    }

    /// Carries out requests as they come.
    fn serve(&mut self, endpoint: &mut ServerEndpoint, port: &OwnedPort, clock: Clock) -> Result<(), String> {
        let mut last = clock.now();
        loop {
            match endpoint.next(port.address(), IDLE) {
                Ok(Event::Request(mut request)) if request.label() == driver::carry_out::LABEL => match self.carry_out(request.words()[0], request.words()[1]) {
                    Ok(length) => request.answer(0, [length, 0, 0, 0, 0, 0]),
                    Err(errno) => request.refuse(errno),
                },
                Ok(Event::Notification { bits, .. }) if bits & NO_REFERENCES != 0 => return Ok(()),
                Ok(_) => {}
                Err(status) if status.code() == Some(Code::TimedOut) => {}
                Err(status) => return Err(format!("gets no more requests: {}", Errno::from(status))),
            }
            if let Some(why) = self.carrier.fault() {
                return Err(format!("cannot be used any more: {why}"));
            }
            if clock.now().wrapping_sub(last) >= IDLE {
                self.carrier.tick();
                last = clock.now();
            }
        }
    }
}

/// Says that the device works, and carries out requests until root wants no more. The error is a
/// sentence without its subject, for [`say`].
pub fn serve(carrier: &mut impl Carrier, clock: Clock) -> Result<(), String> {
    let port = OwnedPort::new(0, PortSet::NONE).map_err(|status| format!("has no port: {status:?}"))?;
    let wire = port.new_reference(REFERENCE_USE).map_err(|status| format!("has no wire: {status:?}"))?;
    let mut endpoint = ServerEndpoint::new(0).map_err(|errno| format!("has no memory: {errno}"))?;
    driver::ready(Reference::PARENT, wire.handle()).map_err(|errno| format!("cannot begin: {errno}"))?;
    drop(wire);
    let served = Once { carrier, number: 0, result: Ok(0) }.serve(&mut endpoint, &port, clock);
    let closed = carrier.close();
    served?;
    closed.map_err(|errno| format!("cannot be written any more: {errno}"))
}

/// Tells the person who runs the machine, of a device by its name.
pub fn say(name: &[u8], text: &str) {
    let name = String::from_utf8_lossy(name);
    let _ = parent::report(Reference::PARENT, REPORT_MESSAGE, format!("{name} {text}").as_bytes());
}
