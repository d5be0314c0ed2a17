//! Facts about the packet of a datagram that programs ask for: the machine's address that it was
//! for, the interface by which it came, and fields of its head.

use crate::abi::errno::Errno;
use crate::abi::socket_flags::{IPV6_HOPLIMIT, IPV6_PKTINFO, IPV6_RECVHOPLIMIT, IPV6_RECVPKTINFO, IPV6_RECVTCLASS, IPV6_TCLASS};
use crate::abi::socket_flags::{IP_PKTINFO, IP_RECVTOS, IP_RECVTTL, IP_TOS, IP_TTL, SOL_IP, SOL_IPV6};
use crate::operations::sockets::interfaces::{self, Interface};
use crate::operations::sockets::socket_names::name;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_family::{ANY, Family, LOOPBACK, LOOPBACK6, MAPPED, Version, hops, version};
use crate::state::files::socket_kind::Socket;
use alloc::vec::Vec;
use nacre_proto::channel::{Address, InternetName};
use nacre_proto::flags::END_OWN;

/// Hops that a datagram has left where the service does not tell.
const HOPS: u16 = 64;

/// A control message: level, type and bytes.
pub type Fact = (u32, u32, Vec<u8>);

/// Returns the control messages that a socket wants with a datagram of this sender.
pub fn all(process: &mut Process, file: &OpenFile, from: &[u8]) -> Result<Vec<Fact>, Errno> {
    let options = file.options.get();
    let Some(socket) = Socket::of(file).filter(|socket| socket.family.is_internet()) else { return Ok(Vec::new()) };
    let is_six = socket.family == Family::Internet6;
    let wants_place = options.asks(SOL_IP, IP_PKTINFO) || is_six && options.asks(SOL_IPV6, IPV6_RECVPKTINFO);
    let place = if wants_place { place(process, file, from)? } else { (0, Address::Four(ANY)) };
    // A socket of both versions that sends here as version 4 is taken for one of version 6.
    let is_four = !matches!(version(from), Some(Version::Six | Version::Both));
    let hops = u32::from(hops(from).unwrap_or(HOPS)).to_le_bytes().to_vec();
    let mut facts = Vec::new();
    let mut tell = |is_wanted: bool, level, kind, data: Vec<u8>| if is_wanted { facts.push((level, kind, data)) };
    if is_six {
        tell(options.asks(SOL_IPV6, IPV6_RECVPKTINFO), SOL_IPV6, IPV6_PKTINFO, place_6(place, is_four));
        tell(!is_four && options.asks(SOL_IPV6, IPV6_RECVHOPLIMIT), SOL_IPV6, IPV6_HOPLIMIT, hops.clone());
        tell(!is_four && options.asks(SOL_IPV6, IPV6_RECVTCLASS), SOL_IPV6, IPV6_TCLASS, 0u32.to_le_bytes().to_vec());
    }
    if is_four {
        tell(options.asks(SOL_IP, IP_PKTINFO), SOL_IP, IP_PKTINFO, place_4(place));
        tell(options.asks(SOL_IP, IP_RECVTTL), SOL_IP, IP_TTL, hops);
        tell(options.asks(SOL_IP, IP_RECVTOS), SOL_IP, IP_TOS, [0].to_vec());
    }
    Ok(facts)
}

/// Returns the number of the interface by which a datagram came, and the machine's address that it
/// was for: that of the socket, or else the one by which its sender reaches the machine.
fn place(process: &mut Process, file: &OpenFile, from: &[u8]) -> Result<(u32, Address), Errno> {
    let own = InternetName::read(&name(file, END_OWN)?).map_or(Address::Four(ANY), |own| own.address);
    let Some(from) = InternetName::read(from) else { return Ok((0, own)) };
    Ok(arrival(&interfaces::all(process), own, from))
}

fn arrival(all: &[Interface], own: Address, from: InternetName) -> (u32, Address) {
    let is_at = |card: &Interface, address| address == Address::Four(card.address) || card.six.is_some_and(|six| address == Address::Six(six.address));
    let is_within = from.is_of_machine() || all.iter().any(|card| is_at(card, from.address));
    let card = all.iter().find(|card| card.is_loopback() == is_within);
    let here = match from.address {
        _ if own != Address::Four(ANY) => own,
        _ if is_within => Address::Four(LOOPBACK),
        Address::Four(_) => card.map_or(own, |card| Address::Four(card.address)),
        Address::Six(_) => card.and_then(|card| card.six).map_or(own, |six| Address::Six(six.address)),
    };
    (card.map_or(0, |card| card.index), here)
}

/// A `struct in_pktinfo`.
fn place_4((interface, address): (u32, Address)) -> Vec<u8> {
    let address = address.four().unwrap_or(ANY);
    [interface.to_le_bytes(), address, address].concat()
}

/// A `struct in6_pktinfo`.
fn place_6((interface, address): (u32, Address), is_four: bool) -> Vec<u8> {
    let address = match address {
        Address::Six(address) => address.to_vec(),
        Address::Four(address) if is_four => [&MAPPED[..], &address].concat(),
        Address::Four(LOOPBACK) => LOOPBACK6.to_vec(),
        Address::Four(_) => [0; 16].to_vec(),
    };
    [&address[..], &interface.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::sockets::interfaces::Six;
    use nacre_proto::channel::{INTERNET, INTERNET_6};

    #[test]
    fn datagrams_come_by_the_interface_of_their_sender() {
        const OWN: [u8; 4] = [10, 0, 2, 15];
        let own_6 = [0xfe, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15];
        let six = Some(Six { address: own_6, prefix: 64, gateway: None });
        let all = [Interface::LOOPBACK, Interface { name: b"eth0\0", index: 2, flags: 0x1043, address: OWN, six, ..Interface::LOOPBACK }];
        let from = |version, address: Address| InternetName { version, kind: 2, address, port: 9 };
        let any = Address::Four(ANY);
        assert_eq!(arrival(&all, any, from(INTERNET, [10, 0, 2, 2].into())), (2, OWN.into()));
        assert_eq!(arrival(&all, any, from(INTERNET, LOOPBACK.into())), (1, LOOPBACK.into()));
        assert_eq!(arrival(&all, OWN.into(), from(INTERNET, OWN.into())), (1, OWN.into()));
        let mut other = own_6;
        other[15] = 2;
        assert_eq!(arrival(&all, any, from(INTERNET_6, other.into())), (2, own_6.into()));
        assert_eq!(place_4((2, OWN.into())), [2, 0, 0, 0, 10, 0, 2, 15, 10, 0, 2, 15]);
        assert_eq!(place_6((1, LOOPBACK.into()), false), [&LOOPBACK6[..], &[1, 0, 0, 0]].concat());
        assert_eq!(place_6((1, OWN.into()), true), [&MAPPED[..], &OWN, &[1, 0, 0, 0]].concat());
    }
}
