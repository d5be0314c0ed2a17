//! Bytes in a ring that grows, moved by the run and not one by one.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Copies up to `count` bytes, those before `from` left out, behind what is in `into`.
pub fn copy(bytes: &VecDeque<u8>, from: usize, count: usize, into: &mut Vec<u8>) {
    let (one, other) = bytes.as_slices();
    let end = from.saturating_add(count);
    let part = |slice: &[u8], before: usize| (from.saturating_sub(before).min(slice.len()), end.saturating_sub(before).min(slice.len()));
    let (start, stop) = part(one, 0);
    into.extend_from_slice(&one[start..stop]);
    let (start, stop) = part(other, one.len());
    into.extend_from_slice(&other[start..stop]);
}

/// Moves up to `count` bytes from the front behind what is in `into`.
pub fn take(bytes: &mut VecDeque<u8>, count: usize, into: &mut Vec<u8>) {
    copy(bytes, 0, count, into);
    bytes.drain(..count.min(bytes.len()));
}

/// Puts bytes before all others.
pub fn put_front(bytes: &mut VecDeque<u8>, data: &[u8]) {
    bytes.extend(data);
    bytes.rotate_right(data.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_wrap_are_whole() {
        let mut bytes: VecDeque<u8> = VecDeque::with_capacity(16);
        for round in 0..40 {
            bytes.extend(&[1, 2, 3, 4, 5]);
            put_front(&mut bytes, &[8, 9]);
            for from in 0..9 {
                for count in 0..9 {
                    let mut copied = Vec::from([0]);
                    copy(&bytes, from, count, &mut copied);
                    let expected: Vec<u8> = [0].into_iter().chain([8, 9, 1, 2, 3, 4, 5].into_iter().skip(from).take(count)).collect();
                    assert_eq!(copied, expected, "{round} {from} {count}");
                }
            }
            let mut taken = Vec::new();
            take(&mut bytes, 3, &mut taken);
            take(&mut bytes, 99, &mut taken);
            assert_eq!((&taken[..], bytes.len()), (&[8, 9, 1, 2, 3, 4, 5][..], 0));
            // The ring's start goes on.
            bytes.extend(&[0; 3]);
            bytes.drain(..3);
        }
    }
}
