//! The machine's side: takes commands from the socket, passes them to root as lines of control, and
//! brings the answers back.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::names::Named;
use crate::failure::{Class, Context, Outcome};
use crate::session::Event;
use crate::session::records::Answers;

/// Time in which who asked has to take a part of the answer. One who does not loses it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum length of a command.
const LONGEST: u64 = 4096;
/// Command that ends the machine; the guest never sees it.
pub const END: u64 = 0;

/// Connections that wait for answers, by the numbers of their commands.
#[derive(Clone, Debug, Default)]
pub struct Desk(Arc<Mutex<BTreeMap<u64, UnixStream>>>);

impl Desk {
    /// Takes commands from a socket from now on, until this process ends.
    pub fn open(&self, named: &Named, command: &[String], events: Sender<Event>) -> Outcome<()> {
        let listener = named.listener.try_clone().context(Class::Internal, || "cannot listen for commands".to_string())?;
        let (desk, about) = (self.clone(), about(command));
        thread::spawn(move || {
            static NUMBERS: AtomicU64 = AtomicU64::new(1);
            for stream in listener.incoming().flatten() {
                let (desk, about, events) = (desk.clone(), about.clone(), events.clone());
                let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || desk.attend(stream, number, &about, &events));
            }
        });
        Ok(())
    }

    /// Takes one command, and waits until who gave it goes.
    fn attend(&self, mut stream: UnixStream, number: u64, about: &str, events: &Sender<Event>) -> Option<()> {
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
        stream.write_all(about.as_bytes()).ok()?;
        if operation == END {
            events.send(Event::Signal(signal_hook::consts::SIGTERM)).ok()?;
            return Some(());
        }
        self.0.lock().ok()?.insert(number, stream);
        events.send(Event::Control(format!("command {number} {operation} {flags} {text}\n"))).ok()?;
        // Nothing more is said: the end means that nobody waits any more.
        let _ = lines.into_inner().into_inner().read(&mut [0]);
        if self.0.lock().ok()?.remove(&number).is_some() {
            events.send(Event::Control(format!("cancel {number}\n"))).ok()?;
        }
        Some(())
    }

}

impl Answers for Desk {
    fn begin_part(&self, number: u64, size: u64) {
        self.write(number, format!("data {size}\n").as_bytes());
    }

    fn write(&self, number: u64, bytes: &[u8]) {
        let Ok(mut waiting) = self.0.lock() else { return };
        let failed = waiting.get_mut(&number).is_some_and(|stream| stream.write_all(bytes).is_err());
        if failed {
            waiting.remove(&number);
        }
    }

    fn done(&self, number: u64, errno: u64) {
        self.write(number, format!("done {errno}\n").as_bytes());
        if let Some(stream) = self.0.lock().ok().and_then(|mut waiting| waiting.remove(&number)) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// A line that says what the machine is: the number of this process, and the command in base 16,
/// its words with zeros between them.
fn about(command: &[String]) -> String {
    let hex: String = command.join("\0").bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("about {} {hex}\n", std::process::id())
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
        let served = thread::spawn(move || desk_there.attend(theirs, 7, "about 1 \n", &sender));
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
        assert_eq!((said, answer.as_str()), (vec!["command 7 1 0 6162\n".to_string()], "about 1 \ndata 3\nabcdone 0\n"));
    }

    #[test]
    fn nonsense_reaches_no_guest() {
        for line in [&b"\n"[..], b"1\n", b"x 0\n", b"1 0 zz\n", b"1 0 123\n", b"1 0 61\rcommand 9 9 9\n", &[b'9'; 5000]] {
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
        desk.attend(theirs, 3, "", &sender);
        drop(sender);
        let said: Vec<String> = events.iter().map(|event| if let Event::Control(line) = event { line } else { String::new() }).collect();
        assert_eq!(said, ["command 3 2 1 \n", "cancel 3\n"]);
    }
}
