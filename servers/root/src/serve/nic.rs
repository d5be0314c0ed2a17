//! Protocol `nic`.

use crate::root::Root;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::nic::{Server, facts, receive, send, watch};
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::Reference;
use nacre_virtio::MAX_FRAME;

impl Server for Root {
    fn facts(&mut self, _: &mut Request<'_>) -> HandlerResult<facts::Output> {
        facts::Output { address: self.card.address()?, frame: MAX_FRAME as u64 }.now()
    }

    fn send(&mut self, _: &mut Request<'_>, frames: &[u8]) -> HandlerResult<send::Output> {
        send::Output { count: self.card.send(frames)? }.now()
    }

    fn receive(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<receive::Output> {
        let frames = self.card.receive(size.min(MAX_BYTES) as usize)?;
        request.put(frames);
        receive::Output::default().now()
    }

    fn watch(&mut self, request: &mut Request<'_>, bits: u64, _: Reference) -> HandlerResult<watch::Output> {
        if bits == 0 {
            return Err(Errno::EINVAL);
        }
        let port = request.keep(0)?;
        self.card.watch(port, bits);
        watch::Output::default().now()
    }
}
