//! Checksums of ext4: CRC-32C of everything, CRC-16 of group descriptors in older volumes.

/// Polynomial of CRC-32C (Castagnoli), bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// Polynomial of CRC-16, bits reversed.
const POLYNOMIAL_16: u16 = 0xa001;

/// Tables by which eight bytes are taken at once.
const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 != 0 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        tables[0][index] = value;
        index += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut index = 0;
        while index < 256 {
            let value = tables[table - 1][index];
            tables[table][index] = value >> 8 ^ tables[0][(value & 0xff) as usize];
            index += 1;
        }
        table += 1;
    }
    tables
}

/// Goes on with a CRC-32C. The value is inverted neither before nor after, as in ext4.
pub fn crc32c(seed: u32, bytes: &[u8]) -> u32 {
    let byte = |word: u32, number: u32| (word >> (8 * number) & 0xff) as usize;
    let (words, rest) = bytes.as_chunks::<8>();
    let value = words.iter().fold(seed, |value, word| {
        let [a, b, c, d, e, f, g, h] = *word;
        let low = value ^ u32::from_le_bytes([a, b, c, d]);
        let high = u32::from_le_bytes([e, f, g, h]);
        (0..4).fold(0, |sum, number| {
            let place = 7 - number as usize;
            sum ^ TABLES[place][byte(low, number)] ^ TABLES[place - 4][byte(high, number)]
        })
    });
    rest.iter().fold(value, |value, next| value >> 8 ^ TABLES[0][byte(value ^ u32::from(*next), 0)])
}

/// Goes on with a CRC-16.
pub fn crc16(seed: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(seed, |value, byte| {
        (0..8).fold(value ^ u16::from(*byte), |value, _| {
            if value & 1 != 0 { value >> 1 ^ POLYNOMIAL_16 } else { value >> 1 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standards() {
        assert_eq!(!crc32c(!0, b"123456789"), 0xe306_9283);
        assert_eq!(!crc32c(crc32c(!0, b"1234"), b"56789"), 0xe306_9283);
        assert_eq!(crc16(0, b"123456789"), 0xbb3d);
    }
}
