//! Protocol `file` at what is read like a file and is none; and how what happens to files reaches
//! those who want to hear it.

use crate::notices::{FileEvent, QUEUE, event};
use crate::accounts::cost;
use crate::objects::Kind;
use crate::root::Root;
use crate::sources::{Counter, Source, What};
use crate::table::Key;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::file::{flags, poll, read, seek, status, sync, unwatch, watch, write};
use nacre_proto::flags::{FILE_NONBLOCK, KEEP_FLAGS, OWN_POSITION, POLLIN, POLLRDNORM};
use nacre_proto::server::{Output, refuse};
use nacre_proto::{Answer, Errno, HandlerResult, Request, file, structures};
use nacre_sys::{OwnedReference, Reference, Span};

/// Number of the device that they are on.
const DEVICE: u64 = 14;

/// The server, at the port of a source.
pub struct Sources<'a>(pub &'a mut Root);

impl Root {
    /// Returns true if a port's word is that of a source.
    pub fn is_source(&self, word: u64) -> bool {
        matches!(self.objects.get(Key::from_word(word)).map(|object| &object.kind), Some(Kind::Source(_)))
    }

    fn source(&mut self, key: Key) -> Result<&mut Source, Errno> {
        match self.objects.get_mut(key).map(|object| &mut object.kind) {
            Some(Kind::Source(source)) => Ok(source),
            _ => Err(Errno::EBADF),
        }
    }

    /// A new source, for a client.
    pub(super) fn give_source(&mut self, what: What, account: Key) -> Result<OwnedReference, Errno> {
        let is_watcher = matches!(what, What::Notices);
        let key = self.objects.add(Kind::Source(alloc::boxed::Box::new(Source::new(what))), false, account)?;
        let charged = if is_watcher { self.objects.charge(key, QUEUE as u64).map_err(|_| Errno::EMFILE) } else { Ok(()) };
        let reference = charged.and_then(|()| self.objects.reference(key)).inspect_err(|_| drop(self.objects.remove(key)))?;
        if is_watcher {
            self.notices.add_watcher(key);
        }
        Ok(reference)
    }

    /// The watcher that a client's reference leads to.
    pub(super) fn watcher_of(&self, reference: Reference) -> Result<Key, Errno> {
        self.as_watcher(self.objects.find(reference).ok_or(Errno::EINVAL)?)
    }

    /// The key, if it is a watcher's.
    pub(super) fn as_watcher(&self, key: Key) -> Result<Key, Errno> {
        match self.objects.get(key).map(|object| &object.kind) {
            Some(Kind::Source(source)) if matches!(source.what, What::Notices) => Ok(key),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Returns the bytes that a read of a source gets; `None`: nothing yet.
    fn look_at_source(&mut self, key: Key, size: usize) -> Result<Option<alloc::vec::Vec<u8>>, Errno> {
        match &self.source(key)?.what {
            What::Counter(counter) => counter.look(size),
            What::Notices => self.notices.look(key, size),
        }
    }

    /// Takes what a read has got.
    fn consume_source(&mut self, key: Key, count: usize) {
        match self.source(key).map(|source| &mut source.what) {
            Ok(What::Counter(counter)) => counter.consume(),
            Ok(What::Notices) => self.notices.consume(key, count),
            Err(_) => {}
        }
    }

    fn source_events(&mut self, key: Key) -> Result<u64, Errno> {
        let has_some = self.notices.has_some(key);
        Ok(match &self.source(key)?.what {
            What::Counter(counter) => counter.events(),
            What::Notices if has_some => POLLIN | POLLRDNORM,
            What::Notices => 0,
        })
    }

    /// Something has changed at a source: whoever waits for it looks again.
    pub(super) fn settle_source(&mut self, key: Key) {
        while self.settle_reader(key) || self.settle_writer(key) {}
        if let (Ok(events), Ok(source)) = (self.source_events(key), self.source(key)) {
            source.notify(events);
        }
        self.refund_waiting(key);
    }

    /// Answers the first reader; false if there is none, or it must wait on.
    fn settle_reader(&mut self, key: Key) -> bool {
        let _ = self.source(key).map(Source::drop_gone);
        let Some(size) = self.source(key).ok().and_then(|source| source.readers.front()).map(|reader| reader.1) else { return false };
        let found = self.look_at_source(key, size);
        if found == Ok(None) {
            return false;
        }
        let Some((reply, _)) = self.source(key).ok().and_then(|source| source.readers.pop_front()) else { return false };
        match found {
            Ok(bytes) => {
                let bytes = bytes.unwrap_or_default();
                // What does not arrive is there for the next reader.
                if (read::Output { count: bytes.len() as u64 }).send(reply, Span::from(&bytes[..])).is_ok() {
                    self.consume_source(key, bytes.len());
                }
            }
            Err(errno) => drop(refuse(reply, errno)),
        }
        true
    }

    /// Answers the first writer; false if there is none, or it must wait on.
    fn settle_writer(&mut self, key: Key) -> bool {
        let Ok(source) = self.source(key) else { return false };
        source.drop_gone();
        let (Some((_, by)), What::Counter(counter)) = (source.writers.front(), &mut source.what) else { return false };
        let by = *by;
        if !counter.has_room(by) {
            return false;
        }
        let sent = source.writers.pop_front().map(|(reply, _)| write::Output { count: 8 }.send(reply, Span::EMPTY));
        // Whoever was interrupted just now has not written.
        if sent.is_some_and(|sent| sent.is_ok()) {
            counter.add(by);
        }
        true
    }

    /// Charges a source for one more that waits.
    fn charge_waiting(&mut self, key: Key) -> Result<(), Errno> {
        self.refund_waiting(key);
        self.objects.charge(key, cost::WAIT)?;
        self.source(key)?.charged += 1;
        Ok(())
    }

    /// Takes back what a source is charged for those that wait no more.
    fn refund_waiting(&mut self, key: Key) {
        let Ok(source) = self.source(key) else { return };
        let unused = source.charged - source.waiting();
        source.charged -= unused;
        self.objects.refund(key, cost::WAIT * unused as u64);
    }

    /// Tells who wants to hear it what has happened since this was done last.
    pub fn tell_notices(&mut self) {
        for happened in self.files.tree.happened.take() {
            let mut told = self.notices.tell(&happened);
            if happened.name.is_empty()
                && happened.mask & (event::MOVE_SELF | event::DELETE_SELF) == 0
                && let Some((directory, name)) = self.files.tree.name_of(happened.node, |directory| self.notices.watches(directory))
            {
                told.extend(self.notices.tell(&FileEvent { node: directory, name, ..happened }));
            }
            for watcher in told {
                self.settle_source(watcher);
            }
        }
        self.files.tree.happened.is_wanted = self.notices.is_wanted();
        for watcher in self.notices.take_ended() {
            self.objects.refund(watcher, cost::WATCH);
        }
    }

    /// Lets a watcher watch a node; the watcher pays for the watch.
    pub(super) fn watch_node(&mut self, watcher: Key, node: Key, mask: u64) -> Result<u64, Errno> {
        let before = self.notices.count(watcher);
        self.objects.charge(watcher, cost::WATCH).map_err(|_| Errno::ENOSPC)?;
        let number = self.notices.watch(watcher, node, mask);
        if self.notices.count(watcher) == before {
            self.objects.refund(watcher, cost::WATCH);
        }
        number
    }
}

impl file::Server for Sources<'_> {
    fn read(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<read::Output> {
        let (key, size) = (Key::from_word(request.word()), size.min(MAX_BYTES) as usize);
        if offset != OWN_POSITION {
            return Err(Errno::ESPIPE);
        }
        if let Some(bytes) = self.0.look_at_source(key, size)? {
            self.0.consume_source(key, bytes.len());
            self.0.settle_source(key);
            request.put(&bytes);
            return read::Output { count: bytes.len() as u64 }.now();
        }
        let source = self.0.source(key)?;
        if source.is_nonblocking || source.is_full() {
            return Err(Errno::EAGAIN);
        }
        self.0.charge_waiting(key)?;
        self.0.source(key)?.readers.push_back((request.detach()?, size));
        Ok(Answer::Later)
    }

    fn write(&mut self, request: &mut Request<'_>, offset: u64, data: &[u8]) -> HandlerResult<write::Output> {
        let key = Key::from_word(request.word());
        if offset != OWN_POSITION {
            return Err(Errno::ESPIPE);
        }
        let source = self.0.source(key)?;
        let What::Counter(counter) = &mut source.what else { return Err(Errno::EBADF) };
        let by = Counter::number(data)?;
        if !counter.add(by) {
            if source.is_nonblocking || source.is_full() {
                return Err(Errno::EAGAIN);
            }
            self.0.charge_waiting(key)?;
            self.0.source(key)?.writers.push_back((request.detach()?, by));
            return Ok(Answer::Later);
        }
        self.0.settle_source(key);
        write::Output { count: 8 }.now()
    }

    fn status(&mut self, request: &mut Request<'_>) -> HandlerResult<status::Output> {
        let status = structures::Status { device: DEVICE, inode: request.word(), mode: 0o600, links: 1, block_size: 4096, ..structures::Status::default() };
        request.put(&status.to_bytes());
        status::Output::default().now()
    }

    fn poll(&mut self, request: &mut Request<'_>, events: u64) -> HandlerResult<poll::Output> {
        poll::Output { events: self.0.source_events(Key::from_word(request.word()))? & events }.now()
    }

    fn watch(&mut self, request: &mut Request<'_>, events: u64, bits: u64, _: Reference) -> HandlerResult<watch::Output> {
        let key = Key::from_word(request.word());
        let ready = self.0.source_events(key)? & events;
        if ready == 0 {
            self.0.charge_waiting(key)?;
            let port = request.keep(0)?;
            self.0.source(key)?.watch(events, bits, port);
        }
        watch::Output { events: ready }.now()
    }

    fn seek(&mut self, _: &mut Request<'_>, _: u64, _: u64) -> HandlerResult<seek::Output> {
        Err(Errno::ESPIPE)
    }

    fn sync(&mut self, _: &mut Request<'_>) -> HandlerResult<sync::Output> {
        Err(Errno::EINVAL)
    }

    fn flags(&mut self, request: &mut Request<'_>, new: u64) -> HandlerResult<flags::Output> {
        let source = self.0.source(Key::from_word(request.word()))?;
        let old = if source.is_nonblocking { FILE_NONBLOCK } else { 0 };
        if new != KEEP_FLAGS {
            source.is_nonblocking = new & FILE_NONBLOCK != 0;
        }
        flags::Output { old }.now()
    }

    fn unwatch(&mut self, request: &mut Request<'_>, number: u64) -> HandlerResult<unwatch::Output> {
        let key = Key::from_word(request.word());
        self.0.notices.unwatch(key, number)?;
        self.0.settle_source(key);
        unwatch::Output::default().now()
    }
}
