//! Locks of files, as clients ask for them and wait for them.

use crate::layer::Layer;
use crate::objects::Kind;
use alloc::vec::Vec;
use nacre_proto::flags::{LOCK_NONE, LOCK_TEST, LOCK_WAIT};
use nacre_proto::server::{self, Output};
use nacre_proto::{Errno, Request, file};
use nacre_root::locks::{Holder, LockRequest, Locks};
use nacre_root::table::Key;
use nacre_sys::{OwnedReference, Reference, Span};

/// Maximum number of locks of all files.
const MAX_LOCKS: usize = 32_768;
/// The process of a lock that is an open file's.
const NO_PROCESS: u64 = u64::MAX;

fn is_gone(reply: &OwnedReference) -> bool {
    reply.is_null().unwrap_or(true)
}

impl Layer {
    /// The holder that a client's reference stands for.
    pub fn owner_of(&self, owner: Reference) -> Result<Holder, Errno> {
        let key = self.objects.find(owner).ok_or(Errno::EINVAL)?;
        match self.objects.kind(key) {
            Some(Kind::Owner(_)) => Ok(Holder::Process(key)),
            _ => Err(Errno::EINVAL),
        }
    }

    fn wanted(&self, request: &Request<'_>, holder: Holder, words: [u64; 4]) -> Result<LockRequest, Errno> {
        let file = self.objects.file(request.word())?;
        let pid = match holder {
            Holder::Process(key) => match self.objects.kind(key) {
                Some(Kind::Owner(pid)) => *pid,
                _ => return Err(Errno::EINVAL),
            },
            Holder::File(_) => NO_PROCESS,
        };
        LockRequest::new(&file, (holder, pid), words)
    }

    /// The words of the answer; `None`: it comes later.
    pub fn lock_file(&mut self, request: &mut Request<'_>, holder: Holder, words: [u64; 4]) -> Result<Option<[u64; 4]>, Errno> {
        let wanted = self.wanted(request, holder, words)?;
        let [kind, flags, ..] = words;
        if flags & LOCK_TEST != 0 {
            return Ok(Some(self.locks.in_the_way(&wanted).map_or([LOCK_NONE, 0, 0, 0], |lock| [u64::from(lock.writes), lock.start, lock.end, lock.pid])));
        }
        if kind == LOCK_NONE || wanted.whole && self.locks.is_changed(&wanted) {
            self.counting(wanted.holder, |locks| locks.release_part(&wanted))?;
            self.grant(wanted);
        }
        if kind == LOCK_NONE {
            return Ok(Some([LOCK_NONE, 0, 0, 0]));
        }
        if self.locked >= MAX_LOCKS {
            return Err(Errno::ENOLCK);
        }
        if self.locks.in_the_way(&wanted).is_none() {
            let weakens = self.locks.weakens(&wanted);
            self.counting(wanted.holder, |locks| locks.take(wanted))?;
            if weakens {
                self.grant(wanted);
            }
            return Ok(Some([LOCK_NONE, 0, 0, 0]));
        }
        if flags & LOCK_WAIT == 0 {
            return Err(Errno::EAGAIN);
        }
        self.locks.take_gone(wanted.node, is_gone);
        if let Err((reply, errno)) = self.locks.wait(wanted, request.detach()?) {
            let _ = server::refuse(reply, errno);
        }
        Ok(None)
    }

    /// Changes locks of a holder, and counts those that there are then.
    fn counting<T>(&mut self, holder: Holder, change: impl FnOnce(&mut Locks<OwnedReference>) -> T) -> T {
        let before = self.locks.count(holder);
        let result = change(&mut self.locks);
        self.locked = self.locked + self.locks.count(holder) - before;
        result
    }

    /// Gives a part of a file that has become free to those who wait for some of it and can have
    /// their locks.
    fn grant(&mut self, freed: LockRequest) {
        let mut parts = Vec::from([freed]);
        while let Some(part) = parts.pop() {
            let mut place = 0;
            while let Some((at, wanted, reply)) = self.locks.next(&part, place) {
                place = at;
                if self.grant_one(wanted, reply) {
                    parts.push(wanted);
                }
            }
        }
    }

    /// Gives a lock to somebody who waited for it. Returns true if that frees some of its part for
    /// others.
    fn grant_one(&mut self, wanted: LockRequest, reply: OwnedReference) -> bool {
        if is_gone(&reply) {
            return false;
        }
        let weakens = self.locks.weakens(&wanted);
        let output = file::lock::Output { kind: LOCK_NONE, ..file::lock::Output::default() };
        let answered = match self.counting(wanted.holder, |locks| locks.take(wanted)) {
            Ok(()) => output.send(reply, Span::EMPTY),
            Err(errno) => server::refuse(reply, errno),
        };
        if answered.is_err() {
            let _ = self.counting(wanted.holder, |locks| locks.release_part(&wanted));
        }
        weakens || answered.is_err()
    }

    /// A holder has gone, from one file or altogether.
    pub fn unlock_all(&mut self, holder: Holder, node: Option<Key>) {
        for freed in self.counting(holder, |locks| locks.release_all(holder, node)) {
            self.grant(freed);
        }
    }
}
