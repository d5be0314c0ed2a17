//! Runs a program by a recording: answers its messages, and ends it where it does otherwise than it
//! did. Messages that bring memory are sent on. All others reach nobody, but output is shown.

use crate::manifest::MANIFEST;
use crate::offspring::Offspring;
use crate::score;
use crate::turn::{self, DIVERGED, Turn};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::Code;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_nest::Services;
use nacre_nest::command::{complain, lossy};
use nacre_nest::interpose::stage::write_all;
use nacre_nest::interpose::{InterposedRequest, Substitute};
use nacre_proto::flags::{O_CREAT, O_RDONLY, O_TRUNC, OWN_POSITION};
use nacre_proto::{Errno, directory, file, parent, process};
use nacre_recording::{Answer, Before, Digest, Exchange, Given, MAX_SIZE, Recording, Switch};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference, Status};

/// A recording that a program runs by.
pub struct Player {
    recording: Recording,
    /// Messages that are sent on.
    real: Vec<bool>,
    /// Number of messages that were sent, and of those that were answered.
    sent: usize,
    answered: usize,
    /// Messages of which people have seen the output.
    shown: usize,
    /// Number of looks at the counter so far.
    looks: usize,
    digest: Digest,
    has_ended: bool,
    /// Stands for all ports of which nothing is asked; nobody receives there.
    _nobody: OwnedPort,
    nobody: OwnedReference,
    offspring: Offspring,
    /// Our own streams for output, by the numbers of the program's.
    streams: BTreeMap<u64, OwnedReference>,
}

/// Reads a whole file.
fn read_file(services: &Services, path: &[u8]) -> Result<Vec<u8>, Errno> {
    let opened = directory::open(services.files(), O_RDONLY, 0, path)?.file;
    let (mut all, mut part) = (Vec::new(), vec![0; MAX_BYTES as usize]);
    loop {
        let count = file::read(opened.handle(), OWN_POSITION, part.len() as u64, &mut part[..])?.data as usize;
        if count == 0 || all.len() > MAX_SIZE {
            return Ok(all);
        }
        all.try_reserve(count).map_err(|_| Errno::ENOMEM)?;
        all.extend(&part[..count.min(part.len())]);
    }
}

/// Says how a replay differs from its recording, and ends.
fn diverge(what: &str) -> ! {
    complain(MANIFEST.name, &format!("the replay differs from the recording: {what}"));
    nacre_rt::exit(DIVERGED)
}

impl Player {
    /// Reads a recording.
    pub fn new(services: &Services, path: &[u8]) -> Result<Player, String> {
        let name = lossy(path);
        let bytes = read_file(services, path).map_err(|errno| format!("cannot read {name}: {errno}"))?;
        let recording = nacre_recording::read(&bytes).map_err(|fault| format!("{name} {fault}"))?;
        let real = recording.real(turn::is_about_memory);
        let port = OwnedPort::new(0, PortSet::NONE).map_err(|status| format!("cannot make a port: {status:?}"))?;
        let nobody = port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY).map_err(|status| format!("cannot make a reference: {status:?}"))?;
        Ok(Player { recording, real, sent: 0, answered: 0, shown: 0, looks: 0, digest: Digest::default(), has_ended: false, _nobody: port, nobody, offspring: Offspring::default(), streams: BTreeMap::new() })
    }

    /// The program begins, perhaps anew.
    pub fn begins(&mut self) {
        (self.sent, self.answered, self.looks, self.has_ended) = (0, 0, 0, false);
        self.digest = Digest::default();
        self.streams.clear();
        self.offspring.clear();
    }

    /// A process has ended.
    pub fn process_ends(&mut self, process: u32) {
        self.offspring.ends(process);
    }

    /// Returns the processes that have ended by the signal that a message has sent.
    pub fn losses(&self, turn: &Turn) -> Vec<u32> {
        let losses = self.recording.losses.iter().filter(|loss| loss.message == turn.number);
        losses.map(|loss| loss.process as u32).collect()
    }

    /// Returns the number of messages that have been answered.
    pub fn replayed(&self) -> u64 {
        self.answered as u64
    }

    /// Returns the number of messages that were sent.
    pub fn sent(&self) -> u64 {
        self.sent as u64
    }

    /// Course of the program's threads.
    pub fn switches(&self) -> &[Switch] {
        &self.recording.switches
    }

    /// Returns true if a process of the recording has several threads: more threads have run than
    /// processes have begun.
    pub fn has_threads(&self) -> bool {
        let threads = self.switches().iter().map(|switch| if let Switch::Runs(number) = switch { number + 1 } else { 1 }).max().unwrap_or(1);
        let begun = self.recording.exchanges.iter().filter(|exchange| exchange.label == process::begin::LABEL).count() as u64;
        threads > 1 + begun
    }

    /// Returns true if all messages were sent, and all looks taken, that the recording has before
    /// a step of the threads' course.
    pub fn has_come_to(&self, switch: usize) -> bool {
        let now = Before { messages: self.sent, looks: self.looks };
        self.recording.before.get(switch).is_some_and(|before| *before == now)
    }

    /// Returns the last message before a step of the threads' course, if it is still to come, and
    /// no look at the counter lies between both.
    pub fn last_before(&self, switch: usize) -> Option<usize> {
        let before = self.recording.before.get(switch)?;
        let is_still = self.sent < before.messages && self.recording.times.iter().all(|look| look.after != before.messages);
        is_still.then(|| before.messages - 1)
    }

    /// Returns true if the answer to a message brings references.
    pub fn brings_references(&self, message: usize) -> bool {
        self.recording.exchanges.get(message).is_some_and(|exchange| matches!(&exchange.answer, Answer::Given { references, .. } if !references.is_empty()))
    }

    /// Words of the command.
    pub fn command(&self) -> &[Vec<u8>] {
        &self.recording.start.command
    }

    /// Digest of the environment.
    pub fn environment(&self) -> u64 {
        self.recording.start.environment
    }

    /// Random bytes that the program finds.
    pub fn random(&self) -> [u8; 16] {
        self.recording.start.random
    }

    /// A request of the program's: it is answered, or sent on.
    pub fn asked(&mut self, letter: &mut InterposedRequest<'_, u32>) -> Turn {
        let number = self.sent;
        self.sent += 1;
        let turn = turn::asked(number, letter, &mut self.digest);
        if self.recording.times.get(self.looks).is_some_and(|look| look.after <= number) {
            diverge(&format!("before message {}, it read the processor's counter once more", number + 1));
        }
        self.may_be_killed(number, turn.label);
        let Some(exchange) = self.recording.exchanges.get(number) else {
            diverge(&format!("after its {number} messages comes {}", turn::name(turn.label)));
        };
        if (exchange.port, exchange.label, exchange.digest) != (turn.port, turn.label, turn.digest) {
            let (was, is) = (turn::name(exchange.label), turn::name(turn.label));
            diverge(&format!("message {} was {was} to port {}, and is {is} to port {}, or carries something else", number + 1, exchange.port, turn.port));
        }
        if let Some(answer) = self.manage(number, letter) {
            letter.answer = Some(answer);
            return turn;
        }
        if self.real[number] {
            if turn.label == directory::open::LABEL {
                // What is read is there; nothing is made or cut off again.
                letter.words[0] &= !(O_CREAT | O_TRUNC);
            }
            return turn;
        }
        if self.is_never_answered(number) && score::with(|score| score.is_to_be_left(number)) {
            // As then, it waits until its thread waits no more: others see whether somebody works
            // on the answer.
            letter.original = self.nobody.handle();
            return turn;
        }
        letter.answer = Some(self.substitute(number));
        if turn.label == file::write::LABEL
            && number >= self.shown
            && let Some(stream) = self.streams.get(&turn.port)
        {
            write_all(stream.handle(), &letter.bytes());
        }
        turn
    }

    /// The program ended by a signal that one of its processes has sent: it sends nothing more.
    fn may_be_killed(&self, number: usize, label: u32) {
        let kills = |label: u32| label == process::kill::LABEL;
        let Recording { exchanges, status, .. } = &self.recording;
        let is_behind = number >= exchanges.len() && (kills(label) || exchanges.last().is_some_and(|last| kills(last.label)));
        let is_unanswered = number + 1 == exchanges.len() && kills(label) && exchanges[number].answer == Answer::Never;
        if *status > 255 && (is_behind || is_unanswered) {
            nacre_rt::exit::exit_by_signal(status & 0x7f);
        }
    }

    /// The program reads the processor's counter.
    pub fn ticks(&mut self) -> u64 {
        let Some(look) = self.recording.times.get(self.looks).filter(|look| look.after == self.sent) else {
            diverge(&format!("before message {}, it reads the processor's counter", self.sent + 1));
        };
        self.looks += 1;
        look.ticks
    }

    /// Returns true if the recording has no answer to a message, since its thread waited no more.
    pub fn is_never_answered(&self, number: usize) -> bool {
        let Some(Exchange { label, answer, .. }) = self.recording.exchanges.get(number) else { return false };
        let is_interrupted = |status: u64| Status(status).code() == Some(Code::Interrupted);
        *label != process::kill::LABEL && (*answer == Answer::Never || matches!(answer, Answer::Failed(status) if is_interrupted(*status)))
    }

    /// Returns the answer that the recording has. Who has killed itself hears of none.
    fn substitute(&self, number: usize) -> Substitute {
        match &self.recording.exchanges[number].answer {
            Answer::Failed(_) if self.recording.exchanges[number].label == process::kill::LABEL => Substitute::default(),
            Answer::Failed(_) | Answer::Never => Substitute { label: Errno::EIO.0, words: [0; 6], bytes: Vec::new(), references: Vec::new() },
            Answer::Given { label, words, bytes, references } => {
                let nobody = references.iter().map(|_| self.nobody.handle()).collect();
                Substitute { label: *label, words: *words, bytes: bytes.clone(), references: nobody }
            }
        }
    }

    /// Does for a process what its manager did, and returns the answer; `None`: others answer.
    fn manage(&mut self, number: usize, letter: &InterposedRequest<'_, u32>) -> Option<Substitute> {
        let is_done = matches!(&self.recording.exchanges[number].answer, Answer::Given { label: 0, .. });
        let process = letter.seen.tag;
        let made = match letter.label {
            process::create::LABEL if is_done => self.offspring.port(),
            process::prepare::LABEL if is_done => self.offspring.prepare(process, letter.words[0]),
            process::begin::LABEL => {
                let answer = self.substitute(number);
                let is_refused = matches!(&self.recording.exchanges[number].answer, Answer::Given { label: 1.., .. });
                if !is_refused {
                    self.offspring.begins(process);
                }
                // Who has become another program hears no answer.
                return Some(Substitute { label: if is_refused { answer.label } else { 0 }, ..answer });
            }
            _ => return None,
        };
        let reference = made.unwrap_or_else(|errno| diverge(&format!("a process that it makes cannot be: {errno}")));
        Some(Substitute { references: vec![reference], ..self.substitute(number) })
    }

    /// A request has been answered.
    pub fn answered(&mut self, turn: &Turn, answer: &Answer) {
        if self.has_ended {
            return;
        }
        let number = turn.number;
        self.answered += 1;
        self.shown = self.shown.max(number + 1);
        let wanted = self.recording.exchanges.get(number).map(|exchange| &exchange.answer);
        let is_same = match (wanted, answer) {
            // The client is told of both in the same way.
            (Some(Answer::Failed(_) | Answer::Never), _) => true,
            (Some(wanted), answer) => wanted == answer,
            (None, _) => false,
        };
        if !is_same {
            diverge(&format!("the answer to message {}, {}, is another", number + 1, turn::name(turn.label)));
        }
        if let (parent::stream::LABEL, Answer::Given { references, .. }) = (turn.label, answer)
            && let Some(Given::Port(port)) = references.first()
            && let Ok(own) = parent::stream(Reference::PARENT, turn.word)
        {
            self.streams.insert(*port, own.file);
        }
    }

    /// The program has ended.
    pub fn ended(&mut self, status: u64) {
        if core::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let left = self.recording.exchanges.len() - self.sent.min(self.recording.exchanges.len());
        if left > 0 {
            diverge(&format!("it ends {left} messages early"));
        }
        if self.looks < self.recording.times.len() {
            diverge("it ends before it has read the processor's counter as often as it did");
        }
        if status != self.recording.status {
            diverge(&format!("its status is {status}, and was {}", self.recording.status));
        }
    }
}
