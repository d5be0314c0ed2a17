//! Interrupts of a device in the hands of a driver.

use crate::bus::Handed;
use nacre_abi::environment::INTERRUPTS;
use nacre_proto::Errno;
use nacre_sys::{OwnedReference, Reference, io, ipc};

const LINES: Reference = Reference(INTERRUPTS);

/// Interrupts of a device, as its driver gets them.
#[derive(Default)]
pub enum Interrupts {
    /// A driver that gets none.
    #[default]
    None,
    /// A driver that gets them from the kernel, by the line.
    Line(u64),
    /// A driver that gets them from root, which has another device on the line: the port that is
    /// notified, and with which bits.
    Passed(Option<(OwnedReference, u64)>),
}

impl Interrupts {
    /// Returns the fate of the interrupts on a line, if one of the machine's lines is `bound`.
    pub fn of(line: Option<u64>, bound: Option<u64>) -> Interrupts {
        match line {
            None => Interrupts::None,
            line if line == bound => Interrupts::Passed(None),
            Some(line) => Interrupts::Line(line),
        }
    }

    /// Returns a reference to the line, and to no other.
    pub fn line(&self) -> Result<OwnedReference, Errno> {
        let Interrupts::Line(line) = self else { return Err(Errno::ENODEV) };
        let reference = OwnedReference::null()?;
        io::interrupt_reference(LINES, reference.handle(), *line, 1)?;
        Ok(reference)
    }

    /// Names who is told of interrupts that root passes on.
    pub fn pass_to(&mut self, port: OwnedReference, bits: u64) -> Result<(), Errno> {
        let Interrupts::Passed(told) = self else { return Err(Errno::ENODEV) };
        *told = Some((port, bits));
        Ok(())
    }

    /// Forgets a driver that has ended.
    pub fn forget(&mut self) {
        if let Interrupts::Passed(told) = self {
            *told = None;
        }
    }

    /// Takes the interrupt of a device whose line went up, and tells its driver.
    pub fn pass(&self, handed: &Handed) {
        let Interrupts::Passed(told) = self else { return };
        if let (true, Some((port, bits))) = (handed.take_interrupt(), told) {
            // One that has gone need not hear of it.
            let _ = ipc::notify(port.handle(), *bits);
        }
    }
}
