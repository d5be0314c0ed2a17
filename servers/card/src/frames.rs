//! Frames between messages of the protocol `nic` and the card.

use nacre_proto::Errno;
use nacre_proto::nic::frames;
use nacre_virtio::{Fault, MAX_FRAME, Memory, Network};

/// A reason for a request to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The client is wrong.
    Client(Errno),
    /// The card broke the rules.
    Card(Fault),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure::Card(fault)
    }
}

/// Sends frames; returns how many the card has taken.
pub fn send<M: Memory>(card: &mut Network<M>, bytes: &[u8]) -> Result<u64, Failure> {
    if frames(bytes).any(|frame| frame.is_none_or(|frame| frame.len() > MAX_FRAME)) {
        return Err(Failure::Client(Errno::EINVAL));
    }
    let mut count = 0;
    for frame in frames(bytes).flatten() {
        if !card.send(frame)? {
            break;
        }
        count += 1;
    }
    card.flush();
    Ok(count)
}

/// Takes the frames that have come, each behind its length, as far as they fit into `to`. Returns
/// how many bytes they have.
pub fn receive<M: Memory>(card: &mut Network<M>, to: &mut [u8]) -> Result<usize, Failure> {
    let mut count = 0;
    while let Some(length) = card.next_size()? {
        let (Some(place), Ok(word)) = (to.get_mut(count..count + 2 + length), u16::try_from(length)) else { break };
        let (head, frame) = place.split_at_mut(2);
        head.copy_from_slice(&word.to_le_bytes());
        card.take(frame);
        count += place.len();
    }
    card.flush();
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use nacre_proto::nic::add_frame;
    use nacre_virtio::fake::{Device, FakeMemory};
    use nacre_virtio::{NETWORK, VENDOR, find};

    fn card() -> (Device, Network<FakeMemory>) {
        let mut device = Device::card();
        let function = find(&mut device, VENDOR, NETWORK).unwrap();
        let (other, source) = (device.clone(), device.clone());
        let card = Network::start(&mut device, function, |_| Some(other.registers()), |size| source.take(size)).unwrap();
        (device, card)
    }

    fn message(sizes: &[usize]) -> Vec<u8> {
        let mut bytes = Vec::new();
        sizes.iter().for_each(|size| add_frame(&mut bytes, &alloc::vec![7; *size]));
        bytes
    }

    #[test]
    fn frames_go_as_far_as_the_card_takes_them() {
        let (device, mut card) = card();
        device.0.borrow_mut().is_slow = true;
        assert_eq!(send(&mut card, &message(&[60; 100])), Ok(100));
        assert_eq!(send(&mut card, &message(&[60; 100])), Ok(28));
        for wrong in [&message(&[60, MAX_FRAME + 1])[..], &message(&[60])[..61], &[7]] {
            assert_eq!(send(&mut card, wrong), Err(Failure::Client(Errno::EINVAL)));
        }
    }

    #[test]
    fn frames_come_as_far_as_there_is_room() {
        let (device, mut card) = card();
        for _ in 0..3 {
            assert!(device.arrive(&[3; 72]));
        }
        let mut bytes = [0; 150];
        assert_eq!(receive(&mut card, &mut bytes), Ok(2 * 62));
        assert_eq!(frames(&bytes[..124]).collect::<Vec<_>>(), [Some(&[3; 60][..]); 2]);
        assert_eq!(receive(&mut card, &mut bytes[..61]), Ok(0));
        assert_eq!((receive(&mut card, &mut bytes), receive(&mut card, &mut bytes)), (Ok(62), Ok(0)));
    }

    #[test]
    fn a_card_that_breaks_the_rules_is_told_of() {
        let (device, mut card) = card();
        device.scribble_ring(0, 2, 129);
        assert!(matches!(receive(&mut card, &mut [0; 2000]), Err(Failure::Card(_))));
    }
}
