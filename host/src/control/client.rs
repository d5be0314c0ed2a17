//! The side that asks: one command to one machine, and its answer.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nacre_proto::Errno;

use super::names;
use crate::failure::{Class, Context, Failure, Outcome};

/// Maximum number of bytes of an answer that is kept in memory.
const MAX_ANSWER: usize = 16 << 20;

/// An answer that is kept in memory. The guest is not trusted: an answer that goes on for too long
/// is left, as a guest that is silent is.
pub struct Collected {
    /// Bytes of the answer.
    pub bytes: Vec<u8>,
    until: Option<Instant>,
}

impl Collected {
    /// Makes an empty answer, which has this time in all.
    pub fn new(limit: Option<Duration>) -> Collected {
        Collected { bytes: Vec::new(), until: limit.and_then(|limit| Instant::now().checked_add(limit)) }
    }

    /// Takes a part. `TimedOut`: there is no more to be taken.
    pub fn take(&mut self, part: &[u8]) -> std::io::Result<()> {
        let is_late = self.until.is_some_and(|until| Instant::now() > until);
        if is_late || self.bytes.len() + part.len() > MAX_ANSWER {
            return Err(ErrorKind::TimedOut.into());
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }
}

/// Facts about a machine, as its host process says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Number of the process that runs it.
    pub pid: u32,
    /// Number of the command that was given.
    pub number: u64,
    /// The command that it runs.
    pub command: Vec<String>,
}

/// Gives a command to the machine with this name, as [`ask`] does without a limit, and hands the
/// facts about it on as soon as they come.
pub fn ask_and_tell(name: &str, words: (u64, u64, &[u8]), begun: impl FnMut(&About), take: impl FnMut(&[u8]) -> std::io::Result<()>) -> Outcome<Option<Errno>> {
    read(send(name, words, None)?, begun, take).map(|(_, errno)| errno)
}

/// Asks the machine with this name; each part of its answer goes to `take`. What it is, and the
/// errno that it ended with, or none if it did not end. With a time limit, a machine that is silent
/// for longer is left, and so is one when `take` says `TimedOut`.
pub fn ask(name: &str, words: (u64, u64, &[u8]), limit: Option<Duration>, take: impl FnMut(&[u8]) -> std::io::Result<()>) -> Outcome<(About, Option<Errno>)> {
    read(send(name, words, limit)?, |_| (), take)
}

/// Sends a command.
fn send(name: &str, words: (u64, u64, &[u8]), limit: Option<Duration>) -> Outcome<UnixStream> {
    let mut stream = names::connect(name)?;
    let failed = || format!("cannot talk to the machine {name}");
    stream.set_read_timeout(limit).context(Class::Internal, failed)?;
    let (operation, flags, text) = words;
    let hex: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
    stream.write_all(format!("{operation} {flags} {hex}\n").as_bytes()).context(Class::Internal, failed)?;
    Ok(stream)
}

/// Line of an answer.
enum Line {
    About(About),
    /// Number of bytes that follow.
    Data(u64),
    /// The end, with the errno; none if the machine has ended, or is silent for too long.
    Done(Option<Errno>),
}

fn next_line(lines: &mut impl BufRead) -> Outcome<Line> {
    let mut line = String::new();
    let count = lines.take(1 << 20).read_line(&mut line).unwrap_or(0);
    let mut words = line.split_whitespace();
    Ok(match (words.next(), words.next()) {
        (Some("about"), Some(pid)) => {
            let number = words.next().and_then(|number| number.parse().ok()).unwrap_or(0);
            Line::About(About { pid: pid.parse().unwrap_or(0), number, command: command(words.next().unwrap_or_default()) })
        }
        (Some("data"), Some(size)) => size.parse().map_or(Line::Done(None), Line::Data),
        (Some("done"), Some(errno)) => Line::Done(errno.parse().ok().map(Errno)),
        _ if count == 0 => Line::Done(None),
        _ => return Err(Failure::new(Class::Internal, "the machine's answer makes no sense").remedy("is it of the same version of Nacre?")),
    })
}

/// Reads an answer.
fn read(stream: impl Read, mut begun: impl FnMut(&About), mut take: impl FnMut(&[u8]) -> std::io::Result<()>) -> Outcome<(About, Option<Errno>)> {
    let mut lines = BufReader::new(stream);
    let mut about = About::default();
    loop {
        match next_line(&mut lines)? {
            Line::About(told) => {
                about = told;
                begun(&about);
            }
            Line::Data(size) if copy(&mut lines, size, &mut take)? => {}
            Line::Data(_) => return Ok((about, None)),
            Line::Done(errno) => return Ok((about, errno)),
        }
    }
}

/// Command that has an image as the first part of its answer, and that is not done then. Dropping
/// it takes the command back.
pub struct Held {
    /// Number of the command.
    pub number: u64,
    lines: BufReader<UnixStream>,
}

impl Held {
    /// Gives the command to the machine with this name. The errno if it has no such answer, or
    /// none if the machine ends before that.
    pub fn begin(name: &str, words: (u64, u64, &[u8])) -> Outcome<Result<(Held, u64), Option<Errno>>> {
        let mut held = Held { number: 0, lines: BufReader::new(send(name, words, None)?) };
        loop {
            match next_line(&mut held.lines)? {
                Line::About(about) => held.number = about.number,
                Line::Data(size) => return Ok(Ok((held, size))),
                Line::Done(errno) => return Ok(Err(errno)),
            }
        }
    }

    /// Hands out so many bytes; false if there are fewer.
    pub fn copy(&mut self, size: u64, mut take: impl FnMut(&[u8]) -> std::io::Result<()>) -> Outcome<bool> {
        copy(&mut self.lines, size, &mut take)
    }
}

/// Hands out so many bytes; false if there are fewer.
fn copy(lines: &mut impl Read, mut left: u64, take: &mut impl FnMut(&[u8]) -> std::io::Result<()>) -> Outcome<bool> {
    let mut part = [0; 16384];
    while left > 0 {
        let wanted = part.len().min(usize::try_from(left).unwrap_or(part.len()));
        match lines.read(&mut part[..wanted]) {
            Ok(0) | Err(_) => return Ok(false),
            Ok(count) => {
                let taken = take(&part[..count]);
                if taken.as_ref().is_err_and(|error| error.kind() == ErrorKind::TimedOut) {
                    return Ok(false);
                }
                taken.context(Class::File, || "cannot write the answer".to_string())?;
                left -= count as u64;
            }
        }
    }
    Ok(true)
}

fn command(hex: &str) -> Vec<String> {
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes: Vec<u8> = (0..hex.len() / 2).map_while(|number| byte(2 * number)).collect();
    bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &[u8]) -> (Outcome<(About, Option<Errno>)>, Vec<u8>) {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(text).unwrap();
        drop(ours);
        let mut taken = Vec::new();
        let answer = read(theirs, |_| (), |bytes| {
            taken.extend_from_slice(bytes);
            Ok(())
        });
        (answer, taken)
    }

    #[test]
    fn an_answer_is_read_to_its_end() {
        let (answer, taken) = read_text(b"about 12 7 736800\ndata 3\nabcdata 2\nd\ndone 38\nrest");
        let about = About { pid: 12, number: 7, command: vec!["sh".to_string(), String::new()] };
        assert_eq!((answer.unwrap(), taken), ((about, Some(Errno::ENOSYS)), b"abcd\n".to_vec()));
    }

    #[test]
    fn one_without_an_end_is_left() {
        for (collected, parts) in [(Collected::new(None), MAX_ANSWER / (1 << 20)), (Collected::new(Some(Duration::ZERO)), 0)] {
            let (mut collected, mut taken) = (collected, 0);
            std::thread::sleep(Duration::from_millis(1));
            let part = [b'x'; 1 << 20];
            let endless = std::iter::repeat_n(&part[..], 17);
            let mut text = endless.fold(String::new(), |text, part| text + &format!("data {}\n{}", part.len(), String::from_utf8_lossy(part)));
            text += "done 0\n";
            let answer = read(text.as_bytes(), |_| (), |bytes| {
                taken += bytes.len();
                collected.take(bytes)
            });
            assert_eq!((answer.unwrap().1, collected.bytes.len() >> 20), (None, parts));
            assert!(taken <= MAX_ANSWER + 16384);
        }
    }

    #[test]
    fn one_that_is_cut_off_has_no_errno() {
        for text in [&b""[..], b"about 1 2 \n", b"data 5\nabc", b"data 99999999999999999999\n"] {
            assert_eq!(read_text(text).0.unwrap().1, None);
        }
        assert!(read_text(b"what is this\n").0.is_err());
    }
}
