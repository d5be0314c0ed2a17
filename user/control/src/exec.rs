//! Texts and answers of the commands about a process that a person has started in a running world.
//!
//! The answer is frames: a byte that says the kind, the size as four bytes (little endian), and so
//! many bytes. Text that comes from outside, and frames that come from inside, may be anything.

use alloc::vec::Vec;

/// Maximum number of bytes of a command's text: it is one line of the host's, two digits a byte.
pub const MAX_TEXT: usize = 15_000;
/// Number of bytes of output that are on their way at most: more waits until the host has said
/// that it has taken some.
pub const WINDOW: usize = 64 << 10;
/// Maximum number of bytes of a frame.
pub const MAX_FRAME: usize = 4096;
/// Number of bytes before the contents of a frame.
const HEADER: usize = 5;
/// Maximum number of bytes in a frame.
pub const MAX_CONTENTS: usize = MAX_FRAME - HEADER;

/// Kind of frame: what the process wrote to its output.
pub const OUTPUT: u8 = 1;
/// Kind of frame: what the process wrote to its errors.
pub const ERRORS: u8 = 2;
/// Kind of frame: the process has ended; four bytes of its status, as `parent.exit` has it.
pub const ENDED: u8 = 3;
/// Kind of frame: the process could not be started; four bytes of a status, and why.
pub const REFUSED: u8 = 4;

/// A process to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start<'a> {
    /// Rows and columns of the terminal that it is to have.
    pub window: Option<(u16, u16)>,
    /// Words of the command; at least one.
    pub words: Vec<&'a [u8]>,
}

/// Takes the text of `COMMAND_EXEC` apart.
pub fn start(text: &[u8], has_terminal: bool) -> Option<Start<'_>> {
    let mut words = text.strip_suffix(&[0])?.split(|byte| *byte == 0);
    let window = if has_terminal { Some(window(words.next()?)?) } else { None };
    let words: Vec<&[u8]> = words.collect();
    words.first().is_some_and(|name| !name.is_empty()).then_some(Start { window, words })
}

/// The text of `COMMAND_EXEC`.
pub fn start_text(start: &Start<'_>) -> Vec<u8> {
    let window = start.window.map(|(rows, columns)| alloc::format!("{rows} {columns}\0").into_bytes());
    let words = start.words.iter().flat_map(|word| word.iter().copied().chain([0]));
    window.into_iter().flatten().chain(words).collect()
}

/// The number of the command that a text is about, and what follows.
pub fn about(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    Some((number(&text[..end])?, text.get(end + 1..)?))
}

/// A text about the command with this number.
pub fn about_text(command: u64, rest: &[u8]) -> Vec<u8> {
    [alloc::format!("{command}\n").as_bytes(), rest].concat()
}

/// Rows and columns.
pub fn window(text: &[u8]) -> Option<(u16, u16)> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let number = |digits| u16::try_from(number(digits)?).ok();
    Some((number(&text[..space])?, number(&text[space + 1..])?))
}

/// A number in decimal digits, and nothing else.
pub fn number(digits: &[u8]) -> Option<u64> {
    let is_plain = digits.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok()
}

/// A frame. What is too long is cut.
pub fn frame(kind: u8, contents: &[u8]) -> Vec<u8> {
    let contents = &contents[..contents.len().min(MAX_CONTENTS)];
    let mut frame = Vec::with_capacity(HEADER + contents.len());
    frame.push(kind);
    frame.extend_from_slice(&(contents.len() as u32).to_le_bytes());
    frame.extend_from_slice(contents);
    frame
}

/// Takes frames out of bytes that come in pieces.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    at: usize,
}

/// An answer that is no sequence of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Senseless;

impl Frames {
    /// Adds bytes that have come.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..core::mem::take(&mut self.at));
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame that is whole: kind and contents.
    pub fn next(&mut self) -> Result<Option<(u8, &[u8])>, Senseless> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let [kind, size @ ..] = *header;
        let size = u32::from_le_bytes(size) as usize;
        if size > MAX_CONTENTS || !(OUTPUT..=REFUSED).contains(&kind) {
            return Err(Senseless);
        }
        let Some(contents) = rest.get(..size) else { return Ok(None) };
        self.at += HEADER + size;
        Ok(Some((kind, contents)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_start_is_taken_apart_as_it_was_put_together() {
        for window in [None, Some((24, 80))] {
            let one = Start { window, words: vec![b"sh", b"", b"a b"] };
            assert_eq!(start(&start_text(&one), window.is_some()), Some(one));
        }
        for wrong in [&b""[..], b"sh", b"\0", b"\0sh\0"] {
            assert_eq!(start(wrong, false), None, "{wrong:?}");
        }
        for wrong in [&b"sh\0"[..], b"24 80\0", b"24\0sh\0", b"24 99999\0sh\0", b"24 \0sh\0", b"+4 8\0sh\0"] {
            assert_eq!(start(wrong, true), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_text_is_about_a_command() {
        assert_eq!(about(&about_text(7, b"a\nb")), Some((7, &b"a\nb"[..])));
        assert_eq!(about(b"7\n"), Some((7, &b""[..])));
        for wrong in [&b""[..], b"7", b"\n", b"x\n", b"-1\n", b"99999999999999999999\n"] {
            assert_eq!(about(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn frames_come_in_pieces() {
        let bytes = [frame(OUTPUT, b"one"), frame(ERRORS, b""), frame(ENDED, &[7, 0, 0, 0])].concat();
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        for byte in bytes {
            frames.feed(&[byte]);
            while let Some((kind, contents)) = frames.next().unwrap() {
                found.push((kind, contents.to_vec()));
            }
        }
        assert_eq!(found, [(OUTPUT, b"one".to_vec()), (ERRORS, vec![]), (ENDED, vec![7, 0, 0, 0])]);
        for wrong in [&[0, 0, 0, 0, 0][..], &[1, 0, 0, 1, 0], &[9, 1, 0, 0, 0]] {
            let mut frames = Frames::default();
            frames.feed(wrong);
            assert_eq!(frames.next(), Err(Senseless), "{wrong:?}");
        }
    }
}
