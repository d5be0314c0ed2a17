//! Protocol `file`: regular files and directories.

use crate::layer::Layer;
use crate::objects::Kind;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::file::{self, Server, allocate, execute, flags, lock, lock_owned, lock_owner, map, poll, read, seals, seek, set_mode, set_owner};
use nacre_proto::file::{set_size, set_times, status, sync, watch, write};
use nacre_proto::flags::{FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE, KEEP_FLAGS, O_NOFOLLOW, O_RDONLY, OWN_POSITION, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM, SEEK_DATA, SEEK_HOLE};
use nacre_proto::server::Output;
use nacre_proto::{Answer, Errno, HandlerResult, Request, directory};
use nacre_root::locks::Holder;
use nacre_root::open_file::{CHANGEABLE, OpenFile};
use nacre_root::table::Key;
use nacre_root::serve::{part, status_bytes};
use nacre_root::tree::{NodeContent, open};
use nacre_sys::Reference;

impl Layer {
    fn file(&self, request: &Request<'_>) -> Result<OpenFile, Errno> {
        self.objects.file(request.word())
    }

    /// The open file, if it is a regular one.
    fn regular(&self, request: &Request<'_>) -> Result<OpenFile, Errno> {
        let file = self.file(request)?;
        self.tree.content(file.node).map(|_| file)
    }

    fn move_position(&mut self, request: &Request<'_>, position: u64) {
        if let Ok(file) = self.objects.file_mut(request.word()) {
            file.position = position;
        }
    }

    /// Reads a part of a regular file into the answer. A layer that is full does not take in what
    /// lies below: that is read there.
    fn read_content(&mut self, request: &mut Request<'_>, file: &OpenFile, (at, size): (u64, u64)) -> Result<u64, Errno> {
        let path = match self.tree.fill(file.node, at, size, false) {
            Err(Errno::ENOMEM) => self.path_below(self.tree.node(file.node)?).ok_or(Errno::ENOMEM)?,
            filled => {
                filled?;
                let (content, store) = self.tree.content(file.node)?;
                let count = size.min(content.size().saturating_sub(at));
                content.read(store, at, request.buffer(count as usize));
                return Ok(count);
            }
        };
        let opened = directory::open(self.below.handle(), O_RDONLY | O_NOFOLLOW, 0, &path[..])?.file;
        let mut bytes = alloc::vec![0; size as usize];
        let count = file::read(opened.handle(), at, size, &mut bytes[..])?.count.min(size);
        request.put(&bytes[..count as usize]);
        Ok(count)
    }

    /// Notes a read, if nothing was since the last change.
    fn note_access(&mut self, file: &OpenFile) {
        if self.tree.get(file.node).is_some_and(|node| node.accessed <= node.modified) {
            let now = self.now();
            if let Ok(node) = self.tree.node_mut(file.node) {
                node.accessed = now;
            }
        }
    }
}

impl Server for Layer {
    fn read(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<read::Output> {
        let file = self.file(request)?;
        file.check_read()?;
        self.regular(request)?;
        let at = if offset == OWN_POSITION { file.position } else { offset };
        let size = size.min(MAX_BYTES);
        let count = self.read_content(request, &file, (at, size))?;
        if offset == OWN_POSITION && count > 0 {
            self.move_position(request, at + count);
        }
        self.note_access(&file);
        read::Output { count }.now()
    }

    fn write(&mut self, request: &mut Request<'_>, offset: u64, data: &[u8]) -> HandlerResult<write::Output> {
        let file = self.file(request)?;
        file.check_write()?;
        let size = self.tree.content(file.node)?.0.size();
        let at = match offset {
            _ if file.flags & open::APPEND != 0 => size,
            OWN_POSITION => file.position,
            offset => offset,
        };
        let now = self.now();
        let count = self.tree.write(file.node, at, data, now)? as u64;
        if offset == OWN_POSITION {
            self.move_position(request, at + count);
        }
        write::Output { count }.now()
    }

    fn status(&mut self, request: &mut Request<'_>) -> HandlerResult<status::Output> {
        let file = self.file(request)?;
        request.put(&status_bytes(&self.tree.facts(file.node)?));
        status::Output::default().now()
    }

    fn set_size(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<set_size::Output> {
        let file = self.file(request)?;
        file.check_open()?;
        file.check_write().map_err(|_| Errno::EINVAL)?;
        let now = self.now();
        self.tree.set_size(file.node, size, now)?;
        set_size::Output::default().now()
    }

    fn set_mode(&mut self, request: &mut Request<'_>, mode: u64) -> HandlerResult<set_mode::Output> {
        let (node, now) = (self.file(request)?.node, self.now());
        self.tree.set_mode(node, mode, now)?;
        set_mode::Output::default().now()
    }

    fn set_owner(&mut self, request: &mut Request<'_>, uid: u64, gid: u64) -> HandlerResult<set_owner::Output> {
        let (node, now) = (self.file(request)?.node, self.now());
        self.tree.set_owner(node, uid, gid, now)?;
        set_owner::Output::default().now()
    }

    fn set_times(&mut self, request: &mut Request<'_>, atime_sec: u64, atime_nsec: u64, mtime_sec: u64, mtime_nsec: u64) -> HandlerResult<set_times::Output> {
        let (node, now) = (self.file(request)?.node, self.now());
        self.tree.set_times(node, [(atime_sec, atime_nsec), (mtime_sec, mtime_nsec)], now)?;
        set_times::Output::default().now()
    }

    /// Maps what was not changed where it lies; anything else is read.
    fn map(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<map::Output> {
        let file = self.file(request)?;
        file.check_read()?;
        let node = self.tree.node(file.node)?;
        let path = self.path_below(node).filter(|_| matches!(node.body, NodeContent::File(_))).ok_or(Errno::ENODEV)?;
        let opened = directory::open(self.below.handle(), O_RDONLY | O_NOFOLLOW, 0, &path[..])?.file;
        let reply = file::map(opened.handle(), offset, size)?;
        map::Output { size: reply.size, region: reply.region.into() }.now()
    }

    fn poll(&mut self, request: &mut Request<'_>, events: u64) -> HandlerResult<poll::Output> {
        self.file(request)?;
        poll::Output { events: READY & events }.now()
    }

    fn watch(&mut self, request: &mut Request<'_>, events: u64, _: u64, _: Reference) -> HandlerResult<watch::Output> {
        self.file(request)?;
        watch::Output { events: READY & events }.now()
    }

    fn seek(&mut self, request: &mut Request<'_>, offset: u64, whence: u64) -> HandlerResult<seek::Output> {
        let file = self.file(request)?;
        file.check_open()?;
        let size = self.tree.content(file.node).map_or(0, |(content, _)| content.size());
        let position = match whence {
            SEEK_DATA | SEEK_HOLE => self.tree.seek(file.node, offset, whence == SEEK_DATA)?,
            _ => file.seek(offset, whence, size)?,
        };
        self.move_position(request, position);
        seek::Output { position }.now()
    }

    fn sync(&mut self, request: &mut Request<'_>) -> HandlerResult<sync::Output> {
        self.file(request)?.check_open()?;
        sync::Output::default().now()
    }

    fn flags(&mut self, request: &mut Request<'_>, new: u64) -> HandlerResult<flags::Output> {
        let file = self.objects.file_mut(request.word())?;
        let old = file.flags & CHANGEABLE;
        if new != KEEP_FLAGS {
            file.flags = file.flags & !CHANGEABLE | new & CHANGEABLE;
        }
        file::flags::Output { old }.now()
    }

    /// Refuses: the contents of the layer are nobody's to map.
    fn share(&mut self, request: &mut Request<'_>, _: u64, _: u64) -> HandlerResult<file::share::Output> {
        self.file(request)?;
        Err(Errno::ENODEV)
    }

    fn seals(&mut self, request: &mut Request<'_>, add: u64) -> HandlerResult<seals::Output> {
        let file = self.file(request)?;
        if add != 0 {
            file.check_write().map_err(|_| Errno::EPERM)?;
        }
        seals::Output { seals: self.tree.seal(file.node, add, false)? }.now()
    }

    fn allocate(&mut self, request: &mut Request<'_>, flags: u64, offset: u64, size: u64) -> HandlerResult<allocate::Output> {
        let file = self.regular(request)?;
        file.check_write()?;
        let (now, mut at) = (self.now(), offset);
        let end = offset.checked_add(size).filter(|end| *end <= i64::MAX as u64 && size > 0).ok_or(Errno::EINVAL)?;
        loop {
            let next = match flags {
                0 | FALLOC_FL_KEEP_SIZE => self.tree.allocate(file.node, at..end, flags != 0, now)?,
                flags if flags == FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE => self.tree.punch(file.node, at, end, now)?,
                _ => return Err(Errno::EOPNOTSUPP),
            };
            match next {
                Some(next) => at = next,
                None => return allocate::Output::default().now(),
            }
        }
    }

    fn lock(&mut self, request: &mut Request<'_>, kind: u64, flags: u64, start: u64, end: u64) -> HandlerResult<lock::Output> {
        let holder = Holder::File(Key::from_word(request.word()));
        let found = self.lock_file(request, holder, [kind, flags, start, end])?;
        found.map_or(Ok(Answer::Later), |[kind, start, end, pid]| lock::Output { kind, start, end, pid }.now())
    }

    fn lock_owned(&mut self, request: &mut Request<'_>, kind: u64, flags: u64, start: u64, end: u64, owner: Reference) -> HandlerResult<lock_owned::Output> {
        let holder = self.owner_of(owner)?;
        let found = self.lock_file(request, holder, [kind, flags, start, end])?;
        found.map_or(Ok(Answer::Later), |[kind, start, end, pid]| lock_owned::Output { kind, start, end, pid }.now())
    }

    fn lock_owner(&mut self, request: &mut Request<'_>, pid: u64) -> HandlerResult<lock_owner::Output> {
        self.file(request)?;
        self.check_room()?;
        lock_owner::Output { owner: self.objects.give(Kind::Owner(pid))?.into() }.now()
    }

    fn execute(&mut self, request: &mut Request<'_>) -> HandlerResult<execute::Output> {
        let file = self.file(request)?;
        file.check_read()?;
        self.check_room()?;
        self.tree.start_running(file.node)?;
        match self.objects.give(Kind::Running(file.node)) {
            Ok(hold) => {
                self.tree.opened(file.node);
                execute::Output { hold: hold.into() }.now()
            }
            Err(errno) => {
                self.tree.stop_running(file.node);
                Err(errno)
            }
        }
    }

    /// Refuses: what is in the layer stays there.
    fn hand_out(&mut self, request: &mut Request<'_>, _: &[u8]) -> HandlerResult<file::hand_out::Output> {
        self.file(request)?.check_read()?;
        Err(Errno::EPERM)
    }

    fn attribute(&mut self, request: &mut Request<'_>, offset: u64, size: u64, name: &[u8]) -> HandlerResult<file::attribute::Output> {
        let node = self.file(request)?.node;
        let value = self.tree.attribute(node, name)?;
        request.put(part(&value, offset, size));
        file::attribute::Output { size: value.len() as u64 }.now()
    }

    fn set_attribute(&mut self, request: &mut Request<'_>, flags: u64, name_size: u64, offset: u64, size: u64, named: &[u8]) -> HandlerResult<file::set_attribute::Output> {
        let (node, now) = (self.file(request)?.node, self.now());
        let (name, bytes) = usize::try_from(name_size).ok().and_then(|size| named.split_at_checked(size)).ok_or(Errno::EINVAL)?;
        if let Some(value) = self.values.add(request.word(), (name, bytes), offset, size)? {
            self.tree.set_attribute(node, name, Some(&value), flags, now)?;
        }
        file::set_attribute::Output::default().now()
    }

    fn attributes(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<file::attributes::Output> {
        let node = self.file(request)?.node;
        let names = self.tree.attributes(node)?;
        request.put(part(&names, offset, size));
        file::attributes::Output { size: names.len() as u64 }.now()
    }

    fn remove_attribute(&mut self, request: &mut Request<'_>, name: &[u8]) -> HandlerResult<file::remove_attribute::Output> {
        let (node, now) = (self.file(request)?.node, self.now());
        self.tree.set_attribute(node, name, None, 0, now)?;
        file::remove_attribute::Output::default().now()
    }
}

/// Events of a file, which is always ready.
const READY: u64 = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
