//! The network card among the devices: its clients call its driver themselves, and its driver has
//! its interrupts.

use super::{Drive, Drives};
use alloc::vec::Vec;
use nacre_abi::environment::INTERRUPTS;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::Errno;
use nacre_sys::{OwnedReference, Reference, io, ipc};

const LINES: Reference = Reference(INTERRUPTS);

/// Interrupts of a device, as its driver gets them.
#[derive(Default)]
pub enum Interrupts {
    /// Not at all.
    #[default]
    None,
    /// From the kernel, by the line.
    Line(u64),
    /// From root, which has another device on the line: the port that is notified, and with which
    /// bits.
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
}

impl Drive {
    /// Takes the interrupt of a device on a shared line, and tells its driver.
    fn pass_interrupt(&self) {
        let Interrupts::Passed(told) = &self.interrupts else { return };
        if let (true, Some((port, bits))) = (self.handed.take_interrupt(), told) {
            // One that has gone need not hear of it.
            let _ = ipc::notify(port.handle(), *bits);
        }
    }
}

impl Drives {
    /// Tells drivers of the interrupts of devices that share the line which went up.
    pub fn pass_interrupts(&self) {
        self.all.iter().for_each(Drive::pass_interrupt);
    }

    /// Returns the number of the card's driver, and the port of it for clients. The driver with the
    /// number `failed` is ended, at the next [`crate::root::Root::settle_drives`].
    pub fn card(&mut self, failed: u64) -> Result<(u64, OwnedReference), Errno> {
        let drive = self.all.iter().find(|drive| drive.listed.kind.files.is_none() && !drive.is_over).ok_or(Errno::EIO)?;
        let number = u64::from(drive.generation) + 1;
        let mut line = drive.line.borrow_mut();
        if failed == number && line.wire.is_some() {
            (line.wire, line.silent) = (None, Some(0));
        }
        let wire = line.wire.as_ref().filter(|_| drive.waiting.is_none()).ok_or(Errno::EAGAIN)?;
        Ok((number, OwnedReference::copy_of(wire.handle(), REFERENCE_USE)?))
    }
}

/// Returns a sentence for people about a device that cannot be used.
pub(super) fn sentence(name: &[u8], why: &str) -> Vec<u8> {
    [name, b": cannot be used: ", why.as_bytes()].concat()
}
