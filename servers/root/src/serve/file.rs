//! Protocol `file`: regular files, directories, devices and the console's streams.

use crate::debug_line::DebugLine;
use crate::chores::{AfterCut, Chore};
use crate::console::Access;
use crate::frames::FRAME;
use crate::locks::Holder;
use crate::memory;
use crate::messages::{MAX_ITEMS, is_tellable};
use crate::notices::event;
use crate::objects::Kind;
use crate::open_file::{FileOperations, CHANGEABLE, OpenFile};
use crate::root::Root;
use crate::table::Key;
use crate::tree::{NodeContent, Facts, Node, format, open};
use nacre_abi::message::MAX_BYTES;
use nacre_proto::file::{self, Server, allocate, execute, flags, hand_out, lock, lock_owned, lock_owner, map, poll, read, seals, seek, set_mode, set_owner};
use nacre_proto::file::{set_size, set_times, share, status, sync, watch, write};
use nacre_proto::flags::{F_SEAL_WRITE, KEEP_FLAGS, OWN_POSITION, SHARE_WRITE, POLLHUP, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM, SEEK_DATA, SEEK_HOLE};
use nacre_proto::server::Output;
use nacre_proto::structures::Status;
use nacre_proto::{Answer, Errno, HandlerResult, Request};
use nacre_sys::Reference;

/// Facts as they travel.
pub fn status_bytes(facts: &Facts) -> [u8; Status::SIZE] {
    let [accessed, modified, changed] = facts.times;
    Status {
        device: facts.file_system,
        inode: facts.inode,
        mode: facts.mode.into(),
        links: facts.links.into(),
        uid: facts.owner.0.into(),
        gid: facts.owner.1.into(),
        rdevice: facts.device,
        size: facts.size,
        block_size: FRAME,
        blocks: facts.blocks,
        atime_sec: accessed.seconds as u64,
        atime_nsec: accessed.nanoseconds.into(),
        mtime_sec: modified.seconds as u64,
        mtime_nsec: modified.nanoseconds.into(),
        ctime_sec: changed.seconds as u64,
        ctime_nsec: changed.nanoseconds.into(),
    }
    .to_bytes()
}

impl Root {
    fn file(&self, request: &Request<'_>) -> Result<OpenFile, Errno> {
        self.objects.file(request.word()).copied()
    }

    fn move_position(&mut self, request: &Request<'_>, position: u64) {
        if let Ok(file) = self.objects.file_mut(request.word()) {
            file.position = position;
        }
    }

    fn read_stream(&mut self, request: &mut Request<'_>, file: &OpenFile, size: usize) -> HandlerResult<read::Output> {
        if !self.console.is_readable() && size > 0 {
            if file.is_nonblocking() {
                return Err(Errno::EAGAIN);
            }
            let reply = request.detach()?;
            self.console.read_later(reply, self.objects.account(request.word()), size);
            return Ok(Answer::Later);
        }
        let bytes = self.console.read(size);
        request.put(&bytes);
        read::Output { count: bytes.len() as u64 }.now()
    }

    fn read_debugger(&mut self, request: &mut Request<'_>, file: &OpenFile, size: usize) -> HandlerResult<read::Output> {
        let line = self.debug_line.as_mut().ok_or(Errno::ENXIO)?;
        if file.is_nonblocking() && line.events() & POLLIN == 0 {
            return Err(Errno::EAGAIN);
        }
        line.read_later(request.detach()?, size);
        Ok(Answer::Later)
    }

    fn write_debugger(&mut self, request: &mut Request<'_>, data: &[u8]) -> HandlerResult<write::Output> {
        let line = self.debug_line.as_mut().ok_or(Errno::ENXIO)?;
        line.write(request.detach()?, data);
        Ok(Answer::Later)
    }

    fn read_content(&mut self, request: &mut Request<'_>, file: &OpenFile, offset: u64, size: u64) -> Result<u64, Errno> {
        let offset = if offset == OWN_POSITION { file.position } else { offset };
        self.files.tree.fill(file.node, offset, size, false)?;
        let (content, store) = self.files.tree.content(file.node)?;
        let count = size.min(content.size().saturating_sub(offset));
        let in_place = content.contiguous(offset, count).and_then(|start| memory::window(start, count)?.span(0, count));
        match in_place {
            Some(span) => request.put_span(span),
            None => drop(content.read(store, offset, request.buffer(count as usize))),
        }
        if count != 0 {
            self.files.tree.note(file.node, event::ACCESS);
        }
        Ok(count)
    }

    /// A read is noted if nothing was since the last change: as Linux does it (`relatime`).
    fn note_access(&mut self, file: &OpenFile) {
        let now = self.files.tree.get(file.node).filter(|node| node.accessed <= node.modified).map(|_| self.files.clock.now());
        if let (Some(now), Ok(node)) = (now, self.files.tree.node_mut(file.node)) {
            node.accessed = now;
        }
    }

    fn write_stream(&mut self, request: &mut Request<'_>, file: &OpenFile, data: &[u8]) -> HandlerResult<write::Output> {
        let (is_error, account) = (file.operations == FileOperations::Errors, self.objects.account(request.word()));
        if self.console.is_overfull(is_error, account) || file.is_nonblocking() && self.console.is_full(is_error) {
            return Err(Errno::EAGAIN);
        }
        let count = data.len() as u64;
        self.console.write(data, is_error);
        if !self.console.is_full(is_error) {
            return write::Output { count }.now();
        }
        let reply = request.detach()?;
        self.console.answer_later(reply, account, count, is_error);
        Ok(Answer::Later)
    }

    fn write_content(&mut self, request: &Request<'_>, file: &OpenFile, offset: u64, data: &[u8]) -> Result<u64, Errno> {
        if file.flags & open::APPEND != 0 {
            self.files.tree.look_again(file.node)?;
        }
        let size = self.files.tree.content(file.node)?.0.size();
        let at = match offset {
            _ if file.flags & open::APPEND != 0 => size,
            OWN_POSITION => file.position,
            offset => offset,
        };
        self.pay(request);
        let count = self.files.tree.write(file.node, at, data, self.files.clock.now())? as u64;
        if offset == OWN_POSITION {
            self.move_position(request, at + count);
        }
        Ok(count)
    }

    /// Returns the facts that `fstat` shows. A stream that is no terminal looks like the pipe that
    /// it is.
    fn facts(&mut self, file: &OpenFile) -> Result<Facts, Errno> {
        let mut facts = self.files.tree.facts(file.node)?;
        if file.is_stream() && self.console.input.terminal().is_none() {
            facts.mode = format::FIFO | 0o600;
            facts.device = 0;
        }
        Ok(facts)
    }

    /// Returns the events that are there.
    fn events(&mut self, file: &OpenFile) -> u64 {
        match file.operations {
            FileOperations::HostPort(port) => self.ports.events(port, file.flags & open::ACCESS),
            FileOperations::Debugger => self.debug_line.as_mut().map_or(POLLHUP, DebugLine::events),
            _ if file.is_stream() => self.console.events(access(file)),
            _ => POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM,
        }
    }
}

impl Server for Root {
    fn read(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<read::Output> {
        let file = self.file(request)?;
        file.check_read()?;
        let size = size.min(MAX_BYTES);
        let count = match file.operations {
            FileOperations::Console | FileOperations::Errors | FileOperations::HostPort(_) if offset != OWN_POSITION => return Err(Errno::ESPIPE),
            FileOperations::HostPort(port) => return self.read_port(request, (&file, port), size as usize),
            FileOperations::Console | FileOperations::Errors => return self.read_stream(request, &file, size as usize),
            FileOperations::Debugger => return self.read_debugger(request, &file, size as usize),
            FileOperations::Neither => return Err(Errno::EINVAL),
            FileOperations::Null => 0,
            FileOperations::Zero | FileOperations::Full => request.buffer(size as usize).len() as u64,
            FileOperations::Random => {
                self.random.fill(request.buffer(size as usize));
                size
            }
            FileOperations::Plain => self.read_content(request, &file, offset, size)?,
        };
        if offset == OWN_POSITION && file.operations == FileOperations::Plain && count > 0 {
            self.move_position(request, file.position + count);
        }
        self.note_access(&file);
        read::Output { count }.now()
    }

    fn write(&mut self, request: &mut Request<'_>, offset: u64, data: &[u8]) -> HandlerResult<write::Output> {
        let file = self.file(request)?;
        file.check_write()?;
        let count = match file.operations {
            FileOperations::Console | FileOperations::Errors | FileOperations::HostPort(_) if offset != OWN_POSITION => return Err(Errno::ESPIPE),
            FileOperations::HostPort(port) => return self.write_port(request, (&file, port), data),
            FileOperations::Console | FileOperations::Errors => return self.write_stream(request, &file, data),
            FileOperations::Debugger => return self.write_debugger(request, data),
            FileOperations::Neither => return Err(Errno::EINVAL),
            FileOperations::Full => return Err(Errno::ENOSPC),
            FileOperations::Null | FileOperations::Zero | FileOperations::Random => data.len() as u64,
            FileOperations::Plain => self.write_content(request, &file, offset, data)?,
        };
        write::Output { count }.now()
    }

    fn status(&mut self, request: &mut Request<'_>) -> HandlerResult<status::Output> {
        let file = self.file(request)?;
        // Who has gone tells nothing, and the rest is known.
        let _ = self.files.tree.look_at_blocks(file.node);
        let facts = self.facts(&file)?;
        request.put(&status_bytes(&facts));
        status::Output::default().now()
    }

    fn set_size(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<set_size::Output> {
        let file = self.file(request)?;
        file.check_open()?;
        file.check_write().map_err(|_| Errno::EINVAL)?;
        self.pay(request);
        if self.files.tree.cut(file.node, size, self.files.clock.now())? {
            return set_size::Output::default().now();
        }
        self.wait_for(request, |reply| Chore::Cut(file.node, size, AfterCut::Answer, reply))?;
        self.files.tree.opened(file.node);
        Ok(Answer::Later)
    }

    fn set_mode(&mut self, request: &mut Request<'_>, mode: u64) -> HandlerResult<set_mode::Output> {
        let node = self.file(request)?.node;
        self.files.tree.set_mode(node, mode, self.files.clock.now())?;
        set_mode::Output::default().now()
    }

    fn set_owner(&mut self, request: &mut Request<'_>, uid: u64, gid: u64) -> HandlerResult<set_owner::Output> {
        let node = self.file(request)?.node;
        self.files.tree.set_owner(node, uid, gid, self.files.clock.now())?;
        set_owner::Output::default().now()
    }

    fn set_times(&mut self, request: &mut Request<'_>, atime_sec: u64, atime_nsec: u64, mtime_sec: u64, mtime_nsec: u64) -> HandlerResult<set_times::Output> {
        let node = self.file(request)?.node;
        self.files.tree.set_times(node, [(atime_sec, atime_nsec), (mtime_sec, mtime_nsec)], self.files.clock.now())?;
        set_times::Output::default().now()
    }

    fn map(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<map::Output> {
        let file = self.file(request)?;
        file.check_read()?;
        if !offset.is_multiple_of(FRAME) {
            return Err(Errno::EINVAL);
        }
        self.files.tree.fill(file.node, offset, size, true)?;
        let content = self.files.tree.content(file.node).map_err(|_| Errno::ENODEV)?.0;
        let size = size.min(content.size().saturating_sub(offset));
        let start = content.contiguous(offset, size).ok_or(Errno::ENODEV)?;
        let is_part = size != content.size();
        self.pay(request);
        let store = self.files.tree.store_mut();
        if is_part && !store.has_room_for_parts() {
            return Err(Errno::ENODEV);
        }
        let region = store.region_reference(start, size)?;
        self.files.tree.keep_content(file.node);
        self.note_access(&file);
        map::Output { size, region: region.into() }.now()
    }

    fn poll(&mut self, request: &mut Request<'_>, events: u64) -> HandlerResult<poll::Output> {
        let file = self.file(request)?;
        poll::Output { events: self.events(&file) & (events | POLLHUP) }.now()
    }

    fn watch(&mut self, request: &mut Request<'_>, events: u64, bits: u64, _: Reference) -> HandlerResult<watch::Output> {
        let file = self.file(request)?;
        let ready = self.events(&file) & (events | POLLHUP);
        if ready == 0 && file.is_stream() {
            let port = request.keep(0)?;
            self.console.watch(events, bits, port, (access(&file), self.objects.account(request.word())));
        }
        if ready == 0 && file.operations == FileOperations::Debugger {
            let port = request.keep(0)?;
            self.debug_line.as_mut().ok_or(Errno::ENXIO)?.watch(events, bits, port);
        }
        if let (0, Some(port)) = (ready, file.host_port()) {
            self.watch_port(request, (&file, port), events, bits)?;
        }
        watch::Output { events: ready }.now()
    }

    fn seek(&mut self, request: &mut Request<'_>, offset: u64, whence: u64) -> HandlerResult<seek::Output> {
        let file = self.file(request)?;
        file.check_open()?;
        if file.is_stream() || file.host_port().is_some() {
            return Err(Errno::ESPIPE);
        }
        let node = self.files.tree.node(file.node)?;
        let position = match whence {
            // Devices have no positions, and say so without an error.
            _ if file.operations != FileOperations::Plain => 0,
            SEEK_DATA | SEEK_HOLE => self.files.tree.seek(file.node, offset, whence == SEEK_DATA)?,
            _ => file.seek(offset, whence, plain_size(node))?,
        };
        self.move_position(request, position);
        seek::Output { position }.now()
    }

    fn sync(&mut self, request: &mut Request<'_>) -> HandlerResult<sync::Output> {
        let file = self.file(request)?;
        file.check_open()?;
        self.files.tree.sync(file.node)?;
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

    fn share(&mut self, request: &mut Request<'_>, size: u64, access: u64) -> HandlerResult<share::Output> {
        let file = self.file(request)?;
        file.check_read().map_err(|_| Errno::EACCES)?;
        if access & SHARE_WRITE != 0 {
            file.check_write().map_err(|_| Errno::EACCES)?;
        }
        let (size, region, hold) = Root::share(self, self.objects.account(request.word()), &file, size, access)?;
        self.note_access(&file);
        share::Output { size, region: region.into(), hold: hold.into() }.now()
    }

    fn seals(&mut self, request: &mut Request<'_>, add: u64) -> HandlerResult<seals::Output> {
        let file = self.file(request)?;
        if add != 0 {
            file.check_write().map_err(|_| Errno::EPERM)?;
        }
        let is_written = add & F_SEAL_WRITE != 0 && self.is_written(file.node);
        seals::Output { seals: self.files.tree.seal(file.node, add, is_written)? }.now()
    }

    fn allocate(&mut self, request: &mut Request<'_>, flags: u64, offset: u64, size: u64) -> HandlerResult<allocate::Output> {
        let file = self.file(request)?;
        file.check_write()?;
        self.pay(request);
        let Some(next) = self.allocate_part(file.node, flags, offset, size)? else {
            return allocate::Output::default().now();
        };
        self.wait_for(request, |reply| Chore::Allocate(file.node, flags, next..offset + size, reply))?;
        self.files.tree.opened(file.node);
        Ok(Answer::Later)
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
        lock_owner::Output { owner: self.objects.give(Kind::Owner(pid), self.objects.account(request.word()))?.into() }.now()
    }

    fn execute(&mut self, request: &mut Request<'_>) -> HandlerResult<execute::Output> {
        let file = self.file(request)?;
        file.check_read()?;
        self.files.tree.start_running(file.node)?;
        let given = self.objects.give(Kind::Running(file.node), self.objects.account(request.word()));
        match given {
            Ok(_) => self.files.tree.opened(file.node),
            Err(_) => self.files.tree.stop_running(file.node),
        }
        execute::Output { hold: given?.into() }.now()
    }

    fn hand_out(&mut self, request: &mut Request<'_>, name: &[u8]) -> HandlerResult<hand_out::Output> {
        let file = self.file(request)?;
        file.check_read()?;
        self.files.tree.fill(file.node, 0, u64::MAX, false)?;
        // It goes out in parts, and is not read again meanwhile.
        self.files.tree.keep_content(file.node);
        let size = self.files.tree.content(file.node).map_err(|_| Errno::EINVAL)?.0.size();
        let node = file.node;
        if self.outgoing().items.len() >= MAX_ITEMS {
            return Err(Errno::EAGAIN);
        }
        match self.ticket(name) {
            Some(command) => self.outgoing().answer_file(command, node, size),
            None => {
                // Under another name it would be taken for what somebody else hands out.
                let path = self.files.tree.own_path(node, name)?;
                if !is_tellable(&path) {
                    return Err(Errno::EINVAL);
                }
                self.outgoing().file(&path, node, size);
            }
        }
        self.files.tree.opened(node);
        hand_out::Output::default().now()
    }

    fn attribute(&mut self, request: &mut Request<'_>, offset: u64, size: u64, name: &[u8]) -> HandlerResult<file::attribute::Output> {
        let node = self.file(request)?.node;
        let value = self.files.tree.attribute(node, name)?;
        request.put(part(&value, offset, size));
        file::attribute::Output { size: value.len() as u64 }.now()
    }

    fn set_attribute(&mut self, request: &mut Request<'_>, flags: u64, name_size: u64, offset: u64, size: u64, named: &[u8]) -> HandlerResult<file::set_attribute::Output> {
        let node = self.file(request)?.node;
        let (name, bytes) = usize::try_from(name_size).ok().and_then(|size| named.split_at_checked(size)).ok_or(Errno::EINVAL)?;
        if let Some(value) = self.files.values.add(request.word(), (name, bytes), offset, size)? {
            self.pay(request);
            self.files.tree.set_attribute(node, name, Some(&value), flags, self.files.clock.now())?;
        }
        file::set_attribute::Output::default().now()
    }

    fn attributes(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<file::attributes::Output> {
        let node = self.file(request)?.node;
        let names = self.files.tree.attributes(node)?;
        request.put(part(&names, offset, size));
        file::attributes::Output { size: names.len() as u64 }.now()
    }

    fn remove_attribute(&mut self, request: &mut Request<'_>, name: &[u8]) -> HandlerResult<file::remove_attribute::Output> {
        let node = self.file(request)?.node;
        self.files.tree.set_attribute(node, name, None, 0, self.files.clock.now())?;
        file::remove_attribute::Output::default().now()
    }
}

/// Returns at most `size` bytes from `offset` on, or as many as a message has.
pub fn part(bytes: &[u8], offset: u64, size: u64) -> &[u8] {
    let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
    &rest[..rest.len().min(size.min(MAX_BYTES) as usize)]
}

/// Returns the access of a stream.
fn access(file: &OpenFile) -> Access {
    Access { mode: file.flags & open::ACCESS, is_error: file.operations == FileOperations::Errors }
}

/// Returns the position that `SEEK_END` counts from.
fn plain_size(node: &Node) -> u64 {
    match &node.body {
        NodeContent::File(content) => content.size(),
        _ => 0,
    }
}
