//! Bytes as text: quoted, escaped and cut off as strace does.

use alloc::string::String;
use core::fmt::Write;

fn escape(byte: u8, next_is_digit: bool, into: &mut String) {
    let short = match byte {
        b'\n' => 'n',
        b'\t' => 't',
        b'\r' => 'r',
        0x0b => 'v',
        0x0c => 'f',
        b'"' => '"',
        b'\\' => '\\',
        b' '..=b'~' => return into.push(byte as char),
        _ if next_is_digit => return write!(into, "\\{byte:03o}").unwrap_or(()),
        _ => return write!(into, "\\{byte:o}").unwrap_or(()),
    };
    into.push('\\');
    into.push(short);
}

/// Appends `bytes` in quotes; after the first `limit` of them, dots.
pub fn quote(bytes: &[u8], limit: usize, into: &mut String) {
    let shown = &bytes[..bytes.len().min(limit)];
    into.push('"');
    for (index, byte) in shown.iter().enumerate() {
        let next_is_digit = shown.get(index + 1).is_some_and(u8::is_ascii_digit);
        escape(*byte, next_is_digit, into);
    }
    into.push('"');
    if shown.len() < bytes.len() {
        into.push_str("...");
    }
}

/// Appends text as a string of JSON.
pub fn json_string(text: &str, into: &mut String) {
    into.push('"');
    for character in text.chars() {
        match character {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            character if (character as u32) < 0x20 => write!(into, "\\u{:04x}", character as u32).unwrap_or(()),
            character => into.push(character),
        }
    }
    into.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(bytes: &[u8], limit: usize) -> String {
        let mut text = String::new();
        quote(bytes, limit, &mut text);
        text
    }

    #[test]
    fn bytes_read_as_in_strace() {
        assert_eq!(quoted(b"hello world\n", 32), r#""hello world\n""#);
        assert_eq!(quoted(b"a\0b\x001\"\\\x1b\xff", 32), r#""a\0b\0001\"\\\33\377""#);
        assert_eq!(quoted(b"", 32), r#""""#);
    }

    #[test]
    fn long_ones_end_in_dots() {
        assert_eq!(quoted(b"abcdef", 3), r#""abc"..."#);
        assert_eq!(quoted(b"abc", 3), r#""abc""#);
        assert_eq!(quoted(b"abc", 0), r#"""..."#);
    }
}
