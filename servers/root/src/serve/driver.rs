//! Protocol `driver`: what a driver asks of us.

use crate::drives::Drive;
use crate::objects::Kind;
use crate::root::Root;
use crate::table::Key;
use nacre_proto::driver::{Server, carry_out, device, interrupts, line, memory, mix, ready, registers};
use nacre_proto::server::Output;
use nacre_proto::{Answer, Errno, HandlerResult, Request};
use nacre_sys::Reference;

impl Root {
    /// Number of the device whose driver asks.
    pub(super) fn drive_number(&self, request: &Request<'_>) -> Result<usize, Errno> {
        match self.objects.get(Key::from_word(request.word())).map(|object| &object.kind) {
            Some(Kind::Driver(number)) => Ok(*number),
            _ => Err(Errno::ENOSYS),
        }
    }

    fn drive(&self, request: &Request<'_>) -> Result<&Drive, Errno> {
        self.drives.get(self.drive_number(request)?).ok_or(Errno::ENODEV)
    }
}

impl Server for Root {
    fn device(&mut self, request: &mut Request<'_>) -> HandlerResult<device::Output> {
        let drive = self.drive(request)?;
        let slot = drive.handed.slot;
        let space = drive.handed.space.clone();
        request.put(&space);
        device::Output { slot: slot.into() }.now()
    }

    fn registers(&mut self, request: &mut Request<'_>, number: u64) -> HandlerResult<registers::Output> {
        let (size, window) = self.drive(request)?.handed.registers(number)?;
        registers::Output { size, window: window.into() }.now()
    }

    fn memory(&mut self, request: &mut Request<'_>) -> HandlerResult<memory::Output> {
        let drive = self.drive(request)?;
        let [device, part] = drive.memory_sizes();
        memory::Output { address: drive.handed.address, device, part, memory: drive.handed.memory_region()?.into() }.now()
    }

    fn ready(&mut self, request: &mut Request<'_>, _: Reference) -> HandlerResult<ready::Output> {
        let number = self.drive_number(request)?;
        let wire = request.keep(0)?;
        let reply = request.detach()?;
        self.drives.ready(number, wire, reply)?;
        Ok(Answer::Later)
    }

    fn line(&mut self, request: &mut Request<'_>) -> HandlerResult<line::Output> {
        line::Output { line: self.drive(request)?.interrupts.line()?.into() }.now()
    }

    fn interrupts(&mut self, request: &mut Request<'_>, bits: u64, _: Reference) -> HandlerResult<interrupts::Output> {
        let number = self.drive_number(request)?;
        let port = request.keep(0)?;
        self.drives.get_mut(number).ok_or(Errno::ENODEV)?.interrupts.pass_to(port, bits)?;
        interrupts::Output::default().now()
    }

    fn mix(&mut self, request: &mut Request<'_>, random: &[u8]) -> HandlerResult<mix::Output> {
        let number = self.drive_number(request)?;
        if !self.drives.is_source(number) {
            return Err(Errno::EPERM);
        }
        self.random.add(random);
        mix::Output::default().now()
    }

    fn carry_out(&mut self, _: &mut Request<'_>, _: u64, _: u64) -> HandlerResult<carry_out::Output> {
        Err(Errno::ENOSYS)
    }
}
