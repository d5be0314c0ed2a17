//! Packets: `$`, bytes, `#`, two digits of a checksum. Some bytes are escaped, and bytes that are
//! repeated travel as one with a count.

use alloc::vec::Vec;

/// Maximum number of bytes of a packet, without its frame.
pub const MAX_PACKET: usize = 0x3f00;

/// Byte that stands before an escaped one.
const ESCAPE: u8 = b'}';
/// Difference between a byte and its escaped form.
const ESCAPED: u8 = 0x20;
/// Byte that stands before a count of repetitions.
const REPEAT: u8 = b'*';
/// Difference between a count of repetitions and the byte that tells it.
const COUNT: u8 = 29;
/// Smallest number of repetitions that are worth a count, and the largest that a byte tells.
const REPETITIONS: core::ops::RangeInclusive<u8> = 3..=97;

/// Something that arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A packet, without escapes.
    Packet(Vec<u8>),
    /// A packet whose checksum is wrong, or that is too long.
    Damaged,
    /// A request to stop what runs.
    Interrupt,
    /// The last packet that was sent has not arrived whole.
    Again,
}

/// Position in the stream of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Outside,
    Body,
    /// Inside the checksum, with its first digit if that has come.
    Sum(Option<u8>),
}

/// Finds packets in a stream of bytes.
#[derive(Debug)]
pub struct Reader {
    state: State,
    body: Vec<u8>,
    sum: u8,
    is_escaped: bool,
    is_too_long: bool,
}

/// Value of a hexadecimal digit.
pub(crate) fn digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|value| value as u8)
}

impl Default for Reader {
    fn default() -> Reader {
        Reader { state: State::Outside, body: Vec::new(), sum: 0, is_escaped: false, is_too_long: false }
    }
}

impl Reader {
    /// Takes a byte; returns what it completes.
    pub fn take(&mut self, byte: u8) -> Option<Item> {
        match (self.state, byte) {
            // Whatever came before is not finished: its sender has gone.
            (_, b'$') => self.begin(),
            (State::Outside, 3) => return Some(Item::Interrupt),
            (State::Outside, b'-') => return Some(Item::Again),
            (State::Outside, _) => {}
            (State::Body, b'#') => self.state = State::Sum(None),
            (State::Body, byte) => self.add(byte),
            (State::Sum(None), byte) => self.state = State::Sum(Some(byte)),
            (State::Sum(Some(first)), byte) => return Some(self.end(first, byte)),
        }
        None
    }

    fn begin(&mut self) {
        *self = Reader { state: State::Body, body: core::mem::take(&mut self.body), ..Reader::default() };
        self.body.clear();
    }

    fn add(&mut self, byte: u8) {
        self.sum = self.sum.wrapping_add(byte);
        if byte == ESCAPE && !self.is_escaped {
            self.is_escaped = true;
            return;
        }
        let plain = if core::mem::take(&mut self.is_escaped) { byte ^ ESCAPED } else { byte };
        match self.body.len() {
            MAX_PACKET.. => self.is_too_long = true,
            _ => self.body.push(plain),
        }
    }

    fn end(&mut self, first: u8, second: u8) -> Item {
        self.state = State::Outside;
        let sum = digit(first).zip(digit(second)).map(|(first, second)| first << 4 | second);
        if sum != Some(self.sum) || self.is_too_long || self.is_escaped {
            return Item::Damaged;
        }
        Item::Packet(core::mem::take(&mut self.body))
    }
}

/// Returns a packet with this body.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(body.len() + 8);
    bytes.push(b'$');
    let mut rest = body;
    while let Some((&byte, behind)) = rest.split_first() {
        put(byte, &mut bytes);
        let repeated = behind.iter().take_while(|next| **next == byte).count().min(*REPETITIONS.end() as usize) as u8;
        let count = countable(repeated).filter(|_| is_plain(byte));
        if let Some(count) = count {
            bytes.extend([REPEAT, count + COUNT]);
        }
        rest = &behind[count.unwrap_or(0) as usize..];
    }
    let sum = bytes[1..].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    bytes.push(b'#');
    bytes.extend(crate::text::hex_byte(sum));
    bytes
}

/// The largest count of at most `repeated` that a byte can tell which means nothing else.
fn countable(repeated: u8) -> Option<u8> {
    let tells = |count: &u8| !matches!(count + COUNT, b'#' | b'$' | b'+' | b'-' | b'}' | b'*');
    REPETITIONS.take_while(|count| *count <= repeated).filter(tells).last()
}

/// Returns true if a byte travels as it is.
fn is_plain(byte: u8) -> bool {
    !matches!(byte, b'#' | b'$' | ESCAPE | REPEAT)
}

fn put(byte: u8, bytes: &mut Vec<u8>) {
    if is_plain(byte) {
        bytes.push(byte);
    } else {
        bytes.extend([ESCAPE, byte ^ ESCAPED]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<Item> {
        let mut reader = Reader::default();
        bytes.iter().filter_map(|byte| reader.take(*byte)).collect()
    }

    #[test]
    fn packets_are_found_among_other_bytes() {
        assert_eq!(read(b"+$g#67+\x03-$?#3f"), [Item::Packet(b"g".into()), Item::Interrupt, Item::Again, Item::Packet(b"?".into())]);
        assert_eq!(read(b"$g#68$g#6z$"), [Item::Damaged, Item::Damaged]);
        assert_eq!(read(b"$never ended $g#67"), [Item::Packet(b"g".into())]);
    }

    #[test]
    fn escapes_are_taken_out() {
        let framed = frame(b"a#$}*b");
        assert_eq!(framed[..11], b"$a}\x03}\x04}]}\x0ab"[..11]);
        assert_eq!(read(&framed), [Item::Packet(b"a#$}*b".into())]);
        assert_eq!(read(b"$a}#de"), [Item::Damaged]);
    }

    #[test]
    fn a_packet_that_is_too_long_is_none() {
        let long = [&b"$"[..], &[b'a'; MAX_PACKET + 1], b"#00$g#67"].concat();
        assert_eq!(read(&long), [Item::Damaged, Item::Packet(b"g".into())]);
    }

    #[test]
    fn repetitions_are_counted() {
        assert_eq!(frame(b"0000"), b"$0* #7a");
        assert_eq!(frame(b"000"), b"$000#90");
        // No count is told by a byte that ends a packet.
        for size in 0..300 {
            let framed = frame(&[b'0'; 300][..size]);
            assert_eq!(framed.iter().filter(|byte| matches!(byte, b'#' | b'$')).count(), 2);
        }
    }
}
