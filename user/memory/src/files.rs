//! Protocol `file` at attachments: a dataspace as an open file, with a position of its own, for
//! programs that know memory by files alone.

use crate::keeper::Keeper;
use crate::words::{READ, key};
use nacre_abi::PAGE_SIZE;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::file::{Server, flags, poll, read, seek, set_size, share, status, sync, watch, write};
use nacre_proto::flags::{KEEP_FLAGS, OWN_POSITION, SEEK_CUR, SEEK_DATA, SEEK_END, SEEK_HOLE, SEEK_SET, SHARE_WRITE};
use nacre_proto::server::Output;
use nacre_proto::structures::Status;
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::Reference;

/// Number of the device that dataspaces are on, as files.
const DEVICE: u64 = 12;
/// A regular file that whoever has the pool may read and write.
const MODE: u64 = 0o100_666;
/// Flags of an open file that can change.
const CHANGEABLE: u64 = O_APPEND | O_NONBLOCK;
const O_APPEND: u64 = 0o2000;
const O_NONBLOCK: u64 = 0o4000;

impl Keeper {
    /// The attachment that a request is for: its key, and the dataspace's.
    fn open_file(&self, request: &Request<'_>) -> Result<(u64, u64), Errno> {
        let key = key(request.word());
        Ok((key, self.attachments.get(key).ok_or(Errno::ENOSYS)?.dataspace))
    }

    fn length(&mut self, dataspace: u64) -> Result<u64, Errno> {
        if self.files.is_file(dataspace) {
            return Ok(self.file_status(dataspace)?.size);
        }
        Ok(self.dataspaces.get(&dataspace).ok_or(Errno::EIO)?.length)
    }

    fn position(&self, attachment: u64, offset: u64, end: u64) -> u64 {
        match self.attachments.get(attachment) {
            Some(open) if offset == OWN_POSITION && open.flags & O_APPEND != 0 => end,
            Some(open) if offset == OWN_POSITION => open.position,
            _ => offset,
        }
    }

    fn set_position(&mut self, attachment: u64, position: u64) {
        if let Some(open) = self.attachments.get_mut(attachment) {
            open.position = position;
        }
    }

    /// Makes the file so long. What is cut off, and what is added, is zeros.
    fn set_length(&mut self, attachment: u64, dataspace: u64, length: u64) -> Result<(), Errno> {
        let (now, old) = (self.capacity_of(dataspace)?, self.length(dataspace)?);
        let pages = length.div_ceil(PAGE_SIZE).max(1);
        if pages * PAGE_SIZE != now && !self.attachments.get(attachment).is_some_and(|open| open.owns) {
            return Err(Errno::EPERM);
        }
        if length < old {
            self.clear_tail(dataspace, length, old)?;
        }
        self.set_pages(dataspace, pages)?;
        self.dataspaces.get_mut(&dataspace).ok_or(Errno::EIO)?.length = length;
        self.note_change(dataspace);
        Ok(())
    }

    /// Makes bytes behind the end zeros, as far as their page stays.
    fn clear_tail(&mut self, dataspace: u64, from: u64, to: u64) -> Result<(), Errno> {
        let space = self.dataspaces.get(&dataspace).ok_or(Errno::EIO)?.space;
        let end = from.next_multiple_of(PAGE_SIZE).min(to);
        let zeros = [0; PAGE_SIZE as usize];
        self.spaces.write(space, from, &zeros[..(end - from) as usize]).map_err(crate::keeper::errno)
    }
}

impl Server for Keeper {
    fn read(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<read::Output> {
        let (attachment, dataspace) = self.open_file(request)?;
        let length = self.length(dataspace)?;
        let start = match offset {
            OWN_POSITION => self.attachments.get(attachment).map_or(0, |open| open.position),
            offset => offset,
        };
        let count = length.saturating_sub(start).min(size).min(MAX_BYTES);
        let into = request.buffer(count as usize);
        let count = if self.files.is_file(dataspace) {
            let count = self.read_file(dataspace, start, into)?;
            request.truncate(count as usize);
            count
        } else {
            let space = self.dataspaces.get(&dataspace).ok_or(Errno::EIO)?.space;
            self.spaces.read(space, start, into).map_err(crate::keeper::errno)?;
            count
        };
        if offset == OWN_POSITION {
            self.set_position(attachment, start + count);
        }
        read::Output { count }.now()
    }

    fn write(&mut self, request: &mut Request<'_>, offset: u64, data: &[u8]) -> HandlerResult<write::Output> {
        let (attachment, dataspace) = self.open_file(request)?;
        if request.word() & READ != 0 {
            return Err(Errno::EBADF);
        }
        let length = self.length(dataspace)?;
        let start = self.position(attachment, offset, length);
        let end = start.checked_add(data.len() as u64).filter(|end| *end <= i64::MAX as u64).ok_or(Errno::EFBIG)?;
        if self.files.is_file(dataspace) {
            let count = self.write_file(dataspace, start, data)?;
            if offset == OWN_POSITION {
                self.set_position(attachment, start + count);
            }
            return write::Output { count }.now();
        }
        if end > length {
            self.set_length(attachment, dataspace, end).map_err(|_| Errno::ENOSPC)?;
        }
        let space = self.dataspaces.get(&dataspace).ok_or(Errno::EIO)?.space;
        self.spaces.write(space, start, data).map_err(crate::keeper::errno)?;
        self.note_change(dataspace);
        if offset == OWN_POSITION {
            self.set_position(attachment, end);
        }
        write::Output { count: data.len() as u64 }.now()
    }

    fn status(&mut self, request: &mut Request<'_>) -> HandlerResult<status::Output> {
        let (_, dataspace) = self.open_file(request)?;
        if self.files.is_file(dataspace) {
            request.put(&self.file_status(dataspace)?.to_bytes());
            return status::Output::default().now();
        }
        let (size, blocks) = (self.length(dataspace)?, self.capacity_of(dataspace)? / 512);
        let status = Status { device: DEVICE, inode: dataspace, mode: MODE, links: 1, size, block_size: PAGE_SIZE, blocks, ..Status::default() };
        request.put(&status.to_bytes());
        status::Output::default().now()
    }

    fn set_size(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<set_size::Output> {
        let (attachment, dataspace) = self.open_file(request)?;
        if request.word() & READ != 0 || size > i64::MAX as u64 {
            return Err(Errno::EINVAL);
        }
        if self.files.is_file(dataspace) {
            self.cut_file(dataspace, size)?;
            return set_size::Output::default().now();
        }
        self.set_length(attachment, dataspace, size)?;
        set_size::Output::default().now()
    }

    fn seek(&mut self, request: &mut Request<'_>, offset: u64, whence: u64) -> HandlerResult<seek::Output> {
        let (attachment, dataspace) = self.open_file(request)?;
        let length = self.length(dataspace)?;
        let base = match whence {
            SEEK_SET => 0,
            SEEK_CUR => self.attachments.get(attachment).map_or(0, |open| open.position),
            SEEK_END => length,
            SEEK_DATA | SEEK_HOLE if offset >= length => return Err(Errno::ENXIO),
            SEEK_DATA => 0,
            SEEK_HOLE => length - offset,
            _ => return Err(Errno::EINVAL),
        };
        let position = base.checked_add_signed(offset as i64).filter(|position| *position <= i64::MAX as u64).ok_or(Errno::EINVAL)?;
        self.set_position(attachment, position);
        seek::Output { position }.now()
    }

    fn flags(&mut self, request: &mut Request<'_>, new: u64) -> HandlerResult<flags::Output> {
        let (attachment, _) = self.open_file(request)?;
        let open = self.attachments.get_mut(attachment).ok_or(Errno::EIO)?;
        let old = open.flags;
        if new != KEEP_FLAGS {
            open.flags = new & CHANGEABLE;
        }
        flags::Output { old }.now()
    }

    fn poll(&mut self, request: &mut Request<'_>, events: u64) -> HandlerResult<poll::Output> {
        self.open_file(request)?;
        poll::Output { events }.now()
    }

    fn watch(&mut self, request: &mut Request<'_>, events: u64, _: u64, _: Reference) -> HandlerResult<watch::Output> {
        self.open_file(request)?;
        watch::Output { events }.now()
    }

    fn share(&mut self, request: &mut Request<'_>, size: u64, access: u64) -> HandlerResult<share::Output> {
        let (attachment, dataspace) = self.open_file(request)?;
        let reads = request.word() & READ != 0;
        if access & !SHARE_WRITE != 0 {
            return Err(Errno::EINVAL);
        }
        if reads && access & SHARE_WRITE != 0 {
            return Err(Errno::EACCES);
        }
        let owns = self.attachments.get(attachment).is_some_and(|open| open.owns);
        let has = self.capacity_of(dataspace)?;
        // Behind its own pages a region would show what others have there.
        if size > has {
            return Err(Errno::ENXIO);
        }
        let (region, hold) = self.add_attachment(dataspace, access & SHARE_WRITE == 0, owns)?;
        share::Output { size: has, region: region.into(), hold: hold.into() }.now()
    }

    fn sync(&mut self, request: &mut Request<'_>) -> HandlerResult<sync::Output> {
        let key = key(request.word());
        if !self.pools.has(key) && !self.dataspaces.contains_key(&key) && self.attachments.get(key).is_none() {
            return Err(Errno::ENOSYS);
        }
        if let Some(file) = self.file_of(key) {
            self.sync_file(file)?;
            return sync::Output::default().now();
        }
        self.write_back_all()?;
        self.commit()?;
        sync::Output::default().now()
    }
}
