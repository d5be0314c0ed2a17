//! Hashes of names, by which directories are indexed.

use crate::geometry::Geometry;

/// Functions, as a volume numbers them.
const LEGACY: u8 = 0;
const HALF_MD4: u8 = 1;
const TEA: u8 = 2;
const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
/// Largest hash, which marks an end.
const END: u32 = 0xffff_fffe;

/// A hash: the part that the index has, whose lowest bit is 0, and one that only orders entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hash {
    pub major: u32,
    pub minor: u32,
}

/// Returns the hash of a name by a function; `None`: the function is not known.
pub fn hash(name: &[u8], version: u8, geometry: &Geometry) -> Option<Hash> {
    let signed = version <= TEA && !geometry.hash_unsigned;
    let is_seeded = geometry.hash_seed.iter().any(|word| *word != 0);
    let mut state = if is_seeded { geometry.hash_seed } else { START };
    let (major, minor) = match version % 3 {
        _ if version > TEA + 3 => return None,
        LEGACY => (legacy(name, signed), 0),
        HALF_MD4 => {
            let chunks = (0..name.len()).step_by(32);
            chunks.for_each(|at| half_md4(&mut state, &words::<8>(&name[at..], signed)));
            (state[1], state[2])
        }
        _ => {
            let chunks = (0..name.len()).step_by(16);
            chunks.for_each(|at| tea(&mut state, &words::<4>(&name[at..], signed)));
            (state[0], state[1])
        }
    };
    let major = major & !1;
    Some(Hash { major: if major == END { END - 2 } else { major }, minor })
}

fn byte(value: u8, signed: bool) -> u32 {
    if signed { i32::from(value.cast_signed()).cast_unsigned() } else { value.into() }
}

fn legacy(name: &[u8], signed: bool) -> u32 {
    let (mut last, mut before) = (0x12a3_fe2d_u32, 0x37ab_e8f9_u32);
    for value in name {
        let product = byte(*value, signed).wrapping_mul(7_152_373);
        let sum = before.wrapping_add(last ^ product);
        let next = if sum & 0x8000_0000 != 0 { sum.wrapping_sub(0x7fff_ffff) } else { sum };
        (before, last) = (last, next);
    }
    last << 1
}

/// Packs the beginning of a name into words, filled up with its length.
fn words<const N: usize>(name: &[u8], signed: bool) -> [u32; N] {
    let length = name.len() as u32 & 0xff;
    let fill = length * 0x0101_0101;
    let mut words = [fill; N];
    for (word, bytes) in words.iter_mut().zip(name.chunks(4)) {
        let add = |value: u32, next: &u8| byte(*next, signed).wrapping_add(value << 8);
        *word = bytes.iter().fold(fill, add);
    }
    words
}

fn half_md4(state: &mut [u32; 4], input: &[u32; 8]) {
    type Mix = fn(u32, u32, u32) -> u32;
    const ROUNDS: [(Mix, u32, [usize; 8], [u32; 4]); 3] = [
        (|x, y, z| z ^ (x & (y ^ z)), 0, [0, 1, 2, 3, 4, 5, 6, 7], [3, 7, 11, 19]),
        (|x, y, z| (x & y).wrapping_add((x ^ y) & z), 0x5a82_7999, [1, 3, 5, 7, 0, 2, 4, 6], [3, 5, 9, 13]),
        (|x, y, z| x ^ y ^ z, 0x6ed9_eba1, [3, 7, 2, 6, 1, 5, 0, 4], [3, 9, 11, 15]),
    ];
    let mut words = *state;
    for (mix, constant, order, shifts) in ROUNDS {
        for (step, index) in order.into_iter().enumerate() {
            let [a, b, c, d] = [0, 1, 2, 3].map(|place| (place + 4 - step % 4) % 4);
            let mixed = mix(words[b], words[c], words[d]);
            let sum = words[a].wrapping_add(mixed).wrapping_add(input[index]).wrapping_add(constant);
            words[a] = sum.rotate_left(shifts[step % 4]);
        }
    }
    state.iter_mut().zip(words).for_each(|(old, new)| *old = old.wrapping_add(new));
}

fn tea(state: &mut [u32; 4], input: &[u32; 4]) {
    let (mut sum, mut left, mut right) = (0_u32, state[0], state[1]);
    let mix = |value: u32, sum: u32, first: u32, second: u32| {
        (value << 4).wrapping_add(first) ^ value.wrapping_add(sum) ^ (value >> 5).wrapping_add(second)
    };
    for _ in 0..16 {
        sum = sum.wrapping_add(0x9e37_79b9);
        left = left.wrapping_add(mix(right, sum, input[0], input[1]));
        right = right.wrapping_add(mix(left, sum, input[2], input[3]));
    }
    state[0] = state[0].wrapping_add(left);
    state[1] = state[1].wrapping_add(right);
}
