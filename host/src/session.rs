//! One machine from start to end: QEMU, its three serial lines, the person's terminal, and how it
//! ended.

pub mod capture;
pub mod debug_line;
pub mod event;
pub mod machine;
mod names;
pub mod ports;
pub mod records;
#[cfg(test)]
mod records_tests;
pub mod streams;
pub mod terminal;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::closed_output;
use crate::control::desk::Desk;
use crate::failure::{Class, Context, Failure, Outcome};
pub use event::Event;
use machine::{Machine, Started};
use signal_hook::consts::SIGBUS;
use names::Names;
use records::Splitter;

/// Time in which the last output has to be written once the machine is gone.
const GRACE: Duration = Duration::from_secs(2);

/// Sources and destinations of a session's bytes.
pub struct Streams {
    /// Input of the program.
    pub input: Box<dyn Read + Send>,
    /// Output of the program.
    pub output: Box<dyn Write + Send>,
    /// Errors of the program.
    pub errors: Box<dyn Write + Send>,
    /// Messages of the kernel and of root.
    pub messages: Box<dyn Write + Send>,
    /// Set if Ctrl-] in the input ends the session.
    pub is_terminal: bool,
    /// Users of the machine's ports, by name.
    pub ports: Vec<(String, ports::User)>,
}

/// Limits of a session.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The machine ends after this time.
    pub timeout: Option<Duration>,
    /// Files that the guest may hand out: its paths, and those on this machine.
    pub outputs: BTreeMap<PathBuf, PathBuf>,
    /// Number of files that stay under a path on this machine, if it is not one.
    pub kept: BTreeMap<PathBuf, u64>,
    /// Connections that wait for answers of the guest.
    pub desk: Desk,
}

/// Ends of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The program ended with this status.
    Program(i32),
    /// Something outside ended the session, which makes this status.
    Outside(i32),
}

impl Ending {
    /// The exit status that this makes.
    pub fn status(self) -> i32 {
        match self {
            Ending::Program(status) | Ending::Outside(status) => status,
        }
    }
}

/// A running session. Threads carry the streams; this one waits for what they tell.
pub struct Session {
    started: Started,
    control: UnixStream,
    events: Receiver<Event>,
    open_lines: usize,
    /// Ports for output whose end has not been met.
    open_ports: usize,
    /// Threads that carry what comes over ports of root's.
    carriers: Vec<JoinHandle<()>>,
    release_input: Option<Sender<()>>,
    /// Lines for root that came before it was ready.
    early: Vec<String>,
    status: Option<i32>,
    deadline: Option<Instant>,
    timeout: Option<Duration>,
}

impl Session {
    /// Starts the machine and the threads that carry its streams.
    pub fn start(machine: &Machine, streams: Streams, limits: Limits) -> Outcome<(Session, Sender<Event>)> {
        let mut started = machine.start()?;
        let (sender, events) = channel();
        let (release_input, released) = channel();
        let lines = started.take_lines()?;
        let failed = || "cannot use the machine's serial lines".to_string();
        let control = lines.messages.try_clone().context(Class::Internal, failed)?;
        let input_line = lines.console.try_clone().context(Class::Internal, failed)?;
        for (name, user) in streams.ports {
            streams::carry_port(started.take_port(&name)?, user);
        }
        let splitter = Splitter::new(limits.outputs.clone(), limits.desk.clone()).keeping(limits.kept.clone());
        let records = if machine.arguments.ports.iter().any(|name| name == ports::RECORDS) {
            Some(streams::carry_records(started.take_port(ports::RECORDS)?, Splitter::new(limits.outputs, limits.desk).keeping(limits.kept), sender.clone()))
        } else {
            None
        };
        let names = Names::new(machine.kernel());
        let output = Arc::new(Mutex::new(streams.output));
        let output_port = if machine.arguments.ports.iter().any(|name| name == ports::OUTPUT) {
            Some(streams::carry_output_port(started.take_port(ports::OUTPUT)?, output.clone(), sender.clone()))
        } else {
            None
        };
        streams::carry_output(lines.console, output, sender.clone());
        streams::carry_errors(lines.errors, streams.errors, sender.clone());
        streams::carry_messages(lines.messages, splitter, names, streams.messages, sender.clone());
        streams::carry_input(streams.input, input_line, released, streams.is_terminal, sender.clone());
        let session = Session {
            started,
            control,
            events,
            open_lines: 3,
            open_ports: output_port.iter().count(),
            carriers: records.into_iter().chain(output_port).collect(),
            release_input: Some(release_input),
            early: Vec::new(),
            status: None,
            deadline: limits.timeout.map(|timeout| Instant::now() + timeout),
            timeout: limits.timeout,
        };
        Ok((session, sender))
    }

    /// Waits for the end; the program's status, or how the machine failed.
    pub fn wait(mut self) -> Outcome<Ending> {
        while self.open_lines > 0 {
            let event = self.next_event()?;
            if let Some(status) = self.handle(event)? {
                return Ok(Ending::Outside(status));
            }
        }
        let ended = self.started.wait()?;
        self.started.close_ports();
        while self.open_ports > 0 {
            let event = self.next_event()?;
            if let Some(status) = self.handle(event)? {
                return Ok(Ending::Outside(status));
            }
        }
        self.finish_ports()?;
        self.verdict(ended).map(Ending::Program)
    }

    /// Waits until all that came over root's ports is written. QEMU has ended.
    fn finish_ports(&mut self) -> Outcome<()> {
        for carrier in self.carriers.drain(..) {
            carrier.join().map_err(|_| Failure::new(Class::Internal, "what carries a port has panicked"))?;
        }
        while let Ok(event) = self.events.try_recv() {
            self.handle(event)?;
        }
        Ok(())
    }

    fn next_event(&mut self) -> Outcome<Event> {
        let Some(deadline) = self.deadline else {
            return self.events.recv().context(Class::Internal, || "the session's threads are gone".to_string());
        };
        match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(event) => Ok(event),
            Err(RecvTimeoutError::Disconnected) => Err(Failure::new(Class::Internal, "the session's threads are gone")),
            Err(RecvTimeoutError::Timeout) => {
                self.drain();
                let seconds = self.timeout.unwrap_or_default().as_secs_f64();
                Err(Failure::new(Class::Timeout, format!("the program had not ended after {seconds} s"))
                    .remedy("give it longer with --timeout"))
            }
        }
    }

    /// Ends the machine and lets what it has already said through.
    fn drain(&mut self) {
        self.started.kill();
        self.started.close_ports();
        let until = Instant::now() + GRACE;
        while self.open_lines + self.open_ports > 0 {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::LineEnded) => self.open_lines -= 1,
                Ok(Event::OutputEnded) => self.open_ports -= 1,
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// A status if the session is over without the machine's own end.
    fn handle(&mut self, event: Event) -> Outcome<Option<i32>> {
        match event {
            Event::LineEnded => self.open_lines -= 1,
            Event::OutputEnded => self.open_ports -= 1,
            Event::Exit(status) => self.status = Some(status),
            Event::Ready => {
                drop(self.release_input.take());
                std::mem::take(&mut self.early).iter().for_each(|line| self.tell(line));
            }
            Event::Control(line) if self.release_input.is_some() => self.early.push(line),
            Event::Control(line) => self.tell(&line),
            Event::InputEnded(count) => self.tell(&format!("eof {count}\n")),
            Event::Resize(facts) => self.tell(&format!("resize {} {}\n", facts.rows, facts.columns)),
            Event::Refused(message) => eprintln!("nacre: {message}"),
            Event::OutputGone(error) => {
                self.drain();
                let is_closed = error.kind() == std::io::ErrorKind::BrokenPipe;
                let (status, failure) = closed_output::ending(&error.to_string(), is_closed);
                return failure.map_or(Ok(Some(status)), Err);
            }
            Event::Signal(signal) => {
                self.drain();
                return Ok(Some(128 + signal));
            }
            Event::Leave => {
                self.drain();
                return Err(Failure::new(Class::Left, "left with Ctrl-]"));
            }
        }
        Ok(None)
    }

    /// Sends root a line of control. A guest that is gone or does not listen shows in other ways.
    fn tell(&mut self, line: &str) {
        let _ = self.control.write_all(line.as_bytes());
    }

    fn verdict(&self, ended: ExitStatus) -> Outcome<i32> {
        match (ended.code(), self.status) {
            (Some(machine::CODE_ENDED), Some(status)) => Ok(status),
            (Some(machine::CODE_PANIC), _) => {
                Err(Failure::new(Class::Guest, "the kernel panicked").remedy("its last words are above"))
            }
            (Some(machine::CODE_ENDED), None) => {
                Err(Failure::new(Class::Guest, "the guest ended without saying a status"))
            }
            (Some(1), None) => Err(Failure::new(Class::Machine, "QEMU did not start the machine").remedy("its message is above")),
            (None, _) if ended.signal() == Some(SIGBUS) => {
                Err(Failure::new(Class::Machine, "the machine ended, since a page of its memory could not be had from this machine").remedy("a store needs room on its disk as it is filled, and stays as long as it is"))
            }
            (code, _) => {
                let how = code.map_or("was killed".to_string(), |code| format!("ended with {code}"));
                Err(Failure::new(Class::Guest, format!("the machine ended by itself (QEMU {how})"))
                    .remedy("run it with --debug to see QEMU's command line"))
            }
        }
    }
}
