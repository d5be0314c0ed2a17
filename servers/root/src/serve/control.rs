//! Protocol `control`: commands of the host, and the answers of who attends.

use crate::input::Control;
use crate::messages::{MAX_ITEMS, Messages};
use crate::objects::Kind;
use crate::root::Root;
use crate::table::Key;
use nacre_control::attendance::Told;
use nacre_proto::flags::{COMMAND_DIFFERENCE, COMMAND_DRIVER, COMMAND_KILL};
use nacre_proto::control::{Server, answer, attend, done, next};
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::Reference;

impl Root {
    /// Records for the host: all answers go one way, so that they keep their order.
    pub fn outgoing(&mut self) -> &mut Messages {
        self.ports.outgoing().unwrap_or(&mut self.console.messages)
    }

    /// Sends the commands that have come on their way.
    pub fn take_commands(&mut self) {
        for control in core::mem::take(&mut self.console.commands) {
            match control {
                Control::Command(mut command) => {
                    let mut ticket = [0; 8];
                    self.random.fill(&mut ticket);
                    command.ticket = u64::from_le_bytes(ticket);
                    let number = command.number;
                    let result = match command.operation {
                        COMMAND_KILL if command.flags & COMMAND_DRIVER != 0 => Some(self.end_named_driver(number, &command.text)),
                        COMMAND_DIFFERENCE => self.start_difference(number),
                        _ => self.commands.post(command),
                    };
                    if let Some(result) = result {
                        self.outgoing().done(number, result);
                    }
                }
                Control::Cancel(number) => {
                    self.commands.cancel(number);
                    self.cancel_difference(number);
                }
                _ => {}
            }
        }
    }

    /// Ends the driver whose number somebody gives, for a new one to start. If there is no such
    /// driver, the answer tells which there are.
    fn end_named_driver(&mut self, command: u64, text: &[u8]) -> Errno {
        let number = core::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let ended = number.ok_or(Errno::EINVAL).and_then(|number| self.replace_driver(number));
        if ended == Err(Errno::ENODEV) {
            let list = self.drives.list();
            self.outgoing().answer(command, &list);
        }
        ended.err().unwrap_or(Errno(0))
    }

    /// Ends a seat that nobody refers to any more.
    pub fn leave_seat(&mut self, key: Key) {
        for (number, result) in self.commands.leave(key.to_word()) {
            self.outgoing().done(number, result);
        }
    }

    /// The seat that a request came to, and that it has taken the command.
    fn check_taken(&mut self, request: &Request<'_>, command: u64) -> Result<(), Errno> {
        self.commands.taken(request.word(), command)?;
        if self.outgoing().items.len() >= MAX_ITEMS { Err(Errno::EAGAIN) } else { Ok(()) }
    }

    /// The command whose ticket a name says, if it says one.
    pub fn ticket(&self, name: &[u8]) -> Option<u64> {
        let digits = core::str::from_utf8(name.strip_prefix(b"answer=")?).ok()?;
        self.commands.ticket(digits.parse().ok()?)
    }

    fn check_kind(&self, request: &Request<'_>, is_seat: bool) -> Result<(), Errno> {
        match self.objects.get(Key::from_word(request.word())).map(|object| &object.kind) {
            Some(Kind::Seat) if is_seat => Ok(()),
            Some(Kind::Control) if !is_seat => Ok(()),
            _ => Err(Errno::ENOSYS),
        }
    }
}

impl Server for Root {
    fn attend(&mut self, request: &mut Request<'_>, bits: u64, _: Reference) -> HandlerResult<attend::Output> {
        self.check_kind(request, false)?;
        let account = self.objects.account(request.word());
        let port = request.keep(0)?;
        let key = self.objects.add(Kind::Seat, false, account)?;
        let taken = self.commands.sit(key.to_word(), Told { port, bits }).and_then(|_| self.objects.reference(key));
        let seat = taken.inspect_err(|_| {
            self.commands.leave(key.to_word());
            self.objects.remove(key);
        })?;
        attend::Output { seat: seat.into() }.now()
    }

    fn next(&mut self, request: &mut Request<'_>) -> HandlerResult<next::Output> {
        self.check_kind(request, true)?;
        let command = self.commands.next(request.word()).ok_or(Errno::EAGAIN)?;
        let output = next::Output { command: command.number, operation: command.operation, flags: command.flags, ticket: command.ticket };
        request.put(&command.text);
        output.now()
    }

    fn answer(&mut self, request: &mut Request<'_>, command: u64, text: &[u8]) -> HandlerResult<answer::Output> {
        self.check_taken(request, command)?;
        self.outgoing().answer(command, text);
        answer::Output::default().now()
    }

    fn done(&mut self, request: &mut Request<'_>, command: u64, errno: u64) -> HandlerResult<done::Output> {
        let result = Errno(u32::try_from(errno).map_err(|_| Errno::EINVAL)?);
        if let Some(result) = self.commands.done(request.word(), command, result)? {
            self.outgoing().done(command, result);
        }
        done::Output::default().now()
    }
}
