//! Goes back in a replay: begins the program anew, and lets it run to an earlier place.

use crate::breakpoints::Pages;
use crate::copier::Copier;
use crate::cues;
use crate::debugger::{self, CHANGED, Debugger, State};
use crate::inferior::Inferior;
use crate::journey::{Cause, Halt, Journey, Order, Points, Seen};
use crate::library;
use crate::manifest::MANIFEST;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use nacre_gdb::{Action, Caught, Reason, Stop, Target, ThreadId};
use nacre_nest::command::{FAILED, complain};
use nacre_nest::interpose::stage;
use nacre_proto::Errno;

/// Signal of stops.
const TRAP: u8 = 5;

/// Stages of the end of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum End {
    /// The program is not about to end.
    #[default]
    Far,
    /// gdb was told that it is about to end.
    Told,
    /// gdb has let it end.
    Free,
}

/// State of what goes back.
#[derive(Default)]
pub struct Rewinder {
    /// The way back, and whether the program is being begun anew.
    journey: Option<Journey>,
    is_rewinding: bool,
    /// Work for the thread that begins it anew.
    is_wanted: bool,
    /// Number of the program that runs: others come before it.
    generation: u64,
    /// gdb's breakpoints, which are there again at the end of a journey.
    wanted: Points,
    /// System calls that gdb catches, in the same way.
    caught: Caught,
    /// Message behind which the program stops.
    awaited: Option<u64>,
    /// The program is about to stop behind that message.
    is_behind_message: bool,
    /// The program makes the instruction at a breakpoint.
    is_over: bool,
    /// The program has become another: what is known of one says nothing about the other.
    pub is_another: bool,
    /// gdb goes back from the start.
    is_at_start: bool,
    end: End,
}

impl Rewinder {
    /// Returns the number of the instruction, among those that write to watched pages, before which
    /// the program stops, and whether it stops behind the call that it makes.
    pub fn awaits(&self) -> (Option<u64>, bool) {
        (self.journey.as_ref().and_then(Journey::touch), self.is_behind_message)
    }

    /// Returns true if the program is on the way to an earlier place.
    pub fn travels(&self) -> bool {
        self.journey.is_some()
    }
}

/// Begins the program anew whenever that is wanted, for as long as this program runs.
pub fn serve(_: usize) {
    loop {
        debugger::wait_for(|state| core::mem::take(&mut state.debugger.rewinder.is_wanted).then_some(()));
        if let Err(text) = stage::restart().unwrap_or_else(|| Err("there is no program to begin anew".into())) {
            complain(MANIFEST.name, &text);
            nacre_rt::exit(FAILED);
        }
    }
}

/// The program of a replay is about to end: it waits until gdb lets it go. An error: it has been
/// begun anew meanwhile.
pub fn awaits_end() -> Result<(), Errno> {
    let mut generation = None;
    debugger::wait_for(|state| {
        let generation = *generation.get_or_insert(state.debugger.rewinder.generation);
        if state.debugger.rewinder.end == End::Far && state.is_watched() && state.session.is_running() {
            state.nears_end();
        }
        match state.debugger.rewinder.end {
            _ if state.debugger.rewinder.generation != generation => Some(Err(Errno::EIO)),
            End::Far | End::Told if state.is_watched() => None,
            _ => Some(Ok(())),
        }
    })
}

impl State {
    /// Something has stopped: gdb is told, or a journey goes on.
    pub fn stopped(&mut self, stop: Stop) {
        match stop {
            Stop::Thread(thread, signal, reason) if self.debugger.rewinder.journey.is_some() => self.travels(thread, signal, &reason),
            Stop::Thread(thread, _, ref reason) if self.debugger.is_replay() => {
                let seen = self.debugger.seen(thread);
                self.debugger.history.stops(seen);
                if matches!(reason, Reason::CallBegins(_) | Reason::CallEnds(_) | Reason::Exec(_) | Reason::Fork(_)) {
                    // A way does not stop there.
                    self.debugger.history.is_lost();
                }
                self.tell(stop);
            }
            _ => self.tell(stop),
        }
    }

    /// Returns true if a gdb debugs the program.
    fn is_watched(&self) -> bool {
        self.session.is_connected() && self.debugger.inferiors.values().any(|inferior| inferior.is_attached)
    }

    /// The program is about to end, which gdb is told of.
    fn nears_end(&mut self) {
        self.debugger.rewinder.end = End::Told;
        self.debugger.stop_all();
        if let Some(first) = self.debugger.threads().first() {
            self.stopped(Stop::Thread(*first, TRAP, Reason::ReplayEnds));
        }
    }

    fn travels(&mut self, thread: ThreadId, signal: u8, reason: &Reason) {
        let seen = self.debugger.seen(thread);
        let (cause, is_before_touch) = self.debugger.cause(thread, reason);
        let rewinder = &mut self.debugger.rewinder;
        let is_behind_message = core::mem::take(&mut rewinder.is_behind_message);
        let is_over = core::mem::take(&mut rewinder.is_over) && !is_behind_message && (signal, reason) == (TRAP, &Reason::Signal);
        let is_over = is_over && !is_before_touch;
        let Some(journey) = &mut rewinder.journey else { return };
        // One breakpoint may lie behind the other.
        let is_met = is_over && journey.points().at.contains(&seen.registers.rip);
        let (is_over, cause) = if is_met { (false, Cause::Breakpoint) } else { (is_over, cause) };
        let halt = Halt { seen, cause, is_before_touch, is_behind_message };
        let leg = journey.leg();
        let order = match core::mem::take(&mut rewinder.is_rewinding) {
            true => journey.begins(&halt),
            false if is_over => return self.debugger.runs(thread),
            false => journey.stops(&halt),
        };
        if leg != journey.leg() {
            self.debugger.inferiors.values_mut().for_each(|inferior| inferior.watches.touches = 0);
        }
        self.follow(thread, order, halt.seen);
    }

    /// Does what a journey asks for.
    fn follow(&mut self, thread: ThreadId, order: Order, seen: Seen) {
        match order {
            Order::Rewind => self.debugger.rewind(),
            Order::Step => self.debugger.steps(thread),
            Order::Run => self.debugger.runs(thread),
            Order::RunToMessage(message) => {
                self.debugger.rewinder.awaited = Some(message);
                self.debugger.runs(thread);
            }
            Order::Tell(reason) => self.arrives(thread, reason, seen),
            Order::Fail => {
                complain(MANIFEST.name, "the place before was not found: the program stands near it");
                self.arrives(thread, Reason::Signal, seen);
                self.debugger.history.is_lost();
            }
        }
    }

    /// A journey is at its end.
    fn arrives(&mut self, thread: ThreadId, reason: Reason, seen: Seen) {
        let Debugger { inferiors, copier, pages, rewinder, history, .. } = &mut self.debugger;
        if let Some(journey) = rewinder.journey.take() {
            history.arrives(&journey, seen);
        }
        rewinder.awaited = None;
        if let Some(inferior) = inferiors.get_mut(&thread.process) {
            inferior.has_arrived(copier, pages, &core::mem::take(&mut rewinder.wanted));
            inferior.catch(copier, pages, core::mem::take(&mut rewinder.caught));
        }
        self.tell(Stop::Thread(thread, TRAP, reason));
    }

    /// gdb is told that the program cannot go back, if it has tried.
    pub fn tell_of_start(&mut self) {
        if core::mem::take(&mut self.debugger.rewinder.is_at_start)
            && let Some(first) = self.debugger.threads().first()
        {
            self.tell(Stop::Thread(*first, TRAP, Reason::ReplayBegins));
        }
    }

    /// gdb asks for a stop.
    pub fn is_interrupted(&mut self, signal: u8) {
        if self.debugger.inferiors.is_empty() {
            // It stops when it has begun anew.
            self.debugger.rewinder.journey.iter_mut().for_each(Journey::abandon);
            return;
        }
        self.debugger.stop_all();
        let Some(first) = self.debugger.threads().first().copied() else { return };
        self.debugger.gives_journey_up();
        self.stopped(Stop::Thread(first, signal, Reason::Signal));
        self.debugger.history.is_lost();
    }
}

impl Debugger {
    /// Returns true if a program runs by a recording.
    pub fn is_replay(&self) -> bool {
        self.tape.is_some_and(|tape| tape.lock().is_replay())
    }

    /// Lets a process go back. False: it cannot.
    pub fn goes_back(&mut self, thread: ThreadId, is_step: bool) -> bool {
        let Some(inferior) = self.inferiors.get(&thread.process).filter(|_| self.is_replay()) else { return false };
        if self.rewinder.is_another {
            complain(MANIFEST.name, "a program that has become another does not go back");
            return false;
        }
        let wanted = inferior.points();
        match if is_step { self.history.before() } else { self.history.last(wanted.clone()) } {
            Some(journey) => {
                self.rewinder.caught = inferior.caught.clone();
                (self.rewinder.journey, self.rewinder.wanted) = (Some(journey), wanted);
                self.rewind();
            }
            None => self.rewinder.is_at_start = true,
        }
        true
    }

    /// The program stops on its way, and stays there.
    pub fn gives_journey_up(&mut self) {
        if self.rewinder.journey.take().is_none() {
            return;
        }
        let Debugger { inferiors, copier, pages, rewinder, history, .. } = self;
        let (wanted, caught) = (core::mem::take(&mut rewinder.wanted), core::mem::take(&mut rewinder.caught));
        *rewinder = Rewinder { generation: rewinder.generation, is_wanted: rewinder.is_wanted, end: rewinder.end, ..Rewinder::default() };
        for inferior in inferiors.values_mut() {
            inferior.threads.stop_known();
            inferior.withdraw();
            inferior.awaits_nothing(pages);
            inferior.has_arrived(copier, pages, &wanted);
            inferior.catch(copier, pages, caught.clone());
        }
        history.is_lost();
    }

    /// A gdb has come while the program ran.
    pub fn is_found(&mut self) {
        let first = self.threads().first().copied();
        if let Some(thread) = first.filter(|_| self.is_replay()) {
            let seen = self.seen(thread);
            self.history.stops(seen);
            self.history.is_lost();
        }
    }

    /// The program is begun anew.
    fn rewind(&mut self) {
        for (_, mut inferior) in core::mem::take(&mut self.inferiors) {
            inferior.breakpoints.clear(&mut self.pages);
            inferior.watches.clear(&mut self.pages);
        }
        self.waits = true;
        cues::begin(BTreeSet::new());
        let rewinder = &mut self.rewinder;
        (rewinder.is_rewinding, rewinder.is_wanted, rewinder.end) = (true, true, End::Far);
        (rewinder.awaited, rewinder.is_behind_message, rewinder.is_over) = (None, false, false);
        rewinder.generation += 1;
        CHANGED.broadcast();
    }

    /// Facts about the place where a thread stands.
    fn seen(&mut self, thread: ThreadId) -> Seen {
        let messages = self.tape.and_then(|tape| tape.lock().replayed()).unwrap_or(0);
        let registers = self.registers(thread).unwrap_or_default();
        Seen { messages, registers, is_end: self.rewinder.end != End::Far }
    }

    /// The thread of a journey makes a step.
    fn steps(&mut self, thread: ThreadId) {
        let points = self.rewinder.journey.as_ref().map(Journey::points).unwrap_or_default();
        self.mark(thread, &Points { at: BTreeSet::new(), ..points });
        self.resume_beside_others(thread, true);
    }

    /// The thread of a journey runs.
    fn runs(&mut self, thread: ThreadId) {
        let points = self.rewinder.journey.as_ref().map(Journey::points).unwrap_or_default();
        let at = self.registers(thread).map_or(0, |registers| registers.rip);
        if points.at.contains(&at) {
            self.rewinder.is_over = true;
            return self.steps(thread);
        }
        self.mark(thread, &points);
        self.resume_beside_others(thread, false);
    }

    /// Lets the thread of a journey go on, and all others, which run when the recording has it.
    fn resume_beside_others(&mut self, thread: ThreadId, is_step: bool) {
        let others = self.threads().into_iter().filter(|other| *other != thread).map(|other| (other, Action { is_step: false, signal: 0 }));
        let all: Vec<(ThreadId, Action)> = core::iter::once((thread, Action { is_step, signal: 0 })).chain(others).collect();
        self.resume(&all);
    }

    /// The program has sent a message, and waits for the answer.
    pub fn sends(&mut self) {
        let Debugger { inferiors, copier, pages, .. } = self;
        inferiors.values_mut().for_each(|inferior| inferior.opens_watches(copier, pages));
    }

    /// Cause of a stop, and whether it is before the instruction that was to be reached.
    fn cause(&mut self, thread: ThreadId, reason: &Reason) -> (Cause, bool) {
        let Some(inferior) = self.inferiors.get_mut(&thread.process) else { return (Cause::Other, false) };
        let watches = &mut inferior.watches;
        let cause = match reason {
            Reason::Breakpoint => Cause::Breakpoint,
            Reason::Change(address) => Cause::Change { address: *address, touch: (!watches.is_by_call).then_some(watches.touches) },
            _ => Cause::Other,
        };
        (cause, core::mem::take(&mut watches.is_before))
    }

    fn mark(&mut self, thread: ThreadId, points: &Points) {
        let Debugger { inferiors, copier, pages, .. } = self;
        if let Some(inferior) = inferiors.get_mut(&thread.process) {
            inferior.set_marks(copier, pages, &points.at);
            inferior.watch_all((copier, pages), &points.watched);
        }
    }

    /// gdb or a journey lets threads go on.
    pub fn lets_go_on(&mut self, action: Action) {
        if self.rewinder.end == End::Told {
            self.rewinder.end = End::Free;
            CHANGED.broadcast();
        }
        let Some(inferior) = self.inferiors.values().next().filter(|_| self.rewinder.journey.is_none()) else { return };
        self.history.goes_on(action.is_step, inferior.points());
    }

    /// Takes note that so many messages of a replay have been answered: the program's thread waits
    /// for the answer to the last one.
    pub fn passed(&mut self, messages: u64) {
        let Debugger { inferiors, copier, pages, rewinder, .. } = self;
        let Some(inferior) = inferiors.values_mut().next() else { return };
        inferior.place_more(copier, pages);
        if rewinder.awaited.is_some_and(|awaited| messages >= awaited) {
            rewinder.awaited = None;
            rewinder.is_behind_message = inferior.stop_behind_call(copier, pages);
        }
    }
}

impl Inferior {
    /// The thread that waits for an answer stops where its program goes on. False: it does not.
    pub fn stop_behind_call(&mut self, copier: &Copier, pages: &mut Pages) -> bool {
        self.threads.stop_known();
        let Some(entry) = self.threads.iter().find(|entry| entry.is_ours) else { return false };
        let number = entry.number;
        let address = entry.awaited.is_none().then(|| entry.state()).flatten().map(|state| {
            let frame = library::frame((&self.view, copier), &state);
            frame.map_or(state.rip, |frame| frame.rip)
        });
        let is_there = address.is_none_or(|address| self.insert(copier, pages, address));
        if let Some(entry) = self.threads.get(number) {
            entry.awaited = entry.awaited.or(address.filter(|_| is_there));
            entry.start();
        }
        is_there
    }

    /// Takes the breakpoints away behind calls that threads make.
    fn awaits_nothing(&mut self, pages: &mut Pages) {
        let awaited: Vec<u64> = self.threads.iter_mut().filter_map(|entry| entry.awaited.take()).collect();
        for address in awaited {
            self.breakpoints.remove(pages, address);
        }
    }

    /// Puts a breakpoint at an address now, or when there is memory.
    pub fn place(&mut self, copier: &Copier, pages: &mut Pages, address: u64) {
        if !self.insert(copier, pages, address) {
            self.unplaced.insert(address);
        }
    }

    /// Takes a breakpoint away that [`Inferior::place`] has put there.
    pub fn displace(&mut self, pages: &mut Pages, address: u64) -> bool {
        self.unplaced.remove(&address) || self.breakpoints.remove(pages, address)
    }

    fn place_more(&mut self, copier: &Copier, pages: &mut Pages) {
        for address in core::mem::take(&mut self.unplaced) {
            self.place(copier, pages, address);
        }
    }

    /// Points at which gdb wants the process to stop.
    fn points(&self) -> Points {
        Points { at: self.wanted.clone(), watched: self.watches.ranges() }
    }

    /// gdb's breakpoints follow those of a journey.
    fn has_arrived(&mut self, copier: &Copier, pages: &mut Pages, wanted: &Points) {
        self.set_marks(copier, pages, &BTreeSet::new());
        self.watch_all((copier, pages), &wanted.watched);
        for address in &wanted.at {
            self.place(copier, pages, *address);
            self.wanted.insert(*address);
        }
    }

    /// Sets the breakpoints of a journey.
    fn set_marks(&mut self, copier: &Copier, pages: &mut Pages, marks: &BTreeSet<u64>) {
        let was = core::mem::replace(&mut self.marks, marks.clone());
        for address in was.difference(marks) {
            self.displace(pages, *address);
        }
        for address in marks.difference(&was) {
            self.place(copier, pages, *address);
        }
    }
}
