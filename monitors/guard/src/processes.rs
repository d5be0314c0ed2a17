//! The child's own processes, as the manager knows them now. A number says nothing by itself: the
//! manager gives it anew once its process has ended and was waited for.

use crate::claims::Claimant;
use crate::subject::{PROCESS_OUTSIDE, PROCESS_OWN};
use nacre_proto::{Errno, process};
use nacre_sys::Reference;

/// Maximum of generations between a process of the child's and its first one.
const MAX_GENERATIONS: usize = 1024;

/// Knowledge of the child's processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Processes {
    /// Port and number of the first one; `None`: there is no manager.
    pub first: Option<(Reference, u64)>,
    /// The manager shows the child its own processes alone.
    pub has_domain: bool,
    /// Identity that the child may claim. `None` where rules let it reach other processes, or where
    /// there are no processes.
    pub claimant: Option<Claimant>,
}

impl Processes {
    /// Asks the manager for the number of a process's parent. `None`: it shows no such process.
    pub fn parent(&self, pid: u64) -> Option<u64> {
        Some(process::numbers(self.first?.0, pid).ok()?.parent)
    }

    /// Returns true if this is the number of a process of the child's: one that is in its domain,
    /// or else descends from its first process. `parent` is [`Processes::parent`].
    fn has(&self, pid: u64, parent: &dyn Fn(u64) -> Option<u64>) -> bool {
        let Some((_, first)) = self.first else { return false };
        if self.has_domain {
            return pid == first || parent(pid).is_some();
        }
        let ancestors = core::iter::successors(Some(pid), |pid| parent(*pid));
        ancestors.take(MAX_GENERATIONS).any(|ancestor| ancestor == first)
    }

    /// Corrects who the child says that it is. `EPERM`: it asks to be a user that it may not be.
    pub fn correct(&self, label: u32, words: &mut [u64; 6]) -> Result<(), Errno> {
        match &self.claimant {
            Some(claimant) => claimant.correct(label, words, |pid| self.has(pid, &|pid| self.parent(pid))),
            None => Ok(()),
        }
    }

    /// Returns the subject of a request of `process`.
    pub fn subject(&self, label: u32, words: &[u64; 6], parent: &dyn Fn(u64) -> Option<u64>) -> &'static [u8] {
        use process::*;
        let named = match label {
            // The manager moves and waits for the caller's children alone.
            group_set::LABEL | released::LABEL => return PROCESS_OWN,
            numbers::LABEL | look::LABEL | ask::LABEL | ask_file::LABEL => Some(words[0]),
            priority::LABEL | priority_set::LABEL if words[0] == 0 => Some(words[1]),
            // A signal to a thread names no process, or its own.
            kill::LABEL if words[0] != 0 => Some(words[0]),
            kill::LABEL | list::LABEL | priority::LABEL | priority_set::LABEL => None,
            foreground_set::LABEL | terminal_acquire::LABEL | terminal_leave::LABEL | terminal_check::LABEL | terminal_owner::LABEL => None,
            system_name_set::LABEL => return PROCESS_OUTSIDE,
            _ => return PROCESS_OWN,
        };
        let is_own = self.has_domain || named.is_some_and(|pid| pid == 0 || self.has(pid, parent));
        if is_own { PROCESS_OWN } else { PROCESS_OUTSIDE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::needs_at_most;
    use nacre_proto::PROTOCOLS;

    fn words<const N: usize>(some: [u64; N]) -> [u64; 6] {
        nacre_proto::client::words(some)
    }

    fn processes(has_domain: bool) -> Processes {
        Processes { first: Some((Reference::NONE, 5)), has_domain, claimant: None }
    }

    #[test]
    fn a_number_is_whose_it_is_now() {
        let kill = |target: u64, parent: &dyn Fn(u64) -> Option<u64>| processes(false).subject(process::kill::LABEL, &words([target]), parent);
        let before = |pid| [(5, 1), (7, 5), (8, 7), (9, 1)].into_iter().find(|(one, _)| *one == pid).map(|(_, parent)| parent);
        assert_eq!([5, 7, 8].map(|pid| kill(pid, &before)), [PROCESS_OWN; 3]);
        assert_eq!([1, 9, 10].map(|pid| kill(pid, &before)), [PROCESS_OUTSIDE; 3]);
        // 7 has ended, and a process outside has its number.
        let after = |pid| [(5, 1), (7, 9), (9, 1)].into_iter().find(|(one, _)| *one == pid).map(|(_, parent)| parent);
        assert_eq!(kill(7, &after), PROCESS_OUTSIDE);
        // A manager that answers nonsense is asked so many questions.
        assert_eq!(kill(7, &|pid| Some(pid + 1)), PROCESS_OUTSIDE);
        for group in [0, 7u64.wrapping_neg(), u64::MAX] {
            assert_eq!(kill(group, &|_| None), PROCESS_OUTSIDE, "{group:#x}");
        }
        assert_eq!(processes(false).subject(process::ask::LABEL, &words([0]), &|_| None), PROCESS_OWN);
    }

    #[test]
    fn a_domain_is_the_managers_to_keep() {
        let subject = |label, target| processes(true).subject(label, &words([target]), &|_| None);
        assert_eq!([7, 0, u64::MAX].map(|target| subject(process::kill::LABEL, target)), [PROCESS_OWN; 3]);
        assert_eq!(subject(process::system_name_set::LABEL, 0), PROCESS_OUTSIDE);
        assert!(processes(true).has(7, &|pid| (pid == 7).then_some(0)) && !processes(true).has(8, &|pid| (pid == 7).then_some(0)));
    }

    #[test]
    fn what_can_be_needed_is_declared() {
        for operation in PROTOCOLS.iter().flat_map(|protocol| protocol.operations).filter(|one| one.label >> 16 == process::NUMBER) {
            for has_domain in [false, true] {
                let subject = processes(has_domain).subject(operation.label, &[9; 6], &|_| None);
                assert!(needs_at_most(operation.label).iter().any(|need| need.subject == Some(subject)), "{}", operation.name);
            }
        }
    }
}
