//! Copies memory that may not be there. The kernel copies the bytes of a message only if both ends
//! are there, and says so if not. So a thread of ours sends back what it gets.

use alloc::vec;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::Errno;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, PortSet, Span, SpanMut};

/// A thread that sends back what it gets.
pub struct Copier {
    _port: OwnedPort,
    target: OwnedReference,
}

fn serve(port: usize) {
    let mut bytes = vec![0; MAX_BYTES as usize];
    loop {
        let Ok(received) = ipc::receive(port as u64, Buffers::new(&mut bytes[..], &[]), FOREVER) else { return };
        if received.needs_reply() {
            // A receiver without the memory is told so by the kernel.
            let _ = ipc::reply(&Message::new(0, [0; 6]).with_bytes(&bytes[..received.bytes()]));
        }
    }
}

impl Copier {
    /// Starts the thread.
    pub fn start() -> Result<Copier, Errno> {
        let port = OwnedPort::new(0, PortSet::NONE)?;
        let target = port.new_reference(REFERENCE_USE)?;
        // It serves for as long as this program runs.
        drop(nacre_rt::thread::spawn(serve, port.handle().0 as usize)?);
        Ok(Copier { _port: port, target })
    }

    /// Copies as many bytes as both sides have, `MAX_BYTES` at most. False: nothing or not all of
    /// it could be copied.
    pub fn copy(&self, from: Span<'_>, to: SpanMut<'_>) -> bool {
        let size = from.size();
        let message = Message::new(0, [0; 6]).with_bytes(from);
        ipc::call(self.target.handle(), &message, Buffers::new(to, &[]), FOREVER).is_ok_and(|reply| reply.bytes() == size)
    }
}
