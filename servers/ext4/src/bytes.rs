//! Numbers in blocks. What lies beyond the end reads as 0, and is not written.

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..at.saturating_add(N)).and_then(|found| found.try_into().ok());
    found.unwrap_or([0; N])
}

/// Returns 16 bits, low byte first.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

/// Returns 32 bits, low byte first.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

/// Returns 32 bits, high byte first, as journals have them.
pub fn be32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

/// Returns a number of 64 bits whose halves are apart.
pub fn halves(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Writes bytes.
pub fn set(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(value.len())) {
        place.copy_from_slice(value);
    }
}

/// Writes 16 bits, low byte first.
pub fn set_u16(bytes: &mut [u8], at: usize, value: u16) {
    set(bytes, at, &value.to_le_bytes());
}

/// Writes 32 bits, low byte first.
pub fn set_u32(bytes: &mut [u8], at: usize, value: u32) {
    set(bytes, at, &value.to_le_bytes());
}

/// Writes 32 bits, high byte first.
pub fn set_be32(bytes: &mut [u8], at: usize, value: u32) {
    set(bytes, at, &value.to_be_bytes());
}
