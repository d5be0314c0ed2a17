//! Everything that the server has, and the loop that answers events.

use crate::chores::{Chores, Destroying};
use crate::console::Console;
use crate::files::Files;
use crate::locks::{Holder, Locks};
use crate::notices::{Notices, event};
use crate::objects::{Kind, Objects};
use crate::open_file::{OpenFile, streams};
use crate::pools::Pools;
use crate::random::Random;
use crate::serve::{Meeting, Sources, Waiting};
use crate::table::Key;
use crate::tree::open;
use crate::waits::{Place, Waits};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::fault;
use nacre_abi::message::{NO_REFERENCES, THREAD_ENDED};
use nacre_nest::Child;
use nacre_nest::host::{Exception, KILLED, KILLED_TEXT};
use nacre_proto::flags::{TERMINAL_INTERRUPT, TERMINAL_QUIT};
use nacre_proto::{Errno, Event, Request, Station};
use nacre_proto::{clock, directory, file, memory, parent, segment, terminal};
use nacre_sys::{Code, OwnedReference, Status};

/// The server.
pub struct Root {
    /// Files and time.
    pub files: Files,
    /// What clients hold references to.
    pub objects: Objects,
    /// Accounts of memory.
    pub pools: Pools,
    /// The console.
    pub console: Console,
    /// Random bytes.
    pub random: Random,
    /// The outermost pool, the root directory, the clock, the three streams: given out as often as they are asked for.
    pub standing: Standing,
    /// The program.
    pub child: Option<Child<Files>>,
    /// Its name.
    pub name: Vec<u8>,
    /// Locks of files.
    pub locks: Locks<OwnedReference>,
    /// Who watches files.
    pub notices: Notices,
    /// Who waits at words of memory.
    pub waits: Waits<Waiting>,
    /// Long work.
    pub chores: Chores,
    /// Those that were woken and have not been told yet.
    pub woken: VecDeque<OwnedReference>,
    /// Views of each file.
    pub views: BTreeMap<Key, BTreeSet<Key>>,
    /// Conditions of words at which processes wait by themselves.
    pub meetings: BTreeMap<(Place, u64), Meeting>,
    /// Foreign calls that it made without there being one, if they are to be reported.
    pub foreign_calls: Option<BTreeSet<Vec<u8>>>,
    /// How it ended.
    pub status: Option<u64>,
}

/// Objects that are given out as often as they are asked for.
pub struct Standing {
    /// The outermost pool.
    pub memory: Key,
    /// The root directory.
    pub files: Key,
    /// What time it is.
    pub clock: Key,
    /// The streams that a program starts with.
    pub streams: [Key; 3],
    /// The port that hears of the program's exceptions and of its end.
    pub keeper: Key,
}

impl Standing {
    /// Adds them to `objects`.
    pub fn new(objects: &mut Objects, files: &mut Files, pool: Key, has_terminal: bool) -> Result<Standing, Errno> {
        let account = objects.accounts.outermost();
        let mut stand = |path: &[u8], flags| {
            let file = open_file(files, path, flags, has_terminal)?;
            objects.add(Kind::File(file), true, account)
        };
        let (input, output) = if has_terminal { (open::READ_WRITE, open::READ_WRITE) } else { (0, open::WRITE_ONLY) };
        let paths = streams(has_terminal);
        let streams = [stand(paths[0], input)?, stand(paths[1], output)?, stand(paths[2], output)?];
        let files = stand(b"/", open::DIRECTORY)?;
        let (memory, clock) = (objects.add(Kind::Pool(pool), true, account)?, objects.add(Kind::Clock, true, account)?);
        let keeper = objects.add(Kind::Keeper, true, account)?;
        Ok(Standing { memory, files, clock, streams, keeper })
    }
}

/// Opens a file by its absolute path.
fn open_file(files: &mut Files, path: &[u8], flags: u64, has_terminal: bool) -> Result<OpenFile, Errno> {
    let (root, now) = (files.tree.root(), files.clock.now());
    let key = files.tree.open(root, path, flags, 0, now)?;
    OpenFile::new(key, files.tree.node(key)?, flags, has_terminal)
}

/// Exit status of a program that a signal ended, as a shell says it.
const SIGNAL_STATUS: u64 = 128;
/// How long, in nanoseconds, a line that takes nothing is waited for at the end, and how often.
const STALL: u64 = 10_000_000;
const MAX_STALLS: u32 = 1000;

impl Root {
    /// Answers events until the program has ended and everything it wrote has gone out.
    pub fn run(&mut self) -> Result<(), Status> {
        let mut station = Station::new(nacre_abi::message::MAX_BYTES as usize).map_err(|_| Status::new(Code::NoMemory))?;
        while self.status.is_none() {
            self.step(&mut station, self.console.patience())?;
        }
        self.drain(&mut station)
    }

    /// Waits at most `patience` nanoseconds (0: for ever) for an event, and answers it.
    fn step(&mut self, station: &mut Station, patience: u64) -> Result<(), Status> {
        // Work that is left is done between requests, and at once if there is none.
        let patience = if self.woken.is_empty() && !self.has_chores() { patience } else { 1 };
        match station.next(self.objects.set().address(), patience) {
            Ok(event) => self.handle(event),
            Err(status) if status.code() == Some(Code::TimedOut) => {}
            Err(status) => return Err(status),
        }
        crate::memory::prepare_area();
        self.tell_notices();
        self.wake_more();
        self.do_chore();
        self.console.push_messages(&mut self.files);
        self.console.push();
        self.console.settle();
        Ok(())
    }

    /// Says how the program ended, and waits until the lines have taken everything. The host may not listen any more: then not for ever.
    fn drain(&mut self, station: &mut Station) -> Result<(), Status> {
        self.report_foreign_calls();
        let status = self.status.unwrap_or(0);
        self.console.messages.exit(if status >= 256 { SIGNAL_STATUS + (status & 0x7f) } else { status & 0xff });
        self.console.push_messages(&mut self.files);
        let mut stalls = 0;
        while !self.console.is_quiet() && stalls < MAX_STALLS {
            let before = self.console.pending();
            let patience = Some(self.console.patience()).filter(|patience| *patience != 0);
            self.step(station, patience.map_or(STALL, |patience| patience.min(STALL)))?;
            stalls = if self.console.pending() == before { stalls + 1 } else { 0 };
        }
        Ok(())
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
            _ => request.refuse(Errno::ENOSYS),
        }
    }

    fn notified(&mut self, key: Key, bits: u64) {
        let Some(object) = self.objects.get(key) else { return };
        if let Kind::Lines = object.kind {
            let events = self.console.interrupted(bits);
            self.terminal_events(events);
        } else if let Kind::Keeper = object.kind {
            if bits & THREAD_ENDED != 0 && self.status.is_none() {
                self.say_end(&KILLED_TEXT);
                self.end(KILLED);
            }
        } else if bits & NO_REFERENCES != 0 && !object.stays {
            self.close(key);
        }
    }

    /// Whoever attends the terminal is told. If nobody does there is nobody to send a signal to but the program, and no way but to end it.
    pub fn terminal_events(&mut self, events: u64) {
        let left = if events == 0 { 0 } else { self.console.tell(events) };
        for (event, signal) in [(TERMINAL_INTERRUPT, 2), (TERMINAL_QUIT, 3)] {
            if left & event != 0 {
                self.end(256 + signal);
            }
        }
    }

    /// The program has ended: everything is taken back.
    pub fn end(&mut self, status: u64) {
        if self.status.is_none() {
            self.status = Some(status);
            self.child = None;
        }
    }

    /// Takes an object down that nobody refers to any more.
    pub fn close(&mut self, key: Key) {
        if self.objects.get(key).is_some_and(|object| matches!(object.kind, Kind::Segment(..))) {
            return self.forget_segment(key, None);
        }
        let account = self.objects.account(key.to_word());
        match self.objects.remove(key).map(|object| object.kind) {
            Some(Kind::File(file)) => {
                self.unlock_all(Holder::File(key), Some(file.node));
                if file.check_open().is_ok() {
                    let mask = if file.check_write().is_ok() { event::CLOSE_WRITE } else { event::CLOSE_NOWRITE };
                    self.files.tree.note(file.node, mask);
                }
                if file.is_writer {
                    self.files.tree.stop_writing(file.node);
                }
                self.files.tree.closed(file.node);
            }
            Some(Kind::Running(node)) => {
                self.files.tree.stop_running(node);
                self.files.tree.closed(node);
            }
            Some(Kind::Source(_)) => self.notices.remove_watcher(key),
            Some(Kind::View(view)) => self.close_view(key, &view),
            Some(Kind::Owner(_)) => self.unlock_all(Holder::Process(key), None),
            Some(Kind::Pool(pool)) => self.destroy_pool(pool, account),
            _ => {}
        }
    }

    /// Destroys a pool, with what is to be taken down of what was in it.
    pub fn remove_pool(&mut self, pool: Key) -> Destroying {
        let Ok(remains) = self.pools.destroy(pool) else { return Destroying::default() };
        let is_gone = |kind: &Kind| matches!(kind, Kind::Pool(pool) | Kind::SharedPool(pool, _) if remains.pools.contains(pool));
        let gone: Vec<Key> = self.objects.iter().filter(|(_, object)| is_gone(&object.kind)).map(|(key, _)| key).collect();
        for key in gone {
            self.objects.remove(key);
        }
        Destroying { segments: remains.segments.into(), rest: None }
    }

    /// A line that says how the program ended.
    fn say_end(&mut self, how: &dyn core::fmt::Display) {
        let text = alloc::format!("{}: {how}", String::from_utf8_lossy(&self.name));
        self.console.messages.line(text.as_bytes());
    }

    /// Ends the program. Exceptions arrive at the port of its keeper and at no other.
    fn exception(&mut self, request: &mut Request<'_>) {
        if !self.objects.get(Key::from_word(request.word())).is_some_and(|object| matches!(object.kind, Kind::Keeper)) {
            return request.answer(fault::STOP, [0; 6]);
        }
        let exception = Exception::from_words(request.words());
        request.answer(fault::STOP, [0; 6]);
        self.say_end(&exception);
        self.end(exception.exit_status());
    }
}
