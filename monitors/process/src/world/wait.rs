//! Waiting for children.

use super::change::Change;
use super::signals::CHILD;
use super::{Process, State, World};
use nacre_proto::Errno;
use nacre_proto::flags::{WALL, WCLONE, WCONTINUED, WEXITED, WNOHANG, WNOWAIT, WUNTRACED};

/// A child that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedChild {
    /// Number of the child.
    pub pid: u64,
    /// Change of the child.
    pub change: Change,
    /// User of the child.
    pub user: u64,
}

const OPTIONS: u64 = WNOHANG | WUNTRACED | WEXITED | WCONTINUED | WNOWAIT | WALL | WCLONE;

impl World {
    /// A child that has changed and that is waited for so; `None`: not yet. Nothing is taken: see
    /// [`World::waited`].
    pub fn wait(&self, parent: u64, which: i64, options: u64) -> Result<Option<ChangedChild>, Errno> {
        let group = self.process(parent)?.group;
        if options & !OPTIONS != 0 || options & (WEXITED | WUNTRACED | WCONTINUED) == 0 {
            return Err(Errno::EINVAL);
        }
        let is_meant = |pid: u64, child: &Process| {
            let is_kind = options & WALL != 0 || (options & WCLONE != 0) == (child.exit_signal != CHILD);
            is_kind
                && match which {
                    -1 => true,
                    0 => child.group == group,
                    which if which > 0 => pid == which as u64,
                    which => child.group == which.unsigned_abs(),
                }
        };
        let mut there_is = false;
        // One that is named is looked up.
        let named = if which > 0 { which as u64..=which as u64 } else { 0..=u64::MAX };
        for (pid, child) in self.processes.range(named).filter(|(pid, child)| child.parent == parent && is_meant(**pid, child)) {
            // Of one that has ended nothing else will be told.
            there_is |= !child.has_ended() || options & WEXITED != 0;
            if let Some(change) = child.change(options) {
                return Ok(Some(ChangedChild { pid: *pid, change, user: child.traits.identity[0] }));
            }
        }
        if there_is { Ok(None) } else { Err(Errno::ECHILD) }
    }

    /// The parent knows of the change: it is told no more, unless it wants to know it again.
    pub fn waited(&mut self, found: &ChangedChild, options: u64) {
        if options & WNOWAIT != 0 {
            return;
        }
        match found.change {
            Change::Ended(_) => self.remove(found.pid),
            _ => {
                if let Ok(child) = self.process_mut(found.pid) {
                    child.news = None;
                }
            }
        }
    }
}

impl Process {
    /// Returns the change that the options ask for, if there is one.
    fn change(&self, options: u64) -> Option<Change> {
        if let State::Ended(status) = self.state {
            return (options & WEXITED != 0).then_some(Change::Ended(status));
        }
        self.news.filter(|news| match news {
            Change::Stopped(_) => options & WUNTRACED != 0,
            _ => options & WCONTINUED != 0,
        })
    }
}
