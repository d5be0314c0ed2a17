//! The subcommand `exec`: starts a process in a machine that runs, and joins it to this process's
//! streams.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::thread;
use std::time::Duration;

use nacre_control::exec::{self as protocol, Frames, MAX_TEXT, Start, about_text};
use nacre_proto::Errno;
use nacre_proto::flags::{COMMAND_EXEC, COMMAND_INPUT, COMMAND_SIGNAL, COMMAND_TAKEN, COMMAND_TERMINAL, COMMAND_WINDOW};
use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;

use super::arguments::ExecArguments;
use super::client::{ask, ask_and_tell};
use super::fork::target;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::session::terminal::{Facts, Raw};

/// Ctrl-].
const LEAVE: u8 = 0x1d;
/// Ctrl-D: the end of input at a terminal.
const END_OF_INPUT: u8 = 4;
/// Number of bytes of input in a command, at most. Before them stands a number.
const PIECE: usize = MAX_TEXT - 24;
/// Number of bytes of output after which the machine is told that they have been taken.
const ENOUGH: usize = 16 << 10;
/// Pause before a command is given again for which there was no room.
const PAUSE: Duration = Duration::from_millis(10);
/// Status of a process that was killed by signal N, less N, as the machine tells it.
const BY_SIGNAL: u32 = 256;

/// A process that was started.
#[derive(Clone, Debug)]
struct Started {
    machine: String,
    flags: u64,
    /// Number of the command that started it.
    number: u64,
    has_terminal: bool,
}

/// End of a process, as the machine tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Status(u32),
    Refused(u32, String),
}

/// Starts a process; its status.
pub fn exec(arguments: &ExecArguments) -> Outcome<i32> {
    let target = target(&arguments.name);
    let words = arguments.command.iter().map(|word| word.as_bytes()).collect();
    let facts = Facts::current();
    let window = arguments.tty.then_some((facts.rows, facts.columns));
    let text = protocol::start_text(&Start { window, words });
    if text.len() > MAX_TEXT {
        return Err(Failure::new(Class::Usage, format!("the command is longer than {MAX_TEXT} bytes")).remedy("put it into a file of the machine"));
    }
    let started = Started { machine: target.machine.to_string(), flags: target.flags, number: 0, has_terminal: arguments.tty };
    let signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH]).context(Class::Internal, || "cannot listen for signals".to_string())?;
    let raw = if arguments.tty { Raw::enter() } else { None };
    let ended = join(started, &text, signals);
    drop(raw);
    conclude(ended?, arguments, target.flags != 0)
}

/// Starts the process and joins it to this one's streams. How it ended, or what the machine said.
fn join(mut started: Started, text: &[u8], signals: Signals) -> Outcome<Result<End, Option<Errno>>> {
    let (machine, flags) = (started.machine.clone(), started.flags | if started.has_terminal { COMMAND_TERMINAL } else { 0 });
    let (mut output, mut signals) = (Taker::default(), Some(signals));
    let number = std::cell::Cell::new(0);
    let begun = |about: &super::client::About| {
        number.set(about.number);
        let started = Started { number: about.number, ..started.clone() };
        if let Some(signals) = signals.take() {
            started.carry(signals);
        }
    };
    let copy = started.clone();
    let take = |bytes: &[u8]| {
        let taken = output.take(bytes)?;
        if taken > 0 {
            Started { number: number.get(), ..copy.clone() }.say(COMMAND_TAKEN, taken.to_string().as_bytes());
        }
        Ok(())
    };
    let errno = ask_and_tell(&machine, (COMMAND_EXEC, flags, text), begun, take);
    started.number = number.get();
    match (output.end, output.is_unread) {
        (Some(end), _) => Ok(Ok(end)),
        (None, true) => Ok(Ok(End::Status(BY_SIGNAL + SIGPIPE as u32))),
        (None, false) => Ok(Err(errno?)),
    }
}

impl Started {
    /// Says something about the process. The machine's answer; none if it has ended.
    fn say(&self, operation: u64, rest: &[u8]) -> Option<Errno> {
        let text = about_text(self.number, rest);
        loop {
            match ask(&self.machine, (operation, self.flags, &text), None, |_| Ok(())).ok()?.1 {
                // Too many commands are on their way at once.
                Some(Errno::EAGAIN) => thread::sleep(PAUSE),
                errno => return errno,
            }
        }
    }

    /// Carries input and signals from now on.
    fn carry(self, mut signals: Signals) {
        let reader = self.clone();
        thread::spawn(move || reader.carry_input(io::stdin()));
        thread::spawn(move || {
            for signal in signals.forever() {
                match signal {
                    SIGWINCH if self.has_terminal => {
                        let facts = Facts::current();
                        self.say(COMMAND_WINDOW, format!("{} {}", facts.rows, facts.columns).as_bytes());
                    }
                    SIGWINCH => {}
                    // The machine ends it when this process goes.
                    SIGHUP => leave(128 + SIGHUP),
                    signal => drop(self.say(COMMAND_SIGNAL, signal.to_string().as_bytes())),
                }
            }
        });
    }

    fn carry_input(&self, mut input: impl Read) {
        let mut piece = [0; PIECE];
        loop {
            let count = match input.read(&mut piece) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            if self.has_terminal && piece[..count].contains(&LEAVE) {
                leave(Class::Left.status());
            }
            let bytes: &[u8] = if count == 0 && self.has_terminal { &[END_OF_INPUT] } else { &piece[..count] };
            if self.say(COMMAND_INPUT, bytes) != Some(Errno(0)) || count == 0 {
                return;
            }
        }
    }
}

/// Ends this process at once, and with that the one in the machine.
fn leave(status: i32) -> ! {
    crate::session::terminal::restore();
    std::process::exit(status)
}

/// Writes what comes to the output and to the errors.
#[derive(Default)]
struct Taker {
    frames: Frames,
    /// Number of bytes that were taken, of which the machine has not been told.
    untold: usize,
    end: Option<End>,
    /// Set if nobody reads the output.
    is_unread: bool,
}

impl Taker {
    /// Takes a part of the answer: the number of bytes that the machine is to be told of.
    fn take(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frames.feed(bytes);
        while let Some((kind, contents)) = self.frames.next().map_err(|_| io::Error::other("the answer makes no sense"))? {
            match kind {
                protocol::OUTPUT | protocol::ERRORS => {
                    self.untold += contents.len();
                    let written = if kind == protocol::OUTPUT { show(io::stdout(), contents) } else { show(io::stderr(), contents) };
                    if let Err(error) = written {
                        self.is_unread = error.kind() == ErrorKind::BrokenPipe;
                        return Err(error);
                    }
                }
                kind => self.end = self.end.take().or(end(kind, contents)),
            }
        }
        Ok(if self.untold >= ENOUGH { std::mem::take(&mut self.untold) } else { 0 })
    }
}

fn show(mut to: impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes).and_then(|()| to.flush())
}

/// The end that a frame tells of, if it makes sense.
fn end(kind: u8, contents: &[u8]) -> Option<End> {
    let (status, text) = contents.split_first_chunk()?;
    let status = u32::from_le_bytes(*status);
    match kind {
        protocol::ENDED => Some(End::Status(status)),
        _ => Some(End::Refused(status, String::from_utf8_lossy(text).chars().filter(|letter| !letter.is_control()).collect())),
    }
}

/// The status, or a sentence.
fn conclude(ended: Result<End, Option<Errno>>, arguments: &ExecArguments, is_copy: bool) -> Outcome<i32> {
    let name = &arguments.name;
    match ended {
        Ok(End::Status(status)) if status >= BY_SIGNAL => Ok(128 + (status & 0x7f) as i32),
        Ok(End::Status(status)) => Ok((status & 0xff) as i32),
        Ok(End::Refused(status, why)) => {
            let class = if status == Class::NotFound.status() as u32 { Class::NotFound } else { Class::NotRunnable };
            Err(Failure::new(class, format!("cannot run {} in the machine {name}: {why}", arguments.command[0].display())))
        }
        Err(Some(Errno::ENOSYS)) => Err(Failure::new(Class::Usage, format!("nothing in the machine {name} can start a process")).remedy("start its program below `process`: nacre run process PROGRAM")),
        Err(Some(Errno::ESRCH)) if is_copy => Err(Failure::new(Class::Usage, format!("there is no environment {name}")).remedy("`nacre ps` lists them")),
        Err(Some(errno)) => Err(Failure::new(Class::Guest, format!("the process could not be started ({errno})"))),
        Err(None) => Err(Failure::new(Class::Guest, format!("the machine {name} ended before the process did"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> ExecArguments {
        ExecArguments { name: "web".to_string(), tty: false, command: vec!["sh".into()] }
    }

    #[test]
    fn an_end_becomes_a_status_or_a_sentence() {
        let status = |ended| conclude(ended, &arguments(), false).map_err(|failure| failure.class.status());
        assert_eq!(status(Ok(End::Status(7))), Ok(7));
        assert_eq!(status(Ok(End::Status(256 + 9))), Ok(137));
        assert_eq!(status(Ok(End::Refused(127, "not found".to_string()))), Err(127));
        assert_eq!(status(Ok(End::Refused(126, String::new()))), Err(126));
        assert_eq!((status(Err(Some(Errno::ENOSYS))), status(Err(None))), (Err(120), Err(123)));
    }

    #[test]
    fn a_senseless_answer_is_no_end() {
        let mut taker = Taker::default();
        assert_eq!(taker.take(&protocol::frame(protocol::ENDED, &[1])).unwrap(), 0);
        assert_eq!(taker.end, None);
        taker.take(&protocol::frame(protocol::REFUSED, b"\x7f\0\0\0no\x1b[2J")).unwrap();
        assert_eq!(taker.end, Some(End::Refused(127, "no[2J".to_string())));
        assert!(taker.take(&[0; 9]).is_err());
    }
}
