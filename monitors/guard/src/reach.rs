//! Operations that can reach beyond what the child made itself: other processes, other programs'
//! sockets, terminals and keyed objects. The guard notes what the child makes, and a rule about the
//! child's own things allows nothing else.

use crate::subject::{CHANNELS, CHANNELS_OUTSIDE, PROCESS_OUTSIDE, PROCESS_OWN};
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
    /// The name of another subject; none for the operation's own.
    pub subject: Option<&'static [u8]>,
}

/// All that an operation can need besides itself, whatever its words say.
pub fn needs_at_most(label: u32) -> &'static [Need] {
    match label >> 16 {
        process::NUMBER => &[Need { label: None, subject: Some(PROCESS_OWN) }, Need { label: None, subject: Some(PROCESS_OUTSIDE) }],
        channel::NUMBER | keyed::NUMBER | mailbox::NUMBER => &[Need { label: None, subject: Some(CHANNELS_OUTSIDE) }],
        _ if label == file::lock::LABEL || label == file::lock_owned::LABEL => &[Need { label: Some(file::write::LABEL), subject: None }],
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

    /// The subject of a request to a service where others have things, too; `None` for all other
    /// requests.
    pub fn subject(&self, label: u32, words: &[u64; 6], has_bytes: bool) -> Option<&'static [u8]> {
        let (own, outside, is_own) = match label >> 16 {
            channel::NUMBER => (CHANNELS, CHANNELS_OUTSIDE, self.is_own_channel(label, words, has_bytes)),
            keyed::NUMBER => (CHANNELS, CHANNELS_OUTSIDE, self.is_own_keyed(label, words)),
            // Queues are found by names.
            mailbox::NUMBER => (CHANNELS, CHANNELS_OUTSIDE, false),
            _ => return None,
        };
        Some(if is_own { own } else { outside })
    }

    fn is_own_channel(&self, label: u32, words: &[u64; 6], has_bytes: bool) -> bool {
        use channel::*;
        match label {
            fifo::LABEL | bind::LABEL => false,
            connect::LABEL => !has_bytes,
            send::LABEL => words[1] == 0,
            // The service gives a number anew once its terminal is gone, so a number does not say
            // whose terminal it is.
            terminal_open::LABEL | terminal_status::LABEL | terminal_set_mode::LABEL | terminal_set_owner::LABEL | terminal_set_times::LABEL => false,
            _ => true,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::PROTOCOLS;

    fn words<const N: usize>(some: [u64; N]) -> [u64; 6] {
        nacre_proto::client::words(some)
    }

    #[test]
    fn what_the_child_made_is_its_own() {
        let mut made = Made::default();
        let subject = |made: &Made, label, some: [u64; 2]| made.subject(label, &words(some), false).unwrap();
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
        let made = Made::default();
        for label in [channel::bind::LABEL, channel::connect::LABEL, channel::fifo::LABEL, mailbox::open::LABEL, mailbox::unlink::LABEL] {
            assert_eq!(made.subject(label, &[0; 6], true), Some(CHANNELS_OUTSIDE), "{label:#x}");
        }
        assert_eq!(made.subject(channel::send::LABEL, &words([0, 4]), true), Some(CHANNELS_OUTSIDE));
        assert_eq!(made.subject(channel::terminal_open::LABEL, &words([3]), false), Some(CHANNELS_OUTSIDE));
        assert_eq!(made.subject(channel::pair::LABEL, &[0; 6], false), Some(CHANNELS));
    }

    #[test]
    fn what_can_be_needed_is_declared() {
        let made = Made::default();
        for operation in PROTOCOLS.iter().flat_map(|protocol| protocol.operations) {
            let subjects = [false, true].map(|has_bytes| made.subject(operation.label, &[9; 6], has_bytes));
            let most = needs_at_most(operation.label);
            for subject in subjects.into_iter().flatten().filter(|subject| *subject != CHANNELS) {
                assert!(most.iter().any(|need| need.subject == Some(subject)), "{}.{}", operation.protocol, operation.name);
            }
        }
    }
}
