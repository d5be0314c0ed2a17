//! Protocol 14, `nic`: a network card.

crate::protocol! {
    /// A card for frames of Ethernet. Whoever has a reference sends in the card's name and takes
    /// what comes: frames that one client has taken no other sees. Several frames go in one
    /// message, each behind its length in two bytes, the lower one first.
    ///
    /// The parent gives the service, which answers `driver` alone. All else is asked at the port of
    /// the card's driver. A driver that ends has a successor with a port of its own: what was on
    /// its way then is lost, as on a wire that was cut. A client learns of the end by a call that
    /// fails, or because the port that it left with `watch` has no references any more.
    nic = 14;

    /// Returns the card's address, whose first byte is the lowest one, and the largest frame in
    /// bytes, with both addresses. `EIO`: the card broke down.
    1 facts() -> (address: Hex, frame: Number);
    /// Sends frames, and returns how many of them the card has taken, from the first one on; the
    /// others can be sent again. `EINVAL`: a length is wrong. `EIO`: the card broke down.
    2 send(; bytes frames: Data) -> (count: Number);
    /// Takes the frames that have come, at most `size` bytes. If one more of the largest size would
    /// have had room, there was none more. `EIO`: the card broke down.
    3 receive(size: Number) -> (; bytes frames: Data);
    /// Has the port notified with these bits when frames come, from now on, in place of the port
    /// that was named before. It is notified again only after all frames have been taken.
    4 watch(bits: Hex; references port: Kept(Port)) -> ();
    /// Returns the port of the present driver, and its number, from 1 on. `failed` is the number of
    /// a driver that gave no answer, or none that makes sense; 0: of none. If it is the present
    /// one it is ended. `EAGAIN`: a driver is about to start; ask again later. `EIO`: there is no
    /// driver, and will be none.
    5 driver(failed: Number) -> (number: Number; references card: Own(Nic));
}

/// Splits what `nic.send` and `nic.receive` carry into frames. `None` stands for a length that
/// leaves the bytes, behind which nothing comes.
pub fn frames(mut bytes: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    core::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let frame = bytes.split_first_chunk::<2>().and_then(|(size, rest)| rest.split_at_checked(u16::from_le_bytes(*size).into()));
        bytes = frame.map_or(&[], |(_, rest)| rest);
        Some(frame.map(|(frame, _)| frame))
    })
}

/// Adds a frame to what `nic.send` or `nic.receive` carries. A frame that is too long for its
/// length is left out.
pub fn add_frame(to: &mut alloc::vec::Vec<u8>, frame: &[u8]) {
    if let Ok(size) = u16::try_from(frame.len()) {
        to.extend(size.to_le_bytes());
        to.extend(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn frames_come_apart_as_they_were_put_together() {
        let mut bytes = Vec::new();
        [&b"one"[..], b"", b"three"].iter().for_each(|frame| add_frame(&mut bytes, frame));
        assert_eq!(frames(&bytes).collect::<Vec<_>>(), [Some(&b"one"[..]), Some(b""), Some(b"three")]);
        bytes.truncate(bytes.len() - 1);
        assert_eq!(frames(&bytes).collect::<Vec<_>>(), [Some(&b"one"[..]), Some(b""), None]);
        assert_eq!(frames(&[7]).collect::<Vec<_>>(), [None]);
        add_frame(&mut bytes, &[0; 1 << 16]);
        assert_eq!(bytes.len(), 5 + 2 + 6);
    }
}
