//! Splits what comes over COM2 into messages for people and records for the host.
//!
//! A record is `ESC ] nacre ; KEY BEL`: `ready`, `exit=STATUS`, `file=NAME;SIZE` or
//! `answer=NUMBER;SIZE`, behind which SIZE bytes follow, or `done=NUMBER;ERRNO`. The guest is not
//! trusted: only files that the command line names are written, an overlong or unknown record is
//! shown as the text that it is.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::absolute::absolute;
use crate::whole_file::WholeFile;

const START: &[u8] = b"\x1b]nacre;";
const END: u8 = 7;
/// Maximum of bytes of a record. A path has fewer on Linux.
const LONGEST: usize = 4096 + 64;

/// Reports of the guest to the host.
#[derive(Debug, PartialEq, Eq)]
pub enum Record {
    /// Input may flow.
    Ready,
    /// The program ended.
    Exit(i32),
    /// The guest asked for something that it may not, or that failed.
    Refused(String),
}

/// State of the reader between two bytes.
enum State {
    /// Shown, unless it starts a record.
    Text,
    /// Collected: perhaps a record.
    Record(Vec<u8>),
    /// Written to a file, so many bytes more; thrown away if the file is not allowed.
    File(Option<WholeFile>, u64),
    /// Brought to who waits for the answer to the command with this number.
    Answer(u64, u64),
}

/// Takes answers to commands, by the numbers of those.
pub trait Answers {
    /// A part of an answer has `size` bytes.
    fn begin_part(&self, number: u64, size: u64);
    /// Bytes of a part of an answer.
    fn write(&self, number: u64, bytes: &[u8]);
    /// The end of an answer.
    fn done(&self, number: u64, errno: u64);
}

/// Answers are dropped: nobody has asked for anything.
impl Answers for () {
    fn begin_part(&self, _: u64, _: u64) {}
    fn write(&self, _: u64, _: &[u8]) {}
    fn done(&self, _: u64, _: u64) {}
}

/// The state machine.
pub struct Splitter<A> {
    state: State,
    /// Files that the guest may write, by its names for them.
    outputs: BTreeMap<PathBuf, PathBuf>,
    /// Number of files that stay under a path of this machine, if it is not one.
    kept: BTreeMap<PathBuf, u64>,
    answers: A,
    /// Relative names start here.
    directory: PathBuf,
    text: Vec<u8>,
    records: Vec<Record>,
}

impl<A: Answers> Splitter<A> {
    /// A splitter that lets the guest write `outputs`: absolute paths of the guest's, and where
    /// each is written on this machine.
    pub fn new(outputs: BTreeMap<PathBuf, PathBuf>, answers: A) -> Splitter<A> {
        Splitter { state: State::Text, outputs, kept: BTreeMap::new(), answers, directory: std::env::current_dir().unwrap_or_default(), text: Vec::new(), records: Vec::new() }
    }

    /// Lets so many files stay under these paths of this machine.
    pub fn keeping(self, kept: BTreeMap<PathBuf, u64>) -> Splitter<A> {
        Splitter { kept, ..self }
    }

    /// Takes bytes of COM2; gives the text to show and the records in them.
    pub fn split(&mut self, mut bytes: &[u8]) -> (Vec<u8>, Vec<Record>) {
        while !bytes.is_empty() {
            bytes = self.step(bytes);
        }
        (std::mem::take(&mut self.text), std::mem::take(&mut self.records))
    }

    /// Returns the bytes that are left, if the line ended within a record, and what there is to say
    /// if it ended within a file.
    pub fn finish(&mut self) -> (Vec<u8>, Option<Record>) {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Record(collected) => (collected, None),
            State::File(Some(_), left) => (Vec::new(), Some(Record::Refused(format!("a file of the guest is cut off: {left} bytes did not come")))),
            State::Text | State::Answer(..) | State::File(None, _) => (Vec::new(), None),
        }
    }

    /// Consumes at least one byte; returns the rest.
    fn step<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Text => {
                let plain = bytes.iter().position(|byte| *byte == START[0]).unwrap_or(bytes.len());
                self.text.extend_from_slice(&bytes[..plain]);
                if plain < bytes.len() {
                    self.state = State::Record(vec![START[0]]);
                    return &bytes[plain + 1..];
                }
                &[]
            }
            State::Record(collected) => {
                self.collect(collected, bytes[0]);
                &bytes[1..]
            }
            State::File(file, left) => self.write_part(file, left, bytes),
            State::Answer(number, left) => self.answer_part(number, left, bytes),
        }
    }

    fn collect(&mut self, mut collected: Vec<u8>, byte: u8) {
        let is_start = collected.len() >= START.len() || byte == START[collected.len()];
        if !is_start || collected.len() >= LONGEST {
            self.text.append(&mut collected);
            if byte == START[0] {
                self.state = State::Record(vec![byte]);
            } else {
                self.text.push(byte);
            }
        } else if byte == END && collected.len() >= START.len() {
            self.finish_record(&collected);
        } else {
            collected.push(byte);
            self.state = State::Record(collected);
        }
    }

    fn finish_record(&mut self, collected: &[u8]) {
        let body = &collected[START.len()..];
        if body == b"ready" {
            self.records.push(Record::Ready);
        } else if let Some(status) = body.strip_prefix(b"exit=").and_then(decimal) {
            self.records.push(Record::Exit((status & 0xff) as i32));
        } else if let Some((number, size)) = body.strip_prefix(b"answer=").and_then(two_numbers) {
            self.answers.begin_part(number, size);
            self.state = if size == 0 { State::Text } else { State::Answer(number, size) };
        } else if let Some((number, errno)) = body.strip_prefix(b"done=").and_then(two_numbers) {
            self.answers.done(number, errno);
        } else if let Some((name, size)) = body.strip_prefix(b"file=").and_then(file_and_size) {
            self.start_file(name, size);
        } else {
            self.text.extend_from_slice(collected);
            self.text.push(END);
        }
    }

    fn start_file(&mut self, name: PathBuf, size: u64) {
        let path = absolute(&self.directory, &name);
        let file = if let Some(place) = self.outputs.get(&path) {
            WholeFile::create(place).map(|file| file.keeping(self.kept.get(place).copied().unwrap_or(1))).map_err(|error| format!("cannot write {}: {error}", place.display()))
        } else {
            let name = name.to_string_lossy();
            Err(format!("the guest handed out a file {name:?} that the command line does not name; it was not written"))
        };
        match file {
            Ok(file) => self.go_on_with(Some(file), size),
            Err(message) => {
                self.records.push(Record::Refused(message));
                self.go_on_with(None, size);
            }
        }
    }

    /// Goes on with a file of which `left` bytes are to come.
    fn go_on_with(&mut self, file: Option<WholeFile>, left: u64) {
        if left > 0 {
            self.state = State::File(file, left);
            return;
        }
        self.state = State::Text;
        if let Some(Err(error)) = file.map(WholeFile::finish) {
            self.refuse(&error);
        }
    }

    fn refuse(&mut self, error: &io::Error) {
        self.records.push(Record::Refused(format!("cannot write a file of the guest: {error}")));
    }

    fn answer_part<'a>(&mut self, number: u64, left: u64, bytes: &'a [u8]) -> &'a [u8] {
        let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.answers.write(number, &bytes[..count]);
        let left = left - count as u64;
        self.state = if left == 0 { State::Text } else { State::Answer(number, left) };
        &bytes[count..]
    }

    fn write_part<'a>(&mut self, mut file: Option<WholeFile>, left: u64, bytes: &'a [u8]) -> &'a [u8] {
        let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let failure = file.as_mut().and_then(|output| output.write_all(&bytes[..count]).err());
        if let Some(error) = failure {
            self.refuse(&error);
            file = None;
        }
        self.go_on_with(file, left - count as u64);
        &bytes[count..]
    }
}

fn two_numbers(body: &[u8]) -> Option<(u64, u64)> {
    let semicolon = body.iter().position(|byte| *byte == b';')?;
    Some((decimal(&body[..semicolon])?, decimal(&body[semicolon + 1..])?))
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let all_digits = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| all_digits)?.parse().ok()
}

fn file_and_size(body: &[u8]) -> Option<(PathBuf, u64)> {
    let semicolon = body.iter().rposition(|byte| *byte == b';')?;
    let size = decimal(&body[semicolon + 1..])?;
    Some((PathBuf::from(OsStr::from_bytes(&body[..semicolon])), size))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits `bytes` whole and byte by byte, and expects the same of both.
    fn split(bytes: &[u8]) -> (Vec<u8>, Vec<Record>) {
        let whole = Splitter::new(BTreeMap::new(), ()).split(bytes);
        let mut splitter = Splitter::new(BTreeMap::new(), ());
        let mut parts = (Vec::new(), Vec::new());
        for byte in bytes {
            let (mut text, mut records) = splitter.split(&[*byte]);
            parts.0.append(&mut text);
            parts.1.append(&mut records);
        }
        assert_eq!(whole, parts);
        whole
    }

    #[test]
    fn records_leave_the_text() {
        let (text, records) = split(b"a\n\x1b]nacre;ready\x07b\x1b]nacre;exit=42\x07c");
        assert_eq!(text, b"a\nbc");
        assert_eq!(records, [Record::Ready, Record::Exit(42)]);
    }

    #[test]
    fn what_only_resembles_a_record_is_text() {
        for text in [&b"\x1b[31mred\x1b[0m"[..], b"\x1b]nacro", b"\x1b]nacre;what\x07", b"\x1b]nacre;exit=-1\x07", b"\x1b]nacre;exit=\x07"] {
            assert_eq!(split(text).0, text);
        }
        assert_eq!(split(b"\x1b\x1b]nacre;ready\x07"), (b"\x1b".to_vec(), vec![Record::Ready]));
    }

    #[test]
    fn an_endless_record_is_shown() {
        let bytes = [b"\x1b]nacre;", &[b'x'; 10_000][..]].concat();
        assert_eq!(split(&bytes).0.len(), bytes.len());
    }

    #[test]
    fn a_line_that_ends_within_a_record_keeps_its_bytes() {
        let mut splitter = Splitter::new(BTreeMap::new(), ());
        assert_eq!(splitter.split(b"x\x1b]na").0, b"x");
        assert_eq!(splitter.finish().0, b"\x1b]na");
    }

    #[test]
    fn a_file_that_was_not_asked_for_is_not_written() {
        let (text, records) = split(b"\x1b]nacre;file=evil-file;3\x07abcd");
        assert_eq!(text, b"d");
        assert!(matches!(records[..], [Record::Refused(_)]));
        assert!(!PathBuf::from("evil-file").exists());
    }

    #[test]
    fn a_huge_size_swallows_the_line_and_nothing_else() {
        let (text, records) = split(b"\x1b]nacre;file=x;18446744073709551615\x07abc");
        assert_eq!((text.len(), records.len()), (0, 1));
    }
}
