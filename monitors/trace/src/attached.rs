//! Lines for a person who looks at a tracer from outside, by `nacre trace NAME`.

use crate::counts::{Counts, OTHERS};
use crate::filter::Filter;
use crate::record::Done;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use nacre_control::attendance::PART;
use nacre_control::{Command, Follower};
use nacre_proto::Errno;
use nacre_proto::flags::COMMAND_TRACE;
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedReference, ipc};

/// Bytes that wait to be taken. Further lines are lost.
const ROOM: usize = 256 << 10;
/// Value among those of `-e` that asks for counts in place of lines.
const COUNTS: &[u8] = b"-c";

/// The person who looks, if one does.
#[derive(Default)]
pub struct Attached {
    listener: Lock<Option<Listener>>,
    is_there: AtomicBool,
}

struct Listener {
    /// Number of the command, and the port that is told of lines.
    number: u64,
    news: OwnedReference,
    filter: Filter,
    lines: Lines,
    /// Counts since they were taken, if the person wants them in place of lines.
    counts: Option<Box<Counts>>,
}

impl Listener {
    /// Takes what is new: lines, or rows of counts, which the person adds up.
    fn take(&mut self) -> Vec<u8> {
        if let Some(counts) = self.counts.as_mut().filter(|_| self.lines.bytes.is_empty()) {
            self.lines.bytes.extend(rows(&core::mem::replace(&mut **counts, Counts::new())).into_bytes());
        }
        self.lines.take()
    }

    fn show(&mut self, done: &Done<'_>) {
        let is_call = done.label != OTHERS;
        let is_shown = if is_call { self.filter.shows(done.label) && self.filter.shows_answer(done.failed) } else { self.filter.shows_others() };
        match &mut self.counts {
            _ if !is_shown => return,
            Some(counts) if is_call => counts.count(done.label, done.failed, done.ended.wrapping_sub(done.started)),
            None if !done.message.is_empty() => self.lines.add(&[&done.from.text(), done.message, " = ", done.answer, "\n"]),
            _ => return,
        }
        // Who has gone is noticed when nobody takes the lines.
        let _ = ipc::notify(self.news.handle(), 1);
    }
}

/// Returns a line for each operation: label in base 16, calls, errors and ticks.
fn rows(counts: &Counts) -> String {
    counts.rows().iter().map(|row| format!("{:x} {} {} {}\n", row.label, row.calls, row.errors, row.ticks)).collect()
}

/// Lines that wait.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    lost: u64,
}

impl Lines {
    fn add(&mut self, line: &[&str]) {
        let size: usize = line.iter().map(|part| part.len()).sum();
        if self.bytes.len() + size > ROOM {
            self.lost += 1;
            return;
        }
        line.iter().for_each(|part| self.bytes.extend(part.as_bytes()));
    }

    /// Takes whole lines, not more than a part of an answer; of a longer line, its first bytes.
    fn take(&mut self) -> Vec<u8> {
        if self.bytes.is_empty() && self.lost > 0 {
            return format!("({} lines were lost)\n", core::mem::take(&mut self.lost)).into_bytes();
        }
        let limit = self.bytes.len().min(PART);
        let end = self.bytes[..limit].iter().rposition(|byte| *byte == b'\n').map_or(limit, |last| last + 1);
        self.bytes.drain(..end).collect()
    }
}

impl Attached {
    /// Returns true if somebody looks at these operations.
    #[inline]
    pub fn wants_text_of(&self, label: u32) -> bool {
        self.is_there() && self.listener.lock().as_ref().is_some_and(|listener| listener.counts.is_none() && listener.filter.shows(label))
    }

    /// Returns true if somebody looks.
    #[inline]
    pub fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    /// Shows a message that has been answered.
    #[inline]
    pub fn show(&self, done: &Done<'_>) {
        if self.is_there() {
            self.show_to_listener(done);
        }
    }

    #[cold]
    fn show_to_listener(&self, done: &Done<'_>) {
        if let Some(listener) = &mut *self.listener.lock() {
            listener.show(done);
        }
    }
}

/// Decodes values of `-e`, each with a zero behind it, and returns true if counts are wanted.
/// `None`: a name is of nothing.
fn wishes(text: &[u8]) -> Option<(Filter, bool)> {
    let values = || text.split(|byte| *byte == 0).filter(|value| !value.is_empty());
    let filter = values().filter(|value| *value != COUNTS).try_fold(Filter::default(), Filter::with)?;
    Some((filter, values().any(|value| value == COUNTS)))
}

impl Follower for Attached {
    fn begin(&self, command: &Command, news: OwnedReference) -> Option<Result<(), Errno>> {
        if command.operation != COMMAND_TRACE {
            return None;
        }
        let mut listener = self.listener.lock();
        Some(match wishes(&command.text) {
            None => Err(Errno::EINVAL),
            Some(_) if listener.is_some() => Err(Errno::EBUSY),
            Some((filter, counts)) => {
                let counts = counts.then(|| Box::new(Counts::new()));
                *listener = Some(Listener { number: command.number, news, filter, lines: Lines::default(), counts });
                self.is_there.store(true, Ordering::Relaxed);
                Ok(())
            }
        })
    }

    fn take(&self) -> Option<(u64, Vec<u8>)> {
        let mut listener = self.listener.lock();
        let listener = listener.as_mut()?;
        Some((listener.number, listener.take())).filter(|(_, text)| !text.is_empty())
    }

    fn current(&self) -> Option<u64> {
        self.listener.lock().as_ref().map(|listener| listener.number)
    }

    fn end(&self, number: u64) {
        let mut listener = self.listener.lock();
        if listener.take_if(|listener| listener.number == number).is_some() {
            self.is_there.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::{directory, file};

    #[test]
    fn lines_are_taken_whole_and_what_has_no_room_is_counted() {
        let mut lines = Lines::default();
        lines.add(&["one", " = 1\n"]);
        lines.add(&[&"x".repeat(PART), "\n"]);
        assert_eq!((lines.take(), lines.take().len(), lines.take(), lines.take()), (b"one = 1\n".to_vec(), PART, b"\n".to_vec(), vec![]));
        (0..ROOM / 8 + 2).for_each(|_| lines.add(&["seven77\n"]));
        while lines.bytes.len() > 0 {
            assert!(lines.take().len() <= PART);
        }
        assert_eq!((lines.take(), lines.take()), (b"(2 lines were lost)\n".to_vec(), vec![]));
    }

    #[test]
    fn expressions_have_zeros_behind_them() {
        let shown = |text: &[u8]| wishes(text).map(|(filter, _)| (filter.shows(file::read::LABEL), filter.shows(directory::open::LABEL)));
        assert_eq!((shown(b""), shown(b"trace=openat\0"), shown(b"read\0status=failed\0")), (Some((true, true)), Some((false, true)), Some((true, false))));
        assert_eq!(shown(b"nonesuch\0"), None);
        assert_eq!([&b"-c\0"[..], b"read\0-c\0", b"read\0", b"nonesuch\0-c\0"].map(|text| wishes(text).map(|(_, counts)| counts)), [Some(true), Some(true), Some(false), None]);
    }

    #[test]
    fn counts_are_rows() {
        let mut counts = Counts::new();
        (0..3).for_each(|ticks| counts.count(file::read::LABEL, ticks == 1, ticks));
        counts.count(OTHERS - 1, false, 1);
        assert_eq!(rows(&counts), format!("{:x} 3 1 3\nfffffffe 1 0 1\n", file::read::LABEL));
    }
}
