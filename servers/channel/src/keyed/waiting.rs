//! Those who wait for semaphores and messages: tried again when something has changed, first come
//! first served. What was done for somebody who was cut off meanwhile is taken back.

use super::messages::{OVERHEAD, Queue};
use super::semaphores::Operation;
use super::{KeyedRequest, Done, Keyed, MAX_WAITING, Waiter};
use alloc::collections::VecDeque;
use nacre_proto::Errno;
use nacre_proto::flags::{KEYED_MESSAGES, KEYED_SEMAPHORES};

impl<R, W> Keyed<R, W> {
    /// Forgets those of whom nobody waits any more.
    pub fn forget_gone(&mut self, kind: u64, number: u64, is_gone: impl Fn(&W) -> bool) {
        if let Some(waiters) = self.waiters.get_mut(&(kind, number)) {
            waiters.retain(|waiter| !is_gone(&waiter.token));
        }
    }

    /// Somebody waits. He gets his token back if too many do.
    pub fn wait(&mut self, member: u64, number: u64, doing: KeyedRequest, token: W) -> Result<(), W> {
        let kind = if matches!(doing, KeyedRequest::Operate(_)) { KEYED_SEMAPHORES } else { KEYED_MESSAGES };
        let waiters = self.waiters.entry((kind, number)).or_default();
        if waiters.len() >= MAX_WAITING {
            return Err(token);
        }
        waiters.push_back(Waiter { member, number, doing, token });
        Ok(())
    }

    /// Tries those again who wait for what has changed. `is_gone` says of whom nobody waits any
    /// more; `answer` tells who is done with what, and whether that arrived: if not, nothing was
    /// done.
    pub fn settle(&mut self, is_gone: impl Fn(&W) -> bool, mut answer: impl FnMut(W, &KeyedRequest, &Result<Done, Errno>) -> bool) {
        while let Some(what) = self.touched.pop() {
            let Some(mut waiters) = self.waiters.remove(&what) else { continue };
            let mut kept = VecDeque::new();
            while let Some(waiter) = waiters.pop_front() {
                if is_gone(&waiter.token) {
                    continue;
                }
                let Some(done) = self.attempt(waiter.member, waiter.number, &waiter.doing).transpose() else {
                    kept.push_back(waiter);
                    continue;
                };
                let Waiter { member, number, doing, token } = waiter;
                if !answer(token, &doing, &done)
                    && let Ok(done) = done
                {
                    self.take_back(member, number, &doing, done);
                }
            }
            if !kept.is_empty() {
                self.waiters.insert(what, kept);
            }
        }
    }

    /// Undoes an operation whose caller was cut off.
    fn take_back(&mut self, key: u64, number: u64, doing: &KeyedRequest, done: Done) {
        match (doing, done) {
            (KeyedRequest::Operate(operations), _) => self.operate_back(key, number, operations),
            (_, Done::Received(kind, data)) => {
                self.bytes += data.len() + OVERHEAD;
                let _ = self.queue(number).map(|queue| queue.put_back(kind, data));
            }
            _ => {
                let taken = self.queue(number).map_or(0, Queue::take_last);
                self.bytes -= taken;
            }
        }
    }

    fn operate_back(&mut self, key: u64, number: u64, operations: &[Operation]) {
        let pid = self.members.get(&key).map_or(0, |member| member.pid);
        for operation in operations {
            let (index, by) = (u64::from(operation.index), i64::from(operation.by));
            if let Ok(set) = self.set(number) {
                set.undo(index as usize, -by, pid);
            }
            let undone = self.members.get_mut(&key).and_then(|member| member.undone.get_mut(&(number, index)));
            if let Some(undone) = undone.filter(|_| operation.is_undone()) {
                *undone += by;
            }
        }
    }
}
