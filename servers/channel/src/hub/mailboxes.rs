//! POSIX's queues of messages over the hub's ends: names, what each end may do, and what a message
//! or room leads to.
//!
//! What was sent or received is so when the answer has arrived: who was cut off meanwhile has sent
//! or received nothing.

use super::kept::{Kept, Place};
use super::open_queues::Opened;
use super::loads::{MAX_BYTES, may_take};
use super::{ACCESS, BOTH, Hub, O_RDONLY, O_WRONLY};
use crate::mailbox::{Notifier, NotifyTarget, MAX_WAITING, QueueOptions, Mail, Mailbox, OVERHEAD, PIECE, Waiter};
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{O_CREAT, O_EXCL, O_NONBLOCK, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM, SEEK_CUR, SEEK_END, SEEK_SET};
use nacre_proto::mailbox::{ANY, PRIVILEGED, USUAL_MESSAGES, USUAL_QUEUES, USUAL_SIZE};

/// Maximum number of queues of all users.
const MOST: usize = 4096;
/// Number of queues up to which an account has few of them.
const FEW: usize = 16;
/// Limit of the bytes of their messages, and of what they keep. The rest is for pipes and sockets.
const MAX_BYTES_HERE: usize = MAX_BYTES / 4 * 3;
/// Maximum number of messages of a queue, and maximum size of one in bytes.
const MAX_MESSAGES: u64 = 65_536;
const MAX_SIZE: u64 = 16 << 20;
/// Priorities are below this.
const PRIORITIES: u64 = 32_768;
const LONGEST_NAME: usize = 255;
/// Size that `stat` reports for a queue.
const TEXT: u64 = 80;
/// Maximum number of notifications through one end that were not asked for yet.
const MAX_TOLD: usize = 64;

/// Arguments of opening a queue.
#[derive(Clone, Copy, Debug)]
pub struct OpenRequest<'a> {
    /// Flags of `open`.
    pub flags: u64,
    /// Options of a new queue. Sizes may be [`ANY`].
    pub made: QueueOptions,
    /// Limit of the memory of all the user's queues, in bytes.
    pub limit: u64,
    /// Name of the queue.
    pub name: &'a [u8],
}

/// Status of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// Number of the queue.
    pub number: u64,
    /// Number of messages in the queue.
    pub count: u64,
    /// Options that the queue was made with.
    pub made: QueueOptions,
    /// Set if the queue has a name.
    pub has_name: bool,
}

/// Sender or receiver of a message.
#[derive(Debug)]
pub struct Caller<R> {
    /// Through which end.
    pub end: u64,
    /// Number of the calling thread.
    pub thread: u64,
    /// Priority among waiters: the highest is served first.
    pub rank: u64,
    /// Request to answer.
    pub token: R,
}

fn check_name(name: &[u8]) -> Result<(), Errno> {
    if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') || name.contains(&0) {
        return Err(Errno::EACCES);
    }
    if name.len() > LONGEST_NAME { Err(Errno::ENAMETOOLONG) } else { Ok(()) }
}

impl<R> Hub<R> {
    fn mailbox(&self, end: u64) -> Result<(u64, &Mailbox<R>), Errno> {
        let number = self.mailboxes.open.get(&end).ok_or(Errno::EBADF)?.number;
        Ok((number, self.mailboxes.boxes.get(&number).ok_or(Errno::EBADF)?))
    }

    fn mailbox_mut(&mut self, end: u64) -> Result<&mut Mailbox<R>, Errno> {
        let number = self.mailboxes.open.get(&end).ok_or(Errno::EBADF)?.number;
        self.mailboxes.boxes.get_mut(&number).ok_or(Errno::EBADF)
    }

    /// Returns true if `end` is an end of a message queue.
    pub fn is_mailbox(&self, end: u64) -> bool {
        self.mailboxes.open.contains_key(&end)
    }

    /// Opens a queue; whether it is new.
    pub fn mailbox_open(&mut self, wanted: &OpenRequest<'_>) -> Result<(u64, bool), Errno> {
        check_name(wanted.name)?;
        let found = self.mailboxes.names.get(wanted.name).copied();
        let made = match found {
            None if wanted.flags & O_CREAT == 0 => return Err(Errno::ENOENT),
            Some(_) if wanted.flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL => return Err(Errno::EEXIST),
            Some(_) if wanted.flags & ACCESS == ACCESS => return Err(Errno::EINVAL),
            Some(_) => None,
            None => Some(self.check_made(wanted)?),
        };
        let end = self.add_end(0, wanted.flags & (ACCESS | O_NONBLOCK))?;
        let account = self.end(end)?.account();
        let number = match (found, made) {
            (Some(number), _) => number,
            (None, made) => {
                let number = self.key();
                self.mailboxes.names.insert(wanted.name.to_vec(), number);
                self.mailboxes.boxes.insert(number, Mailbox::new(wanted.name.to_vec(), made.unwrap_or(wanted.made), account));
                number
            }
        };
        self.mailboxes.open.insert(end, Opened { number, account, ..Opened::default() });
        self.mailbox_mut(end)?.ends.insert(end);
        Ok((end, found.is_none()))
    }

    /// Checks the options of a new queue and fills in defaults.
    fn check_made(&self, wanted: &OpenRequest<'_>) -> Result<QueueOptions, Errno> {
        let is_privileged = wanted.flags & PRIVILEGED != 0;
        let (account, all) = (self.accounts.payer(), self.mailboxes.boxes.len());
        let held = self.mailboxes.boxes.values().filter(|other| other.account == account).count();
        let may_have = |most, used| may_take(account, (most, FEW), used, held, 1);
        if !may_have(MOST, all) || !is_privileged && !may_have(USUAL_QUEUES as usize, self.mailboxes.names.len()) {
            return Err(Errno::ENOSPC);
        }
        let usual = |value: u64, usual: u64| if value == ANY { usual } else { value };
        let made = QueueOptions { messages: usual(wanted.made.messages, USUAL_MESSAGES), size: usual(wanted.made.size, USUAL_SIZE), ..wanted.made };
        let [messages, size] = if is_privileged { [MAX_MESSAGES, MAX_SIZE] } else { [USUAL_MESSAGES, USUAL_SIZE] };
        if !(1..=messages).contains(&made.messages) || !(1..=size).contains(&made.size) {
            return Err(Errno::EINVAL);
        }
        let of_user = self.mailboxes.boxes.values().filter(|other| other.payer == made.owner[0]);
        let charged: u64 = of_user.map(|other| other.made.charge()).sum();
        if charged + made.charge() > wanted.limit { Err(Errno::EMFILE) } else { Ok(made) }
    }

    /// Takes away a name.
    pub fn mailbox_unlink(&mut self, user: u64, name: &[u8]) -> Result<(), Errno> {
        check_name(name)?;
        let number = *self.mailboxes.names.get(name).ok_or(Errno::ENOENT)?;
        let Some(mailbox) = self.mailboxes.boxes.get_mut(&number) else { return Err(Errno::ENOENT) };
        // The directory that they are in is the superuser's, and sticky.
        if ![ANY, 0, mailbox.made.owner[0]].contains(&user) {
            return Err(Errno::EPERM);
        }
        mailbox.name = None;
        self.mailboxes.names.remove(name);
        self.drop_unused(number);
        Ok(())
    }

    fn drop_unused(&mut self, number: u64) {
        if self.mailboxes.boxes.get(&number).is_some_and(|mailbox| mailbox.name.is_none() && mailbox.ends.is_empty()) {
            let (account, used) = self.mailboxes.boxes.remove(&number).map_or((0, 0), |mailbox| (mailbox.account, mailbox.used()));
            self.count_mail(account, used, 0);
        }
    }

    /// Bytes of a queue, or of what is kept for an end, have changed.
    fn count_mail(&mut self, account: u64, before: usize, after: usize) {
        self.count(account, (before, 0), (after, 0));
    }

    /// `ENOMEM`: so many more bytes are too many, or more than the account's share.
    fn check_mail(&self, account: u64, more: usize) -> Result<(), Errno> {
        if self.bytes + more > MAX_BYTES_HERE {
            return Err(Errno::ENOMEM);
        }
        self.loads.check(account, (self.bytes, self.references), (more, 0))
    }

    /// Account that pays for what is kept for an end.
    fn mail_account(&self, end: u64) -> u64 {
        self.mailboxes.open.get(&end).map_or(0, |opened| opened.account)
    }

    /// An end has gone.
    pub(super) fn mailbox_close(&mut self, end: u64) {
        self.with_kept(end, |kept| kept.forget_end(end));
        let Some(Opened { number, account, .. }) = self.mailboxes.open.remove(&end) else { return };
        let all = (end, 0)..=(end, u64::MAX);
        let parts: usize = self.mailboxes.parts.extract_if(all, |_, _| true).map(|(_, (_, data))| data.len() + OVERHEAD).sum();
        self.count_mail(account, parts, 0);
        if let Some(mailbox) = self.mailboxes.boxes.get_mut(&number) {
            mailbox.ends.remove(&end);
            mailbox.expected.take_if(|expected| expected.end == end);
            let (account, dropped) = (mailbox.account, mailbox.keep(|waiter| waiter.end != end));
            self.count_mail(account, dropped, 0);
        }
        self.drop_unused(number);
    }

    /// Forgets those who wait at a queue and have gone.
    fn forget_gone(&mut self, end: u64, carrier: &impl Notifier<R>) {
        let dropped = self.mailbox_mut(end).map(|mailbox| (mailbox.account, mailbox.keep(|waiter| !carrier.is_gone(&waiter.token))));
        if let Ok((account, dropped)) = dropped {
            self.count_mail(account, dropped, 0);
        }
    }

    /// Keeps a part of a message.
    pub fn mailbox_part(&mut self, end: u64, writer: u64, number: u64, data: &[u8]) -> Result<(), Errno> {
        let (most, account) = (self.mailbox(end)?.1.made.size as usize, self.mail_account(end));
        if number == 0 {
            let dropped = self.mailboxes.parts.remove(&(end, writer)).map_or(0, |(_, data)| data.len() + OVERHEAD);
            self.count_mail(account, dropped, 0);
        }
        self.check_mail(account, data.len() + OVERHEAD)?;
        if number == 0 {
            self.mailboxes.parts.insert((end, writer), (0, Vec::new()));
            self.count_mail(account, 0, OVERHEAD);
        }
        let (parts, kept) = self.mailboxes.parts.get_mut(&(end, writer)).ok_or(Errno::EINVAL)?;
        if *parts != number {
            return Err(Errno::EINVAL);
        }
        if kept.len() + data.len() > most {
            return Err(Errno::EMSGSIZE);
        }
        kept.try_reserve(data.len()).map_err(|_| Errno::ENOMEM)?;
        kept.extend(data);
        *parts += 1;
        self.count_mail(account, 0, data.len());
        Ok(())
    }

    /// Returns true if a message of `size` bytes can be sent now, and false if the sender has to
    /// wait. `has_parts`: earlier parts from this writer come before those bytes.
    pub fn mailbox_can_send(
        &mut self,
        end: u64,
        (writer, has_parts): (u64, bool),
        priority: u64,
        size: usize,
        carrier: &impl Notifier<R>,
    ) -> Result<bool, Errno> {
        if priority >= PRIORITIES {
            return Err(Errno::EINVAL);
        }
        self.with_kept(end, |kept| kept.forget((end, writer)));
        let access = self.end(end)?.flags & ACCESS;
        if access != O_WRONLY && access != BOTH {
            return Err(Errno::EBADF);
        }
        let before = if has_parts { self.mailboxes.parts.get(&(end, writer)).map_or(0, |(_, data)| data.len()) } else { 0 };
        let mailbox = self.mailbox_mut(end)?;
        if (before + size) as u64 > mailbox.made.size {
            return Err(Errno::EMSGSIZE);
        }
        let (has_room, account) = (mailbox.has_room(), mailbox.account);
        if mailbox.senders.len() >= MAX_WAITING || self.check_mail(account, size + OVERHEAD).is_err() {
            self.forget_gone(end, carrier);
        }
        self.check_mail(account, size + OVERHEAD).map(|()| has_room)
    }

    /// Sends a message of which that was said, or waits for room. Too many do: `EAGAIN`, and the
    /// token.
    pub fn mailbox_send(&mut self, caller: Caller<R>, has_parts: bool, mut mail: Mail, carrier: &mut impl Notifier<R>) -> Result<(), (R, Errno)> {
        if has_parts && let Some((_, mut data)) = self.mailboxes.parts.remove(&(caller.end, caller.thread)) {
            self.count_mail(self.mail_account(caller.end), data.len() + OVERHEAD, 0);
            data.append(&mut mail.data);
            mail.data = data;
        }
        let Caller { end, thread, rank, token } = caller;
        let size = mail.size();
        let Ok(mailbox) = self.mailbox_mut(end) else { return Err((token, Errno::EBADF)) };
        if mailbox.has_room() {
            if carrier.sent(token) {
                self.mailbox_deliver(end, mail, carrier);
            }
            return Ok(());
        }
        let account = mailbox.account;
        mailbox.wait(rank, Waiter { end, thread, token, mail: Some(mail) }).map_err(|waiter| (waiter.token, Errno::EAGAIN))?;
        self.count_mail(account, 0, size);
        Ok(())
    }

    /// A message comes: who waits for one gets it, else it stays.
    fn mailbox_deliver(&mut self, end: u64, mail: Mail, carrier: &mut impl Notifier<R>) {
        let Ok(mailbox) = self.mailbox_mut(end) else { return };
        while let Some((_, waiter)) = mailbox.receivers.pop_first() {
            if carrier.given(waiter.token, mail.priority, &mail.data[..mail.data.len().min(PIECE)], mail.data.len()) {
                self.keep_mail((waiter.end, waiter.thread), mail.priority, mail.data, true);
                return;
            }
        }
        let (size, by, account) = (mail.size(), mail.by, mailbox.account);
        mailbox.put(mail);
        let expected = if mailbox.count() == 1 { mailbox.expected.take() } else { None };
        self.count_mail(account, 0, size);
        self.touch_mailbox(end);
        if let Some(expected) = expected
            && let Some(opened) = self.mailboxes.open.get_mut(&expected.end)
        {
            opened.told.truncate(MAX_TOLD - 1);
            opened.told.push([expected.pid, by[0], by[1]]);
            carrier.tell(&expected.port, expected.bits);
        }
    }

    /// Does something with what is kept for an end, and counts what that takes.
    fn with_kept<T>(&mut self, end: u64, work: impl FnOnce(&mut Kept) -> T) -> T {
        let before = self.mailboxes.kept.bytes();
        let done = work(&mut self.mailboxes.kept);
        self.count_mail(self.mail_account(end), before, self.mailboxes.kept.bytes());
        done
    }

    /// Keeps what was given to a thread.
    fn keep_mail(&mut self, place: Place, priority: u32, data: Vec<u8>, has_waited: bool) {
        if let Some(surplus) = self.mailboxes.kept.surplus() {
            self.with_kept(surplus.0, |kept| kept.forget(surplus));
        }
        self.with_kept(place.0, |kept| kept.keep(place, priority, data, has_waited));
    }

    /// Returns true if a message can be received now, and false if the reader has to wait. `room`
    /// is the reader's buffer in bytes.
    pub fn mailbox_can_receive(&mut self, end: u64, reader: u64, room: u64, carrier: &impl Notifier<R>) -> Result<bool, Errno> {
        self.with_kept(end, |kept| kept.forget((end, reader)));
        let access = self.end(end)?.flags & ACCESS;
        if access != O_RDONLY && access != BOTH {
            return Err(Errno::EBADF);
        }
        let mailbox = self.mailbox_mut(end)?;
        if room < mailbox.made.size {
            return Err(Errno::EMSGSIZE);
        }
        let has_some = mailbox.count() != 0;
        if mailbox.receivers.len() >= MAX_WAITING {
            self.forget_gone(end, carrier);
        }
        Ok(has_some)
    }

    /// Receives a message, or waits for one. Too many do: `EAGAIN`, and the token.
    pub fn mailbox_receive(&mut self, caller: Caller<R>, carrier: &mut impl Notifier<R>) -> Result<(), (R, Errno)> {
        let Caller { end, thread, rank, token } = caller;
        let Ok(mailbox) = self.mailbox_mut(end) else { return Err((token, Errno::EBADF)) };
        let account = mailbox.account;
        let Some((place, mail)) = mailbox.take() else {
            return mailbox.wait(rank, Waiter { end, thread, token, mail: None }).map_err(|waiter| (waiter.token, Errno::EAGAIN));
        };
        if !carrier.given(token, mail.priority, &mail.data[..mail.data.len().min(PIECE)], mail.data.len()) {
            mailbox.put_back(place, mail);
            return Ok(());
        }
        self.count_mail(account, mail.size(), 0);
        self.keep_mail((end, thread), mail.priority, mail.data, false);
        self.mailbox_refill(end, carrier);
        self.touch_mailbox(end);
        Ok(())
    }

    /// There is room: the message of who waits for it comes in. Nobody is told of that.
    fn mailbox_refill(&mut self, end: u64, carrier: &mut impl Notifier<R>) {
        let Ok(mailbox) = self.mailbox_mut(end) else { return };
        let (mut dropped, mut sent, account) = (0, Vec::new(), mailbox.account);
        while mailbox.has_room()
            && let Some((_, waiter)) = mailbox.senders.pop_first()
        {
            let Some(mail) = waiter.mail else { continue };
            if carrier.sent(waiter.token) {
                mailbox.put(mail);
                sent.push((waiter.end, waiter.thread));
            } else {
                dropped += mail.size();
            }
        }
        self.count_mail(account, dropped, 0);
        sent.into_iter().for_each(|place| self.keep_mail(place, 0, Vec::new(), true));
    }

    /// More of the message that was received.
    pub fn mailbox_rest(&mut self, end: u64, reader: u64) -> Result<Vec<u8>, Errno> {
        self.with_kept(end, |kept| kept.rest((end, reader))).ok_or(Errno::EINVAL)
    }

    /// A thread waits no more. If what it waited for was done: the priority and size of the
    /// message, which `mailbox_rest` gives if one was received.
    pub fn mailbox_withdraw(&mut self, end: u64, thread: u64) -> Result<Option<(u32, usize)>, Errno> {
        let mailbox = self.mailbox_mut(end)?;
        let (account, dropped) = (mailbox.account, mailbox.keep(|waiter| (waiter.end, waiter.thread) != (end, thread)));
        self.count_mail(account, dropped, 0);
        Ok(self.with_kept(end, |kept| kept.ask((end, thread))))
    }

    /// Returns the status of the queue.
    pub fn mailbox_facts(&self, end: u64) -> Result<QueueStatus, Errno> {
        let (number, mailbox) = self.mailbox(end)?;
        Ok(QueueStatus { number, count: mailbox.count(), made: mailbox.made, has_name: mailbox.name.is_some() })
    }

    /// Somebody is to be told of a message.
    pub fn mailbox_expect(&mut self, expected: NotifyTarget<R>, carrier: &impl Notifier<R>) -> Result<u64, Errno> {
        let mailbox = self.mailbox_mut(expected.end)?;
        if mailbox.expected.as_ref().is_some_and(|before| !carrier.is_gone(&before.port)) {
            return Err(Errno::EBUSY);
        }
        let end = expected.end;
        mailbox.expected = Some(expected);
        self.mailbox(end).map(|(number, _)| number)
    }

    /// A process is not to be told any more: the queue's number, and whether it would have been.
    pub fn mailbox_forget(&mut self, end: u64, pid: u64) -> Result<(u64, bool), Errno> {
        let mailbox = self.mailbox_mut(end)?;
        let was_expected = mailbox.expected.take_if(|expected| expected.pid == pid).is_some();
        self.mailbox(end).map(|(number, _)| (number, was_expected))
    }

    /// Returns process and user of the sender whose message made the hub notify process `pid`
    /// through this end, if it did.
    pub fn mailbox_told(&mut self, end: u64, pid: u64) -> Result<Option<[u64; 2]>, Errno> {
        let told = &mut self.mailboxes.open.get_mut(&end).ok_or(Errno::EBADF)?.told;
        let index = told.iter().position(|one| one[0] == pid);
        Ok(index.map(|index| told.remove(index)).map(|[_, by, user]| [by, user]))
    }

    /// Reads how it is, from `offset` or where the last read ended.
    pub fn mailbox_read(&mut self, end: u64, offset: Option<u64>, size: usize, carrier: &impl Notifier<R>) -> Result<Vec<u8>, Errno> {
        if self.end(end)?.flags & ACCESS == O_WRONLY {
            return Err(Errno::EBADF);
        }
        let mailbox = self.mailbox_mut(end)?;
        mailbox.expected.take_if(|expected| carrier.is_gone(&expected.port));
        let text = mailbox.text().into_bytes();
        let opened = self.mailboxes.open.get_mut(&end).ok_or(Errno::EBADF)?;
        let from = usize::try_from(offset.unwrap_or(opened.position)).unwrap_or(usize::MAX).min(text.len());
        let read = text[from..text.len().min(from.saturating_add(size))].to_vec();
        if offset.is_none() {
            opened.position += read.len() as u64;
        }
        Ok(read)
    }

    /// Moves the place from where the next read is.
    pub fn mailbox_seek(&mut self, end: u64, offset: u64, whence: u64) -> Result<u64, Errno> {
        let opened = self.mailboxes.open.get_mut(&end).ok_or(Errno::ESPIPE)?;
        let from = match whence {
            SEEK_SET => 0,
            SEEK_CUR => opened.position,
            SEEK_END => TEXT,
            _ => return Err(Errno::EINVAL),
        };
        let position = (from as i64).checked_add(offset as i64).filter(|position| *position >= 0).ok_or(Errno::EINVAL)?;
        opened.position = position as u64;
        Ok(opened.position)
    }

    /// Changes owner or permissions.
    pub fn mailbox_change(&mut self, end: u64, change: impl FnOnce(&mut QueueOptions)) -> Result<(), Errno> {
        change(&mut self.mailbox_mut(end)?.made);
        Ok(())
    }

    /// Returns the events that a poll would report.
    pub(super) fn mailbox_events(&self, end: u64) -> Result<u64, Errno> {
        let (_, mailbox) = self.mailbox(end)?;
        let readable = if mailbox.count() != 0 { POLLIN | POLLRDNORM } else { 0 };
        Ok(readable | if mailbox.has_room() { POLLOUT | POLLWRNORM } else { 0 })
    }

    /// A poll may find something else at its ends now.
    fn touch_mailbox(&mut self, end: u64) {
        let Ok((_, mailbox)) = self.mailbox(end) else { return };
        let ends: Vec<u64> = mailbox.ends.iter().copied().collect();
        for end in ends {
            self.touched.insert(end);
            if let Some(end) = self.ends.get_mut(&end) {
                end.changes += 1;
            }
        }
    }
}
