//! Commands of whoever runs the system: their texts and answers, and seats that are taken, asked
//! and left in any order.

use crate::bytes::Bytes;
use nacre_control::exec::{self, Frames};
use nacre_control::seats::Bell;
use nacre_control::{Command, Record, Seats, record};
use nacre_proto::Errno;
use std::collections::BTreeSet;

/// Number of seats and of commands that are tried.
const NUMBERS: usize = 80;

/// Bell that nobody hears.
struct Silent;

impl Bell for Silent {
    fn ring(&self) {}
}

/// Commands on their way, as they have to be.
#[derive(Default)]
struct Passing(BTreeSet<u64>);

impl Passing {
    /// Each command ends once, and only after it was posted.
    fn end(&mut self, ended: &[(u64, Errno)]) {
        for (number, _) in ended {
            assert!(self.0.remove(number), "command {number} has ended before");
        }
    }
}

/// Runs operations on seats, then reads the rest as texts.
pub fn commands(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    seats(Bytes(bytes.some()));
    texts(bytes.rest());
}

fn seats(mut bytes: Bytes<'_>) {
    let (mut seats, mut passing) = (Seats::default(), Passing::default());
    while !bytes.is_over() {
        let (operation, seat, number) = (bytes.below(6), bytes.below(NUMBERS) as u64, bytes.below(NUMBERS) as u64);
        match operation {
            0 => passing.end(&seats.sit(seat, Silent).unwrap_or_default()),
            1 => passing.end(&seats.leave(seat)),
            2 => post(&mut seats, &mut passing, Command { number, operation: bytes.below(12) as u64, flags: 0, ticket: number, text: Vec::new() }),
            3 => {
                if let Some(command) = seats.next(seat) {
                    let number = command.number;
                    assert!(passing.0.contains(&number) && seats.taken(seat, number).is_ok(), "command {number} is taken");
                }
            }
            4 => {
                let errno = bytes.of(&[Errno(0), Errno::ENOSYS, Errno::EIO]);
                if let Ok(Some(result)) = seats.done(seat, number, errno) {
                    passing.end(&[(number, result)]);
                }
            }
            _ => {
                seats.cancel(number);
                passing.0.remove(&number);
            }
        }
    }
    for seat in 0..NUMBERS as u64 {
        passing.end(&seats.leave(seat));
    }
    assert!(passing.0.is_empty(), "nobody attends any more, and {:?} have not ended", passing.0);
}

fn post(seats: &mut Seats<Silent>, passing: &mut Passing, command: Command) {
    let number = command.number;
    let is_new = !passing.0.contains(&number);
    match seats.post(command) {
        None => assert!(passing.0.insert(number), "command {number} is on its way twice"),
        Some(errno) => assert!(is_new || errno == Errno::EAGAIN, "command {number} is refused"),
    }
}

fn texts(bytes: &[u8]) {
    for has_terminal in [false, true] {
        if let Some(start) = exec::start(bytes, has_terminal) {
            assert_eq!(exec::start(&exec::start_text(&start), has_terminal), Some(start));
        }
    }
    if let Some((number, rest)) = exec::about(bytes) {
        assert_eq!(exec::about(&exec::about_text(number, rest)), Some((number, rest)));
    }
    let (mut frames, mut taken) = (Frames::default(), 0);
    for part in bytes.chunks(7) {
        frames.feed(part);
        while let Ok(Some((_, contents))) = frames.next() {
            taken += contents.len();
        }
    }
    assert!(taken <= bytes.len(), "frames hold more than came");
    let line = Record { path: "0/1", kind: "process", name: bytes, ..Record::default() }.line();
    let count = |wanted: u8| line.iter().filter(|byte| **byte == wanted).count();
    assert_eq!((count(b'\n'), count(b'\t'), line.last()), (1, 6, Some(&b'\n')), "a record is a line of seven fields");
    assert!(record::within("2", bytes).split(|byte| *byte == b'\n').all(|line| line.is_empty() || line.starts_with(b"2/")), "a line is in its place");
    assert!(record::within_seat(3, bytes).split(|byte| *byte == b'\n').all(|line| line.is_empty() || line.starts_with(b"0/3")), "a line is in its seat's place");
}
