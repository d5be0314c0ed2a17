//! Facts about a connection of TCP, as `TCP_INFO` and `TCP_MAXSEG` tell them. What the protocols do
//! not tell has the value that it has on Linux before anything is sent.

use crate::abi::socket_flags::{SOL_TCP, TCP_MAXSEG};
use crate::operations::sockets::known_sockets::{self, KnownSocket};
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use alloc::vec::Vec;
use nacre_proto::channel::{InternetName, SocketRecord};

/// Bytes of a `struct tcp_info` of Linux 6.1.
const SIZE: usize = 232;
/// Bytes of a segment: of a socket without a connection, and of one on the machine itself.
const UNCONNECTED: u32 = 536;
const WITHIN: u32 = 32_741;
/// Bytes of a packet: on a wire, and on the machine itself.
const PACKET: u32 = 1500;
const PACKET_WITHIN: u32 = 65_535;
/// Bytes of the heads of a segment's packet, of version 4 and of version 6.
const HEADS: u32 = 40;
const HEADS_6: u32 = 60;

fn is_connected(known: &KnownSocket) -> bool {
    ![SocketRecord::LISTENING, SocketRecord::CLOSED, SocketRecord::ASKING].contains(&known.state)
}

/// Bytes of a packet and of a segment of a connection.
fn sizes(known: &KnownSocket) -> (u32, u32) {
    match InternetName::read(&known.peer_name) {
        // A connection that the machine makes to itself has its peer in the same table.
        _ if known.peer != 0 => (PACKET_WITHIN, WITHIN),
        Some(peer) if peer.is_of_machine() => (PACKET_WITHIN, WITHIN),
        Some(peer) if peer.address.four().is_none() => (PACKET, PACKET - HEADS_6),
        _ => (PACKET, PACKET - HEADS),
    }
}

/// Returns the bytes of the largest segment, or of the one that the program wants.
pub fn segment(process: &mut Process, file: &OpenFile) -> u32 {
    let connected = known_sockets::one(process, file).filter(is_connected);
    let wanted = file.options.get().internet(SOL_TCP, TCP_MAXSEG);
    match connected {
        Some(known) => sizes(&known).1,
        None if wanted != 0 => wanted,
        None => UNCONNECTED,
    }
}

/// Returns a `struct tcp_info`.
pub fn all(process: &mut Process, file: &OpenFile) -> Vec<u8> {
    facts(known_sockets::one(process, file).as_ref())
}

fn facts(known: Option<&KnownSocket>) -> Vec<u8> {
    // Microseconds.
    const TIMEOUT: u32 = 200_000;
    const FIRST_TIMEOUT: u32 = 1_000_000;
    // Timestamps, selective answers, scaled windows.
    const OPTIONS: u8 = 7;
    const SCALES: u8 = 0xaa;
    const WINDOW: u32 = 10;
    const REORDERING: u32 = 3;
    let mut bytes = alloc::vec![0; SIZE];
    let mut put = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    put(80, WINDOW);
    put(88, REORDERING);
    let state = known.map_or(SocketRecord::CLOSED, |known| known.state);
    match known.filter(|known| is_connected(known)) {
        Some(known) => {
            let (packet, segment) = sizes(known);
            // Timeout, segments out and in, bytes of a packet, threshold, own segments.
            for (at, value) in [(8, TIMEOUT), (16, segment), (20, UNCONNECTED), (60, packet), (76, i32::MAX as u32), (84, segment)] {
                put(at, value);
            }
            // Segments without an answer.
            put(24, known.unsent.div_ceil(segment));
            (bytes[5], bytes[6]) = (OPTIONS, SCALES);
        }
        None if state != SocketRecord::LISTENING => [(8, FIRST_TIMEOUT), (16, UNCONNECTED), (76, i32::MAX as u32)].into_iter().for_each(|(at, value)| put(at, value)),
        None => {}
    }
    bytes[0] = state;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::files::socket_family::{Family, Version, internet_name};

    #[test]
    fn a_connection_tells_its_state_and_sizes() {
        let known = |state, peer, address: [u8; 4]| KnownSocket { inode: 9, peer, uid: 0, received: 0, unsent: 3000, kind: 1, state, family: Family::Internet, name: Vec::new(), peer_name: internet_name(Version::Four, 1, address, 80) };
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let outside = facts(Some(&known(SocketRecord::ESTABLISHED, 0, [10, 0, 2, 2])));
        assert_eq!((outside.len(), outside[0], word(&outside, 16), word(&outside, 24), word(&outside, 60)), (SIZE, 1, 1460, 3, PACKET));
        let within = facts(Some(&known(SocketRecord::LEFT, 8, [127, 0, 0, 1])));
        assert_eq!((within[0], word(&within, 16), word(&within, 60)), (8, WITHIN, PACKET_WITHIN));
        assert_eq!((facts(None)[0], word(&facts(None), 16)), (7, UNCONNECTED));
        assert_eq!((facts(Some(&known(SocketRecord::LISTENING, 0, [0; 4])))[0], word(&facts(Some(&known(10, 0, [0; 4]))), 16)), (10, 0));
    }
}
