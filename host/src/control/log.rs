//! The last output of a machine's program, for whoever asks for it later, and the subcommand
//! `logs`.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::arguments::LogsArguments;
use super::client::ask;
use super::fork::{Target, target};
use crate::failure::{Class, Failure, Outcome};
use nacre_proto::Errno;
use nacre_proto::flags::COMMAND_LOGS;

/// Command that asks for the last output; the guest never sees it.
pub const LOGS: u64 = u64::MAX;
/// Flag of it: the answer goes on until the machine ends.
pub const FOLLOWS: u64 = 1;
/// Number of bytes that are kept.
const KEPT: usize = 1 << 20;
/// Maximum number of bytes that are handed out at a time.
const PART: usize = 16 << 10;
/// Time in which those who follow have to take the last output once the machine is gone.
const GRACE: Duration = Duration::from_secs(2);

/// Output, and who follows it.
#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    /// Number of bytes that came before those.
    dropped: u64,
    is_ended: bool,
    followers: usize,
}

/// The last output of a program, of which copies are the same.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<(Mutex<Kept>, Condvar)>);

impl Log {
    fn with<T>(&self, act: impl FnOnce(&mut Kept) -> T) -> T {
        act(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds output. What is oldest is dropped for it.
    fn add(&self, bytes: &[u8]) {
        self.with(|kept| {
            kept.bytes.extend(bytes);
            let over = kept.bytes.len().saturating_sub(KEPT);
            kept.bytes.drain(..over);
            kept.dropped += over as u64;
        });
        self.0.1.notify_all();
    }

    /// Returns some output behind so many bytes, and how many bytes lie before what comes next.
    /// Nothing: there is no more; with `waits`, and will be none.
    fn next(&self, from: u64, waits: bool) -> (Vec<u8>, u64) {
        let is_short = |kept: &mut Kept| waits && !kept.is_ended && from >= kept.dropped + kept.bytes.len() as u64;
        let kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = self.0.1.wait_while(kept, is_short).unwrap_or_else(PoisonError::into_inner);
        let from = from.max(kept.dropped);
        let bytes: Vec<u8> = kept.bytes.iter().skip((from - kept.dropped) as usize).take(PART).copied().collect();
        let next = from + bytes.len() as u64;
        (bytes, next)
    }

    /// Writes all output, as parts of an answer. One that follows waits for more until the end.
    pub fn send(&self, to: &mut impl Write, follows: bool) -> io::Result<()> {
        self.with(|kept| kept.followers += 1);
        let mut at = 0;
        let sent = loop {
            let (bytes, next) = self.next(at, follows);
            if bytes.is_empty() {
                break to.write_all(b"done 0\n");
            }
            at = next;
            let part = [format!("data {}\n", bytes.len()).as_bytes(), &bytes].concat();
            if let Err(error) = to.write_all(&part) {
                break Err(error);
            }
        };
        self.with(|kept| kept.followers -= 1);
        self.0.1.notify_all();
        sent
    }

    /// Ends the output. Waits a little until those who follow have the rest.
    pub fn end(&self) {
        self.with(|kept| kept.is_ended = true);
        self.0.1.notify_all();
        let kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.1.wait_timeout_while(kept, GRACE, |kept| kept.followers > 0));
    }

    /// Output to `to` that is kept, too.
    pub fn tee<W: Write>(&self, to: W) -> Tee<W> {
        Tee { log: self.clone(), to }
    }
}

/// Writes to a log, and then to something else.
pub struct Tee<W> {
    log: Log,
    to: W,
}

impl<W: Write> Write for Tee<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.log.add(bytes);
        self.to.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Shows the last output of a machine's program.
pub fn logs(arguments: &LogsArguments) -> Outcome<i32> {
    let mut output = io::stdout();
    let target = target(&arguments.name);
    if target.copy().is_some() {
        return logs_of_copy(arguments, &target);
    }
    let flags = if arguments.follow { FOLLOWS } else { 0 };
    ask(&arguments.name, (LOGS, flags, b""), None, |bytes| output.write_all(bytes).and_then(|()| output.flush()))?;
    Ok(0)
}

/// Shows the last output of a copy.
fn logs_of_copy(arguments: &LogsArguments, target: &Target<'_>) -> Outcome<i32> {
    if arguments.follow {
        return Err(Failure::new(Class::Usage, "a copy cannot be followed").remedy(format!("leave --follow out, or follow all of {}", target.machine)));
    }
    let mut output = io::stdout();
    let (_, errno) = ask(target.machine, (COMMAND_LOGS, target.flags, b""), None, |bytes| output.write_all(bytes).and_then(|()| output.flush()))?;
    match errno {
        Some(Errno(0)) => Ok(0),
        Some(Errno::ESRCH | Errno::ENOSYS) => Err(Failure::new(Class::Usage, format!("there is no copy {}, or it ended long ago", arguments.name)).remedy("`nacre ps` lists those that run")),
        Some(errno) => Err(Failure::new(Class::Guest, format!("the output could not be told ({errno})"))),
        None => Err(Failure::new(Class::Guest, "the machine ended before it had told all")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_output_is_kept() {
        let log = Log::default();
        let mut to = Vec::new();
        log.tee(&mut to).write_all(b"one\n").unwrap();
        let mut sent = Vec::new();
        log.send(&mut sent, false).unwrap();
        assert_eq!((&*to, &*sent), (&b"one\n"[..], &b"data 4\none\ndone 0\n"[..]));
        log.add(&vec![b'x'; KEPT]);
        log.add(b"y");
        assert_eq!(log.next(0, false), (vec![b'x'; PART], 4 + 1 + PART as u64));
        assert_eq!(log.next(4 + KEPT as u64, false), (b"y".to_vec(), 5 + KEPT as u64));
    }

    #[test]
    fn one_that_follows_has_all_until_the_end() {
        let log = Log::default();
        let follower = std::thread::spawn({
            let log = log.clone();
            move || {
                let mut sent = Vec::new();
                log.send(&mut sent, true).map(|()| sent)
            }
        });
        log.add(b"one");
        while log.with(|kept| kept.followers) == 0 {
            std::thread::yield_now();
        }
        log.add(b"two");
        log.end();
        let sent = follower.join().unwrap().unwrap();
        let text: String = String::from_utf8(sent).unwrap().lines().filter(|line| !line.starts_with("data ")).collect();
        assert_eq!(text.replace("data 3", ""), "onetwodone 0");
    }
}
