//! DHCP (RFC 2131): the guest is told its address, who reaches all others and who knows names.

use crate::frames::{GATEWAY, GUEST, MASK, NAMES, datagram};
use alloc::vec;
use alloc::vec::Vec;
use smoltcp::wire::{
    DHCP_CLIENT_PORT, DHCP_SERVER_PORT, DhcpMessageType, DhcpPacket, DhcpRepr, Ipv4Address,
};

/// Port to which clients send.
pub(crate) const PORT: u16 = DHCP_SERVER_PORT;
/// Seconds for which the address is the guest's; it asks again before.
const LEASE: u32 = 86_400;
const EVERYBODY: [u8; 4] = [255; 4];

/// Returns the kind of the answer to a question. `None`: there is none.
fn kind(asked: &DhcpRepr<'_>) -> Option<DhcpMessageType> {
    match asked.message_type {
        DhcpMessageType::Discover => Some(DhcpMessageType::Offer),
        DhcpMessageType::Inform => Some(DhcpMessageType::Ack),
        DhcpMessageType::Request => {
            let is_ours = asked.server_identifier.is_none_or(|server| server.octets() == GATEWAY);
            let wanted = asked.requested_ip.unwrap_or(asked.client_ip).octets();
            let answer = if wanted == GUEST { DhcpMessageType::Ack } else { DhcpMessageType::Nak };
            is_ours.then_some(answer)
        }
        _ => None,
    }
}

/// Returns the packet that answers a client's message.
pub(crate) fn answer(message: &[u8]) -> Option<Vec<u8>> {
    let asked = DhcpPacket::new_checked(message).ok()?;
    let asked = DhcpRepr::parse(&asked).ok()?;
    let kind = kind(&asked)?;
    let (has_facts, gives) = (kind != DhcpMessageType::Nak, asked.message_type != DhcpMessageType::Inform);
    let own = Ipv4Address::from(GATEWAY);
    let told = |address| has_facts.then_some(address);
    let answer = DhcpRepr {
        message_type: kind,
        transaction_id: asked.transaction_id,
        secs: 0,
        client_hardware_address: asked.client_hardware_address,
        client_ip: if has_facts { asked.client_ip } else { Ipv4Address::UNSPECIFIED },
        your_ip: if has_facts && gives { Ipv4Address::from(GUEST) } else { Ipv4Address::UNSPECIFIED },
        server_ip: own,
        router: told(own),
        subnet_mask: told(Ipv4Address::from(MASK)),
        relay_agent_ip: Ipv4Address::UNSPECIFIED,
        broadcast: asked.broadcast,
        requested_ip: None,
        client_identifier: None,
        server_identifier: Some(own),
        parameter_request_list: None,
        dns_servers: has_facts.then(|| [Ipv4Address::from(NAMES)].into_iter().collect()),
        max_size: None,
        lease_duration: (has_facts && gives).then_some(LEASE),
        renew_duration: None,
        rebind_duration: None,
        additional_options: &[],
    };
    let mut bytes = vec![0; answer.buffer_len()];
    answer.emit(&mut DhcpPacket::new_unchecked(&mut bytes)).ok()?;
    datagram((GATEWAY, PORT), (EVERYBODY, DHCP_CLIENT_PORT), &bytes)
}
