//! Accounts of ends: on which one the next end is made.

use super::{End, Hub};
use super::ends_held::{Line, top};
use alloc::sync::Arc;
use nacre_proto::Errno;

impl<R> End<R> {
    /// The account that pays for what the end keeps.
    pub(super) fn account(&self) -> u64 {
        top(&self.line)
    }
}

impl<R> Hub<R> {
    /// The next ends are made on this account.
    pub fn charge_to(&mut self, account: u64) {
        self.charge_line(if account == 0 { Line::default() } else { Arc::new([account]) });
    }

    /// The next ends are made on the last account of this line.
    pub fn charge_line(&mut self, line: Line) {
        self.accounts.payer = line;
    }

    /// The account that an end was made on.
    pub fn account_of(&self, key: u64) -> Result<u64, Errno> {
        Ok(self.end(key)?.account())
    }

    /// Returns true if some of these accounts lie below the one that an end was made on: the end
    /// may then be anybody's below it.
    pub fn is_above<'a>(&self, key: u64, mut accounts: impl Iterator<Item = &'a Line>) -> Result<bool, Errno> {
        let own = &self.end(key)?.line;
        Ok(accounts.any(|line| line.len() > own.len() && line.starts_with(own)))
    }

    /// The next ends are made on the account of this end.
    pub(super) fn charge_as(&mut self, key: u64) -> Result<(), Errno> {
        self.accounts.payer = self.end(key)?.line.clone();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::ends_held::MAX_ENDS;
    use super::super::loads::MAX_BYTES;
    use super::*;
    use alloc::vec::Vec;

    fn pipes(hub: &mut Hub<u64>, account: u64) -> usize {
        hub.charge_to(account);
        core::iter::from_fn(|| hub.pipe(0).ok()).count()
    }

    #[test]
    fn no_account_takes_all_ends() {
        let mut hub: Hub<u64> = Hub::default();
        let first = pipes(&mut hub, 1);
        assert!((MAX_ENDS / 4 - 1..=MAX_ENDS / 4).contains(&first));
        for account in 2..60 {
            assert!(pipes(&mut hub, account) > 0, "account {account} finds none");
        }
        // Account 0 may have all the rest.
        pipes(&mut hub, 0);
        assert_eq!(pipes(&mut hub, 1000), 0);
    }

    #[test]
    fn no_account_takes_all_bytes() {
        let mut hub: Hub<u64> = Hub::default();
        let mut fill = |account: u64, most: usize| {
            hub.charge_to(account);
            let mut sent = 0;
            while sent < most
                && let Ok((_, writer)) = hub.pipe(0)
            {
                let sending = super::super::Sending { data: alloc::vec![1; 60 << 10], ..Default::default() };
                match hub.send(writer, &sending, &mut Vec::new()) {
                    Ok(Some(count)) => sent += count,
                    _ => break,
                }
            }
            sent
        };
        let greedy = fill(1, usize::MAX);
        assert!(greedy > MAX_BYTES / 3 && greedy <= MAX_BYTES / 2, "{greedy}");
        fill(2, usize::MAX);
        fill(3, usize::MAX);
        for account in 4..60 {
            assert_eq!(fill(account, 60 << 10), 60 << 10, "account {account}");
        }
        assert_eq!(hub.loads.held.values().map(|load| load.0).sum::<usize>(), hub.bytes);
    }

    #[test]
    fn accounts_lie_below_others() {
        let mut hub: Hub<u64> = Hub::default();
        let all: Vec<Line> = [&[1][..], &[2], &[2, 3]].map(Arc::from).to_vec();
        for (line, is_above) in [(&[][..], true), (&[1], false), (&[2], true), (&[2, 3], false), (&[3], false)] {
            hub.charge_line(Arc::from(line));
            let (end, _) = hub.pipe(0).unwrap();
            assert_eq!((hub.is_above(end, all.iter()), hub.is_above(end, all[..0].iter())), (Ok(is_above), Ok(false)), "{line:?}");
        }
    }

    #[test]
    fn what_is_closed_is_paid_back() {
        let mut hub: Hub<u64> = Hub::default();
        for _ in 0..3 {
            hub.charge_to(7);
            let made: Vec<(u64, u64)> = core::iter::from_fn(|| hub.pipe(0).ok()).collect();
            assert!(made.len() > 1000);
            hub.charge_to(8);
            made.into_iter().for_each(|(reader, writer)| [reader, writer].into_iter().for_each(|end| hub.close(end)));
        }
        assert!(hub.accounts.held.is_empty() && hub.loads.held.is_empty());
    }
}
