//! The machine's address, where the wire is asked for it (DHCP).

use nacre_channel::hub::outside::Interface as Way;
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::dhcpv4::{Config, Event, Socket};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;
/// Nanoseconds for which the wire is asked before the machine takes the address that it was made
/// with.
pub const PATIENCE: u64 = SECOND / 4;

/// State of the address.
#[derive(Debug)]
pub enum Lease {
    /// The address is the one that the machine was made with, or none any more.
    Fixed,
    /// The wire is asked, until this time.
    Asked(SocketHandle, u64),
    /// The wire has given the address, and is asked again before its time is over.
    Held(SocketHandle),
}

/// Change of the address.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// The machine has this one.
    To(Way),
    /// The wire has taken it back: the machine has none.
    Lost,
}

/// The way that a lease tells of, if the address is one that a machine can have.
fn given(config: &Config<'_>, way: &Way) -> Option<Way> {
    let (address, prefix) = (config.address.address().octets(), config.address.prefix_len());
    let is_of_one = |address: [u8; 4]| (1..=223).contains(&address[0]) && address[0] != 127;
    let gateway = config.router.map(|router| router.octets()).filter(|router| is_of_one(*router) && *router != address);
    if !is_of_one(address) || !(1..=30).contains(&prefix) {
        return None;
    }
    // The first and the last address of a wire are nobody's own.
    let hosts = u32::MAX >> prefix;
    let host = u32::from_be_bytes(address) & hosts;
    (host != 0 && host != hosts).then_some(Way { address, prefix, gateway, ..*way })
}

impl Lease {
    /// Asks the wire from `now` on.
    pub fn ask(sockets: &mut SocketSet<'static>, now: u64) -> Lease {
        Lease::Asked(sockets.add(Socket::new()), now.saturating_add(PATIENCE))
    }

    /// Returns true once it is known which address the machine has.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Lease::Asked(..))
    }

    /// The time at which something is due besides what the protocols do.
    pub fn due(&self) -> Option<u64> {
        if let Lease::Asked(_, until) = self { Some(*until) } else { None }
    }

    /// Looks what the wire has said. `way` is the one that the machine has, or takes if nobody
    /// answers in time.
    pub fn settle(&mut self, sockets: &mut SocketSet<'static>, way: &Way, now: u64) -> Option<Change> {
        let (Lease::Asked(handle, _) | Lease::Held(handle)) = *self else { return None };
        let told = match sockets.get_mut::<Socket<'_>>(handle).poll() {
            None => None,
            Some(Event::Deconfigured) => Some(None),
            Some(Event::Configured(config)) => Some(given(&config, way)),
        };
        match (&self, told) {
            (Lease::Asked(..), Some(Some(given))) => {
                *self = Lease::Held(handle);
                Some(Change::To(given))
            }
            (Lease::Asked(_, until), _) if now >= *until => {
                self.end(sockets, handle);
                Some(Change::To(*way))
            }
            (Lease::Asked(..), _) | (_, None) => None,
            // The address comes back if it is given again.
            (_, Some(None)) => Some(Change::Lost),
            (_, Some(Some(given))) if (given.address, given.prefix) == (way.address, way.prefix) => Some(Change::To(given)),
            // Whoever has asked for address and wire does not ask again.
            _ => {
                self.end(sockets, handle);
                Some(Change::Lost)
            }
        }
    }

    fn end(&mut self, sockets: &mut SocketSet<'static>, handle: SocketHandle) {
        sockets.remove(handle);
        *self = Lease::Fixed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stack;
    use alloc::collections::BTreeSet;
    use alloc::vec;
    use alloc::vec::Vec;
    use nacre_channel::hub::Hub;
    use smoltcp::phy::ChecksumCapabilities;
    use smoltcp::wire::{DhcpMessageType, DhcpPacket, DhcpRepr, EthernetFrame, IpProtocol, Ipv4Address, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr};

    const SERVER: Ipv4Address = Ipv4Address::new(10, 0, 7, 2);
    const GIVEN: [u8; 4] = [10, 0, 7, 33];
    /// Seconds of a lease.
    const TIME: u32 = 100;

    fn way() -> Way {
        Way { address: [10, 0, 2, 15], prefix: 24, gateway: None, card: [2, 0, 0, 0, 0, 1], packet: 1500 }
    }

    /// The frame by which a server answers another one.
    fn answer(frame: &[u8], address: [u8; 4]) -> Option<Vec<u8>> {
        let asked = EthernetFrame::new_checked(frame).ok()?;
        let packet = Ipv4Packet::new_checked(asked.payload()).ok()?;
        let datagram = UdpPacket::new_checked(packet.payload()).ok()?;
        let request = DhcpPacket::new_checked(datagram.payload()).ok()?;
        let asks = DhcpRepr::parse(&request).ok()?;
        let message_type = if asks.message_type == DhcpMessageType::Discover { DhcpMessageType::Offer } else { DhcpMessageType::Ack };
        let (unknown, mask) = (Ipv4Address::UNSPECIFIED, Ipv4Address::new(255, 255, 255, 0));
        let reply = DhcpRepr {
            message_type,
            transaction_id: asks.transaction_id,
            secs: 0,
            client_hardware_address: asks.client_hardware_address,
            client_ip: unknown,
            your_ip: Ipv4Address::from(address),
            server_ip: SERVER,
            router: Some(SERVER),
            subnet_mask: Some(mask),
            relay_agent_ip: unknown,
            broadcast: false,
            requested_ip: None,
            client_identifier: None,
            server_identifier: Some(SERVER),
            parameter_request_list: None,
            dns_servers: None,
            max_size: None,
            lease_duration: Some(TIME),
            renew_duration: None,
            rebind_duration: None,
            additional_options: &[],
        };
        let udp = UdpRepr { src_port: 67, dst_port: 68 };
        let size = udp.header_len() + reply.buffer_len();
        let ip = Ipv4Repr { src_addr: SERVER, dst_addr: Ipv4Address::BROADCAST, next_header: IpProtocol::Udp, payload_len: size, hop_limit: 64 };
        let mut bytes = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9, 8, 0]].concat();
        bytes.extend(vec![0; ip.buffer_len() + size]);
        let sums = ChecksumCapabilities::default();
        let mut packet = Ipv4Packet::new_unchecked(&mut bytes[14..]);
        ip.emit(&mut packet, &sums);
        let fill = |body: &mut [u8]| reply.emit(&mut DhcpPacket::new_unchecked(body)).unwrap();
        udp.emit(&mut UdpPacket::new_unchecked(packet.payload_mut()), &SERVER.into(), &Ipv4Address::BROADCAST.into(), reply.buffer_len(), fill, &sums);
        Some(bytes)
    }

    /// Lets a second go by, while a server gives this address, or none. Returns the number of
    /// frames that were answered.
    fn second(hub: &mut Hub<()>, stack: &mut Stack, now: &mut u64, address: Option<[u8; 4]>) -> usize {
        let mut answered = 0;
        for _ in 0..100 {
            *now += SECOND / 100;
            stack.turn(hub, &BTreeSet::new(), *now);
            while let Some(frame) = stack.leaving().pop_front() {
                if let Some(reply) = address.and_then(|address| answer(&frame, address)) {
                    answered += 1;
                    stack.arrive(hub, &reply);
                }
            }
        }
        answered
    }

    fn machine() -> (Hub<()>, Stack) {
        let mut hub: Hub<()> = Hub::default();
        hub.set_interface(way());
        (hub, Stack::new(&way(), 4, 1, 0).asking(0))
    }

    #[test]
    fn an_address_is_taken_and_asked_for_again() {
        let ((mut hub, mut stack), mut now) = (machine(), 0);
        assert!(!stack.has_settled());
        assert_eq!(second(&mut hub, &mut stack, &mut now, Some(GIVEN)), 2);
        let found = hub.interface().unwrap();
        assert_eq!((found.address, found.prefix, found.gateway, stack.has_settled()), (GIVEN, 24, Some(SERVER.octets()), true));
        let renewed = (0..2 * TIME).map(|_| second(&mut hub, &mut stack, &mut now, Some(GIVEN))).sum::<usize>();
        assert!((2..20).contains(&renewed) && hub.interface().unwrap().address == GIVEN && stack.has_address(), "{renewed}");
        // Nobody gives it any more.
        (0..2 * TIME).for_each(|_| assert_eq!(second(&mut hub, &mut stack, &mut now, None), 0));
        assert!(!stack.has_address());
        for _ in 0..20 {
            second(&mut hub, &mut stack, &mut now, Some(GIVEN));
        }
        assert!(stack.has_address(), "it is given again");
    }

    #[test]
    fn a_wire_that_gives_no_address_is_not_waited_for() {
        let ((mut hub, mut stack), mut now) = (machine(), 0);
        second(&mut hub, &mut stack, &mut now, None);
        assert!(stack.has_settled() && stack.has_address() && hub.interface() == Some(way()));
        assert_eq!(second(&mut hub, &mut stack, &mut now, Some(GIVEN)), 0, "it is asked no more");
    }

    #[test]
    fn what_is_no_address_of_a_machine_is_not_taken() {
        for wrong in [[127, 0, 0, 1], [0, 0, 0, 0], [240, 0, 0, 1], [224, 0, 0, 1], [10, 0, 7, 0], [10, 0, 7, 255]] {
            let ((mut hub, mut stack), mut now) = (machine(), 0);
            second(&mut hub, &mut stack, &mut now, Some(wrong));
            assert_eq!(hub.interface(), Some(way()), "{wrong:?}");
        }
    }

    #[test]
    fn another_address_is_not_taken_later() {
        let ((mut hub, mut stack), mut now) = (machine(), 0);
        second(&mut hub, &mut stack, &mut now, Some(GIVEN));
        for _ in 0..2 * TIME {
            second(&mut hub, &mut stack, &mut now, Some([10, 0, 7, 34]));
        }
        assert!(hub.interface().unwrap().address == GIVEN && !stack.has_address());
    }
}
