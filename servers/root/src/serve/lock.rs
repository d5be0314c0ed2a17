//! Locks of files, as clients ask for them and wait for them; and waits at words of shared memory.

use crate::accounts::cost;
use crate::locks::{Holder, Locks, LockRequest};
use crate::memory;
use crate::objects::Kind;
use crate::root::Root;
use crate::table::Key;
use crate::futex_queues::Place;
use crate::word_waits::{Meeting, Waiting};
use nacre_proto::flags::{LOCK_NONE, LOCK_TEST, LOCK_WAIT};
use nacre_proto::server::{self, Output};
use nacre_proto::{Errno, Request, file, segment};
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_sys::gate;
use nacre_sys::{Condition, Owned, OwnedReference, Reference, Span};

/// The process of a lock that is an open file's.
const NO_PROCESS: u64 = u64::MAX;
/// Bytes of a word that is waited at.
const WORD: u64 = 4;
/// Waiters that are looked at, for those that have gone, before a client whose account is full is
/// refused.
const LOOKS: usize = 64;
/// Waiters that one request wakes. The others are woken between the requests that follow.
const WOKEN_AT_ONCE: u64 = 64;

fn is_gone(reply: &OwnedReference) -> bool {
    reply.is_null().unwrap_or(true)
}

impl Root {
    /// The holder that a client's reference stands for.
    pub(super) fn owner_of(&self, owner: Reference) -> Result<Holder, Errno> {
        let key = self.objects.find(owner).ok_or(Errno::EINVAL)?;
        match self.objects.get(key).map(|object| &object.kind) {
            Some(Kind::Owner(_)) => Ok(Holder::Process(key)),
            _ => Err(Errno::EINVAL),
        }
    }

    fn wanted(&self, request: &Request<'_>, holder: Holder, words: [u64; 4]) -> Result<LockRequest, Errno> {
        let file = self.objects.file(request.word())?;
        let pid = match holder {
            Holder::Process(key) => match self.objects.get(key).map(|object| &object.kind) {
                Some(Kind::Owner(pid)) => *pid,
                _ => return Err(Errno::EINVAL),
            },
            Holder::File(_) => NO_PROCESS,
        };
        LockRequest::new(file, (holder, pid), words)
    }

    /// The words of the answer; `None`: it comes later.
    pub(super) fn lock_file(&mut self, request: &mut Request<'_>, holder: Holder, words: [u64; 4]) -> Result<Option<[u64; 4]>, Errno> {
        let wanted = self.wanted(request, holder, words)?;
        let [kind, flags, ..] = words;
        if flags & LOCK_TEST != 0 {
            return Ok(Some(self.locks.in_the_way(&wanted).map_or([LOCK_NONE, 0, 0, 0], |lock| [u64::from(lock.writes), lock.start, lock.end, lock.pid])));
        }
        if kind == LOCK_NONE {
            self.release_lock(&wanted)?;
            self.grant(wanted);
            return Ok(Some([LOCK_NONE, 0, 0, 0]));
        }
        if !gate::is_open() {
            return Err(Errno::ENOLCK);
        }
        if wanted.whole && self.locks.is_changed(&wanted) {
            // As on Linux, a lock of the whole that changes its kind is given up first.
            self.release_lock(&wanted)?;
            self.grant(wanted);
        }
        if self.locks.in_the_way(&wanted).is_none() {
            // What it was before may have been more.
            let weakens = self.locks.weakens(&wanted);
            self.take_lock(wanted)?;
            if weakens {
                self.grant(wanted);
            }
            return Ok(Some([LOCK_NONE, 0, 0, 0]));
        }
        if flags & LOCK_WAIT == 0 {
            return Err(Errno::EAGAIN);
        }
        self.wait_for_lock(request, wanted).map(|()| None)
    }

    /// Lets a client wait for a lock. The holder pays for the wait.
    fn wait_for_lock(&mut self, request: &mut Request<'_>, wanted: LockRequest) -> Result<(), Errno> {
        let payer = wanted.holder.key();
        for gone in self.locks.take_gone(wanted.node, is_gone) {
            self.objects.refund(gone.key(), cost::WAIT);
        }
        self.objects.charge(payer, cost::WAIT).map_err(|_| Errno::ENOLCK)?;
        let reply = request.detach().inspect_err(|_| self.objects.refund(payer, cost::WAIT))?;
        if let Err((reply, errno)) = self.locks.wait(wanted, reply) {
            self.objects.refund(payer, cost::WAIT);
            let _ = server::refuse(reply, errno);
        }
        Ok(())
    }

    /// Takes a lock that nobody is in the way of. The holder pays for it.
    fn take_lock(&mut self, wanted: LockRequest) -> Result<(), Errno> {
        self.charge_locks(&wanted, |locks| locks.take(wanted))
    }

    /// Gives up a part. Somebody who gives up all or the end of a lock needs nothing for that.
    fn release_lock(&mut self, part: &LockRequest) -> Result<(), Errno> {
        if self.locks.splits(part) {
            return self.charge_locks(part, |locks| locks.release_part(part));
        }
        let before = self.locks.count(part.holder);
        self.locks.release_part(part)?;
        self.objects.refund(part.holder.key(), cost::LOCK * (before - self.locks.count(part.holder)) as u64);
        Ok(())
    }

    /// Charges the holder for the two locks that a change may add at most, and takes back what the
    /// change did not need.
    fn charge_locks(&mut self, wanted: &LockRequest, change: impl FnOnce(&mut Locks<OwnedReference>) -> Result<(), Errno>) -> Result<(), Errno> {
        let (payer, before) = (wanted.holder.key(), self.locks.count(wanted.holder));
        self.objects.charge(payer, 2 * cost::LOCK).map_err(|_| Errno::ENOLCK)?;
        let result = change(&mut self.locks);
        let unused = before + 2 - self.locks.count(wanted.holder);
        self.objects.refund(payer, cost::LOCK * unused as u64);
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
                self.objects.refund(wanted.holder.key(), cost::WAIT);
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
        let answered = match self.take_lock(wanted) {
            Ok(()) => output.send(reply, Span::EMPTY),
            Err(errno) => server::refuse(reply, errno),
        };
        if answered.is_err() {
            // It does not wait any more, and has no lock.
            let _ = self.release_lock(&wanted);
        }
        weakens || answered.is_err()
    }

    /// A holder has gone, from one file or altogether.
    pub fn unlock_all(&mut self, holder: Holder, node: Option<Key>) {
        for freed in self.locks.release_all(holder, node) {
            self.grant(freed);
        }
    }

    /// Returns the memory behind a request's port. `EINVAL`: it may hold kernel objects, so that
    /// reading a word of it could be an exception of this program.
    fn shared_place(&self, request: &Request<'_>) -> Result<Place, Errno> {
        let key = Key::from_word(request.word());
        match self.objects.get(key).map(|object| &object.kind) {
            Some(Kind::Segment(_, segment)) => segment.data().map(|_| Place::Segment(key)),
            Some(Kind::View(view)) => Ok(Place::File(view.node)),
            Some(Kind::Promise(..)) => Err(Errno::EINVAL),
            _ => Err(Errno::ENOSYS),
        }
    }

    /// The word at an offset, as it is now.
    fn shared_word(&self, place: Place, offset: u64) -> Result<u64, Errno> {
        if !offset.is_multiple_of(WORD) {
            return Err(Errno::EINVAL);
        }
        let mut bytes = [0; WORD as usize];
        match place {
            Place::Segment(key) => {
                let Some(Kind::Segment(_, segment)) = self.objects.get(key).map(|object| &object.kind) else { return Err(Errno::EIO) };
                segment.data()?.read(offset, &mut bytes).ok_or(Errno::EINVAL)?;
            }
            Place::File(node) => {
                let content = self.files.tree.content(node)?.0;
                if offset >= content.size().next_multiple_of(crate::frames::FRAME) {
                    return Err(Errno::EINVAL);
                }
                if let Some(start) = content.contiguous(offset, WORD) {
                    let _ = memory::window(start, WORD).and_then(|window| window.read(0, &mut bytes));
                }
            }
        }
        Ok(u32::from_le_bytes(bytes).into())
    }

    /// Lets a client wait at a word.
    pub(super) fn wait_at(&mut self, request: &mut Request<'_>, offset: u64, expected: u64, bits: u64) -> Result<(), Errno> {
        let place = self.shared_place(request)?;
        if self.shared_word(place, offset)? != expected {
            return Err(Errno::EAGAIN);
        }
        let payer = Key::from_word(request.word());
        self.charge_wait(payer)?;
        match request.detach() {
            Ok(reply) => self.waits.add(place, offset, bits, Waiting { reply, payer }),
            Err(status) => {
                self.objects.refund(payer, cost::WAIT);
                return Err(status.into());
            }
        }
        Ok(())
    }

    /// Charges an object for one that waits; those that have gone are found meanwhile.
    fn charge_wait(&mut self, payer: Key) -> Result<(), Errno> {
        for _ in 0..LOOKS {
            if let Some(gone) = self.waits.look(|waiting| is_gone(&waiting.reply)) {
                self.objects.refund(gone.payer, cost::WAIT);
            }
            if self.objects.charge(payer, cost::WAIT).is_ok() {
                return Ok(());
            }
        }
        Err(Errno::ENOMEM)
    }

    /// Wakes who waits at a word.
    pub(super) fn wake_at(&mut self, request: &Request<'_>, offset: u64, count: u64, bits: u64) -> Result<u64, Errno> {
        let place = self.shared_place(request)?;
        let there = self.signal(place, offset, if bits == 0 { 0 } else { count });
        let (objects, woken, mut at_once) = (&mut self.objects, &mut self.woken, 0);
        let answer = |waiting: Waiting| {
            objects.refund(waiting.payer, cost::WAIT);
            at_once += 1;
            if at_once > WOKEN_AT_ONCE {
                // One that has gone is not woken, or it would use up a wake of somebody who waits.
                let waits = !waiting.reply.is_null().unwrap_or(true);
                woken.extend(waits.then_some(waiting.reply));
                return waits;
            }
            segment::wait::Output::default().send(waiting.reply, Span::EMPTY).is_ok()
        };
        Ok(there + self.waits.wake(place, offset, count - there, bits, answer))
    }

    /// Wakes some of those that a request did not wake at once.
    pub(crate) fn wake_more(&mut self) {
        for reply in self.woken.drain(..self.woken.len().min(WOKEN_AT_ONCE as usize)) {
            let _ = segment::wait::Output::default().send(reply, Span::EMPTY);
        }
    }

    /// Wakes up to `count` of those who wait at a word's condition.
    fn signal(&self, place: Place, offset: u64, count: u64) -> u64 {
        const AT_ONCE: u64 = 64;
        const CALLS: usize = 64;
        let Some(Meeting { condition, .. }) = self.meetings.get(&(place, offset)) else { return 0 };
        let mut woken = 0;
        for _ in 0..CALLS {
            let most = AT_ONCE.min(count - woken);
            let now = condition.signal(most).unwrap_or(0).min(most);
            woken += now;
            if now < AT_ONCE {
                break;
            }
        }
        woken
    }

    /// The condition of a word, which has one from now on.
    pub(super) fn meet_at(&mut self, request: &Request<'_>, offset: u64) -> Result<OwnedReference, Errno> {
        let place = self.shared_place(request)?;
        self.shared_word(place, offset)?;
        if !self.meetings.contains_key(&(place, offset)) {
            let payer = Key::from_word(request.word());
            self.objects.charge(payer, cost::CONDITION)?;
            match Owned::make(Condition::create) {
                Ok(condition) => drop(self.meetings.insert((place, offset), Meeting { condition, payer })),
                Err(status) => {
                    self.objects.refund(payer, cost::CONDITION);
                    return Err(status.into());
                }
            }
        }
        let reference = OwnedReference::null()?;
        let meeting = self.meetings.get(&(place, offset)).ok_or(Errno::ENOMEM)?;
        meeting.condition.handle().reference(reference.handle(), REFERENCE_USE)?;
        Ok(reference)
    }

    /// The memory has gone, and who waits there waits for nothing.
    pub(crate) fn forget_waits(&mut self, place: Place) {
        for waiting in self.waits.take(place, |_| true) {
            self.objects.refund(waiting.payer, cost::WAIT);
        }
        for key in self.meetings_at(place) {
            if let Some(meeting) = self.meetings.remove(&key) {
                self.objects.refund(meeting.payer, cost::CONDITION);
            }
        }
    }

    fn meetings_at(&self, place: Place) -> Vec<(Place, u64)> {
        self.meetings.range((place, 0)..=(place, u64::MAX)).map(|(key, _)| *key).collect()
    }

    /// An object that paid at a place has gone, and another pays from now on. What it cannot pay
    /// for is taken away.
    pub(crate) fn pass_on_waits(&mut self, place: Place, from: Key, to: Key) {
        for waiting in self.waits.take(place, |waiting| waiting.payer == from) {
            // Somebody who is woken looks again, and waits again if that is what it wants.
            self.woken.push_back(waiting.reply);
        }
        for key in self.meetings_at(place) {
            let Some(meeting) = self.meetings.get_mut(&key).filter(|meeting| meeting.payer == from) else { continue };
            meeting.payer = to;
            if self.objects.charge(to, cost::CONDITION).is_err() {
                self.meetings.remove(&key);
            }
        }
    }

    /// Wakes some, and lets others wait elsewhere.
    pub(super) fn requeue_at(&mut self, request: &Request<'_>, offset: u64, count: u64, most: u64, to: u64) -> Result<u64, Errno> {
        let woken = self.wake_at(request, offset, count, u64::MAX)?;
        let place = self.shared_place(request)?;
        let instead = if offset == to { 0 } else { self.signal(place, offset, most) };
        Ok(woken + instead + self.waits.requeue(place, offset, most - instead, to))
    }
}
