//! Interrupts of the device, from the kernel or, where it shares its line, from root.

use nacre_abi::rights::REFERENCE_NOTIFY;
use nacre_proto::{Errno, driver};
use nacre_sys::{OwnedPort, OwnedReference, Reference, io};

/// Has interrupts come to the port, with this bit. Returns the line, to be acknowledged, if no
/// other device has it.
pub fn interrupts(port: &OwnedPort, bit: u64) -> Result<Option<OwnedReference>, Errno> {
    match driver::line(Reference::PARENT) {
        Ok(reply) => {
            io::interrupt_bind(reply.line.handle(), 0, port.handle(), bit)?;
            Ok(Some(reply.line))
        }
        Err(Errno::ENODEV) => {
            let told = port.new_reference(REFERENCE_NOTIFY)?;
            driver::interrupts(Reference::PARENT, bit, told.handle()).map(|_| None)
        }
        Err(errno) => Err(errno),
    }
}
