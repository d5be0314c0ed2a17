//! The way to the outside: whoever has inner ends, and what clients ask about it.

use super::{EndRequest, Service};
use crate::hub::Hub;
use crate::hub::budgets::Budget;
use crate::hub::sharing::Sharing;
use alloc::collections::BTreeSet;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::channel::{interface, interface_6, limit, sockets};
use nacre_proto::flags::{BIND_REUSE_ADDRESS, BIND_REUSE_PORT};
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::OwnedReference;

/// Somebody in the same program who has ends at which no clients are: the way to the outside.
pub trait InnerEnds {
    /// Returns the nanoseconds after which there is something to do, though nobody has called.
    fn patience(&mut self) -> u64;
    /// Notes that somebody has called ([`Service::beside`]).
    fn called(&mut self);
    /// Does what is due. `touched` are ends of which something may have changed.
    fn turn(&mut self, hub: &mut Hub<OwnedReference>, touched: &BTreeSet<u64>);
}

/// Stands for the outside of a server that has none.
pub(super) struct Nobody;

impl InnerEnds for Nobody {
    fn patience(&mut self) -> u64 {
        nacre_sys::FOREVER
    }

    fn called(&mut self) {}

    fn turn(&mut self, _: &mut Hub<OwnedReference>, _: &BTreeSet<u64>) {}
}

impl Service {
    /// Answers `channel.interface`.
    pub(super) fn tell_interface(&self) -> HandlerResult<interface::Output> {
        let found = self.hub.interface().ok_or(Errno::ENODEV)?;
        let number = |address: [u8; 4]| u64::from(u32::from_le_bytes(address));
        let [a, b, c, d, e, f] = found.card;
        let card = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        interface::Output { address: number(found.address), prefix: found.prefix.into(), gateway: found.gateway.map_or(0, number), card, packet: found.packet }.now()
    }

    /// Answers `channel.interface_6`.
    pub(super) fn tell_interface_6(&self) -> HandlerResult<interface_6::Output> {
        let found = self.hub.interface_6().ok_or(Errno::ENODEV)?;
        let halves = |address: [u8; 16]| {
            let number = u128::from_be_bytes(address);
            ((number >> 64) as u64, number as u64)
        };
        let ((high, low), (gateway_high, gateway_low)) = (halves(found.address), found.gateway.map_or((0, 0), halves));
        interface_6::Output { high, low, prefix: found.prefix.into(), gateway_high, gateway_low }.now()
    }

    /// Answers `channel.sockets`: what the one who asks may know are the sockets of its siblings
    /// and of all below them.
    pub(super) fn list_sockets(&mut self, request: &mut Request<'_>, after: u64) -> HandlerResult<sockets::Output> {
        let line = self.line(request.word());
        let above = line.split_last().map_or(&[][..], |(_, above)| above);
        let places = &self.places;
        let (bytes, next) = self.hub.list_sockets(above, after, MAX_BYTES as usize, |key| places.contains_key(&key));
        request.put(&bytes);
        sockets::Output { next }.now()
    }

    /// Returns which others may have the port of a socket. A socket on an account that has others
    /// below it shares its port with nobody: it may be that of a process within another manager,
    /// which got no account of its own because there were too many.
    pub(super) fn port_sharing(&self, key: u64, flags: u64, user: u64) -> Result<Sharing, Errno> {
        let shares = flags & (BIND_REUSE_ADDRESS | BIND_REUSE_PORT) != 0;
        let is_manager = shares && self.hub.is_above(key, self.accounts.values().map(|(_, line)| line))?;
        Ok(if is_manager { Sharing::default() } else { Sharing::new(flags, user) })
    }

    /// Answers `channel.limit`.
    pub(super) fn add_limited(&mut self, request: &mut Request<'_>, budget: Budget) -> HandlerResult<limit::Output> {
        self.hub.interface().ok_or(Errno::ENODEV)?;
        let (word, channels) = self.add_account(request.word())?;
        self.hub.set_budget(word, budget);
        limit::Output { channels: channels.into() }.at_once(request, &[])
    }

    /// Forgets budgets below which nobody is any more.
    pub(super) fn forget_budgets(&mut self) {
        if self.hub.has_budgets() {
            // One set for all: whoever ends many accounts must not have each budget look at all.
            let above: BTreeSet<u64> = self.accounts.values().flat_map(|(_, line)| line.iter().copied()).collect();
            self.hub.forget_budgets(|account| above.contains(&account));
        }
    }

    /// Connects now, or later; true: it is done. A call that does not wait for an answer from
    /// outside is told that it is on its way.
    pub(super) fn connect_now_or_later(&mut self, request: &mut Request<'_>, doing: EndRequest) -> Result<bool, Errno> {
        let key = request.word();
        let was_connecting = self.hub.is_connecting(key);
        match self.now_or_later(request, doing, false) {
            Err(Errno::EAGAIN) if self.hub.is_connecting(key) => Err(if was_connecting { Errno::EALREADY } else { Errno::EINPROGRESS }),
            done => Ok(done?.is_some()),
        }
    }
}
