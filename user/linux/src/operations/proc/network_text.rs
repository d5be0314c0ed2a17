//! Files of `/proc/net`: sockets, interfaces and routes of the process's world.

use crate::operations::sockets::interfaces::{self, Interface};
use crate::operations::sockets::known_sockets::{self, KnownSocket};
use crate::process::Process;
use crate::state::files::socket_family::Family;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use nacre_proto::channel::{self, SocketRecord};

/// Bytes of a line of a table of sockets, as on Linux.
const TCP_LINE: usize = 149;
const UDP_LINE: usize = 127;

/// Returns the contents of a file of `/proc/net`; `None`: there is no such file.
pub fn text_of(process: &mut Process, name: &str) -> Option<Vec<u8>> {
    let text = match name {
        "icmp" | "icmp6" | "tcp" | "tcp6" | "udp" | "udp6" | "udplite" | "udplite6" | "raw" | "raw6" => {
            let family = if name.ends_with('6') { Family::Internet6 } else { Family::Internet };
            let sockets = match name.trim_end_matches('6') {
                "tcp" => of_kind(process, family, |socket| socket.protocol() == 6),
                "udp" => of_kind(process, family, |socket| socket.protocol() == 17),
                "icmp" => of_kind(process, family, |socket| socket.protocol() == 1 && !socket.is_raw()),
                "raw" => of_kind(process, family, KnownSocket::is_raw),
                _ => Vec::new(),
            };
            table(&sockets, family, name.starts_with("tcp"))
        }
        "unix" => return Some(local(&of_family(process, Family::Local))),
        "dev" => devices(process),
        "route" => routes(&interfaces::all(process)),
        "if_inet6" => addresses_6(&interfaces::all(process)),
        "ipv6_route" => format!("{:032x} 80 {:032x} 00 {:032x} 00000000 00000001 00000000 80200001       lo\n", 1, 0, 0),
        "sockstat" => counts(process, Family::Internet),
        "sockstat6" => counts(process, Family::Internet6),
        "snmp" => summary(process),
        "arp" => String::from("IP address       HW type     Flags       HW address            Mask     Device\n"),
        "netlink" => String::from("sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"),
        "packet" => String::from("sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"),
        _ => return None,
    };
    Some(text.into_bytes())
}

/// Returns the contents of a file that tells of an interface in `/sys`. Packets and bytes
/// are not counted.
pub fn of_interface(interface: &Interface, file: &str) -> Vec<u8> {
    /// `IFF_RUNNING`, which Linux leaves out there.
    const RUNNING: u16 = 0x40;
    let address = |bytes: [u8; 6]| bytes.map(|byte| format!("{byte:02x}")).join(":");
    let of_all = if interface.is_loopback() { [0; 6] } else { [0xff; 6] };
    let text = match file {
        "addr_len" => format!("{}", interface.card.len()),
        "address" => address(interface.card),
        "broadcast" => address(of_all),
        "carrier" => String::from("1"),
        "flags" => format!("{:#x}", interface.flags & !RUNNING),
        "ifindex" | "iflink" => format!("{}", interface.index),
        "mtu" => format!("{}", interface.largest),
        "operstate" => String::from(if interface.is_loopback() { "unknown" } else { "up" }),
        "tx_queue_len" => format!("{}", interfaces::QUEUE),
        "type" => format!("{}", interface.hardware),
        _ => String::from("0"),
    };
    (text + "\n").into_bytes()
}

fn of_family(process: &mut Process, family: Family) -> Vec<KnownSocket> {
    let mut sockets = known_sockets::all(process);
    sockets.retain(|socket| socket.family == family);
    sockets
}

fn of_kind(process: &mut Process, family: Family, is_of_kind: impl Fn(&KnownSocket) -> bool) -> Vec<KnownSocket> {
    let mut sockets = of_family(process, family);
    sockets.retain(is_of_kind);
    sockets
}

/// Writes the addresses of version 6: number, prefix, scope and flags.
fn addresses_6(interfaces: &[Interface]) -> String {
    let line = |interface: &Interface| {
        let six = interface.six?;
        let scope = if interface.is_loopback() { 0x10 } else if six.is_of_site() { 0x40 } else { 0 };
        Some(format!("{:032x} {:02x} {:02x} {scope:02x} 80 {:>8}\n", u128::from_be_bytes(six.address), interface.index, six.prefix, interface.shown_name()))
    };
    interfaces.iter().filter_map(line).collect()
}

/// Writes a line, filled up with spaces.
fn line(into: &mut String, text: &str, size: usize) {
    let _ = writeln!(into, "{text:<size$}");
}

/// An address and a port in base 16: each four bytes as a number of this machine's.
fn end(socket: &KnownSocket, of_peer: bool) -> String {
    let (address, port) = socket.address(of_peer);
    let words = address.chunks_exact(4).map(|word| word.iter().rev().fold(0u32, |all, byte| all << 8 | u32::from(*byte)));
    let mut text: String = words.map(|word| format!("{word:08X}")).collect();
    let _ = write!(text, ":{port:04X}");
    text
}

/// Tables of sockets of the internet.
fn table(sockets: &[KnownSocket], family: Family, is_stream: bool) -> String {
    let mut all = String::new();
    match (family, is_stream) {
        (Family::Internet6, true) => all.push_str("  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"),
        (Family::Internet6, false) => all.push_str("  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n"),
        (_, true) => line(&mut all, "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode", TCP_LINE),
        (_, false) => line(&mut all, "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops", UDP_LINE),
    }
    let width = if is_stream { 4 } else { 5 };
    for (number, socket) in sockets.iter().enumerate() {
        let KnownSocket { state, received, uid, inode, .. } = socket;
        // A listener has no bytes to send.
        let unsent = if *state == SocketRecord::LISTENING { 0 } else { socket.unsent };
        let (own, other) = (end(socket, false), end(socket, true));
        let rest = if is_stream { "1 0000000000000000 100 0 0 10 0" } else { "2 0000000000000000 0" };
        let text = format!("{number:width$}: {own} {other} {state:02X} {unsent:08X}:{received:08X} 00:00000000 00000000 {uid:5} {:8} {inode} {rest}", 0);
        match family {
            Family::Internet6 => line(&mut all, &text, 0),
            _ => line(&mut all, &text, if is_stream { TCP_LINE } else { UDP_LINE }),
        }
    }
    all
}

/// The table of local sockets.
fn local(sockets: &[KnownSocket]) -> Vec<u8> {
    let mut all = b"Num       RefCount Protocol Flags    Type St Inode Path\n".to_vec();
    for socket in sockets {
        let is_listener = socket.state == SocketRecord::LISTENING;
        let flags = if is_listener { 0x1_0000 } else { 0 };
        let state = if [SocketRecord::LISTENING, SocketRecord::CLOSED].contains(&socket.state) { 1 } else { 3 };
        all.extend(format!("{:016x}: {:08X} {:08X} {flags:08X} {:04X} {state:02X} {:5}", 0, 2, 0, socket.kind, socket.inode).into_bytes());
        let path = socket.path();
        all.extend(path.first().map(|_| b' '));
        all.extend(path);
        all.push(b'\n');
    }
    all
}

/// Counts of packets and bytes by interface.
fn devices(process: &mut Process) -> String {
    let traffic = process.services.internet().and_then(|service| channel::traffic(service).ok());
    let mut all = String::from("Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n");
    for interface in interfaces::all(process) {
        let [bytes_in, packets_in, bytes_out, packets_out] = match &traffic {
            Some(told) if !interface.is_loopback() => [told.bytes_in, told.packets_in, told.bytes_out, told.packets_out],
            _ => [0; 4],
        };
        let _ = writeln!(all, "{:>6}: {bytes_in:7} {packets_in:7}    0    0    0     0          0         0 {bytes_out:8} {packets_out:7}    0    0    0     0       0          0", interface.shown_name());
    }
    all
}

/// The routes of version 4.
fn routes(interfaces: &[Interface]) -> String {
    const UP: u32 = 1;
    const BY_GATEWAY: u32 = 2;
    let mut all = String::new();
    line(&mut all, "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT", 127);
    let mut route = |interface: &Interface, target: [u8; 4], gateway: [u8; 4], flags: u32, mask: [u8; 4]| {
        let [target, gateway, mask] = [target, gateway, mask].map(u32::from_le_bytes);
        line(&mut all, &format!("{}\t{target:08X}\t{gateway:08X}\t{flags:04X}\t0\t0\t0\t{mask:08X}\t0\t0\t0", interface.shown_name()), 127);
    };
    for interface in interfaces.iter().filter(|interface| !interface.is_loopback()) {
        if let Some(gateway) = interface.gateway {
            route(interface, [0; 4], gateway, UP | BY_GATEWAY, [0; 4]);
        }
        route(interface, interface.wire(), [0; 4], UP, interface.mask());
    }
    all
}

/// Counts of sockets in use.
fn counts(process: &mut Process, family: Family) -> String {
    let sockets = known_sockets::all(process);
    let count = |protocol| sockets.iter().filter(|socket| socket.family == family && socket.protocol() == protocol && !socket.is_raw()).count();
    let raw = sockets.iter().filter(|socket| socket.family == family && socket.is_raw()).count();
    let (tcp, udp) = (count(6), count(17));
    match family {
        Family::Internet6 => format!("TCP6: inuse {tcp}\nUDP6: inuse {udp}\nUDPLITE6: inuse 0\nRAW6: inuse {raw}\nFRAG6: inuse 0 memory 0\n"),
        _ => format!("sockets: used {}\nTCP: inuse {tcp} orphan 0 tw 0 alloc {tcp} mem 0\nUDP: inuse {udp} mem 0\nUDPLITE: inuse 0\nRAW: inuse {raw}\nFRAG: inuse 0 memory 0\n", sockets.len()),
    }
}

/// Linux's counters of TCP, of which there is one: connections that stand.
fn summary(process: &mut Process) -> String {
    let is_standing = |socket: &&KnownSocket| socket.family.is_internet() && socket.is_stream() && socket.state == SocketRecord::ESTABLISHED;
    let standing = known_sockets::all(process).iter().filter(is_standing).count();
    format!("Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\nTcp: 1 200 120000 -1 0 0 0 0 {standing} 0 0 0 0 0 0\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::files::socket_family::{LOOPBACK, Version, internet_name};

    #[test]
    fn lines_are_those_of_linux() {
        let name = internet_name(Version::Four, 1, LOOPBACK, 80);
        let socket = KnownSocket { inode: 77, peer: 0, uid: 5, received: 1, unsent: 4, kind: 1, state: 10, family: Family::Internet, name, peer_name: Vec::new() };
        let text = table(core::slice::from_ref(&socket), Family::Internet, true);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.len() == TCP_LINE));
        assert!(lines[1].starts_with("   0: 0100007F:0050 00000000:0000 0A 00000000:00000001 00:00000000 00000000     5        0 77 1 0000000000000000 100 0 0 10 0"), "{}", lines[1]);
        let named = KnownSocket { family: Family::Local, name: b"\0x".to_vec(), ..socket };
        assert!(local(&[named]).ends_with(b"00000002 00000000 00010000 0001 01    77 @x\n"));
    }
}
