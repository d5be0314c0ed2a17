//! Protocol `parent`: what the program asks of us.

use crate::messages::{MAX_ITEMS, Messages};
use crate::objects::Kind;
use crate::root::Root;
use crate::table::Key;
use nacre_proto::flags::{REPORT_FOREIGN_CALL, REPORT_MESSAGE, SERVICE_CLOCK, SERVICE_CONTROL, SERVICE_FILES, SERVICE_MEMORY, SERVICE_NIC, SERVICE_OBJECTS};
use nacre_proto::parent::{Server, exit, find, keep, processors, report, stream};
use nacre_proto::server::Output;
use nacre_proto::{Answer, Errno, HandlerResult, Request};
use nacre_sys::Reference;

/// Maximum number of different foreign calls that are remembered.
const MAX_CALLS: usize = 512;
/// Maximum length of the name of a foreign call.
const MAX_CALL_NAME: usize = 80;

impl Root {
    /// Refuses requests at other ports than the program's, which answer other protocols.
    fn check_parent(&self, request: &Request<'_>) -> Result<(), Errno> {
        match self.objects.get(Key::from_word(request.word())).map(|object| &object.kind) {
            Some(Kind::Parent) => Ok(()),
            _ => Err(Errno::ENOSYS),
        }
    }
}

impl Server for Root {
    fn find(&mut self, request: &mut Request<'_>, service: u64) -> HandlerResult<find::Output> {
        if self.drive_number(request).is_err() {
            self.check_parent(request)?;
        } else if ![SERVICE_MEMORY, SERVICE_OBJECTS, SERVICE_CLOCK].contains(&service) {
            return Err(Errno::ENOENT);
        }
        let key = match service {
            SERVICE_FILES => self.standing.files,
            // The program is all that runs: what ends with it ends with the machine.
            SERVICE_MEMORY | SERVICE_OBJECTS => self.standing.memory,
            SERVICE_CLOCK => self.standing.clock,
            SERVICE_CONTROL => self.standing.control.ok_or(Errno::ENOENT)?,
            SERVICE_NIC => self.standing.nic.ok_or(Errno::ENOENT)?,
            _ => return Err(Errno::ENOENT),
        };
        find::Output { found: self.objects.reference(key)?.into() }.now()
    }

    fn stream(&mut self, request: &mut Request<'_>, number: u64) -> HandlerResult<stream::Output> {
        self.check_parent(request)?;
        let number = usize::try_from(number).map_err(|_| Errno::ENOENT)?;
        let key = *self.standing.streams.get(number).ok_or(Errno::ENOENT)?;
        stream::Output { file: self.objects.reference(key)?.into() }.now()
    }

    fn exit(&mut self, request: &mut Request<'_>, status: u64) -> HandlerResult<exit::Output> {
        if let Ok(number) = self.drive_number(request) {
            self.driver_has_ended(number, "has ended");
            return Ok(Answer::Later);
        }
        self.check_parent(request)?;
        self.end(nacre_proto::parent::checked_status(status));
        Ok(Answer::Later)
    }

    fn keep(&mut self, request: &mut Request<'_>, keeper: Reference) -> HandlerResult<keep::Output> {
        self.check_parent(request)?;
        let child = self.child.as_ref().ok_or(Errno::ESRCH)?;
        let watcher = self.objects.port(self.standing.keeper).ok_or(Errno::EIO)?.as_keeper();
        nacre_nest::host::keep_and_watch(child.space(), keeper, watcher)?;
        keep::Output::default().now()
    }

    fn processors(&mut self, request: &mut Request<'_>) -> HandlerResult<processors::Output> {
        self.check_parent(request)?;
        processors::Output { count: crate::boot::processors() }.now()
    }

    fn report(&mut self, request: &mut Request<'_>, kind: u64, text: &[u8]) -> HandlerResult<report::Output> {
        self.drive_number(request).map(drop).or_else(|_| self.check_parent(request))?;
        let messages: &mut Messages = &mut self.console.messages;
        match kind {
            _ if messages.items.len() >= MAX_ITEMS => return Err(Errno::EAGAIN),
            REPORT_MESSAGE => messages.line(text),
            REPORT_FOREIGN_CALL => {
                if let Some(calls) = self.foreign_calls.as_mut().filter(|calls| calls.len() < MAX_CALLS) {
                    calls.insert(text[..text.len().min(MAX_CALL_NAME)].to_vec());
                }
            }
            _ => return Err(Errno::EINVAL),
        }
        report::Output::default().now()
    }
}
