//! Files of ports to the host.

use crate::accounts::cost;
use crate::open_file::OpenFile;
use crate::root::Root;
use crate::table::Key;
use crate::tree::{format, open};
use alloc::string::String;
use nacre_proto::file::{read, write};
use nacre_proto::server::Output;
use nacre_proto::{Answer, Errno, HandlerResult, Request};

/// Directory of the ports.
const DIRECTORY: &[u8] = b"/dev/host";
/// Permissions of a port's node.
const MODE: u32 = 0o600;

impl Root {
    /// Gives ports that the device has named since the last call their nodes.
    pub fn add_host_ports(&mut self) {
        let (root, now) = (self.files.tree.root(), self.files.clock.now());
        for (number, name) in self.ports.take_new() {
            let _ = self.files.tree.make_directory(root, DIRECTORY, 0o755, now);
            let device = crate::open_file::host_port_device(number);
            // Two ports of one name: the first has it.
            let _ = self.files.tree.make_own_device(root, &[DIRECTORY, b"/", &name].concat(), format::CHARACTER | MODE, device, now);
        }
        if let Some(fault) = self.ports.take_fault() {
            self.console.messages.line(alloc::format!("root: ports to the host are not used: {}", fault.0).as_bytes());
        }
    }

    /// Hands the files out that the host wants when the program has ended.
    pub fn bring_out(&mut self) {
        for (path, found) in self.outputs.take(&mut self.files.tree) {
            if let Err(errno) = found.and_then(|node| self.bring_out_file(&path, node)) {
                let text = alloc::format!("root: cannot bring out {}: {errno}", String::from_utf8_lossy(&path));
                self.console.messages.line(text.as_bytes());
            }
        }
    }

    fn bring_out_file(&mut self, path: &[u8], node: Key) -> Result<(), Errno> {
        let tree = &mut self.files.tree;
        tree.fill(node, 0, u64::MAX, false)?;
        if tree.node(node)?.is_directory() {
            return Err(Errno::EISDIR);
        }
        let size = tree.content(node)?.0.size();
        tree.opened(node);
        self.ports.outgoing().unwrap_or(&mut self.console.messages).file(path, node, size);
        Ok(())
    }

    pub(super) fn read_port(&mut self, request: &mut Request<'_>, (file, port): (&OpenFile, u8), size: usize) -> HandlerResult<read::Output> {
        if let Some(bytes) = self.ports.read(port, size)? {
            request.put(&bytes);
            return read::Output { count: bytes.len() as u64 }.now();
        }
        let key = self.may_wait(request, (file, port), 0)?;
        self.ports.read_later(port, request.detach()?, key, size);
        Ok(Answer::Later)
    }

    pub(super) fn write_port(&mut self, request: &mut Request<'_>, (file, port): (&OpenFile, u8), data: &[u8]) -> HandlerResult<write::Output> {
        let room = self.ports.room(port);
        let data = if file.is_nonblocking() && room > 0 { &data[..data.len().min(room)] } else { data };
        if let Some(count) = self.ports.write(port, data)? {
            return write::Output { count: count as u64 }.now();
        }
        let key = self.may_wait(request, (file, port), data.len() as u64)?;
        self.ports.write_later(port, request.detach()?, key, data);
        Ok(Answer::Later)
    }

    /// Charges a request that waits with so many bytes to the account of its open file.
    fn may_wait(&mut self, request: &Request<'_>, (file, port): (&OpenFile, u8), bytes: u64) -> Result<Key, Errno> {
        if file.is_nonblocking() {
            return Err(Errno::EAGAIN);
        }
        let key = Key::from_word(request.word());
        self.ports.check_waiting(port)?;
        self.objects.charge(key, cost::WAIT + bytes)?;
        Ok(key)
    }

    pub(super) fn watch_port(&mut self, request: &mut Request<'_>, (file, port): (&OpenFile, u8), events: u64, bits: u64) -> Result<(), Errno> {
        let (key, to) = (Key::from_word(request.word()), request.keep(0)?);
        self.objects.charge(key, cost::WAIT)?;
        if let Some(oldest) = self.ports.watch(port, events, bits, to, file.flags & open::ACCESS, key) {
            self.objects.refund(oldest, cost::WAIT);
        }
        Ok(())
    }
}
