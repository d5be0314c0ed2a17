//! Recording and replay: what crosses the boundary of the program is written to a file, or comes
//! from one. Messages, with their answers, are all that crosses: what else would is refused.

use crate::player::Player;
use crate::recorder::Recorder;
use crate::turn::{Turn, answer};
use alloc::vec::Vec;
use nacre_abi::state::SpaceState;
use nacre_nest::interpose::{InterposedReply, InterposedRequest};
use nacre_proto::flags::SHARE_WRITE;
use nacre_proto::{Errno, channel, clock, file, process};
use nacre_recording::{Digest, Switch};
use nacre_rt::Arguments;
use nacre_sys::{Space, Status};

/// Requests that would bring in what cannot be recorded: their errors, and what the program would
/// do by them if people are to be told.
const REFUSED: [(u32, Errno, &str); 5] = [
    // The program asks for the time by messages instead.
    (clock::scale::LABEL, Errno::ENOSYS, ""),
    (clock::follow::LABEL, Errno::ENOSYS, ""),
    // Who its parent is can be asked by messages.
    (process::parents::LABEL, Errno::EPERM, ""),
    // What shared memory would bring comes by messages instead.
    (channel::share::LABEL, Errno::ENOSYS, ""),
    (file::share::LABEL, Errno::ENOSYS, "maps memory that others share by a file"),
];

/// Returns the error of a request that would bring in what cannot be recorded, and what is said of
/// it; nothing is said if the text is empty.
pub fn refusal(label: u32, words: &[u64; 6]) -> Option<(Errno, &'static str)> {
    // Who only reads a file's memory does so by messages then, as a rule.
    let is_quiet = label == file::share::LABEL && words[1] & SHARE_WRITE == 0;
    REFUSED.iter().find(|one| one.0 == label).map(|one| (one.1, if is_quiet { "" } else { one.2 }))
}

/// Hides the machine's time from a space, and holds it there. A program reads it by messages then.
/// One that reads the processor's counter itself has an exception, and is told what the recording
/// has. The conductor ends waits.
pub fn hide_time(space: Space) -> Result<(), Status> {
    let state = space.get_state()?;
    space.set_state(&SpaceState { flags: state.flags | SpaceState::TIME_HIDDEN | SpaceState::TIME_HELD, ..state })
}

/// Returns the digest of an environment.
pub fn of_environment(arguments: &Arguments) -> u64 {
    let mut digest = Digest::default();
    arguments.environment().for_each(|word| digest.add_bytes(word));
    digest.add_bytes(arguments.directory());
    digest.value()
}

/// A recording that is written or read.
pub enum Tape {
    /// The recording is written.
    Record(Recorder),
    /// The program runs by the recording.
    Replay(Player),
}

impl Tape {
    /// Treats a request of the program's that is to be sent on.
    pub fn asked(&mut self, letter: &mut InterposedRequest<'_, u32>) -> Turn {
        match self {
            Tape::Record(recorder) => recorder.asked(letter),
            Tape::Replay(player) => player.asked(letter),
        }
    }

    /// Treats the answer to a request.
    pub fn answered(&mut self, turn: &Turn, returned: &Result<InterposedReply<'_>, Status>) {
        match self {
            Tape::Record(recorder) => recorder.answered(turn, answer(returned)),
            Tape::Replay(player) => player.answered(turn, &answer(returned)),
        }
    }

    /// Returns what the processor's counter says to the program.
    pub fn ticks(&mut self) -> u64 {
        match self {
            Tape::Record(recorder) => recorder.ticks(),
            Tape::Replay(player) => player.ticks(),
        }
    }

    /// Tells people, when a recording is written, what the program wants that cannot be recorded.
    pub fn refuses(&mut self, what: &'static str) {
        if let Tape::Record(recorder) = self {
            recorder.refuses(what);
        }
    }

    /// Notes that another thread of a program that is recorded runs, or is about to. With the
    /// message for whose answer the one before was left.
    pub fn switches_to(&mut self, switch: Switch, turn: Option<&Turn>) {
        if let Tape::Record(recorder) = self {
            recorder.switches_to(switch, turn);
        }
    }

    /// Course of the threads that a replay follows.
    pub fn switches(&self) -> &[Switch] {
        match self {
            Tape::Record(_) => &[],
            Tape::Replay(player) => player.switches(),
        }
    }

    /// Returns true if this is a replay in which a process has several threads.
    pub fn replays_threads(&self) -> bool {
        matches!(self, Tape::Replay(player) if player.has_threads())
    }

    /// Returns true if a replay has sent all messages that come before a step of its threads'
    /// course, and has looked at the counter as often.
    pub fn has_come_to(&self, switch: usize) -> bool {
        match self {
            Tape::Record(_) => false,
            Tape::Replay(player) => player.has_come_to(switch),
        }
    }

    /// Returns the last message of a replay before a step of its threads' course, if it is still to
    /// come, and no look at the counter lies between both.
    pub fn last_before(&self, switch: usize) -> Option<usize> {
        match self {
            Tape::Record(_) => None,
            Tape::Replay(player) => player.last_before(switch),
        }
    }

    /// Returns true if the answer that a replay has for a message brings references.
    pub fn brings_references(&self, message: usize) -> bool {
        match self {
            Tape::Record(_) => false,
            Tape::Replay(player) => player.brings_references(message),
        }
    }

    /// Returns true if a replay has no answer to a message, since its thread waited no more.
    pub fn is_never_answered(&self, message: usize) -> bool {
        matches!(self, Tape::Replay(player) if player.is_never_answered(message))
    }

    /// Notes that the program has ended with this status.
    pub fn ended(&mut self, status: u64) {
        match self {
            Tape::Record(recorder) => recorder.ended(status),
            Tape::Replay(player) => player.ended(status),
        }
    }

    /// Returns the number of messages of a replay that have been answered.
    pub fn replayed(&self) -> Option<u64> {
        match self {
            Tape::Record(_) => None,
            Tape::Replay(player) => Some(player.replayed()),
        }
    }

    /// Returns the number of messages that the program has sent.
    pub fn sent(&self) -> u64 {
        match self {
            Tape::Record(recorder) => recorder.sent(),
            Tape::Replay(player) => player.sent(),
        }
    }

    /// The program begins, perhaps anew.
    pub fn begins(&mut self) {
        if let Tape::Replay(player) = self {
            player.begins();
        }
    }

    /// Notes that the signal which a message has sent ended a process.
    pub fn lost(&mut self, turn: &Turn, process: u32) {
        if let Tape::Record(recorder) = self {
            recorder.lost(turn, process);
        }
    }

    /// Returns the processes of a replay that end by the signal which a message has sent.
    pub fn losses(&self, turn: &Turn) -> Vec<u32> {
        match self {
            Tape::Record(_) => Vec::new(),
            Tape::Replay(player) => player.losses(turn),
        }
    }

    /// A process has ended.
    pub fn process_ends(&mut self, process: u32) {
        if let Tape::Replay(player) = self {
            player.process_ends(process);
        }
    }

    /// Returns true if the program runs by the recording.
    pub fn is_replay(&self) -> bool {
        matches!(self, Tape::Replay(_))
    }

    /// Random bytes that the program finds.
    pub fn random(&self) -> [u8; 16] {
        match self {
            Tape::Record(recorder) => recorder.random,
            Tape::Replay(player) => player.random(),
        }
    }
}
