//! Reading little-endian fields out of tables that firmware or a boot loader left in memory.
//! Nothing here trusts an offset.
#![forbid(unsafe_code)]

/// The byte at `offset`.
pub fn u8_at(bytes: &[u8], offset: usize) -> Option<u8> {
    bytes.get(offset).copied()
}

/// The 16-bit word at `offset`.
pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let part = bytes.get(offset..offset.checked_add(2)?)?;
    Some(u16::from_le_bytes(part.try_into().ok()?))
}

/// The 32-bit word at `offset`.
pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let part = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(part.try_into().ok()?))
}

/// The 64-bit word at `offset`.
pub fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let part = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(part.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_outside_are_none() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(u64_at(&bytes, 0), Some(0x0807_0605_0403_0201));
        assert_eq!(u32_at(&bytes, 4), Some(0x0807_0605));
        assert_eq!(u32_at(&bytes, 5), None);
        assert_eq!(u16_at(&bytes, usize::MAX), None);
        assert_eq!(u8_at(&bytes, 8), None);
    }
}
