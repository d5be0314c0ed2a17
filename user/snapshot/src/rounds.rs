//! Pages that were sent in the rounds of a move: a round has only those that differ from what the
//! receiver has.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Contents of pages that a receiver has, as hashes. A page that is not listed holds zeros there.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    hashes: BTreeMap<u64, [u8; 32]>,
}

impl Sent {
    /// Notes that a page holds these bytes now. Returns true if the receiver has others, so that
    /// the page is to be sent.
    pub fn note(&mut self, page: u64, bytes: &[u8]) -> bool {
        if bytes.iter().all(|byte| *byte == 0) {
            return self.note_zeros(page);
        }
        let hash = *blake3::hash(bytes).as_bytes();
        self.hashes.insert(page, hash) != Some(hash)
    }

    /// Notes that a page holds zeros now. Returns true if the receiver has something else.
    pub fn note_zeros(&mut self, page: u64) -> bool {
        self.hashes.remove(&page).is_some()
    }

    /// Pages from `start` up to `end` of which the receiver has more than zeros, in order.
    pub fn pages(&self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        self.hashes.range(start..end.max(start)).map(|(page, _)| *page)
    }
}

/// Parts that two lists of ranges have in common. The ranges of either are in order and apart.
pub fn common(some: &[(u64, u64)], others: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let (mut found, mut at, mut other) = (Vec::new(), 0, 0);
    while let (Some((from, to)), Some((start, end))) = (some.get(at), others.get(other)) {
        let both = (*from.max(start), *to.min(end));
        if both.0 < both.1 {
            found.push(both);
        }
        if to < end { at += 1 } else { other += 1 }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_sent_if_the_receiver_has_another() {
        let mut sent = Sent::default();
        assert!(!sent.note(0, &[0; 8]), "zeros are there from the start");
        assert!(sent.note(0, &[1; 8]) && !sent.note(0, &[1; 8]));
        assert!(sent.note(4096, &[1; 8]), "each page counts by itself");
        assert!(sent.note(0, &[2; 8]) && sent.note(0, &[1; 8]), "a page that changes back is sent again");
        assert!(sent.note(0, &[0; 8]) && !sent.note_zeros(0), "zeros are sent over something else, once");
        assert_eq!(sent.pages(0, 8192).collect::<Vec<_>>(), [4096]);
        assert_eq!((sent.pages(0, 4096).count(), sent.pages(9, 0).count()), (0, 0));
    }

    #[test]
    fn ranges_have_parts_in_common() {
        assert_eq!(common(&[(0, 10), (20, 30)], &[(5, 22), (25, 26), (29, 40)]), [(5, 10), (20, 22), (25, 26), (29, 30)]);
        assert_eq!(common(&[(0, 10)], &[(10, 20)]), []);
        assert_eq!(common(&[(0, 10)], &[]), []);
    }

    /// A receiver that has taken all rounds holds what the sender holds.
    #[test]
    fn rounds_make_the_same_memory() {
        let (mut sent, mut seed) = (Sent::default(), 1u64);
        let (mut here, mut there) = ([[0u8; 4]; 16], [[0u8; 4]; 16]);
        for _ in 0..200 {
            for _ in 0..5 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                here[(seed >> 60) as usize] = [(seed >> 33) as u8 % 3; 4];
            }
            for page in 0..16 {
                if sent.note(page as u64, &here[page]) {
                    assert_ne!(here[page], there[page], "nothing is sent for nothing");
                    there[page] = here[page];
                }
            }
            assert_eq!(here, there);
        }
    }
}
