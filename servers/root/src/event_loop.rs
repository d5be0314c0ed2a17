//! Event loop of the root server: answers requests, notifications, exceptions and faults until the
//! program has ended.

use crate::debug_line::DebugLine;
use crate::host_ports;
use crate::objects::Kind;
use crate::root::Root;
use crate::serve::Sources;
use crate::table::Key;
use alloc::string::String;
use nacre_abi::fault;
use nacre_abi::message::{NO_REFERENCES, THREAD_ENDED};
use nacre_nest::host::{Exception, KILLED, KILLED_TEXT};
use nacre_proto::{Errno, Event, Request, ServerEndpoint};
use nacre_proto::{clock, control, directory, driver, file, memory, nic, parent, segment, terminal};
use nacre_sys::{Code, Status};

/// Exit status of a program that a signal ended, as a shell says it.
const SIGNAL_STATUS: u64 = 128;
/// Time in nanoseconds to wait, at the end, for a line that takes nothing, and how often.
const STALL: u64 = 10_000_000;
const MAX_STALLS: u32 = 1000;
/// Number of turns of an idle loop behind the first such wait, and behind each at most. The clock
/// of a machine that counts instructions jumps over the time in which nothing runs: there, the host
/// has only the time that instructions take.
const TURNS: u32 = 20_000;
const MAX_TURNS: u32 = 1_000_000;

impl Root {
    /// Answers events until the program has ended and everything it wrote has gone out.
    pub fn run(&mut self) -> Result<(), Status> {
        let mut endpoint = ServerEndpoint::new(nacre_abi::message::MAX_BYTES as usize).map_err(|_| Status::new(Code::NoMemory))?;
        while self.status.is_none() {
            self.step(&mut endpoint, self.console.patience())?;
        }
        self.drain(&mut endpoint)
    }

    /// Waits at most `patience` nanoseconds (0: for ever) for an event, and answers it.
    fn step(&mut self, endpoint: &mut ServerEndpoint, patience: u64) -> Result<(), Status> {
        // Work that is left is done between requests, and at once if there is none.
        let patience = if self.woken.is_empty() && !self.has_chores() && !self.has_differences() && !self.files.tree.has_idle() { self.patience_of_faults(patience) } else { 1 };
        match endpoint.next(self.objects.set().address(), patience) {
            Ok(event) => self.handle(event),
            Err(status) if status.code() == Some(Code::TimedOut) => {}
            Err(status) => return Err(status),
        }
        crate::memory::prepare_area();
        self.settle_drives();
        self.tell_notices();
        self.wake_more();
        self.do_chore();
        self.tell_differences();
        self.files.tree.forget_idle(|node| self.notices.watches(node));
        self.feed_faults();
        self.console.push_messages(&mut self.files);
        self.ports.push(&mut self.files);
        self.ports.settle(&mut self.objects);
        let output = self.console.output(self.ports.carries_output());
        self.ports.push_output(output, self.status.is_some());
        self.console.push();
        self.console.settle();
        if let Some(line) = &mut self.debug_line {
            line.settle();
        }
        Ok(())
    }

    /// Says how the program ended, and waits until the lines have taken everything. The host may
    /// not listen any more: then not for ever.
    fn drain(&mut self, endpoint: &mut ServerEndpoint) -> Result<(), Status> {
        self.close_drives();
        self.report_foreign_calls();
        self.bring_out();
        let status = self.status.unwrap_or(0);
        self.console.messages.exit(if status >= 256 { SIGNAL_STATUS + (status & 0x7f) } else { status & 0xff });
        self.console.push_messages(&mut self.files);
        let mut stalls = 0;
        while !self.is_quiet() && stalls < MAX_STALLS {
            let before = self.pending();
            let patience = Some(self.console.patience()).filter(|patience| *patience != 0);
            self.step(endpoint, patience.map_or(STALL, |patience| patience.min(STALL)))?;
            if self.pending() != before {
                stalls = 0;
                continue;
            }
            stalls += 1;
            (0..(TURNS * stalls).min(MAX_TURNS)).for_each(|turn| _ = core::hint::black_box(turn));
        }
        Ok(())
    }

    /// Returns true if everything has gone out.
    fn is_quiet(&self) -> bool {
        self.console.is_quiet() && self.debug_line.as_ref().is_none_or(DebugLine::is_quiet) && self.ports.pending() == 0
    }

    /// Returns an amount that falls as the host takes what there is for it.
    fn pending(&self) -> usize {
        self.console.pending() + self.debug_line.as_ref().map_or(0, DebugLine::pending) + self.ports.pending()
    }

    fn report_foreign_calls(&mut self) {
        for call in self.foreign_calls.take().into_iter().flatten() {
            self.console.messages.line(&[b"foreign call without implementation: ", &call[..]].concat());
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Request(mut request) => self.dispatch(&mut request),
            Event::Notification { word, bits } => self.notified(Key::from_word(word), bits),
            Event::Exception(mut request) => self.exception(&mut request),
            Event::Fault(mut request) => self.fault(&mut request),
        }
    }

    fn dispatch(&mut self, request: &mut Request<'_>) {
        let kind = self.objects.get(Key::from_word(request.word())).map(|object| &object.kind);
        match request.protocol() {
            protocol if !kind.is_some_and(|kind| kind.serves(protocol)) => request.refuse(Errno::ENOSYS),
            parent::NUMBER => parent::dispatch(self, request),
            memory::NUMBER => memory::dispatch(self, request),
            segment::NUMBER => segment::dispatch(self, request),
            file::NUMBER if self.is_source(request.word()) => file::dispatch(&mut Sources(self), request),
            file::NUMBER => file::dispatch(self, request),
            terminal::NUMBER => terminal::dispatch(self, request),
            directory::NUMBER => directory::dispatch(self, request),
            clock::NUMBER => clock::dispatch(self, request),
            control::NUMBER => control::dispatch(self, request),
            nic::NUMBER => nic::dispatch(self, request),
            driver::NUMBER => driver::dispatch(self, request),
            _ => request.refuse(Errno::ENOSYS),
        }
    }

    fn notified(&mut self, key: Key, bits: u64) {
        let Some(object) = self.objects.get(key) else { return };
        if let Kind::Lines = object.kind {
            let events = self.console.interrupted(bits);
            if let Some(line) = &mut self.debug_line {
                line.interrupted(bits);
            }
            self.terminal_events(events);
            self.take_commands();
            if bits & host_ports::BIT != 0 {
                // A line is let go when all devices that share it were asked.
                self.drives.pass_interrupts();
                self.ports.interrupted();
                self.add_host_ports();
            }
        } else if let Kind::Keeper = object.kind {
            if bits & THREAD_ENDED != 0 && self.status.is_none() {
                self.say_end(&KILLED_TEXT);
                self.end(KILLED);
            }
        } else if let Kind::DriverKeeper(number) = object.kind {
            if bits & THREAD_ENDED != 0 {
                self.driver_has_ended(number, "has ended");
            }
        } else if bits & NO_REFERENCES != 0 && !object.stays {
            self.close(key);
        }
    }

    /// A line that says how the program ended.
    fn say_end(&mut self, how: &dyn core::fmt::Display) {
        let text = alloc::format!("{}: {how}", String::from_utf8_lossy(&self.name));
        self.console.messages.line(text.as_bytes());
    }

    /// Ends the program. Exceptions arrive at the port of its keeper and at no other.
    fn exception(&mut self, request: &mut Request<'_>) {
        let exception = Exception::from_words(request.words());
        request.answer(fault::STOP, [0; 6]);
        match self.objects.get(Key::from_word(request.word())).map(|object| &object.kind) {
            Some(Kind::Keeper) => {}
            Some(Kind::DriverKeeper(number)) => return self.driver_exception(*number, &exception),
            _ => return,
        }
        self.say_end(&exception);
        self.end(exception.exit_status());
    }
}
