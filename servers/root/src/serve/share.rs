//! Contents of files as memory that others share: views made, filled on faults, taken down; holes
//! and seals.

use crate::objects::{Kind, View};
use crate::open_file::OpenFile;
use crate::root::Root;
use crate::table::Key;
use crate::tree::NodeContent;
use crate::views;
use crate::futex_queues::Place;
use core::ops::Range;
use nacre_abi::fault;
use nacre_proto::flags::{F_SEAL_FUTURE_WRITE, F_SEAL_WRITE, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE, SHARE_WRITE};
use nacre_proto::{Errno, Request};
use nacre_sys::OwnedReference;

impl Root {
    /// A view of a file: its size, its region, and what keeps it.
    pub(super) fn share(&mut self, account: Key, opened: &OpenFile, size: u64, access: u64) -> Result<(u64, OwnedReference, OwnedReference), Errno> {
        let (node, writable) = (opened.node, access & SHARE_WRITE != 0);
        let file = self.files.tree.node(node)?;
        let NodeContent::File(content) = &file.body else { return Err(Errno::ENODEV) };
        if writable && file.is_sealed(F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) {
            return Err(Errno::EPERM);
        }
        let size = views::rounded(size.max(content.size()))?;
        let faults = self.objects.add(Kind::Faults(node, writable), true, account)?;
        let made = self.add_view(account, View { node, faults, writable, is_writer: opened.is_writer && writable, size });
        if made.is_err() {
            self.objects.remove(faults);
        }
        made
    }

    fn add_view(&mut self, account: Key, view: View) -> Result<(u64, OwnedReference, OwnedReference), Errno> {
        let View { node, faults, writable, size, .. } = view;
        let keeper = self.objects.port(faults).ok_or(Errno::EIO)?.as_keeper();
        self.objects.charge(faults, views::cost(size))?;
        let region = self.files.tree.store_mut().views.add(faults.to_word(), size, writable, keeper)?;
        let hold = self.objects.add(Kind::View(view), false, account);
        match hold.and_then(|key| Ok((key, self.objects.reference(key).inspect_err(|_| drop(self.objects.remove(key)))?))) {
            Ok((key, hold)) => {
                self.files.tree.opened(node);
                if view.is_writer {
                    // It is one more: the open file is a writer already, so no program runs the
                    // file.
                    self.files.tree.start_writing(node)?;
                }
                self.views.entry(node).or_default().insert(key);
                Ok((size, region, hold))
            }
            Err(errno) => {
                self.files.tree.store_mut().views.remove(faults.to_word());
                Err(errno)
            }
        }
    }

    /// Closes a view that nobody holds any more.
    pub fn close_view(&mut self, key: Key, view: &View) {
        self.files.tree.store_mut().views.remove(view.faults.to_word());
        self.objects.remove(view.faults);
        let others = self.views.entry(view.node).or_default();
        others.remove(&key);
        match others.first().copied() {
            Some(other) => self.pass_on_waits(Place::File(view.node), key, other),
            None => {
                self.views.remove(&view.node);
                self.forget_waits(Place::File(view.node));
            }
        }
        if view.writable {
            // Whom the host refuses the bytes is nobody any more.
            let is_last = !self.is_written(view.node);
            let _ = self.files.tree.write_back(view.node, is_last);
        }
        if view.is_writer {
            self.files.tree.stop_writing(view.node);
        }
        self.files.tree.closed(view.node);
    }

    /// A page that a view lacks: it is there now, or the fault becomes an exception.
    pub fn fault(&mut self, request: &mut Request<'_>) {
        let (word, offset) = (request.word(), request.words()[0]);
        if matches!(self.objects.get(Key::from_word(word)).map(|object| &object.kind), Some(Kind::Promise(..))) {
            return self.promise_fault(request, Key::from_word(word), offset);
        }
        let shown = match self.objects.get(Key::from_word(word)).map(|object| &object.kind) {
            Some(Kind::Faults(node, writable)) => {
                let (node, writable) = (*node, *writable);
                self.pay(request);
                self.show_page((node, writable), word, offset)
            }
            _ => Err(Errno::EIO),
        };
        request.answer(if shown.is_ok() { fault::RESUME } else { fault::REFUSE }, [0; 6]);
    }

    fn show_page(&mut self, (node, writable): (Key, bool), word: u64, offset: u64) -> Result<(), Errno> {
        let piece = self.files.tree.page(node, offset, writable).ok_or(Errno::ENXIO)?;
        self.files.tree.store_mut().views.show(word, offset, piece)?;
        if writable {
            // Whoever has the page may write to it at any time, of which nothing is heard.
            let now = self.files.clock.now();
            self.files.tree.node_mut(node)?.touch(now);
        }
        Ok(())
    }

    /// Returns true if somebody has a file's memory to write.
    pub(super) fn is_written(&self, node: Key) -> bool {
        let is_writable = |key: &Key| matches!(self.objects.get(*key).map(|object| &object.kind), Some(Kind::View(view)) if view.writable);
        self.views.get(&node).is_some_and(|views| views.iter().any(is_writable))
    }

    /// Begins `fallocate`. What takes room looks first whether there is any: nothing is begun in
    /// vain. Where to go on, if that is much.
    pub(super) fn allocate_part(&mut self, node: Key, flags: u64, offset: u64, size: u64) -> Result<Option<u64>, Errno> {
        let end = offset.checked_add(size).filter(|end| *end <= i64::MAX as u64).ok_or(Errno::EFBIG)?;
        if size == 0 {
            return Err(Errno::EINVAL);
        }
        let available = self.files.tree.store().available();
        let (missing, room) = self.files.tree.room_for(node, &(offset..end), available)?;
        if flags & FALLOC_FL_PUNCH_HOLE == 0 && missing > room {
            return Err(Errno::ENOSPC);
        }
        self.allocate_piece(node, flags, offset..end)
    }

    /// Does a piece of `fallocate`: takes room, or takes it away. Where to go on, if that is not
    /// all.
    pub(super) fn allocate_piece(&mut self, node: Key, flags: u64, part: Range<u64>) -> Result<Option<u64>, Errno> {
        let now = self.files.clock.now();
        match flags {
            0 | FALLOC_FL_KEEP_SIZE => self.files.tree.allocate(node, part, flags != 0, now),
            flags if flags == FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE => self.files.tree.punch(node, part.start, part.end, now),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }
}
