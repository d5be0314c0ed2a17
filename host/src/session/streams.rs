//! The threads that carry bytes between the machine's serial lines and this process's streams.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::event::{Event, event_of};
use super::names::Names;
use super::ports::{Port, User};
use super::records::{Record, Splitter};
use crate::control::desk::Desk;

/// Ctrl-].
const LEAVE: u8 = 0x1d;

/// Stream of this process that bytes go to.
pub type Sink = Box<dyn Write + Send>;

/// Time for which a line's bytes are collected before they are taken. QEMU writes them one by one,
/// and each that finds a reader asleep costs it a wake-up.
const COLLECT: Duration = Duration::from_micros(500);

/// Bytes that are taken at a time, at most.
const PART: usize = 16384;

/// Reads `line` to its end, and gives each part to `take` until that says no more. It sleeps for
/// `pause` after each part that was not full.
fn read_line(mut line: impl Read, pause: Duration, mut take: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; PART];
    loop {
        match line.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) if take(&buffer[..count]) => {
                if count < PART && !pause.is_zero() {
                    thread::sleep(pause);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return,
        }
    }
}

/// Standard output, which two threads share: the kernel's last words come over a serial line.
pub type Shared = Arc<Mutex<Sink>>;

/// Gives standard output what `line` brings. A slow reader slows the guest; one that is gone ends
/// it.
fn carry(line: impl Read, pause: Duration, output: &Shared, events: &Sender<Event>) {
    read_line(line, pause, |bytes| {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        let written = output.write_all(bytes).and_then(|()| output.flush());
        let is_written = written.is_ok();
        written.err().into_iter().for_each(|error| drop(events.send(Event::OutputGone(error))));
        is_written
    });
}

/// COM1 to standard output.
pub fn carry_output(line: UnixStream, output: Shared, events: Sender<Event>) {
    thread::spawn(move || {
        carry(line, COLLECT, &output, &events);
        let _ = events.send(Event::LineEnded);
    });
}

/// The port for output, if the machine has it, to standard output. The thread ends with QEMU.
pub fn carry_output_port(port: Port, output: Shared, events: Sender<Event>) -> JoinHandle<()> {
    thread::spawn(move || {
        if let Ok(stream) = port.accept() {
            carry(stream, Duration::ZERO, &output, &events);
        }
        let _ = events.send(Event::OutputEnded);
    })
}

/// COM3 to standard error. Errors that nobody reads are dropped.
pub fn carry_errors(line: UnixStream, mut errors: Sink, events: Sender<Event>) {
    thread::spawn(move || {
        read_line(line, COLLECT, |bytes| {
            show(&mut errors, bytes);
            true
        });
        let _ = events.send(Event::LineEnded);
    });
}

/// COM2: messages to standard error, records to the session.
pub fn carry_messages(line: UnixStream, mut splitter: Splitter<Desk>, mut names: Names, mut messages: Sink, events: Sender<Event>) {
    thread::spawn(move || {
        read_line(line, COLLECT, |bytes| {
            let (text, records) = splitter.split(bytes);
            show(&mut messages, &names.add(&text));
            for record in records {
                let _ = events.send(event_of(record));
            }
            true
        });
        let (rest, record) = splitter.finish();
        show(&mut messages, &names.add(&rest));
        record.into_iter().for_each(|record| drop(events.send(event_of(record))));
        let _ = events.send(Event::LineEnded);
    });
}

fn show(sink: &mut Sink, bytes: &[u8]) {
    let _ = sink.write_all(bytes).and_then(|()| sink.flush());
}

/// Lets `user` have a port from the moment when QEMU has connected.
pub fn carry_port(port: Port, user: User) {
    thread::spawn(move || {
        // A listener that fails belongs to a machine that is ending.
        if let Ok(stream) = port.accept() {
            user(stream);
        }
    });
}

/// Carries files over the port for records, if the machine has it. Bytes between records are of
/// nobody. The thread ends with QEMU.
pub fn carry_records(port: Port, mut splitter: Splitter<Desk>, events: Sender<Event>) -> JoinHandle<()> {
    thread::spawn(move || {
        let Ok(stream) = port.accept() else { return };
        read_line(stream, Duration::ZERO, |bytes| {
            for record in splitter.split(bytes).1 {
                // The program's status comes over the line of messages alone.
                if matches!(record, Record::Refused(_)) {
                    let _ = events.send(event_of(record));
                }
            }
            true
        });
        splitter.finish().1.into_iter().for_each(|record| drop(events.send(event_of(record))));
    })
}

/// Maximum of pieces of input that wait for the guest. Then the input itself waits.
const WAITING_PIECES: usize = 256;

/// Standard input to COM1. It is read from the start, so that Ctrl-] is always heard, and written
/// once the guest is ready: earlier bytes would be lost when it sets up the line.
pub fn carry_input(
    input: Box<dyn Read + Send>,
    mut line: UnixStream,
    released: Receiver<()>,
    is_terminal: bool,
    events: Sender<Event>,
) {
    let (pieces, waiting) = sync_channel::<Vec<u8>>(WAITING_PIECES);
    let reader_events = events.clone();
    thread::spawn(move || {
        read_line(input, Duration::ZERO, |bytes| {
            if is_terminal && bytes.contains(&LEAVE) {
                let _ = reader_events.send(Event::Leave);
                return false;
            }
            pieces.send(bytes.to_vec()).is_ok()
        });
    });
    thread::spawn(move || {
        // The session never sends: it drops its end when the guest is ready, or when it ends
        // itself.
        let _ = released.recv();
        let mut count = 0;
        for piece in waiting {
            count += piece.len() as u64;
            if line.write_all(&piece).is_err() {
                return;
            }
        }
        let _ = events.send(Event::InputEnded(count));
    });
}
