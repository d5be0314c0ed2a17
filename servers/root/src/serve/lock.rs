//! Locks of files, as clients ask for them and wait for them; and waits at words of shared memory.

use crate::locks::{Holder, Wanted};
use crate::memory;
use crate::objects::Kind;
use crate::root::Root;
use crate::table::Key;
use crate::waits::Place;
use nacre_proto::flags::{LOCK_NONE, LOCK_READ, LOCK_TEST, LOCK_WAIT, LOCK_WHOLE, LOCK_WRITE};
use nacre_proto::server::{self, Output};
use nacre_proto::{Errno, Request, file, segment};
use nacre_abi::rights::REFERENCE_USE;
use nacre_sys::{Condition, Owned, OwnedReference, Reference, Span};

/// The process of a lock that is an open file's.
const NO_PROCESS: u64 = u64::MAX;
/// Bytes of a word that is waited at.
const WORD: u64 = 4;
/// Most words that have a condition.
const MOST_MEETINGS: usize = 1024;

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

    fn wanted(&self, request: &Request<'_>, holder: Holder, [kind, flags, start, end]: [u64; 4]) -> Result<Wanted, Errno> {
        let file = self.objects.file(request.word())?;
        file.check_open()?;
        let whole = flags & LOCK_WHOLE != 0;
        match kind {
            LOCK_READ if !whole && flags & LOCK_TEST == 0 => file.check_read()?,
            LOCK_WRITE if !whole && flags & LOCK_TEST == 0 => file.check_write()?,
            LOCK_READ | LOCK_WRITE | LOCK_NONE => {}
            _ => return Err(Errno::EINVAL),
        }
        let (start, end) = if whole { (0, u64::MAX) } else { (start, end) };
        let pid = match holder {
            Holder::Process(key) => match self.objects.get(key).map(|object| &object.kind) {
                Some(Kind::Owner(pid)) => *pid,
                _ => return Err(Errno::EINVAL),
            },
            Holder::File(_) => NO_PROCESS,
        };
        if start > end { Err(Errno::EINVAL) } else { Ok(Wanted { node: file.node, whole, holder, pid, writes: kind == LOCK_WRITE, start, end }) }
    }

    /// The words of the answer; `None`: it comes later.
    pub(super) fn lock_file(&mut self, request: &mut Request<'_>, holder: Holder, words: [u64; 4]) -> Result<Option<[u64; 4]>, Errno> {
        let wanted = self.wanted(request, holder, words)?;
        let [kind, flags, ..] = words;
        if flags & LOCK_TEST != 0 {
            return Ok(Some(self.locks.in_the_way(&wanted).map_or([LOCK_NONE, 0, 0, 0], |lock| [u64::from(lock.writes), lock.start, lock.end, lock.pid])));
        }
        if kind == LOCK_NONE {
            self.locks.release_part(&wanted)?;
            self.grant(wanted.node);
            return Ok(Some([LOCK_NONE, 0, 0, 0]));
        }
        if wanted.whole && self.locks.is_changed(&wanted) {
            // As on Linux, a lock of the whole that changes its kind is given up first.
            self.locks.release_part(&wanted)?;
            self.grant(wanted.node);
        }
        if self.locks.in_the_way(&wanted).is_none() {
            self.locks.take(wanted)?;
            // What it was before may have been more.
            self.grant(wanted.node);
            return Ok(Some([LOCK_NONE, 0, 0, 0]));
        }
        if flags & LOCK_WAIT == 0 {
            return Err(Errno::EAGAIN);
        }
        let reply = request.detach()?;
        if let Err((reply, errno)) = self.locks.wait(wanted, reply, is_gone) {
            let _ = server::refuse(reply, errno);
        }
        Ok(None)
    }

    /// Gives locks of a file to those who wait and can have them.
    fn grant(&mut self, node: Key) {
        while let Some((wanted, reply)) = self.locks.next(node) {
            let output = file::lock::Output { kind: LOCK_NONE, ..file::lock::Output::default() };
            let answered = match reply {
                Ok(reply) => output.send(reply, Span::EMPTY),
                Err((reply, errno)) => server::refuse(reply, errno),
            };
            if answered.is_err() {
                // It does not wait any more, and has no lock.
                let _ = self.locks.release_part(&wanted);
            }
        }
    }

    /// A holder has gone, from one file or altogether.
    pub fn unlock_all(&mut self, holder: Holder, node: Option<Key>) {
        for node in self.locks.release_all(holder, node) {
            self.grant(node);
        }
    }

    /// The memory behind a request's port.
    fn shared_place(&self, request: &Request<'_>) -> Result<Place, Errno> {
        let key = Key::from_word(request.word());
        match self.objects.get(key).map(|object| &object.kind) {
            Some(Kind::Segment(..)) => Ok(Place::Segment(key)),
            Some(Kind::View(view)) => Ok(Place::File(view.node)),
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
                nacre_nest::supply::Segment::window(segment).read(offset, &mut bytes).ok_or(Errno::EINVAL)?;
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
        let reply = request.detach()?;
        self.waits.add(place, offset, bits, reply, is_gone)
    }

    /// Wakes who waits at a word.
    pub(super) fn wake_at(&mut self, request: &Request<'_>, offset: u64, count: u64, bits: u64) -> Result<u64, Errno> {
        let place = self.shared_place(request)?;
        let answer = |reply: OwnedReference| segment::wait::Output::default().send(reply, Span::EMPTY).is_ok();
        let there = self.signal(place, offset, if bits == 0 { 0 } else { count });
        Ok(there + self.waits.wake(place, offset, count - there, bits, answer))
    }

    /// Wakes up to `count` of those who wait at a word's condition.
    fn signal(&self, place: Place, offset: u64, count: u64) -> u64 {
        const AT_ONCE: u64 = 64;
        const CALLS: usize = 64;
        let Some(condition) = self.meetings.get(&(place, offset)) else { return 0 };
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
            if self.meetings.len() >= MOST_MEETINGS {
                return Err(Errno::ENOMEM);
            }
            self.meetings.insert((place, offset), Owned::make(Condition::create)?);
        }
        let reference = OwnedReference::null()?;
        let condition = self.meetings.get(&(place, offset)).ok_or(Errno::ENOMEM)?;
        condition.handle().reference(reference.handle(), REFERENCE_USE)?;
        Ok(reference)
    }

    /// The memory has gone, and who waits there waits for nothing.
    pub(crate) fn forget_waits(&mut self, place: Place) {
        self.waits.forget(place);
        self.meetings.retain(|(of, _), _| *of != place);
    }

    /// Wakes some, and lets others wait elsewhere.
    pub(super) fn requeue_at(&mut self, request: &Request<'_>, offset: u64, count: u64, most: u64, to: u64) -> Result<u64, Errno> {
        let woken = self.wake_at(request, offset, count, u64::MAX)?;
        let place = self.shared_place(request)?;
        let instead = if offset == to { 0 } else { self.signal(place, offset, most) };
        Ok(woken + instead + self.waits.requeue(place, offset, most - instead, to))
    }
}
