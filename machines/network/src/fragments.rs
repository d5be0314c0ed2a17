//! Packets in parts: what the guest cuts because its wire takes no longer packets is put together,
//! and what is too long for it is cut.

use crate::frames::MAX_PACKET;
use crate::streams::SECOND;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use smoltcp::wire::{IpProtocol, Ipv4Packet};

/// Maximum number of packets that wait for parts. The oldest gives way.
const MAX_WAITING: usize = 8;
/// Maximum number of gaps in a packet that waits, so that there is no long search in it.
const MAX_GAPS: usize = 32;
/// Time for which a packet waits for its parts, in nanoseconds.
const PATIENCE: u64 = 30 * SECOND;
/// Bytes of a packet's head without options.
const HEAD: usize = 20;
/// Maximum number of bytes behind a packet's head.
const MAX_DATA: usize = 0xffff - HEAD;

/// Facts by which parts belong together.
type Key = (u16, IpProtocol, [u8; 4], [u8; 4]);

/// Error of parts that contradict each other.
struct Contradiction;

/// Packet of which parts have come.
#[derive(Debug)]
struct Waiting {
    key: Key,
    /// Time of the first part.
    since: u64,
    bytes: Vec<u8>,
    /// Starts and ends of what has come, in their order, with gaps between them.
    runs: Vec<(usize, usize)>,
    /// Number of all bytes, once the last part has come.
    size: Option<usize>,
}

impl Waiting {
    /// Adds a part. Returns true if the packet is whole. Parts that overlap are a contradiction, as
    /// in version 6: whoever sees them apart could be told something else.
    fn add(&mut self, at: usize, part: &[u8], is_last: bool) -> Result<bool, Contradiction> {
        let end = at + part.len();
        let is_cut_wrong = part.is_empty() || !is_last && !part.len().is_multiple_of(8) || end > MAX_DATA;
        let size = if is_last { Some(end) } else { self.size };
        let is_too_long = size.is_some_and(|size| size < end.max(self.bytes.len()) || self.size.is_some_and(|known| known != size));
        let place = self.runs.iter().take_while(|run| run.0 < at).count();
        let before = place.checked_sub(1).and_then(|before| self.runs.get(before)).map_or(0, |run| run.1);
        let behind = self.runs.get(place).map_or(usize::MAX, |run| run.0);
        if is_cut_wrong || is_too_long || before > at || end > behind || self.runs.len() > MAX_GAPS {
            return Err(Contradiction);
        }
        self.size = size;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(found) = self.bytes.get_mut(at..end) {
            found.copy_from_slice(part);
        }
        self.runs.insert(place, (at, end));
        self.runs.dedup_by(|next, run| {
            let joins = run.1 == next.0;
            if joins {
                run.1 = next.1;
            }
            joins
        });
        Ok(self.size.is_some_and(|size| self.runs[..] == [(0, size)]))
    }
}

/// Packets of the guest's that are not whole.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    waiting: VecDeque<Waiting>,
}

impl Fragments {
    /// Takes a part of a packet whose head is sound. Returns all bytes behind the head, once they
    /// have come.
    pub(crate) fn add(&mut self, part: &Ipv4Packet<&[u8]>, now: u64) -> Option<Vec<u8>> {
        self.waiting.retain(|packet| now.saturating_sub(packet.since) < PATIENCE);
        let key = (part.ident(), part.next_header(), part.src_addr().octets(), part.dst_addr().octets());
        let mut packet = match self.waiting.iter().position(|packet| packet.key == key).and_then(|at| self.waiting.remove(at)) {
            Some(known) => known,
            None => Waiting { key, since: now, bytes: Vec::new(), runs: Vec::new(), size: None },
        };
        // Of parts that contradict each other nothing is kept.
        if packet.add(part.frag_offset().into(), part.payload(), !part.more_frags()).ok()? {
            return Some(packet.bytes);
        }
        if self.waiting.len() >= MAX_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(packet);
        None
    }
}

/// Cuts a packet without options into parts that a wire takes. A short one stays whole.
pub(crate) fn cut(packet: &[u8], ident: u16) -> Vec<Vec<u8>> {
    const STEP: usize = (MAX_PACKET - HEAD) / 8 * 8;
    let Some((head, data)) = packet.split_at_checked(HEAD).filter(|_| packet.len() > MAX_PACKET) else { return [packet.to_vec()].into() };
    let parts = data.chunks(STEP).enumerate().map(|(number, chunk)| {
        let mut part = [head, chunk].concat();
        let size = part.len();
        let mut made = Ipv4Packet::new_unchecked(&mut part[..]);
        made.set_total_len(size as u16);
        made.set_ident(ident);
        made.set_dont_frag(false);
        made.set_more_frags((number + 1) * STEP < data.len());
        made.set_frag_offset((number * STEP) as u16);
        made.fill_checksum();
        part
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{GATEWAY, GUEST, datagram};

    fn add(fragments: &mut Fragments, part: &[u8], now: u64) -> Option<Vec<u8>> {
        fragments.add(&Ipv4Packet::new_checked(part).unwrap(), now)
    }

    fn packet(size: usize) -> Vec<u8> {
        let data: Vec<u8> = (0..size).map(|number| (number * 7 % 251) as u8).collect();
        datagram((GUEST, 7), (GATEWAY, 9), &data).unwrap()
    }

    #[test]
    fn parts_are_put_together_in_any_order() {
        let whole = packet(16_000);
        let parts = cut(&whole, 77);
        assert!(parts.len() == 11 && parts.iter().all(|part| part.len() <= MAX_PACKET && Ipv4Packet::new_checked(&part[..]).unwrap().verify_checksum()));
        assert_eq!(cut(&packet(1000), 1), [packet(1000)]);
        // Multipliers that have no factor in common with 11.
        for step in 1..11 {
            let mut fragments = Fragments::default();
            let found: Vec<_> = (0..11).filter_map(|number| add(&mut fragments, &parts[number * step % 11], 0)).collect();
            assert_eq!(found, [whole[HEAD..].to_vec()], "{step}");
            assert!(fragments.waiting.is_empty());
        }
    }

    #[test]
    fn parts_that_contradict_each_other_are_dropped() {
        let parts = cut(&packet(5000), 1);
        let changed = |number: usize, change: fn(&mut Ipv4Packet<&mut [u8]>)| {
            let mut part = parts[number].clone();
            change(&mut Ipv4Packet::new_unchecked(&mut part[..]));
            part
        };
        let wrong = [
            parts[1].clone(),
            changed(1, |part| part.set_frag_offset(1488)),
            changed(1, |part| part.set_total_len(1499)),
            changed(0, |part| part.set_more_frags(false)),
            changed(1, |part| part.set_frag_offset(65_528)),
            changed(1, |part| part.set_total_len(20)),
        ];
        for (number, wrong) in wrong.iter().enumerate() {
            let mut fragments = Fragments::default();
            for part in [&parts[1], wrong] {
                assert_eq!(add(&mut fragments, part, 0), None);
            }
            assert!(fragments.waiting.is_empty(), "{number}");
        }
    }

    #[test]
    fn few_packets_wait_and_not_for_ever() {
        let mut fragments = Fragments::default();
        for ident in 0..1000 {
            let part = &cut(&packet(3000), ident)[1];
            assert_eq!(add(&mut fragments, part, 0), None);
        }
        assert_eq!(fragments.waiting.len(), MAX_WAITING);
        assert_eq!(add(&mut fragments, &cut(&packet(3000), 5000)[1], PATIENCE), None);
        assert_eq!(fragments.waiting.len(), 1);
        // Gaps between all parts: an end comes soon.
        let mut part = cut(&packet(3000), 1)[0][..28].to_vec();
        for number in (0..4000u16).rev() {
            let mut made = Ipv4Packet::new_unchecked(&mut part[..]);
            made.set_total_len(28);
            made.set_frag_offset(number * 16);
            add(&mut fragments, &part, PATIENCE);
            assert!(fragments.waiting.iter().all(|packet| packet.runs.len() <= MAX_GAPS + 1));
        }
    }
}
