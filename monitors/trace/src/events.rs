//! Trace events on their way into a file, which several tracers may write at once.

use crate::clock::Clock;
use crate::counts::OTHERS;
use crate::json::{self, Event};
use crate::record::Done;
use crate::sender::Sender;
use crate::tracks::{Track, Tracks};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_nest::Services;
use nacre_nest::command::lossy;
use nacre_nest::interpose::stage::write_all;
use nacre_nest::interpose::text;
use nacre_proto::flags::{LOCK_READ, LOCK_WHOLE, LOCK_WRITE, O_APPEND, O_CREAT, O_RDWR, SEEK_END};
use nacre_proto::{Errno, describe, directory, file, process};
use nacre_sys::{OwnedReference, Reference};

/// Number of a process where nobody numbers them.
const ALONE: u64 = 1;
/// Bytes that are written at once: as many as a message has. Events are not cut, so that another
/// tracer's stay whole, unless one alone is larger.
const PIECE: usize = MAX_BYTES as usize;

/// A file that is written at its end, whoever else does so.
pub struct Appended {
    /// The file.
    pub file: OwnedReference,
    /// Bytes that it had.
    pub size: u64,
    /// True if it is to have an end, since it is empty or an end was cut off.
    pub is_open: bool,
}

/// Empties a file that is to be written anew, unless another tracer writes it now. All tracers that
/// write a file have a lock of it, which goes with them.
fn empty(file: Reference) -> Result<(), Errno> {
    match file::lock(file, LOCK_WRITE, LOCK_WHOLE, 0, 0) {
        Err(Errno::EAGAIN) => Ok(()),
        // A server without locks, or a stream, which cannot be emptied either.
        _ => file::set_size(file, 0).map(drop).or_else(|errno| if errno == Errno::EINVAL { Ok(()) } else { Err(errno) }),
    }
}

/// Opens a file to write to: empty, or (`appends`, or another tracer writes it) behind what it has.
/// `end` at the end of that is cut off. The error is a sentence.
pub fn open(services: &Services, path: &[u8], appends: bool, end: &str) -> Result<Appended, String> {
    let refused = |errno| format!("cannot write {}: {errno}", lossy(path));
    let file = directory::open(services.files(), O_RDWR | O_CREAT | O_APPEND, 0o644, path).map_err(refused)?.file;
    if !appends {
        empty(file.handle()).map_err(refused)?;
    }
    // Without a lock another tracer empties the file all the same.
    let _ = file::lock(file.handle(), LOCK_READ, LOCK_WHOLE, 0, 0);
    let mut last = [0; 8];
    let size = match file::seek(file.handle(), 0, SEEK_END) {
        Ok(reply) => reply.position,
        // A stream has neither an end nor a position.
        Err(Errno::ESPIPE) => 0,
        Err(errno) => return Err(refused(errno)),
    };
    let Some(cut) = size.checked_sub(end.len() as u64).filter(|_| !end.is_empty()) else { return Ok(Appended { file, size, is_open: size == 0 }) };
    let read = file::read(file.handle(), cut, end.len() as u64, &mut last[..end.len()]).map_err(refused)?.data as usize;
    if last.get(..read) != Some(end.as_bytes()) {
        return Ok(Appended { file, size, is_open: false });
    }
    file::set_size(file.handle(), cut).map_err(refused)?;
    Ok(Appended { file, size: cut, is_open: true })
}

/// Trace events.
pub struct Events {
    file: OwnedReference,
    path: Vec<u8>,
    clock: Clock,
    text: String,
    /// Name of the first process, and its number.
    program: String,
    first: u64,
    /// Number of this tracer: 0 for the first that writes the file, else the size that the file
    /// had.
    tracer: u64,
    /// True if this tracer ends the array.
    ends: bool,
    tracks: Tracks,
}

impl Events {
    /// Events of `program`, written to a file that has this path.
    pub fn new(opened: Appended, path: &[u8], program: &str) -> Events {
        let Appended { file, size, is_open } = opened;
        let (path, text) = (path.to_vec(), String::with_capacity(PIECE));
        Events { file, path, clock: Clock::start(), text, program: String::from(program), first: 0, tracer: size, ends: is_open, tracks: Tracks::default() }
    }

    /// Says which number the first process has; only once. The file has it before the program
    /// begins, so that a tracer within finds it.
    pub fn begin(&mut self, pid: u64) {
        if self.first == 0 {
            self.first = pid;
            // Where nobody numbers processes, nor are worlds told apart.
            let (own, world) = process::numbers(Reference::PARENT, 0).map_or((0, 0), |own| (own.pid, own.world));
            let tracer = json::Tracer { number: self.tracer, program: &self.program, pid, own, world, clock: self.clock.formula() };
            json::open(&tracer, &mut self.text);
            self.flush();
        }
    }

    fn number(&mut self, pid: u64) -> u64 {
        self.begin(ALONE);
        if pid == 0 { self.first } else { pid }
    }

    /// A message is under way: the track that it has until it is done.
    pub fn enter(&mut self, from: Sender) -> Track {
        let pid = self.number(from.pid);
        self.tracks.take(Sender::new(pid, from.thread))
    }

    /// A process has this name from now on.
    pub fn name(&mut self, pid: u64, name: &str) {
        let pid = self.number(pid);
        json::process(name, pid, self.tracer, &mut self.text);
    }

    fn flush(&mut self) {
        write_all(self.file.handle(), self.text.as_bytes());
        self.text.clear();
    }

    /// A message that is not shown has been answered.
    pub fn leave(&mut self, from: Sender, track: Option<Track>) {
        let pid = self.number(from.pid);
        if let Some(track) = track
            && self.tracks.leave(pid, track)
        {
            self.name_track(pid, track);
        }
    }

    fn name_track(&mut self, pid: u64, track: Track) {
        let tracer = if self.tracer == 0 { String::new() } else { format!(" of {}", self.program) };
        let thread = if track.thread == 0 { String::from("messages") } else { format!("thread {}", track.thread) };
        let also = if track.lane == 0 { String::new() } else { format!(" ({})", track.lane + 1) };
        let number = self.tracks.number(self.tracer, pid, track);
        json::track(&format!("{thread}{also}{tracer}"), (pid, number), (self.tracer, track.thread), &mut self.text);
    }

    /// Adds what was done.
    pub fn add(&mut self, done: &Done<'_>) {
        let track = done.track.unwrap_or_else(|| self.enter(done.from));
        self.leave(done.from, Some(track));
        // Operations that are no messages carry their name in their text.
        let mut name = String::new();
        match done.message.split_once('(') {
            Some((first, _)) if done.label == OTHERS => name.push_str(first),
            _ => text::name(done.label, &mut name),
        }
        let (start, pid) = (self.clock.nanoseconds(done.started), self.number(done.from.pid));
        let event = Event {
            name: &name,
            category: describe(done.label).map_or("unknown", |operation| operation.protocol),
            start,
            duration: self.clock.nanoseconds(done.ended).saturating_sub(start),
            pid,
            track: self.tracks.number(self.tracer, pid, track),
            message: done.message,
            answer: done.answer,
        };
        let before = self.text.len();
        json::event(&event, &mut self.text);
        if self.text.len() > PIECE {
            let event = self.text.split_off(before);
            self.flush();
            self.text = event;
        }
    }

    /// Writes what is left. The tracer that began the array, or went on behind its end, ends it.
    pub fn close(&mut self) {
        self.begin(ALONE);
        if self.ends {
            json::close(&mut self.text);
        }
        self.flush();
        // If nobody can hand the file out, it is there all the same.
        let _ = file::hand_out(self.file.handle(), &self.path[..]);
    }
}
