//! Protocol `file`, at the streams of a process that a person has started: pipes whose other side
//! is the person. No request is waited for.

use crate::exec::process::Exec;
use crate::exec::requests::{Reader, Watcher, Writer, is_gone};
use crate::exec::words::{INPUT, OUTPUT, STREAM, number, place};
use crate::manager::Manager;
use nacre_abi::message::MAX_BYTES;
use nacre_control::exec;
use nacre_proto::file::{Server, flags, poll, read, seek, status, sync, watch, write};
use nacre_proto::flags::{FILE_NONBLOCK, KEEP_FLAGS, OWN_POSITION, S_IFIFO};
use nacre_proto::server::Output;
use nacre_proto::structures::Status;
use nacre_proto::{Answer, Errno, HandlerResult, Request};
use nacre_sys::{Reference, ipc};

/// Maximum number of requests of one kind that wait.
const MAX_WAITING: usize = 64;
/// Number of the device that these pipes are on.
const DEVICE: u64 = 13;

impl Manager {
    /// The process whose stream a request came to, and which stream.
    fn stream(&mut self, request: &Request<'_>) -> Result<(&mut Exec, usize), Errno> {
        let exec = self.execs.all.get_mut(&number(request.word())).ok_or(Errno::EPIPE)?;
        Ok((exec, place(request.word())))
    }
}

impl Server for Manager {
    fn read(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<read::Output> {
        let (exec, place) = self.stream(request)?;
        let size = size.min(MAX_BYTES) as usize;
        match place {
            INPUT if offset == OWN_POSITION => {}
            INPUT => return Err(Errno::ESPIPE),
            _ => return Err(Errno::EBADF),
        }
        exec.readers.retain(|reader| !is_gone(&reader.reply));
        if size == 0 || exec.input.is_readable() && exec.readers.is_empty() {
            let bytes = exec.input.look(size);
            let count = bytes.len();
            request.put(bytes);
            exec.input.consume(count);
            return read::Output { count: count as u64 }.now();
        }
        if exec.is_nonblocking(place) || exec.readers.len() >= MAX_WAITING {
            return Err(Errno::EAGAIN);
        }
        exec.readers.push_back(Reader { reply: request.detach()?, size });
        Ok(Answer::Later)
    }

    fn write(&mut self, request: &mut Request<'_>, offset: u64, data: &[u8]) -> HandlerResult<write::Output> {
        let (exec, place) = self.stream(request)?;
        match place {
            INPUT => return Err(Errno::EBADF),
            _ if offset != OWN_POSITION => return Err(Errno::ESPIPE),
            _ => {}
        }
        let kind = if place == OUTPUT { exec::OUTPUT } else { exec::ERRORS };
        exec.writers.retain(|writer| !is_gone(&writer.reply));
        if exec.output.has_room(data.len()) && exec.writers.is_empty() {
            exec.output.push(kind, data);
            return write::Output { count: data.len() as u64 }.now();
        }
        if exec.is_nonblocking(place) || exec.writers.len() >= MAX_WAITING {
            return Err(Errno::EAGAIN);
        }
        exec.writers.push_back(Writer { reply: request.detach()?, kind, data: data.to_vec() });
        Ok(Answer::Later)
    }

    fn status(&mut self, request: &mut Request<'_>) -> HandlerResult<status::Output> {
        let inode = request.word() & !STREAM;
        let status = Status { device: DEVICE, inode, mode: S_IFIFO | 0o600, links: 1, block_size: 4096, ..Status::default() };
        request.put(&status.to_bytes());
        status::Output::default().now()
    }

    fn poll(&mut self, request: &mut Request<'_>, events: u64) -> HandlerResult<poll::Output> {
        let (exec, place) = self.stream(request)?;
        poll::Output { events: exec.events(place) & events }.now()
    }

    fn watch(&mut self, request: &mut Request<'_>, events: u64, bits: u64, _: Reference) -> HandlerResult<watch::Output> {
        let port = request.keep(0)?;
        let (exec, place) = self.stream(request)?;
        let present = exec.events(place) & events;
        if present == 0 {
            exec.watchers.retain(|watcher| !is_gone(&watcher.port));
            if exec.watchers.len() >= MAX_WAITING {
                let oldest = exec.watchers.remove(0);
                let _ = ipc::notify(oldest.port.handle(), oldest.bits);
            }
            exec.watchers.push(Watcher { place, events, bits, port });
        }
        watch::Output { events: present }.now()
    }

    fn seek(&mut self, _: &mut Request<'_>, _: u64, _: u64) -> HandlerResult<seek::Output> {
        Err(Errno::ESPIPE)
    }

    fn sync(&mut self, _: &mut Request<'_>) -> HandlerResult<sync::Output> {
        Err(Errno::EINVAL)
    }

    fn flags(&mut self, request: &mut Request<'_>, new: u64) -> HandlerResult<flags::Output> {
        let (exec, place) = self.stream(request)?;
        let flags = exec.flags.get_mut(place).ok_or(Errno::EBADF)?;
        let old = *flags;
        if new != KEEP_FLAGS {
            *flags = new & FILE_NONBLOCK;
        }
        flags::Output { old }.now()
    }
}
