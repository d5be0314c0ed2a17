//! The machine's side: takes commands from the socket, passes them to root as lines of control, and
//! brings the answers back.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use nacre_control::exec::about_text;
use nacre_proto::flags::{COMMAND_COPY, COMMAND_EXEC, COMMAND_FREEZE, COMMAND_HOLD, COMMAND_RELEASE, COMMAND_SIGNAL};

use super::log::{FOLLOWS, LOGS, Log};
use super::names::Named;
use crate::failure::{Class, Context, Outcome};
use crate::session::Event;
use crate::session::records::Answers;

/// Time in which who asked has to take a part of the answer. One who does not loses it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum length of a command.
const LONGEST: u64 = 32 << 10;
/// Command that ends the machine; the guest never sees it.
pub const END: u64 = 0;

/// Maximum number of pieces of an answer that wait to be taken. Then whoever brings them waits.
const MAX_PIECES: usize = 1024;

/// Connections that wait for answers, by the numbers of their commands. Each has a thread that
/// writes to it, so one that is slow keeps no other waiting.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    waiting: Arc<Mutex<BTreeMap<u64, SyncSender<Vec<u8>>>>>,
    writers: Arc<Writers>,
    /// The machine has ended: nothing is answered any more. Changes with `waiting` locked.
    is_over: Arc<AtomicBool>,
    /// Output of the program.
    pub log: Log,
}

impl Desk {
    /// Takes commands from a socket from now on, until this process ends.
    pub fn open(&self, named: &Named, command: &[String], events: Sender<Event>) -> Outcome<()> {
        let listener = named.listener.try_clone().context(Class::Internal, || "cannot listen for commands".to_string())?;
        let (desk, about) = (self.clone(), about(command));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (desk, about, events) = (desk.clone(), about.clone(), events.clone());
                thread::spawn(move || desk.attend(stream, fresh_number(), &about, &events));
            }
        });
        Ok(())
    }

    /// Takes one command, and waits until who gave it goes.
    fn attend(&self, mut stream: UnixStream, number: u64, about: &(u32, String), events: &Sender<Event>) -> Option<()> {
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        let mut lines = BufReader::new(stream.try_clone().ok()?.take(LONGEST));
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [operation, flags, text @ ..] = &words[..] else { return None };
        let (operation, flags): (u64, u64) = (operation.parse().ok()?, flags.parse().ok()?);
        let text = text.first().copied().unwrap_or_default();
        if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) || text.len() % 2 != 0 {
            return None;
        }
        if operation == END {
            stream.write_all(about_line(about, number).as_bytes()).ok()?;
            events.send(Event::Signal(signal_hook::consts::SIGTERM)).ok()?;
            return Some(());
        }
        if operation == LOGS {
            stream.write_all(about_line(about, number).as_bytes()).ok()?;
            return self.log.send(&mut stream, flags & FOLLOWS != 0).ok();
        }
        // Whoever knows the number says more about this command, which has to come first.
        let mut waiting = self.waiting.lock().ok()?;
        if self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        events.send(Event::Control(format!("command {number} {operation} {flags} {text}\n"))).ok()?;
        // Whoever has gone is noticed below.
        let _ = stream.write_all(about_line(about, number).as_bytes());
        waiting.insert(number, self.writer(stream));
        drop(waiting);
        // Nothing more is said: the end means that nobody waits any more.
        let _ = lines.into_inner().into_inner().read(&mut [0]);
        if self.waiting.lock().ok()?.remove(&number).is_some() {
            if operation == COMMAND_EXEC {
                // First, since nobody has the process any more once the command is taken back.
                events.send(Event::Control(kill_line(number, flags))).ok()?;
            }
            if operation == COMMAND_FREEZE && flags & COMMAND_HOLD != 0 {
                events.send(Event::Control(release_line(number, flags))).ok()?;
            }
            events.send(Event::Control(format!("cancel {number}\n"))).ok()?;
        }
        Some(())
    }

    /// Starts a thread that writes pieces of an answer, and closes the connection behind the last
    /// one.
    fn writer(&self, mut stream: UnixStream) -> SyncSender<Vec<u8>> {
        let (sender, pieces) = sync_channel::<Vec<u8>>(MAX_PIECES);
        let writers = self.writers.clone();
        writers.begin();
        thread::spawn(move || {
            let _ = pieces.iter().try_for_each(|piece| stream.write_all(&piece));
            let _ = stream.shutdown(std::net::Shutdown::Both);
            writers.end();
        });
        sender
    }

    /// Waits until all that the machine has answered was taken, or was not for too long. The
    /// machine has ended: nothing more comes.
    pub fn end(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_over.store(true, Ordering::Relaxed);
        waiting.clear();
        drop(waiting);
        self.writers.wait();
    }
}

/// Counts the threads that write answers.
#[derive(Debug, Default)]
struct Writers {
    count: Mutex<usize>,
    ended: Condvar,
}

impl Writers {
    fn begin(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn end(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.ended.notify_all();
    }

    /// Waits until none is left. Each goes by itself: a write that takes too long fails.
    fn wait(&self) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.ended.wait_while(count, |count| *count > 0));
    }
}

impl Answers for Desk {
    fn begin_part(&self, number: u64, size: u64) {
        self.write(number, format!("data {size}\n").as_bytes());
    }

    fn write(&self, number: u64, bytes: &[u8]) {
        let known = self.waiting.lock().ok().and_then(|waiting| waiting.get(&number).cloned());
        // Whoever has gone stays known until `attend` has taken the command back.
        let _ = known.map(|pieces| pieces.send(bytes.to_vec()));
    }

    fn done(&self, number: u64, errno: u64) {
        self.write(number, format!("done {errno}\n").as_bytes());
        if let Ok(mut waiting) = self.waiting.lock() {
            waiting.remove(&number);
        }
    }
}

/// Facts about the machine: the number of this process, and the command in base 16, its words with
/// zeros between them.
fn about(command: &[String]) -> (u32, String) {
    (std::process::id(), hex(command.join("\0").as_bytes()))
}

fn about_line((pid, command): &(u32, String), number: u64) -> String {
    format!("about {pid} {number} {command}\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number for a command. An environment that goes on in another machine may still have one of an
/// old machine, so they begin anywhere.
fn fresh_number() -> u64 {
    static NUMBERS: OnceLock<AtomicU64> = OnceLock::new();
    let numbers = NUMBERS.get_or_init(|| AtomicU64::new(RandomState::new().hash_one(std::process::id()) >> 2));
    numbers.fetch_add(1, Ordering::Relaxed)
}

/// The command that ends the process which the command with this number has started.
fn kill_line(number: u64, flags: u64) -> String {
    let text = about_text(number, b"9");
    format!("command {} {COMMAND_SIGNAL} {} {}\n", fresh_number(), flags & COMMAND_COPY, hex(&text))
}

/// The command that lets the environment go on which the command with this number has frozen.
fn release_line(number: u64, flags: u64) -> String {
    format!("command {} {COMMAND_RELEASE} {} {}\n", fresh_number(), flags & COMMAND_COPY, hex(number.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn ask(desk: &Desk, line: &[u8]) -> (Vec<String>, String) {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (sender, events) = channel();
        ours.write_all(line).unwrap();
        let (desk_there, desk) = (desk.clone(), desk.clone());
        let served = thread::spawn(move || desk_there.attend(theirs, 7, &(1, String::new()), &sender));
        let mut said = Vec::new();
        if let Ok(Event::Control(line)) = events.recv() {
            said.push(line);
            desk.begin_part(7, 3);
            desk.write(7, b"abc");
            desk.done(7, 0);
        }
        let mut answer = String::new();
        let _ = ours.read_to_string(&mut answer);
        drop(ours);
        let _ = served.join();
        said.extend(events.iter().map(|event| format!("{event:?}")));
        (said, answer)
    }

    #[test]
    fn a_command_goes_in_and_its_answer_comes_back() {
        let (said, answer) = ask(&Desk::default(), b"1 0 6162\n");
        assert_eq!((said, answer.as_str()), (vec!["command 7 1 0 6162\n".to_string()], "about 1 7 \ndata 3\nabcdone 0\n"));
    }

    #[test]
    fn nonsense_reaches_no_guest() {
        for line in [&b"\n"[..], b"1\n", b"x 0\n", b"1 0 zz\n", b"1 0 123\n", b"1 0 61\rcommand 9 9 9\n", &[b'9'; 50_000]] {
            let said = ask(&Desk::default(), line).0;
            assert!(said.iter().all(|line| line.lines().count() == 1 && line.starts_with("command 7 1 0 61")), "{said:?}");
        }
    }

    #[test]
    fn who_goes_takes_the_command_back() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (sender, events) = channel();
        let desk = Desk::default();
        ours.write_all(b"2 1\n").unwrap();
        drop(ours);
        desk.attend(theirs, 3, &(1, String::new()), &sender);
        drop(sender);
        let said: Vec<String> = events.iter().map(|event| if let Event::Control(line) = event { line } else { String::new() }).collect();
        assert_eq!(said, ["command 3 2 1 \n", "cancel 3\n"]);
    }

    #[test]
    fn a_process_ends_with_who_has_started_it() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (sender, events) = channel();
        ours.write_all(b"5 8589934592 736800\n").unwrap();
        drop(ours);
        Desk::default().attend(theirs, 3, &(1, String::new()), &sender);
        drop(sender);
        let said: Vec<String> = events.iter().map(|event| if let Event::Control(line) = event { line } else { String::new() }).collect();
        assert_eq!((&*said[0], &*said[2], said.len()), ("command 3 5 8589934592 736800\n", "cancel 3\n", 3));
        assert!(said[1].starts_with("command ") && said[1].ends_with(" 7 8589934592 330a39\n"), "{}", said[1]);
    }

    #[test]
    fn who_goes_in_the_middle_of_an_answer_takes_the_command_back() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (sender, events) = channel();
        let desk = Desk::default();
        ours.write_all(b"2 4294967304\n").unwrap();
        let served = thread::spawn({
            let desk = desk.clone();
            move || desk.attend(theirs, 3, &(1, String::new()), &sender)
        });
        assert!(matches!(events.recv(), Ok(Event::Control(_))));
        while !desk.waiting.lock().unwrap().contains_key(&3) {}
        // The one who writes notices first: a closed half ends him alone.
        let pieces = desk.waiting.lock().unwrap().insert(3, sync_channel(1).0);
        desk.write(3, b"abc");
        drop((pieces, ours));
        let _ = served.join();
        let said: Vec<String> = events.iter().map(|event| if let Event::Control(line) = event { line } else { String::new() }).collect();
        assert_eq!((said.len(), said.last().map(String::as_str)), (2, Some("cancel 3\n")));
    }

    #[test]
    fn what_stands_still_goes_on_when_who_has_frozen_it_goes() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (sender, events) = channel();
        ours.write_all(b"2 4294967304\n").unwrap();
        drop(ours);
        Desk::default().attend(theirs, 3, &(1, String::new()), &sender);
        drop(sender);
        let said: Vec<String> = events.iter().map(|event| if let Event::Control(line) = event { line } else { String::new() }).collect();
        assert_eq!((&*said[0], &*said[2], said.len()), ("command 3 2 4294967304 \n", "cancel 3\n", 3));
        assert!(said[1].starts_with("command ") && said[1].ends_with(" 10 4294967296 33\n"), "{}", said[1]);
    }

    #[test]
    fn a_slow_reader_has_all_of_an_answer_when_the_machine_has_ended() {
        const PIECES: usize = 300;
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (sender, events) = channel();
        ours.write_all(b"2 1\n").unwrap();
        let desk = Desk::default();
        let served = thread::spawn({
            let desk = desk.clone();
            move || desk.attend(theirs, 3, &(1, String::new()), &sender)
        });
        assert!(matches!(events.recv(), Ok(Event::Control(_))));
        while !desk.waiting.lock().unwrap().contains_key(&3) {}
        // More than the socket holds.
        (0..PIECES).for_each(|_| desk.write(3, &[b'x'; 16384]));
        desk.done(3, 0);
        let reader = thread::spawn(move || {
            let mut answer = Vec::new();
            thread::sleep(Duration::from_millis(50));
            ours.read_to_end(&mut answer).map(|_| answer.len())
        });
        desk.end();
        assert_eq!(desk.writers.count.lock().map(|count| *count).ok(), Some(0));
        assert_eq!(reader.join().unwrap().unwrap(), "about 1 3 \n".len() + PIECES * 16384 + "done 0\n".len());
        let _ = served.join();
    }
}
