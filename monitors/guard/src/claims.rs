//! Words by which a program says who it is: a process and its user. Servers believe them, so the
//! guard lets none pass that is false. In place of a process that is not the child's stands the
//! child's first one, and in place of a user the child's own.
//!
//! Who began as the superuser may become any user, and say so. Groups are not judged: no manager
//! tells them.

use nacre_proto::{Errno, channel, keyed, mailbox, process};

/// Places of a request's claims.
struct Claim {
    label: u32,
    /// Number of the word with the process.
    pid: Option<usize>,
    /// Number of the word whose lower half is the user.
    user: Option<usize>,
}

const CLAIMS: &[Claim] = &[
    Claim { label: channel::pair::LABEL, pid: Some(2), user: Some(3) },
    Claim { label: channel::bind::LABEL, pid: None, user: Some(2) },
    Claim { label: channel::listen::LABEL, pid: Some(1), user: Some(2) },
    Claim { label: channel::connect::LABEL, pid: Some(0), user: Some(1) },
    Claim { label: channel::send::LABEL, pid: Some(3), user: Some(4) },
    Claim { label: keyed::enter::LABEL, pid: Some(0), user: Some(1) },
    Claim { label: mailbox::open::LABEL, pid: None, user: Some(1) },
    Claim { label: mailbox::unlink::LABEL, pid: None, user: Some(0) },
    Claim { label: mailbox::send::LABEL, pid: Some(3), user: Some(4) },
    Claim { label: mailbox::expect::LABEL, pid: Some(2), user: None },
    Claim { label: mailbox::forget::LABEL, pid: Some(0), user: None },
    Claim { label: mailbox::told::LABEL, pid: Some(0), user: None },
];

/// Bits of a user's number.
const USER: u64 = 0xffff_ffff;

/// Identities that the child may claim.
#[derive(Clone, Copy, Debug)]
pub struct Claimant {
    /// First process of the child.
    pub pid: u64,
    /// User and effective user with which it began.
    pub users: [u64; 2],
}

/// Returns true if a request says who its sender is, or is to be.
pub fn is_claim(label: u32) -> bool {
    label == process::identity::LABEL || CLAIMS.iter().any(|claim| claim.label == label)
}

impl Claimant {
    fn may_be(&self, user: u64) -> bool {
        self.users[1] == 0 || self.users.contains(&(user & USER))
    }

    /// Corrects what a request claims. `EPERM`: the child wants to be another user from now on.
    pub fn correct(&self, label: u32, words: &mut [u64; 6], is_own: impl Fn(u64) -> bool) -> Result<(), Errno> {
        if label == process::identity::LABEL {
            return if words[..3].iter().all(|user| self.may_be(*user)) { Ok(()) } else { Err(Errno::EPERM) };
        }
        let Some(claim) = CLAIMS.iter().find(|claim| claim.label == label) else { return Ok(()) };
        if let Some(pid) = claim.pid.map(|index| &mut words[index])
            && *pid != 0
            && !is_own(*pid)
        {
            *pid = self.pid;
        }
        if let Some(owner) = claim.user.map(|index| &mut words[index])
            && !self.may_be(*owner)
        {
            *owner = *owner & !USER | self.users[1];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use nacre_proto::PROTOCOLS;

    /// Names of words that say who somebody is.
    const NAMES: [&str; 4] = ["pid", "uid", "user", "owner"];
    /// Operations whose words of such names are no claims: they name what is asked about, or whose
    /// an object is to be.
    const OTHERS: [u32; 2] = [channel::terminal_set_owner::LABEL, keyed::change::LABEL];

    #[test]
    fn every_claim_is_in_the_table() {
        let is_judged = |number| [channel::NUMBER, keyed::NUMBER, mailbox::NUMBER].contains(&number);
        for operation in PROTOCOLS.iter().flat_map(|protocol| protocol.operations).filter(|one| is_judged(one.label >> 16)) {
            let named: Vec<usize> = operation.words_in.iter().enumerate().filter(|(_, (name, _))| NAMES.contains(name)).map(|(index, _)| index).collect();
            let claim = CLAIMS.iter().find(|claim| claim.label == operation.label);
            let known: Vec<usize> = claim.map_or(Vec::new(), |claim| claim.pid.into_iter().chain(claim.user).collect());
            assert!(named == known || OTHERS.contains(&operation.label), "{}.{}: {named:?}", operation.protocol, operation.name);
        }
    }

    #[test]
    fn a_false_claim_is_corrected() {
        let claimant = Claimant { pid: 7, users: [1000, 1000] };
        let is_own = |pid| pid == 7 || pid == 9;
        let corrected = |words: [u64; 6]| {
            let mut words = words;
            claimant.correct(channel::send::LABEL, &mut words, is_own).map(|()| words)
        };
        assert_eq!(corrected([1, 2, 3, 1, 5 << 32, 1]), Ok([1, 2, 3, 7, 5 << 32 | 1000, 1]));
        assert_eq!(corrected([1, 2, 3, 9, 1000, 1]), Ok([1, 2, 3, 9, 1000, 1]));
        let mut words = [8, 3, 0, 0, 0, 0];
        claimant.correct(channel::bind::LABEL, &mut words, is_own).unwrap();
        assert_eq!(words, [8, 3, 1000, 0, 0, 0], "a port of the superuser's is not shared");
        let identity = |claimant: Claimant, user| claimant.correct(process::identity::LABEL, &mut [user, 1000, 1000, 0, 0, 0], is_own);
        assert_eq!(identity(claimant, 0), Err(Errno::EPERM));
        assert_eq!(identity(claimant, 1000), Ok(()));
        assert_eq!(identity(Claimant { users: [0; 2], ..claimant }, 0), Ok(()));
    }
}
