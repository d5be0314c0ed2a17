//! Fills the kernel image's room for function names out of the image's own symbol table.
#![forbid(unsafe_code)]

use std::fmt;

/// The section that is filled.
pub const SECTION: &str = ".nacre.symbols";
const MAGIC: &[u8; 4] = b"NSYM";
const SECTION_SIZE: usize = 64;
const SYMBOL_SIZE: usize = 24;
const TYPE_SYMBOLS: u32 = 2;
const FUNCTION: u8 = 2;
const NO_TYPE: u8 = 0;
const LONGEST_NAME: usize = 120;

/// Why an image cannot be filled.
#[derive(Debug, PartialEq, Eq)]
pub enum Error {
    /// Not a little-endian 64-bit ELF file, or a damaged one.
    NotElf,
    /// It has no section [`SECTION`].
    NoRoom,
    /// It has no symbol table.
    NoSymbols,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::NotElf => "the kernel image is not a 64-bit ELF file",
            Error::NoRoom => "the kernel image has no section .nacre.symbols",
            Error::NoSymbols => "the kernel image has no symbol table: it was stripped",
        })
    }
}

impl std::error::Error for Error {}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(size)?)?;
    Some(part.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn text(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    std::str::from_utf8(rest.split(|byte| *byte == 0).next()?).ok()
}

struct Section<'i> {
    name: &'i str,
    kind: u32,
    start: usize,
    size: usize,
    link: usize,
}

fn sections(image: &[u8]) -> Option<Vec<Section<'_>>> {
    if !image.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, count, names) = (number(image, 40, 8)? as usize, number(image, 60, 2)? as usize, number(image, 62, 2)? as usize);
    let header = |index: usize| image.get(table.checked_add(index * SECTION_SIZE)?..)?.get(..SECTION_SIZE);
    let names_start = number(header(names)?, 24, 8)? as usize;
    (0..count)
        .map(|index| {
            let header = header(index)?;
            Some(Section {
                name: text(image, names_start.checked_add(number(header, 0, 4)? as usize)?)?,
                kind: number(header, 4, 4)? as u32,
                start: number(header, 24, 8)? as usize,
                size: number(header, 32, 8)? as usize,
                link: number(header, 40, 4)? as usize,
            })
        })
        .collect()
}

/// Name as a person writes it, without the hash and cut at a readable length.
fn readable(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name)).chars().take(LONGEST_NAME).collect()
}

/// Offsets from the image's start, with names, ascending.
fn functions(image: &[u8], sections: &[Section<'_>]) -> Option<Vec<(u32, String)>> {
    let symbols = sections.iter().find(|section| section.kind == TYPE_SYMBOLS)?;
    let names = sections.get(symbols.link)?;
    let table = image.get(symbols.start..symbols.start.checked_add(symbols.size)?)?;
    let named = |name: &str| {
        let found = table.chunks_exact(SYMBOL_SIZE).find(|symbol| text(image, names.start + number(symbol, 0, 4).unwrap_or(0) as usize) == Some(name));
        number(found?, 8, 8)
    };
    let (start, end) = (named("image_start")?, named("image_text_end")?);
    let mut functions: Vec<(u32, String)> = table
        .chunks_exact(SYMBOL_SIZE)
        .filter_map(|symbol| {
            let (name, kind, address) = (text(image, names.start + number(symbol, 0, 4)? as usize)?, symbol[4] & 15, number(symbol, 8, 8)?);
            let counts = (kind == FUNCTION || kind == NO_TYPE) && !name.is_empty() && name != "image_start" && (start..end).contains(&address);
            counts.then(|| (u32::try_from(address - start).unwrap_or(u32::MAX), readable(name)))
        })
        .collect();
    functions.sort();
    functions.dedup_by_key(|(offset, _)| *offset);
    Some(functions)
}

/// The table, with as many functions as there is room for.
fn table(functions: &[(u32, String)], room: usize) -> Vec<u8> {
    let (mut count, mut size) = (0, 8);
    for (_, name) in functions {
        if size + 8 + name.len() + 1 > room {
            break;
        }
        (count, size) = (count + 1, size + 8 + name.len() + 1);
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend((count as u32).to_le_bytes());
    let mut name_at = 8 + 8 * count;
    for (offset, name) in &functions[..count] {
        bytes.extend(offset.to_le_bytes());
        bytes.extend((name_at as u32).to_le_bytes());
        name_at += name.len() + 1;
    }
    for (_, name) in &functions[..count] {
        bytes.extend(name.as_bytes());
        bytes.push(0);
    }
    bytes.resize(room, 0);
    bytes
}

/// Fills the room in `image`. Returns how many functions have a name there.
pub fn embed(image: &mut [u8]) -> Result<usize, Error> {
    let sections = sections(image).ok_or(Error::NotElf)?;
    let room = sections.iter().find(|section| section.name == SECTION).ok_or(Error::NoRoom)?;
    let place = room.start..room.start.saturating_add(room.size);
    let functions = functions(image, &sections).ok_or(Error::NoSymbols)?;
    let bytes = table(&functions, place.len());
    let target = image.get_mut(place).ok_or(Error::NotElf)?;
    target.copy_from_slice(&bytes);
    Ok(number(&bytes, 4, 4).unwrap_or(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_holds_what_fits() {
        let functions = [(0, "first".to_string()), (16, "second".to_string()), (32, "x".repeat(100))];
        let bytes = table(&functions, 64);
        assert_eq!(number(&bytes, 4, 4), Some(2));
        assert_eq!(number(&bytes, 16, 4), Some(16));
        assert_eq!(text(&bytes, number(&bytes, 20, 4).unwrap() as usize), Some("second"));
        assert_eq!(bytes.len(), 64);
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(embed(&mut [0; 200]), Err(Error::NotElf));
        assert_eq!(embed(&mut b"\x7fELF\x02\x01".to_vec()), Err(Error::NotElf));
    }
}
