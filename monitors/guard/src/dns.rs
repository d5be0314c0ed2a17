//! Questions and answers of the domain name system (RFC 1035), as far as a guard learns from them
//! which addresses belong to a name.

use alloc::vec::Vec;

/// Bytes before the question.
const HEADER: usize = 12;
/// Bytes of a name, at most (RFC 1035, 2.3.4).
const MAX_NAME: usize = 253;
/// Records of an answer that are looked at, at most, and names that stand for each other.
const MAX_RECORDS: u16 = 64;
const MAX_ALIASES: usize = 16;
/// Types of records: an address, and the name that a name stands for.
const ADDRESS: u16 = 1;
const ALIAS: u16 = 5;
/// Class of the internet.
const INTERNET: u16 = 1;
/// Bits of the head: an answer, its operation, and what became of it.
const IS_ANSWER: u16 = 0x8000;
const OPERATION: u16 = 0x7800;
const OUTCOME: u16 = 0xf;

/// A question for the addresses of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Number that the answer has, too.
    pub number: u16,
    /// Name, in small letters.
    pub name: Vec<u8>,
}

/// An answer: the addresses of the name that was asked for, each with the seconds for which it may
/// be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The question.
    pub question: Question,
    /// Addresses.
    pub all: Vec<([u8; 4], u32)>,
}

/// A message that is read.
struct Message<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Message<'_> {
    fn number(&mut self) -> Option<u16> {
        let pair = self.bytes.get(self.at..self.at.checked_add(2)?)?;
        self.at += 2;
        Some(u16::from_be_bytes([pair[0], pair[1]]))
    }

    /// Reads a name. Its rest may stand before it in the message. `None` if it is cut off, too long
    /// or not the name of a machine.
    fn name(&mut self) -> Option<Vec<u8>> {
        let (mut name, mut at, mut after) = (Vec::new(), self.at, None);
        loop {
            match *self.bytes.get(at)? {
                0 => break,
                size @ 1..=63 => {
                    let label = self.bytes.get(at + 1..at + 1 + usize::from(size))?;
                    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
                    if !label.iter().all(is_plain) || name.len() + label.len() + 1 > MAX_NAME + 1 {
                        return None;
                    }
                    name.extend(label.iter().map(u8::to_ascii_lowercase));
                    name.push(b'.');
                    at += 1 + usize::from(size);
                }
                high @ 0xc0.. => {
                    let to = usize::from(high & 0x3f) << 8 | usize::from(*self.bytes.get(at + 1)?);
                    after.get_or_insert(at + 2);
                    // Leading further back each time, it comes to an end.
                    if to >= at || to < HEADER {
                        return None;
                    }
                    at = to;
                }
                _ => return None,
            }
        }
        self.at = after.unwrap_or(at + 1);
        name.pop();
        Some(name)
    }
}

/// Reads head and question of a message, which is one question for addresses; and the number of
/// records that answer it, if it is an answer.
fn begin(message: &mut Message<'_>) -> Option<(Question, Option<u16>)> {
    let number = message.number()?;
    let flags = message.number()?;
    let (questions, answers) = (message.number()?, message.number()?);
    message.at = HEADER;
    let name = message.name()?;
    let is_one = questions == 1 && flags & OPERATION == 0 && message.number()? == ADDRESS && message.number()? == INTERNET;
    // A number in place of the last label would make it an address.
    let last = name.rsplit(|byte| *byte == b'.').next()?;
    let is_name = last.first().is_some_and(u8::is_ascii_alphabetic);
    let answers = (flags & IS_ANSWER != 0).then_some(answers);
    if answers.is_some() && flags & OUTCOME != 0 { None } else { (is_one && is_name).then_some((Question { number, name }, answers)) }
}

/// Reads a question for the addresses of a name.
pub fn question(bytes: &[u8]) -> Option<Question> {
    match begin(&mut Message { bytes, at: 0 })? {
        (question, None) => Some(question),
        _ => None,
    }
}

/// Reads an answer with addresses. Addresses belong to the name that was asked for if they are
/// those of that name or of the last one of the names that it stands for, in their order. All other
/// records are passed over. `None`: the message is no such answer, or is not whole.
pub fn decode(bytes: &[u8]) -> Option<Addresses> {
    let mut message = Message { bytes, at: 0 };
    let (question, Some(count)) = begin(&mut message)? else { return None };
    let (mut name, mut shortest, mut aliases) = (question.name.clone(), u32::MAX, 0);
    let mut all = Vec::new();
    for _ in 0..count.min(MAX_RECORDS) {
        // Other records may have names that no machine has: nothing behind them is believed.
        let Some(owner) = message.name() else { break };
        let (kind, class) = (message.number()?, message.number()?);
        let seconds = u32::from(message.number()?) << 16 | u32::from(message.number()?);
        let size = usize::from(message.number()?);
        let data = message.bytes.get(message.at..message.at.checked_add(size)?)?;
        let is_next = class == INTERNET && owner == name;
        match kind {
            ADDRESS if is_next => all.push((data.try_into().ok()?, seconds.min(shortest))),
            ALIAS if is_next && all.is_empty() && aliases < MAX_ALIASES => {
                let mut target = Message { bytes, at: message.at };
                name = target.name().filter(|_| target.at == message.at + size)?;
                (shortest, aliases) = (shortest.min(seconds), aliases + 1);
            }
            _ => {}
        }
        message.at += size;
    }
    Some(Addresses { question, all })
}

#[cfg(test)]
#[allow(missing_docs)]
pub mod tests {
    use super::*;

    /// A name as it stands in a message.
    pub fn name(text: &str) -> Vec<u8> {
        let mut bytes: Vec<u8> = text.split('.').flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
        bytes.push(0);
        bytes
    }

    /// A question.
    pub fn ask(number: u16, text: &str) -> Vec<u8> {
        [&number.to_be_bytes()[..], &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &name(text), &[0, 1, 0, 1]].concat()
    }

    /// An answer with these records: owner, type, seconds and contents.
    pub fn answer(number: u16, text: &str, records: &[(&str, u16, u32, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = ask(number, text);
        bytes[2] = 0x81;
        bytes[7] = records.len() as u8;
        for (owner, kind, seconds, data) in records {
            bytes.extend([&name(owner)[..], &kind.to_be_bytes(), &[0, 1], &seconds.to_be_bytes(), &(data.len() as u16).to_be_bytes(), data].concat());
        }
        bytes
    }

    fn a(owner: &str, last: u8) -> (&str, u16, u32, Vec<u8>) {
        (owner, ADDRESS, 300, [192, 0, 2, last].to_vec())
    }

    fn alias<'a>(owner: &'a str, to: &str) -> (&'a str, u16, u32, Vec<u8>) {
        (owner, ALIAS, 60, name(to))
    }

    fn addresses(bytes: &[u8]) -> Option<Vec<(u8, u32)>> {
        decode(bytes).map(|found| found.all.iter().map(|(address, seconds)| (address[3], *seconds)).collect())
    }

    #[test]
    fn addresses_are_those_of_the_name_and_of_what_it_stands_for() {
        let plain = answer(7, "Deb.Debian.org", &[a("deb.debian.org", 1), a("deb.debian.org", 2)]);
        assert_eq!(decode(&plain).unwrap().question, Question { number: 7, name: b"deb.debian.org".to_vec() });
        assert_eq!(addresses(&plain), Some([(1, 300), (2, 300)].to_vec()));
        let long = answer(7, "deb.debian.org", &[alias("deb.debian.org", "debian.map.example"), alias("debian.map.example", "x.example"), a("x.example", 3)]);
        assert_eq!(addresses(&long), Some([(3, 60)].to_vec()), "the shortest time of all");
    }

    #[test]
    fn addresses_of_other_names_are_passed_over() {
        assert_eq!(addresses(&answer(7, "evil.example", &[a("deb.debian.org", 1)])), Some(Vec::new()));
        let late = answer(7, "evil.example", &[a("x.example", 1), alias("evil.example", "x.example")]);
        assert_eq!(addresses(&late), Some(Vec::new()), "names stand before what they lead to");
        let after = answer(7, "evil.example", &[a("evil.example", 1), alias("evil.example", "x.example"), a("x.example", 2)]);
        assert_eq!(addresses(&after), Some([(1, 300)].to_vec()));
        let circle = answer(7, "a.example", &[alias("a.example", "b.example"), alias("b.example", "a.example"), a("a.example", 1)]);
        assert_eq!(addresses(&circle), Some([(1, 60)].to_vec()));
    }

    #[test]
    fn names_lead_back_and_nowhere_else() {
        let mut bytes = ask(7, "deb.debian.org");
        (bytes[2], bytes[7]) = (0x81, 1);
        let record = |pointer: [u8; 2]| [&bytes[..], &pointer, &[0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 192, 0, 2, 5]].concat();
        assert_eq!(addresses(&record([0xc0, 12])), Some([(5, 9)].to_vec()));
        for pointer in [[0xc0, bytes.len() as u8], [0xc0, 200], [0xc0, 0], [0x80, 12]] {
            assert_eq!(addresses(&record(pointer)), Some(Vec::new()), "{pointer:?}");
        }
    }

    #[test]
    fn what_is_no_question_for_a_machine_is_none() {
        assert_eq!(question(&ask(1, "Example.org")), Some(Question { number: 1, name: b"example.org".to_vec() }));
        for text in ["10.0.2.2", "example.0rg", "a b.example", "a:1.example", "a/b.example", "é.example"] {
            assert_eq!(question(&ask(1, text)), None, "{text}");
        }
        assert_eq!((question(&answer(1, "example.org", &[])), decode(&ask(1, "example.org"))), (None, None));
        let mut failed = answer(1, "example.org", &[a("example.org", 1)]);
        failed[3] = 3;
        assert_eq!(decode(&failed), None);
        let whole = answer(1, "example.org", &[a("example.org", 1)]);
        assert!((0..whole.len()).all(|size| decode(&whole[..size]).is_none_or(|found| found.all.is_empty())));
        let long = [&"a".repeat(63)[..]; 4].join(".") + ".example";
        assert_eq!(question(&ask(1, &long)), None);
    }
}
