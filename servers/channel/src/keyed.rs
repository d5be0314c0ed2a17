//! System V's segments, semaphores and queues of messages, without a kernel: who has entered, what
//! there is, and who waits.
//!
//! Everything is found by a number, which tells the kinds apart; those who wait are tried again,
//! first come first served, whenever what they wait for has changed. What is said later is in
//! `answers`.

mod messages;
mod semaphores;
#[cfg(test)]
mod tests;
mod waiting;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use messages::{LONGEST, OVERHEAD, Queue};
use nacre_proto::Errno;
use nacre_proto::flags::{IPC_CREAT, IPC_EXCL, KEYED_MEMORY, KEYED_MESSAGES, KEYED_SEMAPHORES};
pub use semaphores::Operation;
use semaphores::Set;

/// Maximum number of processes that have entered.
const MAX_PROCESSES: usize = 16_384;
/// Maximum number of objects of each kind.
const MOST: usize = 1024;
/// Maximum number of semaphores of all sets together, and of one set.
const MAX_SEMAPHORES: usize = 64_000;
const MAX_OF_SET: u64 = 32_000;
/// Maximum bytes of all messages, with their overhead.
const MAX_BYTES: usize = 8 << 20;
/// Maximum number of waiters for one object.
const MAX_WAITING: usize = 256;
/// Maximum number of pending undo adjustments (`SEM_UNDO`), of all processes.
const MAX_UNDONE: usize = 4096;
/// Segments that are attached to a process, of all.
const MAX_ATTACHED: usize = 16_384;
/// Numbers are below this.
const NUMBERS: u64 = 1 << 31;
/// Mode bit: the segment is removed when its last user detaches.
const GOING: u64 = 0o1000;
const PERMISSIONS: u64 = 0o777;

/// Returns how much more one may take of what there are `most` of, if `taken` are taken and `held`
/// are his: he has at most as much as is free then.
fn share_left(most: usize, taken: usize, held: usize) -> usize {
    most.saturating_sub(taken).saturating_sub(held) / 2
}

/// A process that has entered.
#[derive(Debug, Default)]
struct Member {
    pid: u64,
    user: u64,
    group: u64,
    /// Number of attachments by segment.
    attached: BTreeMap<u64, u64>,
    /// Undo adjustments that are applied when the process ends, by semaphore.
    undone: BTreeMap<(u64, u64), i64>,
}

/// A segment of memory.
#[derive(Debug)]
pub struct Memory<R> {
    file: R,
    size: u64,
    attached: u64,
    maker: u64,
    last: u64,
    times: [u64; 2],
}

/// Contents of an object, by kind.
#[derive(Debug)]
enum Body<R> {
    Memory(Memory<R>),
    Semaphores(Set),
    Messages(Queue),
}

/// Something that has a key.
#[derive(Debug)]
struct Entry<R> {
    key: u64,
    /// The process that has made it.
    account: u64,
    owner: [u64; 2],
    maker: [u64; 2],
    mode: u64,
    changed: u64,
    body: Body<R>,
}

/// Operation that a caller waits for.
#[derive(Debug)]
pub enum KeyedRequest {
    /// Operations on a set.
    Operate(Vec<Operation>),
    /// A message of this kind.
    Send(u64, Vec<u8>),
    /// Receive a message: buffer size in bytes, wanted kind, and flags.
    Receive(usize, i64, u64),
}

impl KeyedRequest {
    /// Returns the receiver's buffer size in bytes, or 0.
    pub fn room(&self) -> usize {
        if let KeyedRequest::Receive(size, ..) = self { *size } else { 0 }
    }
}

/// Result of an operation.
#[derive(Debug, PartialEq, Eq)]
pub enum Done {
    /// The operations are done, or the message is sent.
    Done,
    /// A message, with its kind; all of it, though there may be less room for it.
    Received(u64, Vec<u8>),
}

/// Somebody who waits.
struct Waiter<W> {
    member: u64,
    number: u64,
    doing: KeyedRequest,
    token: W,
}

/// Everything. `R` is a file that is memory; `W` is somebody who waits.
pub struct Keyed<R, W> {
    members: BTreeMap<u64, Member>,
    entries: BTreeMap<(u64, u64), Entry<R>>,
    waiters: BTreeMap<(u64, u64), VecDeque<Waiter<W>>>,
    /// Objects that changed since their waiters were last tried.
    touched: Vec<(u64, u64)>,
    bytes: usize,
    semaphores: usize,
    undone: usize,
    attached: usize,
    next: u64,
    /// Current time, which is recorded in changed objects.
    pub time: u64,
}

impl<R, W> Default for Keyed<R, W> {
    fn default() -> Keyed<R, W> {
        Keyed {
            members: BTreeMap::new(),
            entries: BTreeMap::new(),
            waiters: BTreeMap::new(),
            touched: Vec::new(),
            bytes: 0,
            semaphores: 0,
            undone: 0,
            attached: 0,
            next: 0,
            time: 0,
        }
    }
}

impl<R, W> Keyed<R, W> {
    /// A process has entered, which is called so.
    pub fn enter(&mut self, key: u64, pid: u64, owner: u64) -> Result<(), Errno> {
        if self.members.len() >= MAX_PROCESSES || self.members.contains_key(&key) {
            return Err(Errno::ENOSPC);
        }
        self.members.insert(key, Member { pid, user: owner & 0xffff_ffff, group: owner >> 32, ..Member::default() });
        Ok(())
    }

    /// Returns true if a process has entered under `key`.
    pub fn has_entered(&self, key: u64) -> bool {
        self.members.contains_key(&key)
    }

    fn member(&self, key: u64) -> Result<&Member, Errno> {
        self.members.get(&key).ok_or(Errno::EINVAL)
    }

    fn entry(&mut self, kind: u64, number: u64) -> Result<&mut Entry<R>, Errno> {
        self.entries.get_mut(&(kind, number)).ok_or(Errno::EINVAL)
    }

    /// The number of what has a key; `file` is the memory of a segment that has to be made.
    pub fn get(&mut self, member: u64, kind: u64, key: u64, size: u64, flags: u64, file: Option<R>) -> Result<u64, Errno> {
        let Member { pid, user, group, .. } = *self.member(member)?;
        let found = self.entries.iter().find(|((of, _), entry)| *of == kind && key != 0 && entry.key == key);
        if let Some(((_, number), entry)) = found {
            return if flags & (IPC_CREAT | IPC_EXCL) == IPC_CREAT | IPC_EXCL { Err(Errno::EEXIST) } else { entry.check_size(size).map(|()| *number) };
        }
        if key != 0 && flags & IPC_CREAT == 0 {
            return Err(Errno::ENOENT);
        }
        let body = self.make(kind, size, file, pid)?;
        self.check_share(kind, pid)?;
        let number = self.next;
        self.next = (self.next + 1) % NUMBERS;
        let owner = [user, group];
        if let Body::Semaphores(set) = &body {
            self.semaphores += set.len();
        }
        self.entries.insert((kind, number), Entry { key, account: pid, owner, maker: owner, mode: flags & PERMISSIONS, changed: self.time, body });
        Ok(number)
    }

    /// `ENOSPC`: there are too many of a kind, or the process has made as many as are still free.
    fn check_share(&self, kind: u64, pid: u64) -> Result<(), Errno> {
        let of_kind = || self.entries.iter().filter(|((of, _), _)| *of == kind);
        let (free, held) = (MOST.saturating_sub(of_kind().count()), of_kind().filter(|(_, entry)| entry.account == pid).count());
        if held >= free { Err(Errno::ENOSPC) } else { Ok(()) }
    }

    /// Returns how many more semaphores may be in sets of a process: as many as will then be free.
    fn room_for_semaphores(&self, pid: u64) -> usize {
        let of_sets = self.entries.values().filter(|entry| entry.account == pid);
        let held = of_sets.map(|entry| if let Body::Semaphores(set) = &entry.body { set.len() } else { 0 }).sum();
        share_left(MAX_SEMAPHORES, self.semaphores, held)
    }

    /// Returns how many more bytes may be in queues of the process that made this one.
    fn room_for_bytes(&mut self, number: u64) -> Result<usize, Errno> {
        let free = MAX_BYTES.saturating_sub(self.bytes);
        // While more than half is free, nobody has more than that.
        if free > MAX_BYTES / 2 + LONGEST + OVERHEAD {
            return Ok(free);
        }
        let account = self.entry(KEYED_MESSAGES, number)?.account;
        let of_queues = self.entries.values().filter(|entry| entry.account == account);
        let held = of_queues.map(|entry| if let Body::Messages(queue) = &entry.body { queue.load() } else { 0 }).sum();
        Ok(share_left(MAX_BYTES, self.bytes, held))
    }

    fn make(&self, kind: u64, size: u64, file: Option<R>, pid: u64) -> Result<Body<R>, Errno> {
        match kind {
            KEYED_MEMORY if size == 0 => Err(Errno::EINVAL),
            KEYED_MEMORY => Ok(Body::Memory(Memory { file: file.ok_or(Errno::ENOENT)?, size, attached: 0, maker: pid, last: 0, times: [0; 2] })),
            KEYED_SEMAPHORES if size == 0 || size > MAX_OF_SET => Err(Errno::EINVAL),
            KEYED_SEMAPHORES if size as usize > self.room_for_semaphores(pid) => Err(Errno::ENOSPC),
            KEYED_SEMAPHORES => Set::new(size as usize).map(Body::Semaphores),
            KEYED_MESSAGES => Ok(Body::Messages(Queue::new())),
            _ => Err(Errno::EINVAL),
        }
    }

    /// The process has a segment once more: the memory, and its size.
    pub fn attach(&mut self, member: u64, number: u64) -> Result<(&R, u64), Errno> {
        let time = self.time;
        let member = self.members.get_mut(&member).ok_or(Errno::EINVAL)?;
        // A process has at most as many as are still free.
        if member.attached.values().sum::<u64>() >= MAX_ATTACHED.saturating_sub(self.attached) as u64 {
            return Err(Errno::ENOMEM);
        }
        let entry = self.entries.get_mut(&(KEYED_MEMORY, number)).ok_or(Errno::EINVAL)?;
        let Body::Memory(memory) = &mut entry.body else { return Err(Errno::EINVAL) };
        *member.attached.entry(number).or_default() += 1;
        self.attached += 1;
        memory.attached += 1;
        (memory.last, memory.times[0]) = (member.pid, time);
        Ok((&memory.file, memory.size))
    }

    /// Removes one attachment of the segment.
    pub fn detach(&mut self, member: u64, number: u64) -> Result<(), Errno> {
        let member = self.members.get_mut(&member).ok_or(Errno::EINVAL)?;
        let count = member.attached.get_mut(&number).ok_or(Errno::EINVAL)?;
        *count -= 1;
        if *count == 0 {
            member.attached.remove(&number);
        }
        let pid = member.pid;
        self.release(number, 1, pid);
        Ok(())
    }

    /// Removes all attachments of the process.
    pub fn detach_all(&mut self, member: u64) -> Result<(), Errno> {
        let member = self.members.get_mut(&member).ok_or(Errno::EINVAL)?;
        let (attached, pid) = (core::mem::take(&mut member.attached), member.pid);
        attached.into_iter().for_each(|(number, count)| self.release(number, count, pid));
        Ok(())
    }

    fn release(&mut self, number: u64, count: u64, pid: u64) {
        self.attached -= count as usize;
        let time = self.time;
        let Ok(entry) = self.entry(KEYED_MEMORY, number) else { return };
        let is_going = entry.mode & GOING != 0;
        if let Body::Memory(memory) = &mut entry.body {
            memory.attached -= count;
            (memory.last, memory.times[1]) = (pid, time);
            if memory.attached == 0 && is_going {
                self.entries.remove(&(KEYED_MEMORY, number));
            }
        }
    }

    /// The process has ended: its segments are detached, and what it has done to semaphores is
    /// undone.
    pub fn leave(&mut self, key: u64) {
        let Some(member) = self.members.remove(&key) else { return };
        for (number, count) in member.attached {
            self.release(number, count, member.pid);
        }
        self.undone -= member.undone.len();
        for ((number, index), by) in member.undone {
            if let Ok(Entry { body: Body::Semaphores(set), .. }) = self.entry(KEYED_SEMAPHORES, number) {
                set.undo(index as usize, by, member.pid);
                self.touched.push((KEYED_SEMAPHORES, number));
            }
        }
    }

    /// Removes something: those that waited for it. Memory that somebody has stays, without its
    /// key.
    pub fn remove(&mut self, kind: u64, number: u64) -> Result<Vec<W>, Errno> {
        let entry = self.entry(kind, number)?;
        match &entry.body {
            Body::Memory(memory) if memory.attached > 0 => {
                entry.key = 0;
                entry.mode |= GOING;
                return Ok(Vec::new());
            }
            _ => {}
        }
        match self.entries.remove(&(kind, number)).map(|entry| entry.body) {
            Some(Body::Semaphores(set)) => {
                self.semaphores -= set.len();
                self.forget_undone(|(of, _)| *of == number);
            }
            Some(Body::Messages(queue)) => self.bytes -= queue.load(),
            _ => {}
        }
        let waiters = self.waiters.remove(&(kind, number)).unwrap_or_default();
        Ok(waiters.into_iter().map(|waiter| waiter.token).collect())
    }

    fn forget_undone(&mut self, which: impl Fn(&(u64, u64)) -> bool) {
        for member in self.members.values_mut() {
            let before = member.undone.len();
            member.undone.retain(|of, _| !which(of));
            self.undone -= before - member.undone.len();
        }
    }

    /// Returns the state of an object as words.
    pub fn state(&mut self, kind: u64, number: u64) -> Result<Vec<u64>, Errno> {
        let entry = self.entry(kind, number)?;
        let [user, group] = entry.owner;
        let [maker, makers] = entry.maker;
        let mut words = [entry.key, user, group, maker, makers, entry.mode, number, entry.changed].to_vec();
        match &entry.body {
            Body::Memory(memory) => words.extend([memory.size, memory.times[0], memory.times[1], memory.maker, memory.last, memory.attached]),
            Body::Semaphores(set) => words.extend([set.len() as u64, set.time]),
            Body::Messages(queue) => words.extend(queue.state()),
        }
        Ok(words)
    }

    /// Sets whose it is, its mode, and how many bytes a queue holds.
    pub fn change(&mut self, kind: u64, number: u64, owner: u64, mode: u64, bytes: u64) -> Result<(), Errno> {
        let time = self.time;
        let entry = self.entry(kind, number)?;
        if let Body::Messages(queue) = &mut entry.body {
            queue.set_capacity(bytes)?;
        }
        entry.owner = [owner & 0xffff_ffff, owner >> 32];
        entry.mode = entry.mode & !PERMISSIONS | mode & PERMISSIONS;
        entry.changed = time;
        self.touched.push((kind, number));
        Ok(())
    }

    /// The number at a place, the highest place, and how many there are.
    pub fn place(&self, kind: u64, index: u64) -> (Option<u64>, u64, u64) {
        let all: Vec<u64> = self.entries.keys().filter(|(of, _)| *of == kind).map(|(_, number)| *number).collect();
        let found = usize::try_from(index).ok().and_then(|index| all.get(index)).copied();
        (found, (all.len() as u64).saturating_sub(1), all.len() as u64)
    }

    fn set(&mut self, number: u64) -> Result<&mut Set, Errno> {
        match &mut self.entry(KEYED_SEMAPHORES, number)?.body {
            Body::Semaphores(set) => Ok(set),
            _ => Err(Errno::EINVAL),
        }
    }

    /// A semaphore: its value, who used it last, and how many wait for more, and for zero.
    pub fn semaphore(&mut self, number: u64, index: u64) -> Result<[u64; 4], Errno> {
        let (value, pid) = self.set(number)?.look(index)?;
        let waiters = self.waiters.get(&(KEYED_SEMAPHORES, number));
        let mut waiting = [0, 0];
        for waiter in waiters.into_iter().flatten() {
            let KeyedRequest::Operate(operations) = &waiter.doing else { continue };
            // Counted at the first semaphore that it names: which of them it is that lacks is seen
            // when it is tried.
            if let Some(first) = operations.iter().find(|operation| u64::from(operation.index) == index && operation.by <= 0) {
                waiting[usize::from(first.by == 0)] += 1;
            }
        }
        Ok([value, pid, waiting[0], waiting[1]])
    }

    /// Values from a semaphore on.
    pub fn values(&mut self, number: u64, first: u64, most: usize) -> Result<Vec<u16>, Errno> {
        Ok(self.set(number)?.values(first).take(most).collect())
    }

    /// Sets values from a semaphore on; nothing of them is undone any more.
    pub fn set_values(&mut self, member: u64, number: u64, first: u64, values: &[u16]) -> Result<(), Errno> {
        let (pid, time) = (self.member(member)?.pid, self.time);
        self.set(number)?.set_values(first, values, pid)?;
        let last = first + values.len() as u64;
        self.forget_undone(|(of, index)| *of == number && (first..last).contains(index));
        self.entry(KEYED_SEMAPHORES, number)?.changed = time;
        self.touched.push((KEYED_SEMAPHORES, number));
        Ok(())
    }

    /// Does something now. `None`: it would have to wait.
    pub fn attempt(&mut self, member: u64, number: u64, doing: &KeyedRequest) -> Result<Option<Done>, Errno> {
        match doing {
            KeyedRequest::Operate(operations) => Ok(self.operate(member, number, operations)?.then_some(Done::Done)),
            KeyedRequest::Send(kind, data) => Ok(self.send(member, number, *kind, data)?.then_some(Done::Done)),
            KeyedRequest::Receive(size, kind, flags) => self.receive(member, number, *size, *kind, *flags),
        }
    }

    fn operate(&mut self, key: u64, number: u64, operations: &[Operation]) -> Result<bool, Errno> {
        let time = self.time;
        let member = self.members.get_mut(&key).ok_or(Errno::EINVAL)?;
        let room = share_left(MAX_UNDONE, self.undone, member.undone.len());
        let Some(Entry { body: Body::Semaphores(set), .. }) = self.entries.get_mut(&(KEYED_SEMAPHORES, number)) else {
            return Err(Errno::EINVAL);
        };
        let undone = semaphores::undone(operations, |index| member.undone.get(&(number, index)).copied().unwrap_or(0))?;
        // What it changes already can always be changed.
        if undone.keys().filter(|index| !member.undone.contains_key(&(number, **index))).count() > room {
            return Err(Errno::ENOSPC);
        }
        if !set.operate(operations, member.pid)? {
            return Ok(false);
        }
        set.time = time;
        for (index, by) in undone {
            self.undone += usize::from(member.undone.insert((number, index), by).is_none());
        }
        self.touched.push((KEYED_SEMAPHORES, number));
        Ok(true)
    }

    fn queue(&mut self, number: u64) -> Result<&mut Queue, Errno> {
        match &mut self.entry(KEYED_MESSAGES, number)?.body {
            Body::Messages(queue) => Ok(queue),
            _ => Err(Errno::EINVAL),
        }
    }

    fn send(&mut self, member: u64, number: u64, kind: u64, data: &[u8]) -> Result<bool, Errno> {
        let (pid, time, room) = (self.member(member)?.pid, self.time, self.room_for_bytes(number)?);
        let is_sent = self.queue(number)?.send(kind, data, [pid, time], room)?;
        if is_sent {
            self.bytes += data.len() + OVERHEAD;
            self.touched.push((KEYED_MESSAGES, number));
        }
        Ok(is_sent)
    }

    fn receive(&mut self, member: u64, number: u64, size: usize, kind: i64, flags: u64) -> Result<Option<Done>, Errno> {
        let (pid, time) = (self.member(member)?.pid, self.time);
        let Some((kind, data)) = self.queue(number)?.receive(size, kind, flags, [pid, time])? else {
            return Ok(None);
        };
        self.bytes -= data.len() + OVERHEAD;
        self.touched.push((KEYED_MESSAGES, number));
        Ok(Some(Done::Received(kind, data)))
    }
}

impl<R> Entry<R> {
    fn check_size(&self, size: u64) -> Result<(), Errno> {
        let most = match &self.body {
            Body::Memory(memory) => memory.size,
            Body::Semaphores(set) => set.len() as u64,
            Body::Messages(_) => u64::MAX,
        };
        if size > most { Err(Errno::EINVAL) } else { Ok(()) }
    }
}
