//! Rust source without what is not code: comments become blanks, and the insides of strings and
//! characters become `x`.

/// A source file, masked.
#[derive(Clone, Debug)]
pub struct Masked {
    /// As long as the source, line by line; only code is left.
    pub code: String,
    /// Source with only its comments left.
    pub comments: String,
}

/// Part of the source that a byte belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

/// Masks `source`. Works on bytes; a source that does not compile may come out wrong, but never
/// fails.
pub fn mask(source: &str) -> Masked {
    let bytes = source.as_bytes();
    let mut parts = vec![Part::Code; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let (size, part) = token(bytes, at);
        let end = (at + size.max(1)).min(bytes.len());
        parts[at..end].fill(part);
        at = end;
    }
    Masked { code: keep(bytes, &parts, Part::Code), comments: keep(bytes, &parts, Part::Comment) }
}

fn keep(bytes: &[u8], parts: &[Part], wanted: Part) -> String {
    let masked = bytes.iter().zip(parts).map(|(byte, part)| match byte {
        b'\n' => '\n',
        _ if *part == wanted => char::from(*byte),
        b' ' | b'\t' => ' ',
        _ if wanted == Part::Code && *part == Part::Literal => 'x',
        _ => ' ',
    });
    masked.collect()
}

/// Returns the length of the token at `at`, as far as masking cares, and its part.
fn token(bytes: &[u8], at: usize) -> (usize, Part) {
    let rest = &bytes[at..];
    let starts_word = at == 0 || !is_word(bytes[at - 1]);
    if rest.starts_with(b"//") {
        return (rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()), Part::Comment);
    }
    if rest.starts_with(b"/*") {
        return (block_comment(rest), Part::Comment);
    }
    if let Some(size) = raw_string(rest).filter(|_| starts_word) {
        return (size, Part::Literal);
    }
    match rest[0] {
        b'"' => (quoted(rest, b'"'), Part::Literal),
        b'\'' if is_character(rest) => (quoted(rest, b'\''), Part::Literal),
        _ => (1, Part::Code),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Length of `r"..."`, `r#"..."#`, `br"..."` and the like, if there is one.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let prefix = [&b"br"[..], b"cr", b"r"].into_iter().find(|prefix| rest.starts_with(prefix))?.len();
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(prefix + hashes) != Some(&b'"') {
        return None;
    }
    let end = [b"\"".to_vec(), vec![b'#'; hashes]].concat();
    let start = prefix + hashes + 1;
    let found = rest[start..].windows(end.len()).position(|window| window == end);
    Some(found.map_or(rest.len(), |found| start + found + end.len()))
}

/// Returns true if a quote starts a character rather than a lifetime.
fn is_character(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(first) if first.is_ascii() => rest.get(2) == Some(&b'\''),
        Some(_) => rest[1..].iter().take(5).any(|byte| *byte == b'\''),
        None => false,
    }
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        let cases = [
            ("a // b {", "a       "),
            ("a /* { /* } */ */ b", "a                 b"),
            ("s = \"{ // \\\" }\";", "s = xx xx xx xx;"),
            ("r#\"a \" b\"# c", "xxxx x xxx c"),
            ("'{' 'a '\\'' b\"{\"", "xxx 'a xxxx bxxx"),
            ("&'static str", "&'static str"),
        ];
        for (source, wanted) in cases {
            assert_eq!(mask(source).code, wanted, "{source}");
        }
    }

    #[test]
    fn comments_stay_on_their_lines() {
        assert_eq!(mask("a\n// SAFETY: x\nb").comments, " \n// SAFETY: x\n ");
    }

    #[test]
    fn unfinished_sources_do_not_fail() {
        for source in ["\"abc", "/* abc", "r#\"abc", "'\\", "'", "\"\\", "r", "br#"] {
            assert_eq!(mask(source).code.len(), source.len(), "{source}");
        }
    }
}
