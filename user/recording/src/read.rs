//! Reading recordings, which anybody may have written.

use crate::{Answer, Before, END, Exchange, Given, LATE, LEAVE, LOSS, Loss, MAGIC, MAX_BYTES, MAX_REFERENCES, MAX_SIZE, MAX_THREADS, MAX_WORDS, MESSAGE, NOTIFY, RUN, Recording, START, Start, Switch, TIME, TIMED_OUT, TimeRead, VERSION};
use alloc::vec::Vec;
use core::fmt::{Display, Formatter};

/// Reason why a file is no recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The file is something else.
    Foreign,
    /// The file has another version of the format.
    Version(u64),
    /// The file is larger than a recording may be.
    TooLarge,
    /// The file ends too early.
    Short,
    /// Position of a byte that no recording has there.
    Damaged(usize),
}

impl Display for Fault {
    /// Writes the end of a sentence that begins with the file's name.
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        match self {
            Fault::Foreign => f.write_str("is no recording"),
            Fault::Version(version) => write!(f, "is a recording of version {version}, and this program knows version {VERSION} alone"),
            Fault::TooLarge => write!(f, "is larger than {MAX_SIZE} bytes"),
            Fault::Short => f.write_str("ends too early: the recording was cut off"),
            Fault::Damaged(at) => write!(f, "is damaged at byte {at}"),
        }
    }
}

/// Bytes, and how far they were read.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, size: u64) -> Result<&'a [u8], Fault> {
        let end = usize::try_from(size).ok().and_then(|size| self.at.checked_add(size)).ok_or(Fault::Short)?;
        let taken = self.bytes.get(self.at..end).ok_or(Fault::Short)?;
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        Ok(self.take(1)?[0])
    }

    fn word(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().unwrap_or_default()))
    }

    /// A number of at most `most`.
    fn number(&mut self, most: u64) -> Result<u64, Fault> {
        let (start, mut number) = (self.at, 0u64);
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                return Err(Fault::Damaged(start));
            }
            number |= part << shift;
            if byte & 0x80 == 0 {
                // Each number has one form.
                let is_plain = byte != 0 || shift == 0;
                return if is_plain && number <= most { Ok(number) } else { Err(Fault::Damaged(start)) };
            }
        }
        Err(Fault::Damaged(start))
    }

    fn start(&mut self) -> Result<Start, Fault> {
        let at = self.at;
        if self.byte()? != START {
            return Err(Fault::Damaged(at));
        }
        let mut command = Vec::new();
        for _ in 0..self.number(MAX_WORDS)? {
            let size = self.number(MAX_BYTES)?;
            command.push(self.take(size)?.to_vec());
        }
        let environment = self.word()?;
        Ok(Start { command, environment, random: self.take(16)?.try_into().unwrap_or_default() })
    }

    /// A message whose answer follows, or comes later.
    fn sent(&mut self) -> Result<Exchange, Fault> {
        let port = self.number(u64::MAX)?;
        let label = self.number(u32::MAX.into())? as u32;
        Ok(Exchange { port, label, digest: self.word()?, answer: Answer::Never })
    }

    fn exchange(&mut self) -> Result<Exchange, Fault> {
        let sent = self.sent()?;
        Ok(Exchange { answer: self.outcome()?, ..sent })
    }

    fn outcome(&mut self) -> Result<Answer, Fault> {
        let at = self.at;
        match self.byte()? {
            0 => self.answer(),
            1 => Ok(Answer::Failed(self.number(u64::MAX)?)),
            _ => Err(Fault::Damaged(at)),
        }
    }

    /// Reads why a thread is left; a message without its answer follows the others.
    fn leave(&mut self, exchanges: &mut Vec<Exchange>) -> Result<Switch, Fault> {
        let at = self.at;
        match self.byte()? {
            0 => Ok(Switch::Waits),
            1 => Ok(Switch::Yields),
            2 => {
                exchanges.push(self.sent()?);
                Ok(Switch::Calls(exchanges.len() - 1))
            }
            3 => match self.number(u64::MAX)? {
                0 => Err(Fault::Damaged(at)),
                steps => Ok(Switch::Steps(steps)),
            },
            4 => Ok(Switch::At(self.number(u64::MAX)?, self.word()?)),
            _ => Err(Fault::Damaged(at)),
        }
    }

    /// An answer to a message that was left without one.
    fn late(&mut self, exchanges: &mut [Exchange]) -> Result<Switch, Fault> {
        let at = self.at;
        let number = self.number(u64::MAX)? as usize;
        let exchange = exchanges.get_mut(number).filter(|exchange| exchange.answer == Answer::Never).ok_or(Fault::Damaged(at))?;
        exchange.answer = self.outcome()?;
        Ok(Switch::Answered(number))
    }

    fn answer(&mut self) -> Result<Answer, Fault> {
        let label = self.number(u32::MAX.into())? as u32;
        let mut words = [0; 6];
        for word in &mut words {
            *word = self.number(u64::MAX)?;
        }
        let size = self.number(MAX_BYTES)?;
        let bytes = self.take(size)?.to_vec();
        let mut references = Vec::new();
        for _ in 0..self.number(MAX_REFERENCES)? {
            let at = self.at;
            references.push(match self.byte()? {
                0 => Given::Port(self.number(u64::MAX)?),
                1 => Given::Object(self.number(u64::MAX)?),
                _ => return Err(Fault::Damaged(at)),
            });
        }
        Ok(Answer::Given { label, words, bytes, references })
    }
}

impl Recording {
    fn so_far(&self) -> Before {
        Before { messages: self.exchanges.len(), looks: self.times.len() }
    }

    fn switches(&mut self, switch: Switch) {
        self.before.push(self.so_far());
        self.switches.push(switch);
    }
}

/// Reads a recording.
pub fn read(bytes: &[u8]) -> Result<Recording, Fault> {
    if bytes.len() > MAX_SIZE {
        return Err(Fault::TooLarge);
    }
    let mut reader = Reader { bytes, at: 0 };
    if reader.take(MAGIC.len() as u64)? != MAGIC {
        return Err(Fault::Foreign);
    }
    match reader.number(u64::MAX)? {
        VERSION => {}
        version => return Err(Fault::Version(version)),
    }
    let mut recording = Recording { start: reader.start()?, ..Recording::default() };
    loop {
        let at = reader.at;
        match reader.byte()? {
            MESSAGE => recording.exchanges.push(reader.exchange()?),
            LATE => {
                let switch = reader.late(&mut recording.exchanges)?;
                recording.switches(switch);
            }
            LEAVE => {
                let before = recording.so_far();
                let switch = reader.leave(&mut recording.exchanges)?;
                recording.switches.push(switch);
                recording.before.push(before);
            }
            NOTIFY => {
                let port = reader.number(u64::MAX)?;
                recording.switches(Switch::Notified(port, reader.number(u64::MAX)?));
            }
            TIMED_OUT => recording.switches(Switch::TimedOut(reader.number(MAX_THREADS)?)),
            RUN => recording.switches(Switch::Runs(reader.number(MAX_THREADS)?)),
            LOSS => {
                let message = reader.number(recording.exchanges.len() as u64)? as usize;
                if message >= recording.exchanges.len() {
                    return Err(Fault::Damaged(at));
                }
                recording.losses.push(Loss { message, process: reader.number(u32::MAX.into())? });
            }
            TIME => recording.times.push(TimeRead { after: recording.exchanges.len(), ticks: reader.number(u64::MAX)? }),
            END => {
                recording.status = reader.number(u64::MAX)?;
                return if reader.at == bytes.len() { Ok(recording) } else { Err(Fault::Damaged(reader.at)) };
            }
            _ => return Err(Fault::Damaged(at)),
        }
    }
}
