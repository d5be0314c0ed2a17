//! Records of sockets, as `channel.sockets` lists them: little endian, the same on every machine.

/// Facts about a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketRecord<'a> {
    /// Inode number; 0: no program has accepted the connection yet.
    pub inode: u64,
    /// Inode number of the peer, if that is a socket of the same service; else 0.
    pub peer: u64,
    /// User of the process that listened, connected or accepted.
    pub uid: u32,
    /// Bytes that can be received. Of a listener: connections that wait.
    pub received: u32,
    /// Bytes that are still to be sent. Of a listener: connections that may wait.
    pub unsent: u32,
    /// Kind of socket, as `SOCK_STREAM`.
    pub kind: u8,
    /// Linux's number of the state, as in `/proc/net/tcp`.
    pub state: u8,
    /// Own name.
    pub name: &'a [u8],
    /// Name of the peer.
    pub peer_name: &'a [u8],
}

/// Bytes before the names.
const HEADER: usize = 32;

impl SocketRecord<'_> {
    /// State of a connection.
    pub const ESTABLISHED: u8 = 1;
    /// State of a connection that the other side has not answered.
    pub const ASKING: u8 = 2;
    /// State of a connection of which this side sends no more.
    pub const HALF_CLOSED: u8 = 5;
    /// State of a socket without a connection.
    pub const CLOSED: u8 = 7;
    /// State of a connection of which the other side sends no more.
    pub const LEFT: u8 = 8;
    /// State of a listener.
    pub const LISTENING: u8 = 10;

    /// Appends the record. Names longer than 255 bytes are cut.
    pub fn pack(&self, into: &mut alloc::vec::Vec<u8>) {
        let cut = |name: &[u8]| name.len().min(usize::from(u8::MAX));
        let (own, other) = (cut(self.name), cut(self.peer_name));
        into.extend([self.inode, self.peer].iter().flat_map(|word| word.to_le_bytes()));
        into.extend([self.uid, self.received, self.unsent].iter().flat_map(|half| half.to_le_bytes()));
        into.extend([self.kind, self.state, own as u8, other as u8]);
        into.extend(&self.name[..own]);
        into.extend(&self.peer_name[..other]);
        into.resize(into.len().next_multiple_of(8), 0);
    }

    /// Returns the largest packed size, in bytes.
    pub const MAX_SIZE: usize = HEADER + 2 * 255 + 2;
}

/// Records that travelled; ends at the first that is not whole.
#[derive(Clone, Debug)]
pub struct SocketRecords<'a>(pub &'a [u8]);

impl<'a> Iterator for SocketRecords<'a> {
    type Item = SocketRecord<'a>;

    fn next(&mut self) -> Option<SocketRecord<'a>> {
        let header = self.0.get(..HEADER)?;
        let number = |at: usize, size: usize| header[at..at + size].iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        let half = |at: usize| number(at, 4) as u32;
        let [kind, state, own, other] = [28, 29, 30, 31].map(|at: usize| header[at]);
        let names = self.0.get(HEADER..HEADER + usize::from(own) + usize::from(other))?;
        let (name, peer_name) = names.split_at(own.into());
        self.0 = self.0.get((HEADER + names.len()).next_multiple_of(8)..).unwrap_or_default();
        Some(SocketRecord { inode: number(0, 8), peer: number(8, 8), uid: half(16), received: half(20), unsent: half(24), kind, state, name, peer_name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn records_follow_each_other() {
        let first = SocketRecord { inode: 7, peer: 9, uid: 1000, received: 3, unsent: 4, kind: 1, state: 10, name: b"/run/x", peer_name: b"" };
        let second = SocketRecord { inode: u64::MAX, name: b"", peer_name: b"12345678", ..first };
        let mut bytes = Vec::new();
        [first, second].iter().for_each(|record| record.pack(&mut bytes));
        assert_eq!((bytes.len(), &bytes[..2], bytes[28], bytes[30]), (40 + 40, &[7, 0][..], 1, 6));
        assert_eq!(SocketRecords(&bytes).collect::<Vec<_>>(), [first, second]);
        assert_eq!(SocketRecords(&bytes[..bytes.len() - 1]).count(), 1);
        let long = [7; 300];
        let mut bytes = Vec::new();
        SocketRecord { name: &long, peer_name: &long, ..first }.pack(&mut bytes);
        assert!(bytes.len() <= SocketRecord::MAX_SIZE && SocketRecords(&bytes).next().is_some_and(|record| record.name.len() == 255));
    }
}
