//! All environments that run here: the first one, and its copies. One thread serves all of them.

use crate::commands::{COMMANDED, Desk};
use crate::key::{KEYED, Key};
use crate::life::Life;
use crate::logs::Ended;
use crate::outside::{ENVIRONMENT_SHIFT, NUMBER, PARENT};
use crate::rounds::Rounds;
use crate::screen::Screen;
use crate::store_file::StoreFile;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::{Code, fault};
use nacre_control::record::{Figures, figures};
use nacre_nest::clock::Clock;
use nacre_proto::{Errno, Event, ServerEndpoint};
use nacre_snapshot::store::Stored;
use nacre_sys::{OwnedPortSet, Status};

/// Number of the environment that was there before its copies.
pub const ORIGINAL: u64 = 0;

/// A command that waits until copies have ended.
pub struct Awaited {
    /// Number of the command.
    pub command: u64,
    /// The copies that have not ended.
    pub copies: Vec<u64>,
}

/// Freezes and forks so far, for people.
#[derive(Clone, Copy, Debug, Default)]
pub struct History {
    /// Number of images that were written.
    pub freezes: u64,
    /// Number of copies that were made.
    pub copies: u64,
    /// Ticks for which all stood still the last time.
    pub pause: u64,
    /// Objects of the environment that was frozen or copied last.
    pub objects: u64,
    /// Pages of it that were written, or copied for each copy.
    pub pages: u64,
}

impl History {
    /// Counts, as they are told in a list.
    pub fn figures(&self) -> Figures {
        let History { freezes, copies, pause, objects, pages } = *self;
        figures([("freezes", freezes), ("copies", copies), ("last_pause_ticks", pause), ("last_objects", objects), ("last_pages", pages)])
    }

    /// All stood still for so many ticks, for an environment of so many objects and pages.
    pub fn note(&mut self, ticks: u64, objects: usize, pages: u64) {
        (self.pause, self.objects, self.pages) = (ticks, objects as u64, pages);
    }
}

/// The environments, by their numbers.
pub struct World {
    /// Environments that have not ended.
    pub lives: BTreeMap<u64, Life>,
    /// Our seat outside.
    pub desk: Rc<Desk>,
    /// Set if commands may wait to be taken.
    pub is_commanded: bool,
    /// The terminal.
    pub screen: Screen,
    /// The key that freezes, if there is one.
    pub key: Option<Key>,
    /// Set if that key was typed.
    pub is_keyed: bool,
    /// Status of the original; of the copy that ended last if the original is a template.
    pub status: u64,
    /// Threads of an original that is never started, because it is there to be copied.
    pub template: Option<Vec<u64>>,
    /// Commands that wait for copies.
    pub awaited: Vec<Awaited>,
    /// Rounds of a move, if the next one may follow.
    pub rounds: Option<Rounds>,
    /// Logs of copies that have ended.
    pub ended: Ended,
    /// The store, if an image lies there.
    pub store: Option<Rc<StoreFile>>,
    /// The image of the original that was written there last.
    pub made: Option<Stored>,
    /// Freezes and forks so far.
    pub history: History,
    /// The parent's clock.
    pub clock: Clock,
    endpoint: ServerEndpoint,
    set: OwnedPortSet,
}

impl World {
    /// Makes a world without environments.
    pub fn new() -> Result<World, Errno> {
        let set = OwnedPortSet::new()?;
        let desk = Rc::new(Desk::start(set.handle()));
        let endpoint = ServerEndpoint::new(MAX_BYTES as usize)?;
        Ok(World { lives: BTreeMap::new(), desk, is_commanded: false, screen: Screen::find(), key: None, is_keyed: false, status: 0, template: None, awaited: Vec::new(), rounds: None, ended: Ended::default(), store: None, made: None, history: History::default(), clock: Clock::find()?, endpoint, set })
    }

    /// The set of all ports.
    pub fn set(&self) -> nacre_sys::PortSet {
        self.set.handle()
    }

    /// Serves until that time in nanoseconds of the parent's clock, a command, the key, or the end
    /// of all. Without a time, until one of the others.
    pub fn serve_until(&mut self, end: Option<u64>) -> Result<(), String> {
        self.bury();
        while !self.is_over() && !self.is_commanded && !self.is_keyed {
            let left = end.map(|end| end.saturating_sub(self.clock.now()));
            if left == Some(0) {
                return Ok(());
            }
            let patience = self.lives.values().filter(|life| life.held.is_none()).filter_map(|life| life.outside.waiters.patience());
            let wait = left.into_iter().chain(patience).min().unwrap_or(nacre_sys::FOREVER);
            if !self.serve(wait)? {
                self.lives.values_mut().for_each(|life| life.outside.go_on(0));
            }
            self.bury();
        }
        Ok(())
    }

    /// Returns true if there is an environment with this number, or was the original.
    pub fn is_taken(&self, number: u64) -> bool {
        number == ORIGINAL || self.lives.contains_key(&number)
    }

    /// Returns true if nothing runs any more.
    pub fn is_over(&self) -> bool {
        self.lives.is_empty() || self.template.is_some() && self.lives.len() == 1
    }

    /// Serves all that are here now: until nobody has sent anything.
    pub fn serve_all(&mut self) -> Result<(), String> {
        while self.serve(1)? {}
        Ok(())
    }

    /// Serves one event, if there is one within so many nanoseconds.
    fn serve(&mut self, nanoseconds: u64) -> Result<bool, String> {
        let event = match self.endpoint.next(self.set.handle().address(), nanoseconds) {
            Ok(event) => event,
            Err(status) if status.code() == Some(Code::TimedOut) => return Ok(false),
            Err(status) => return Err(cannot_receive(status)),
        };
        let lives = &mut self.lives;
        match event {
            Event::Notification { word: COMMANDED, .. } => self.is_commanded = true,
            Event::Notification { word: KEYED, .. } => self.is_keyed = true,
            Event::Notification { word, bits } => {
                if let Some(life) = life_of(lives, word) {
                    life.outside.notified(word & NUMBER, bits);
                }
            }
            Event::Request(mut request) => match life_of(lives, request.word()) {
                Some(life) => life.outside.handle(&mut request),
                None => request.refuse(Errno::EIO),
            },
            Event::Exception(mut request) => match life_of(lives, request.word()) {
                // Only the parent's port was made a keeper.
                Some(life) if request.word() & NUMBER == PARENT as u64 => life.end_by(&mut request),
                _ => request.answer(fault::REFUSE, [0; 6]),
            },
            Event::Fault(mut request) => match life_of(lives, request.word()) {
                Some(life) => life.outside.fault(&mut request),
                None => request.answer(fault::REFUSE, [0; 6]),
            },
        }
        Ok(true)
    }

    /// Takes back what environments had that have ended.
    fn bury(&mut self) {
        let ended = |(number, life): (&u64, &Life)| Some((*number, life.outside.ended?));
        let all: Vec<(u64, u64)> = self.lives.iter().filter_map(ended).collect();
        for (number, status) in all {
            if (number == ORIGINAL) != self.template.is_some() {
                self.status = status;
            }
            if let Some(mut life) = self.lives.remove(&number) {
                if let Some(input) = life.outside.input.take() {
                    self.ended.add(number, input.log);
                }
                life.destroy();
            }
            self.report(number, status);
        }
    }

    /// Tells those who wait for a copy how it has ended.
    fn report(&mut self, copy: u64, status: u64) {
        for awaited in &mut self.awaited {
            let before = awaited.copies.len();
            awaited.copies.retain(|number| *number != copy);
            if awaited.copies.len() < before {
                // Who asked may have gone.
                let _ = self.desk.answer(awaited.command, format!("{copy}\tended\t{status}\n").as_bytes());
            }
            if awaited.copies.is_empty() {
                self.desk.end(awaited.command, Errno(0));
            }
        }
        self.awaited.retain(|awaited| !awaited.copies.is_empty());
    }
}

/// The environment that a port's word belongs to.
fn life_of(lives: &mut BTreeMap<u64, Life>, word: u64) -> Option<&mut Life> {
    lives.get_mut(&(word >> ENVIRONMENT_SHIFT))
}

fn cannot_receive(status: Status) -> String {
    format!("cannot receive: {status:?}")
}
