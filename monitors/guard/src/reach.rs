//! Operations that can reach beyond what the child made itself: other processes, other programs'
//! sockets, terminals and keyed objects. The guard notes what the child makes, and a rule about the
//! child's own things allows nothing else.

use crate::subject::{CHANNELS, CHANNELS_OUTSIDE, PROCESS_OUTSIDE, PROCESS_OWN, Subject};
use alloc::collections::BTreeSet;
use nacre_proto::flags::{KEYED_MEMORY, KEYED_MESSAGES, KEYED_SEMAPHORES, LOCK_TEST, LOCK_WRITE};
use nacre_proto::{channel, file, keyed, mailbox, process};

/// Greatest number of things that are noted. What the child makes beyond counts as somebody else's.
const MOST: usize = 1 << 16;

/// Something that an operation needs besides itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// The label of another operation; none for the operation itself.
    pub label: Option<u32>,
    /// The name of another subject; none for the name of the object that is asked.
    pub subject: Option<&'static [u8]>,
}

const READS: Need = Need { label: Some(file::read::LABEL), subject: None };
const WRITES: Need = Need { label: Some(file::write::LABEL), subject: None };
const OUTSIDE: Need = Need { label: None, subject: Some(CHANNELS_OUTSIDE) };

/// All that an operation can need besides itself, whatever its words say.
pub fn needs_at_most(label: u32) -> &'static [Need] {
    match label >> 16 {
        process::NUMBER => &[Need { label: None, subject: Some(PROCESS_OWN) }, Need { label: None, subject: Some(PROCESS_OUTSIDE) }],
        keyed::NUMBER => &[OUTSIDE],
        // At an end or a queue, which is read and written by these as well.
        channel::NUMBER | mailbox::NUMBER => &[OUTSIDE, READS, WRITES],
        _ if label == file::lock::LABEL || label == file::lock_owned::LABEL => &[WRITES],
        _ => &[],
    }
}

/// Returns what a request needs besides itself.
pub fn needs(object: &Subject, label: u32, words: &[u64; 6], has_bytes: bool) -> &'static [Need] {
    match label >> 16 {
        file::NUMBER if locks_alone(label, words) => &[WRITES],
        channel::NUMBER if !object.kind.is_service() => needs_at_end(object, label, words, has_bytes),
        mailbox::NUMBER if !object.kind.is_service() => match label {
            mailbox::open::LABEL | mailbox::unlink::LABEL => &[OUTSIDE],
            mailbox::part::LABEL | mailbox::send::LABEL => &[WRITES],
            mailbox::facts::LABEL | mailbox::withdraw::LABEL => &[],
            _ => &[READS],
        },
        _ => &[],
    }
}

/// Returns what a request of `channel` needs at an end besides itself. The memory of a pipe is read
/// and written by whoever has it, at either end. A request at a stream that names another socket is
/// about both.
fn needs_at_end(object: &Subject, label: u32, words: &[u64; 6], has_bytes: bool) -> &'static [Need] {
    use channel::*;
    let names_other = label == bind::LABEL || label == connect::LABEL && has_bytes || label == send::LABEL && words[1] != 0;
    match label {
        receive::LABEL | accept::LABEL => &[READS],
        share::LABEL => &[READS, WRITES],
        _ if names_other && object.is_stream() => &[OUTSIDE, WRITES],
        send::LABEL | connect::LABEL | bind::LABEL | listen::LABEL | shutdown::LABEL | terminal_lock::LABEL => &[WRITES],
        capacity::LABEL if words[0] != 0 => &[WRITES],
        _ => &[],
    }
}

/// Returns true if a request locks a file so that nobody else may read it, which takes the right to
/// write it.
pub fn locks_alone(label: u32, words: &[u64; 6]) -> bool {
    (label == file::lock::LABEL || label == file::lock_owned::LABEL) && words[0] == LOCK_WRITE && words[1] & LOCK_TEST == 0
}

/// Keyed objects that the child has made, by class and number.
#[derive(Debug, Default)]
pub struct Made {
    numbers: BTreeSet<(u64, u64)>,
}

impl Made {
    fn has(&self, class: u64, number: u64) -> bool {
        self.numbers.contains(&(class, number))
    }

    fn add(&mut self, class: u64, number: u64) {
        if self.numbers.len() < MOST {
            self.numbers.insert((class, number));
        }
    }

    /// Notes what a request has made, or removed, by its answer.
    pub fn note(&mut self, label: u32, asked: [u64; 2], answered: &[u64; 6]) {
        match label {
            keyed::get::LABEL if asked[1] == 0 => self.add(asked[0], answered[0]),
            keyed::get_memory::LABEL if asked[0] == 0 => self.add(KEYED_MEMORY, answered[0]),
            keyed::remove::LABEL => {
                self.numbers.remove(&(asked[0], asked[1]));
            }
            _ => {}
        }
    }

    /// The subject of a request to a service where others have things, too, or to what was found
    /// there; `None` for all other requests, and for those at streams, which are judged by the
    /// stream's name.
    pub fn subject(&self, object: &Subject, label: u32, words: &[u64; 6], has_bytes: bool) -> Option<&'static [u8]> {
        let is_own = match label >> 16 {
            channel::NUMBER | mailbox::NUMBER if object.is_stream() => return None,
            channel::NUMBER => object.name != CHANNELS_OUTSIDE && is_own_channel(object, label, words, has_bytes),
            keyed::NUMBER => self.is_own_keyed(label, words),
            // Queues are found by names.
            mailbox::NUMBER => false,
            _ => return None,
        };
        Some(if is_own { CHANNELS } else { CHANNELS_OUTSIDE })
    }

    fn is_own_keyed(&self, label: u32, words: &[u64; 6]) -> bool {
        use keyed::*;
        match label {
            enter::LABEL | detach_all::LABEL => true,
            get::LABEL => words[1] == 0,
            get_memory::LABEL => words[0] == 0,
            attach::LABEL | detach::LABEL => self.has(KEYED_MEMORY, words[0]),
            state::LABEL | change::LABEL | remove::LABEL => self.has(words[0], words[1]),
            send::LABEL | receive::LABEL => self.has(KEYED_MESSAGES, words[0]),
            operate::LABEL | semaphore::LABEL | semaphore_set::LABEL | values::LABEL | values_set::LABEL => self.has(KEYED_SEMAPHORES, words[0]),
            _ => false,
        }
    }
}

/// Returns true for requests to the service that name a terminal by its number. The service gives a
/// number anew once its terminal is gone, so a number does not say whose terminal it is.
pub fn names_terminal(object: &Subject, label: u32) -> bool {
    use channel::*;
    match label {
        terminal_open::LABEL | terminal_status::LABEL | terminal_set_mode::LABEL | terminal_set_owner::LABEL | terminal_set_times::LABEL => true,
        // An end is asked for its own.
        terminal_facts::LABEL => object.kind.is_service(),
        _ => false,
    }
}

fn is_own_channel(object: &Subject, label: u32, words: &[u64; 6], has_bytes: bool) -> bool {
    use channel::*;
    match label {
        fifo::LABEL | bind::LABEL | sockets::LABEL => false,
        connect::LABEL => !has_bytes,
        send::LABEL => words[1] == 0,
        label => !names_terminal(object, label),
    }
}

/// Name of an end or queue that a request brings.
pub fn brought(subject: &[u8]) -> &'static [u8] {
    if subject == CHANNELS { CHANNELS } else { CHANNELS_OUTSIDE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::{Kind, NETWORK};
    use nacre_proto::PROTOCOLS;

    fn words<const N: usize>(some: [u64; N]) -> [u64; 6] {
        nacre_proto::client::words(some)
    }

    fn object(name: &[u8], kind: Kind) -> Subject {
        Subject { name: name.to_vec(), kind, is_strange: false }
    }

    #[test]
    fn what_the_child_made_is_its_own() {
        let (mut made, service) = (Made::default(), object(CHANNELS, Kind::Plain));
        let subject = |made: &Made, label, some: [u64; 2]| made.subject(&service, label, &words(some), false).unwrap();
        assert_eq!(subject(&made, keyed::state::LABEL, [1, 5]), CHANNELS_OUTSIDE);
        made.note(keyed::get::LABEL, [KEYED_SEMAPHORES, 0], &words([5]));
        made.note(keyed::get::LABEL, [KEYED_SEMAPHORES, 9], &words([6]));
        assert_eq!(subject(&made, keyed::operate::LABEL, [5, 0]), CHANNELS);
        assert_eq!(subject(&made, keyed::operate::LABEL, [6, 0]), CHANNELS_OUTSIDE);
        assert_eq!(subject(&made, keyed::attach::LABEL, [5, 0]), CHANNELS_OUTSIDE);
        made.note(keyed::remove::LABEL, [KEYED_SEMAPHORES, 5], &words([]));
        assert_eq!(subject(&made, keyed::operate::LABEL, [5, 0]), CHANNELS_OUTSIDE);
    }

    #[test]
    fn names_lead_outside() {
        let (made, service, end) = (Made::default(), object(CHANNELS, Kind::Service), object(CHANNELS, Kind::Plain));
        for label in [channel::bind::LABEL, channel::connect::LABEL, channel::fifo::LABEL, channel::sockets::LABEL, mailbox::open::LABEL, mailbox::unlink::LABEL] {
            assert_eq!(made.subject(&service, label, &[0; 6], true), Some(CHANNELS_OUTSIDE), "{label:#x}");
        }
        assert_eq!(made.subject(&end, channel::send::LABEL, &words([0, 4]), true), Some(CHANNELS_OUTSIDE));
        assert_eq!(made.subject(&service, channel::terminal_open::LABEL, &words([3]), false), Some(CHANNELS_OUTSIDE));
        assert_eq!(made.subject(&service, channel::terminal_facts::LABEL, &words([3]), false), Some(CHANNELS_OUTSIDE));
        assert_eq!(made.subject(&end, channel::terminal_facts::LABEL, &words([3]), false), Some(CHANNELS));
        assert_eq!(made.subject(&service, channel::pair::LABEL, &[0; 6], false), Some(CHANNELS));
    }

    #[test]
    fn what_was_found_by_a_name_stays_outside() {
        let (made, end) = (Made::default(), object(CHANNELS_OUTSIDE, Kind::Plain));
        for label in [channel::send::LABEL, channel::receive::LABEL, channel::share::LABEL, channel::accept::LABEL, channel::terminal_facts::LABEL] {
            assert_eq!(made.subject(&end, label, &[0; 6], false), Some(CHANNELS_OUTSIDE), "{label:#x}");
        }
        assert_eq!([CHANNELS, CHANNELS_OUTSIDE, b"stream:1", PROCESS_OWN].map(brought), [CHANNELS, CHANNELS_OUTSIDE, CHANNELS_OUTSIDE, CHANNELS_OUTSIDE]);
    }

    #[test]
    fn a_stream_is_judged_as_that_and_not_as_a_channel() {
        let (made, stream) = (Made::default(), object(b"stream:1", Kind::Plain));
        for label in [channel::send::LABEL, channel::receive::LABEL, channel::share::LABEL, mailbox::send::LABEL, mailbox::receive::LABEL] {
            assert_eq!(made.subject(&stream, label, &[0; 6], false), None, "{label:#x}");
        }
        let needs_at = needs;
        let needs = |label, some: [u64; 2], has_bytes| needs_at(&stream, label, &words(some), has_bytes);
        assert_eq!((needs(channel::send::LABEL, [0; 2], true), needs(channel::receive::LABEL, [0; 2], false)), (&[WRITES][..], &[READS][..]));
        assert_eq!(needs(channel::share::LABEL, [0; 2], false), [READS, WRITES], "at either end");
        assert_eq!(needs(channel::send::LABEL, [0, 8], true), [OUTSIDE, WRITES]);
        assert_eq!((needs(mailbox::send::LABEL, [0; 2], true), needs(mailbox::rest::LABEL, [0; 2], false)), (&[WRITES][..], &[READS][..]));
        assert_eq!(needs(channel::facts::LABEL, [0; 2], false), []);
        for name in [CHANNELS, CHANNELS_OUTSIDE, NETWORK] {
            let needs = |label, kind| needs_at(&object(name, kind), label, &words([0, 8]), true);
            assert_eq!((needs(channel::share::LABEL, Kind::Plain), needs(channel::send::LABEL, Kind::Plain)), (&[READS, WRITES][..], &[WRITES][..]));
            assert_eq!((needs(channel::pair::LABEL, Kind::Service), needs(mailbox::send::LABEL, Kind::Plain)), (&[][..], &[WRITES][..]));
        }
    }

    #[test]
    fn what_can_be_needed_is_declared() {
        let made = Made::default();
        let objects = [object(CHANNELS, Kind::Service), object(CHANNELS, Kind::Plain), object(CHANNELS_OUTSIDE, Kind::Plain), object(b"stream:0", Kind::Plain), object(NETWORK, Kind::Plain)];
        for operation in PROTOCOLS.iter().flat_map(|protocol| protocol.operations) {
            let most = needs_at_most(operation.label);
            for (object, has_bytes) in objects.iter().flat_map(|object| [(object, false), (object, true)]) {
                let subject = made.subject(object, operation.label, &[9; 6], has_bytes);
                for subject in subject.into_iter().filter(|subject| *subject != CHANNELS) {
                    assert!(most.iter().any(|need| need.subject == Some(subject)), "{}.{}", operation.protocol, operation.name);
                }
                for need in needs(object, operation.label, &[1; 6], has_bytes) {
                    assert!(most.contains(need), "{}.{}", operation.protocol, operation.name);
                }
            }
        }
    }
}
