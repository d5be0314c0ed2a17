//! Protocol `terminal` at the ends of pseudo-terminals, and who is told of their keys.

use super::Service;
use crate::hub::file_attributes::FileAttributes;
use nacre_proto::channel::terminal_as_file;
use nacre_proto::flags::{TCSADRAIN, TCSAFLUSH, TCSANOW, TERMINAL_ATTENTION, TERMINAL_HANGUP};
use nacre_proto::server::Output;
use nacre_proto::structures::Status;
use nacre_proto::terminal::{Server, attend, flow, flush, get_attributes, packets, set_attributes, set_window, type_byte, waiting, window};
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::{Reference, ipc};
use nacre_terminal::Attributes;

impl Service {
    /// Returns the file attributes of the terminal with this number, for those who ask the service.
    pub(super) fn numbered(&mut self, request: &Request<'_>, number: u64) -> Result<&mut FileAttributes, Errno> {
        self.check_service(request)?;
        self.hub.terminal_looks(number)
    }

    /// The status of an end of a terminal.
    pub(super) fn status_of_terminal(&mut self, end: u64) -> Option<Status> {
        let facts = self.hub.terminal_facts(end).ok()?;
        let slave = self.hub.slave_looks(end).map(|(number, looks)| looks.status(number));
        Some(slave.unwrap_or_else(|_| terminal_as_file(facts.number, facts.is_slave)))
    }

    /// Tells of keys and changes. The last one to ask is told; without anybody they have no effect.
    pub(super) fn tell_attendants(&mut self) {
        for (terminal, events) in self.hub.terminal_told() {
            if let Some((wanted, port)) = self.attendants.get(&terminal) {
                // One that has gone need not hear of it.
                let _ = ipc::notify(port.handle(), events & wanted);
            }
            if events & TERMINAL_HANGUP != 0 {
                self.attendants.remove(&terminal);
            }
        }
    }
}

impl Server for Service {
    fn get_attributes(&mut self, request: &mut Request<'_>) -> HandlerResult<get_attributes::Output> {
        let bytes = self.hub.attributes(request.word())?.to_bytes();
        request.put(&bytes);
        get_attributes::Output::default().now()
    }

    fn set_attributes(&mut self, request: &mut Request<'_>, when: u64, attributes: &[u8]) -> HandlerResult<set_attributes::Output> {
        self.hub.attributes(request.word())?;
        if ![TCSANOW, TCSADRAIN, TCSAFLUSH].contains(&when) {
            return Err(Errno::EINVAL);
        }
        let bytes = attributes.try_into().map_err(|_| Errno::EINVAL)?;
        self.hub.set_attributes(request.word(), when, Attributes::from_bytes(bytes))?;
        set_attributes::Output::default().now()
    }

    fn window(&mut self, request: &mut Request<'_>) -> HandlerResult<window::Output> {
        let (rows, columns) = self.hub.window(request.word())?;
        window::Output { rows: rows.into(), columns: columns.into() }.now()
    }

    fn set_window(&mut self, request: &mut Request<'_>, rows: u64, columns: u64) -> HandlerResult<set_window::Output> {
        let number = |value: u64| u16::try_from(value).map_err(|_| Errno::EINVAL);
        self.hub.set_window(request.word(), (number(rows)?, number(columns)?))?;
        set_window::Output::default().now()
    }

    fn attend(&mut self, request: &mut Request<'_>, events: u64, _: Reference) -> HandlerResult<attend::Output> {
        let terminal = self.hub.terminal_of(request.word())?;
        if events & TERMINAL_ATTENTION != 0 {
            // The one who attends already would not hear of the other keys any more.
            return Err(Errno::EOPNOTSUPP);
        }
        let port = request.keep(0)?;
        self.attendants.insert(terminal, (events, port));
        attend::Output::default().now()
    }

    /// Pipes and sockets can be asked too.
    fn waiting(&mut self, request: &mut Request<'_>) -> HandlerResult<waiting::Output> {
        waiting::Output { count: self.hub.waiting(request.word())? as u64 }.now()
    }

    fn flush(&mut self, request: &mut Request<'_>, which: u64) -> HandlerResult<flush::Output> {
        self.hub.flush(request.word(), which)?;
        flush::Output::default().now()
    }

    fn flow(&mut self, request: &mut Request<'_>, action: u64) -> HandlerResult<flow::Output> {
        self.hub.flow(request.word(), action)?;
        flow::Output::default().now()
    }

    fn packets(&mut self, request: &mut Request<'_>, action: u64) -> HandlerResult<packets::Output> {
        packets::Output { is_on: self.hub.packets(request.word(), action)?.into() }.now()
    }

    fn type_byte(&mut self, request: &mut Request<'_>, byte: u64) -> HandlerResult<type_byte::Output> {
        self.hub.type_byte(request.word(), byte as u8)?;
        type_byte::Output::default().now()
    }
}
