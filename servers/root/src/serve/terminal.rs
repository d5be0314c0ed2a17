//! Protocol `terminal`.

use crate::open_file::FileOperations;
use crate::root::Root;
use crate::table::Key;
use crate::terminal::{Attributes, Terminal};
use nacre_proto::flags::{TCSADRAIN, TCSAFLUSH, TCSANOW};
use nacre_proto::server::Output;
use nacre_proto::terminal::{Server, attend, flow, flush, get_attributes, packets, set_attributes, set_window, type_byte, waiting, window};
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::Reference;

impl Root {
    fn terminal(&mut self, request: &Request<'_>) -> Result<&mut Terminal, Errno> {
        let file = self.objects.file(request.word())?;
        if !file.is_stream() {
            return Err(Errno::ENOTTY);
        }
        let is_error = file.operations == FileOperations::Errors;
        self.console.terminal(is_error).ok_or(Errno::ENOTTY)
    }
}

impl Server for Root {
    fn get_attributes(&mut self, request: &mut Request<'_>) -> HandlerResult<get_attributes::Output> {
        let bytes = self.terminal(request)?.attributes.to_bytes();
        request.put(&bytes);
        get_attributes::Output::default().now()
    }

    /// Output is never held back, so it is out as far as a program can tell.
    fn set_attributes(&mut self, request: &mut Request<'_>, when: u64, attributes: &[u8]) -> HandlerResult<set_attributes::Output> {
        let terminal = self.terminal(request)?;
        if ![TCSANOW, TCSADRAIN, TCSAFLUSH].contains(&when) {
            return Err(Errno::EINVAL);
        }
        let bytes = attributes.try_into().map_err(|_| Errno::EINVAL)?;
        terminal.set_attributes(Attributes::from_bytes(bytes), when == TCSAFLUSH);
        set_attributes::Output::default().now()
    }

    fn window(&mut self, request: &mut Request<'_>) -> HandlerResult<window::Output> {
        let (rows, columns) = self.terminal(request)?.window;
        window::Output { rows: rows.into(), columns: columns.into() }.now()
    }

    fn set_window(&mut self, request: &mut Request<'_>, rows: u64, columns: u64) -> HandlerResult<set_window::Output> {
        self.terminal(request)?;
        let number = |value: u64| u16::try_from(value).map_err(|_| Errno::EINVAL);
        let events = self.console.resize(number(rows)?, number(columns)?);
        self.terminal_events(events);
        set_window::Output::default().now()
    }

    fn attend(&mut self, request: &mut Request<'_>, events: u64, _: Reference) -> HandlerResult<attend::Output> {
        self.terminal(request)?;
        let port = request.keep(0)?;
        self.console.attend(events, port);
        attend::Output::default().now()
    }

    /// A pipe and a watcher of files can be asked too.
    fn waiting(&mut self, request: &mut Request<'_>) -> HandlerResult<waiting::Output> {
        if let Ok(watcher) = self.as_watcher(Key::from_word(request.word())) {
            return waiting::Output { count: self.notices.waiting(watcher) as u64 }.now();
        }
        if !self.objects.file(request.word())?.is_stream() {
            return Err(Errno::ENOTTY);
        }
        waiting::Output { count: self.console.input.waiting() as u64 }.now()
    }

    /// Output is never held back.
    fn flush(&mut self, request: &mut Request<'_>, which: u64) -> HandlerResult<flush::Output> {
        let terminal = self.terminal(request)?;
        match which {
            0 | 2 => terminal.flush_input(),
            1 => {}
            _ => return Err(Errno::EINVAL),
        }
        flush::Output::default().now()
    }

    fn flow(&mut self, request: &mut Request<'_>, action: u64) -> HandlerResult<flow::Output> {
        self.terminal(request)?;
        if action > 3 { Err(Errno::EINVAL) } else { flow::Output::default().now() }
    }

    fn packets(&mut self, _: &mut Request<'_>, _: u64) -> HandlerResult<packets::Output> {
        Err(Errno::ENOTTY)
    }

    fn type_byte(&mut self, request: &mut Request<'_>, byte: u64) -> HandlerResult<type_byte::Output> {
        self.terminal(request)?;
        let events = self.console.type_byte(byte as u8);
        self.terminal_events(events);
        type_byte::Output::default().now()
    }
}
