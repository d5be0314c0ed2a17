//! What the two sides of a move say to each other: lines, and the bytes of an image.

use std::io::{self, BufRead, ErrorKind, Read};

/// Maximum number of bytes of a line.
const LONGEST: u64 = 1024;
/// Maximum number of bytes of a part of an image.
pub const MAX_PART: u64 = 1 << 20;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The first line of either side, with the version.
    Hello,
    /// Number of bytes of a round that follow.
    Part(u64),
    /// A round is whole, and another one follows.
    Next,
    /// The last round is whole.
    End,
    /// The receiver is at work.
    Wait,
    /// The receiver has thawed the image, and nothing of it runs yet.
    Ready,
    /// The environment does not run at the sender's any more.
    Go,
    /// The environment runs at the receiver's.
    Running,
    /// The side that says this does not go on, and why.
    Refused(String),
}

impl Message {
    /// Reads a line without its end. `None`: it is none of ours.
    pub fn parse(line: &[u8]) -> Option<Message> {
        Some(match line {
            b"nacre-move 2" => Message::Hello,
            b"next" => Message::Next,
            b"end" => Message::End,
            b"wait" => Message::Wait,
            b"ready" => Message::Ready,
            b"go" => Message::Go,
            b"running" => Message::Running,
            _ => match (line.strip_prefix(b"part "), line.strip_prefix(b"refused ")) {
                (Some(size), _) => Message::Part(decimal(size).filter(|size| (1..=MAX_PART).contains(size))?),
                (_, Some(text)) => Message::Refused(plain(text)),
                _ => return None,
            },
        })
    }

    /// The line, with its end.
    pub fn line(&self) -> String {
        let word = match self {
            Message::Hello => "nacre-move 2",
            Message::Next => "next",
            Message::Part(size) => return format!("part {size}\n"),
            Message::End => "end",
            Message::Wait => "wait",
            Message::Ready => "ready",
            Message::Go => "go",
            Message::Running => "running",
            Message::Refused(text) => return format!("refused {}\n", plain(text.as_bytes())),
        };
        format!("{word}\n")
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok()
}

/// Text of the other side that moves no cursor, and that fits a line.
fn plain(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().map(|letter| if letter.is_control() { '?' } else { letter }).take(200).collect()
}

/// Reasons why what the other side says cannot be read.
#[derive(Debug)]
pub enum Broken {
    /// The connection has ended.
    Gone,
    /// Silence of the other side, for too long.
    Silent,
    /// A line makes no sense here.
    Senseless,
    /// The other side does not go on.
    Refused(String),
    /// The image has more bytes than this.
    TooLarge(u64),
    /// The connection, or the file that the image is written to, has failed.
    Failed(io::Error),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Broken {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Broken::Silent,
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Broken::Gone,
            _ => Broken::Failed(error),
        }
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Broken::Gone => write!(formatter, "the connection has broken"),
            Broken::Silent => write!(formatter, "the other side was silent for too long"),
            Broken::Senseless => write!(formatter, "the other side says what makes no sense in a move"),
            Broken::Refused(text) => write!(formatter, "the other side refused: {text}"),
            Broken::TooLarge(limit) => write!(formatter, "the image has more than {} MiB, the memory of the machine", limit >> 20),
            Broken::Failed(error) => write!(formatter, "{error}"),
        }
    }
}

/// Reads the next line but for those that say to wait. One that refuses is an error.
pub fn next(from: &mut impl BufRead) -> Result<Message, Broken> {
    loop {
        let mut line = Vec::new();
        let count = from.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        let Some(text) = line.strip_suffix(b"\n") else {
            return Err(if count as u64 == LONGEST { Broken::Senseless } else { Broken::Gone });
        };
        match Message::parse(text).ok_or(Broken::Senseless)? {
            Message::Wait => {}
            Message::Refused(text) => return Err(Broken::Refused(text)),
            message => return Ok(message),
        }
    }
}

/// Reads a line that has to be this one.
pub fn expect(from: &mut impl BufRead, wanted: &Message) -> Result<(), Broken> {
    if next(from)? == *wanted { Ok(()) } else { Err(Broken::Senseless) }
}

/// Reads a round of at most so many bytes to its end, into `sink`. Its size, and whether it is the
/// last one.
pub fn take_round(from: &mut impl BufRead, limit: u64, mut sink: impl FnMut(&[u8]) -> io::Result<()>) -> Result<(u64, bool), Broken> {
    let (mut total, mut part) = (0u64, vec![0; 16384]);
    loop {
        let mut left = match next(from)? {
            Message::Part(size) => size,
            Message::End => return Ok((total, true)),
            Message::Next => return Ok((total, false)),
            _ => return Err(Broken::Senseless),
        };
        total = total.checked_add(left).filter(|total| *total <= limit).ok_or(Broken::TooLarge(limit))?;
        while left > 0 {
            let wanted = part.len().min(usize::try_from(left).unwrap_or(part.len()));
            match from.read(&mut part[..wanted])? {
                0 => return Err(Broken::Gone),
                count => {
                    sink(&part[..count]).map_err(Broken::Failed)?;
                    left -= count as u64;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(mut bytes: &[u8], limit: u64) -> Result<Vec<u8>, String> {
        let mut image = Vec::new();
        let size = take_round(&mut bytes, limit, |part| {
            image.extend_from_slice(part);
            Ok(())
        });
        let (size, is_last) = size.map_err(|broken| broken.to_string())?;
        assert_eq!((size, is_last), (image.len() as u64, !bytes.ends_with(b"!")));
        Ok(image)
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let refused = Message::Refused("no room".to_string());
        for message in [Message::Hello, Message::Part(7), Message::Next, Message::End, Message::Wait, Message::Ready, Message::Go, Message::Running, refused] {
            assert_eq!(Message::parse(message.line().trim_end().as_bytes()), Some(message));
        }
        for wrong in [&b""[..], b"nacre-move 1", b"part", b"part ", b"part 0", b"part -1", b"part 1048577", b"part 99999999999999999999", b"GO"] {
            assert_eq!(Message::parse(wrong), None, "{wrong:?}");
        }
        assert_eq!(Message::parse(b"refused \x1b[2J"), Some(Message::Refused("?[2J".to_string())));
    }

    #[test]
    fn an_image_comes_in_parts() {
        assert_eq!(taken(b"part 2\nabwait\npart 1\ncend\nmore", 3).as_deref(), Ok(&b"abc"[..]));
        assert_eq!(taken(b"end\n", 0).as_deref(), Ok(&b""[..]));
        assert_eq!(taken(b"part 1\nanext\n!", 3).as_deref(), Ok(&b"a"[..]));
    }

    #[test]
    fn what_is_no_image_is_told_in_a_sentence() {
        let said = |bytes: &[u8]| taken(bytes, 100).unwrap_err();
        assert!(said(b"part 5\nabc").contains("has broken") && said(b"").contains("has broken") && said(b"part 5").contains("has broken"));
        assert!(said(b"GET / HTTP/1.1\r\n").contains("makes no sense") && said(b"go\n").contains("makes no sense"));
        assert!(said(&[b'x'; 5000]).contains("makes no sense"));
        assert!(said(&[b"part 60\n", &[0; 60][..], b"part 41\n"].concat()).contains("more than"));
        assert_eq!(said(b"refused no \x07room\n"), "the other side refused: no ?room");
    }
}
