//! Ways through a replay. A program that runs by a recording is deterministic, so a place in it is
//! what was done to come there: legs. A journey follows legs, from the first instruction on; it can
//! count the breakpoints on the way, and look for the step that leads to a place.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use nacre_gdb::{Reason, Registers};

/// Maximum number of steps of a search for one place.
pub const MAX_STEPS: u64 = 1_000_000;

/// Steps that take as long as a stop at a breakpoint.
const STOP_COST: u64 = 3;

/// Points at which a running program stops.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Points {
    /// Addresses of breakpoints.
    pub at: BTreeSet<u64>,
    /// Memory whose changes stop it: addresses and sizes.
    pub watched: BTreeSet<(u64, u64)>,
}

impl Points {
    /// Returns true if a program with these points stops as it has stopped here.
    fn have(&self, halt: &Halt) -> bool {
        // A breakpoint behind what has changed memory is not met again.
        halt.cause == Cause::Other || self.at.contains(&halt.seen.registers.rip) || self.have_change(halt)
    }

    fn have_change(&self, halt: &Halt) -> bool {
        matches!(halt.cause, Cause::Change { address, .. } if self.watched.iter().any(|one| one.0 == address))
    }

    fn and(&self, other: &Points) -> Points {
        Points { at: &self.at | &other.at, watched: &self.watched | &other.watched }
    }
}

/// Cause of a stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cause {
    /// Neither a breakpoint nor a change.
    #[default]
    Other,
    /// A breakpoint.
    Breakpoint,
    /// Memory has changed.
    Change {
        /// Address of what is watched.
        address: u64,
        /// Number of the instruction that did it, among those of the leg that write to the pages of
        /// what is watched. `None`: a call did it.
        touch: Option<u64>,
    },
}

/// Part of a way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Leg {
    /// Way to behind the call that sends the message with this number, counted from 1. It is the
    /// first leg.
    Message(u64),
    /// Number of steps.
    Steps(u64),
    /// Run to the `stops`th stop with these points.
    Run {
        /// Points at which it stops.
        points: Points,
        /// Number of stops.
        stops: u64,
    },
    /// Run to before the `touches`th instruction that writes to a page of what is watched.
    Touch {
        /// Ranges that are watched.
        watched: BTreeSet<(u64, u64)>,
        /// Number of the instruction, counted from 1.
        touches: u64,
    },
}

/// Facts by which a place is known when it is met again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Number of messages that have been answered.
    pub messages: u64,
    /// Registers of the program.
    pub registers: Registers,
    /// True if the program is about to end.
    pub is_end: bool,
}

impl Seen {
    /// Returns true if this is the place.
    fn is(&self, other: &Seen) -> bool {
        let registers = Registers { original: other.registers.original, ..self.registers.clone() };
        (self.messages, self.is_end) == (other.messages, other.is_end) && registers == other.registers
    }
}

/// A stop on the way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Halt {
    /// Facts about the place.
    pub seen: Seen,
    /// Cause of the stop.
    pub cause: Cause,
    /// True if it is before the instruction that was to be reached.
    pub is_before_touch: bool,
    /// True if it is behind the message that was to be reached.
    pub is_behind_message: bool,
}

/// Action that a journey asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// The program makes one step.
    Step,
    /// The program runs, with the breakpoints of the journey.
    Run,
    /// The program runs to behind this message, with the breakpoints of the journey.
    RunToMessage(u64),
    /// The program begins anew.
    Rewind,
    /// The journey is at its end, for this reason.
    Tell(Reason),
    /// The place was not found.
    Fail,
}

/// A place that is looked for.
#[derive(Clone, Debug)]
struct Sought {
    seen: Seen,
    /// Breakpoints that the program has met since the start of the search, and how often.
    at: BTreeSet<u64>,
    stops: u64,
    /// The place where the search begins is one of them, if a breakpoint lies there.
    counts_first: bool,
    /// Points of which the last one before is wanted, in place of the step before.
    counted: Option<Points>,
    /// Reason that gdb is told at the step before.
    reason: Reason,
    /// Messages by which the search begins earlier if there is no step before the place.
    gap: u64,
}

/// End of a journey.
#[derive(Clone, Debug)]
enum Goal {
    /// gdb is told, with this reason.
    Arrive(Reason),
    /// The last breakpoint on the way is looked for.
    Last,
    /// The step before a place is looked for.
    Before(Sought),
}

/// A counted breakpoint that was met.
#[derive(Clone, Debug)]
struct Found {
    leg: usize,
    /// Number of the stop in the leg.
    number: u64,
    /// Memory has changed there.
    is_change: bool,
    halt: Halt,
}

/// A journey.
#[derive(Clone, Debug)]
pub struct Journey {
    way: Vec<Leg>,
    goal: Goal,
    /// Points that are counted.
    counted: Points,
    /// The leg, and what was done of it.
    leg: usize,
    done: u64,
    /// Stops of this leg that a run with the counted breakpoints would have.
    passed: u64,
    /// Messages that had been answered when the last leg began.
    started: u64,
    /// The last counted breakpoint, and the one before.
    found: Option<Found>,
    found_before: Option<Found>,
    /// Steps of the search, and breakpoints that it has met.
    steps: u64,
    met: u64,
    /// Addresses of the steps of the search, as far as there is memory.
    trail: Vec<u64>,
}

impl Journey {
    fn new(way: Vec<Leg>, goal: Goal, counted: Points) -> Journey {
        Journey { way, goal, counted, leg: 0, done: 0, passed: 0, started: 0, found: None, found_before: None, steps: 0, met: 0, trail: Vec::new() }
    }

    /// A journey to a place that this way leads to.
    pub fn to(way: Vec<Leg>, reason: Reason) -> Journey {
        Journey::new(way, Goal::Arrive(reason), Points::default())
    }

    /// A journey to the last of these points before the place that this way leads to, or to the
    /// start.
    pub fn to_last(way: Vec<Leg>, counted: Points) -> Journey {
        Journey::new(way, Goal::Last, counted)
    }

    /// A journey to one step before the place that this way leads to. `started` is the number of
    /// messages that had been answered when the last leg began. `is_exact` says that the way leads
    /// there: otherwise only what is seen is known.
    pub fn before(way: &[Leg], seen: Seen, started: u64, is_exact: bool) -> Journey {
        let (last, earlier) = match way.split_last() {
            Some((last, earlier)) if is_exact => (Some(last), earlier),
            _ => (None, way),
        };
        if let Some(Leg::Steps(steps)) = last {
            let less = (*steps > 1).then_some(Leg::Steps(steps - 1));
            return Journey::to(earlier.iter().cloned().chain(less).collect(), Reason::Signal);
        }
        let (at, stops) = match last {
            // Changes are no breakpoints, and count as stops.
            Some(Leg::Run { points, stops }) if points.watched.is_empty() => (points.at.clone(), *stops),
            _ => (BTreeSet::new(), 0),
        };
        let has_met = at.contains(&seen.registers.rip);
        let (prefix, stops, counts_first) = match last {
            Some(Leg::Run { .. }) if seen.messages == started => (earlier.to_vec(), stops, false),
            Some(Leg::Message(message)) => (from_message(message - 1), 0, true),
            // How often it was met since the last message is known if it was met once.
            _ => (from_message(seen.messages), u64::from(stops == 1), true),
        };
        let stops = if has_met { stops } else { 0 };
        Journey::new(prefix, Goal::Before(Sought { seen, at, stops, counts_first, counted: None, reason: Reason::Signal, gap: 1 }), Points::default())
    }

    /// A journey to the last of these points before a place of which only this is known.
    pub fn to_last_before(seen: Seen, counted: Points) -> Journey {
        let (way, at) = (from_message(seen.messages), BTreeSet::new());
        Journey::new(way, Goal::Before(Sought { seen, at, stops: 0, counts_first: true, counted: Some(counted), reason: Reason::Signal, gap: 1 }), Points::default())
    }

    /// The way that leads to where the journey ends.
    pub fn way(&self) -> &[Leg] {
        &self.way
    }

    /// Returns the number of the leg.
    pub fn leg(&self) -> usize {
        self.leg
    }

    /// Returns the number of messages that had been answered when the last leg began.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Returns the points of the leg.
    pub fn points(&self) -> Points {
        match self.way.get(self.leg) {
            Some(Leg::Run { points, .. }) => points.and(&self.counted),
            Some(Leg::Message(_)) => self.counted.clone(),
            // Each step is compared with the breakpoints by its address.
            Some(Leg::Steps(_)) => Points { at: BTreeSet::new(), watched: self.counted.watched.clone() },
            Some(Leg::Touch { watched, .. }) => self.counted.and(&Points { at: BTreeSet::new(), watched: watched.clone() }),
            None => Points::default(),
        }
    }

    /// Returns the number of the instruction, among those that write to the pages of what is
    /// watched, before which this leg ends, if it ends so.
    pub fn touch(&self) -> Option<u64> {
        match self.way.get(self.leg) {
            Some(Leg::Touch { touches, .. }) => Some(*touches),
            _ => None,
        }
    }

    /// Ends the journey at its next stop.
    pub fn abandon(&mut self) {
        (self.way, self.goal) = (Vec::new(), Goal::Arrive(Reason::Signal));
    }

    /// The program stands before its first instruction.
    pub fn begins(&mut self, halt: &Halt) -> Order {
        (self.leg, self.done, self.passed, self.steps, self.met) = (0, 0, 0, 0, 0);
        (self.found, self.found_before) = (None, None);
        self.started = halt.seen.messages;
        self.trail.clear();
        self.goes_on(halt)
    }

    /// Begins the next leg, if there is one.
    fn goes_on(&mut self, halt: &Halt) -> Order {
        match self.way.get(self.leg) {
            Some(_) if halt.seen.is_end => Order::Fail,
            // Messages that are sent before the first instruction lie behind.
            Some(Leg::Message(message)) if halt.seen.messages >= *message => {
                self.leg += 1;
                self.goes_on(halt)
            }
            Some(Leg::Message(message)) => Order::RunToMessage(*message),
            Some(Leg::Steps(_)) => Order::Step,
            Some(Leg::Run { .. } | Leg::Touch { .. }) => Order::Run,
            None => self.is_through(halt),
        }
    }

    /// The program has stopped on the way.
    pub fn stops(&mut self, halt: &Halt) -> Order {
        let address = halt.seen.registers.rip;
        let is_step = matches!(self.way.get(self.leg), Some(Leg::Steps(_)));
        let is_met = (is_step || halt.is_behind_message || halt.cause != Cause::Other) && self.counted.at.contains(&address);
        let is_change = self.counted.have_change(halt);
        let is_counted = is_met || is_change;
        let (is_over, number) = match self.way.get(self.leg) {
            Some(Leg::Message(_)) => {
                self.passed += u64::from(halt.cause == Cause::Other && !halt.is_behind_message || is_counted);
                (halt.is_behind_message, self.passed)
            }
            Some(Leg::Steps(steps)) => {
                self.done += 1;
                (self.done == *steps, self.done)
            }
            Some(Leg::Run { points, stops }) => {
                self.done += u64::from(points.have(halt));
                self.passed += u64::from(halt.cause == Cause::Other || is_counted);
                (self.done == *stops, self.passed)
            }
            Some(Leg::Touch { .. }) => {
                self.passed += u64::from(is_counted);
                (halt.is_before_touch, self.passed)
            }
            None => {
                self.steps += 1;
                if self.trail.try_reserve(1).is_ok() {
                    self.trail.push(address);
                }
                return self.is_through(halt);
            }
        };
        let found = |is_change| Found { leg: self.leg, number, is_change, halt: halt.clone() };
        let is_last = is_over && self.leg + 1 == self.way.len();
        for found in [is_change.then(|| found(true)), (is_met && !is_last).then(|| found(false))].into_iter().flatten() {
            self.found_before = self.found.replace(found);
        }
        if is_over {
            (self.leg, self.done, self.passed) = (self.leg + 1, 0, 0);
            if self.leg < self.way.len() {
                self.started = halt.seen.messages;
            }
        }
        self.goes_on(halt)
    }

    /// All legs lie behind: what follows.
    fn is_through(&mut self, halt: &Halt) -> Order {
        match &self.goal {
            Goal::Arrive(reason) => Order::Tell(reason.clone()),
            Goal::Last => {
                // An instruction that cannot be made stops twice at one place.
                let is_here = self.found.as_ref().is_some_and(|found| !found.is_change && found.halt.seen.is(&halt.seen));
                *self = match if is_here { &self.found_before } else { &self.found } {
                    Some(found) => self.to_found(found),
                    None => Journey::to(Vec::new(), Reason::ReplayBegins),
                };
                Order::Rewind
            }
            Goal::Before(sought) => {
                let counts = self.steps > 0 || sought.counts_first;
                self.met += u64::from(counts && sought.at.contains(&halt.seen.registers.rip));
                let is_there = halt.seen.is(&sought.seen) && (sought.stops == 0 || self.met == sought.stops);
                let is_past = halt.seen.messages > sought.seen.messages || halt.seen.is_end || self.steps == MAX_STEPS;
                match (is_there, self.steps) {
                    (true, steps) if let Some(counted) = sought.counted.clone() => {
                        let rest = (steps > 0).then_some(Leg::Steps(steps));
                        *self = Journey::to_last(self.way.iter().cloned().chain(rest).collect(), counted);
                        Order::Rewind
                    }
                    (true, 0) => self.earlier(sought.clone()),
                    (true, steps) => {
                        *self = Journey::to(self.way.iter().cloned().chain(shortened(&self.trail, steps - 1)).collect(), sought.reason.clone());
                        Order::Rewind
                    }
                    _ if is_past => Order::Fail,
                    _ => Order::Step,
                }
            }
        }
    }

    /// The journey to a point that was met: to before what has changed memory.
    fn to_found(&self, found: &Found) -> Journey {
        let Found { leg, number, is_change, halt } = found;
        let cause = if *is_change { halt.cause } else { Cause::Breakpoint };
        let earlier = &self.way[..*leg];
        let with = |last: Option<Leg>| earlier.iter().cloned().chain(last).collect();
        let run = || Leg::Run { points: self.counted.clone(), stops: *number };
        match (cause, self.way.get(*leg)) {
            (Cause::Change { address, .. }, Some(Leg::Steps(_))) => {
                Journey::to(with((*number > 1).then_some(Leg::Steps(number - 1))), Reason::Change(address))
            }
            (Cause::Change { address, touch: Some(touches) }, Some(last)) => {
                let own = match last {
                    Leg::Run { points, .. } => points.watched.clone(),
                    Leg::Touch { watched, .. } => watched.clone(),
                    _ => BTreeSet::new(),
                };
                Journey::to(with(Some(Leg::Touch { watched: &own | &self.counted.watched, touches })), Reason::Change(address))
            }
            // A call did it: the step before lies before the call.
            (Cause::Change { address, .. }, _) => {
                let mut journey = Journey::before(&[], halt.seen.clone(), 0, false);
                if let Goal::Before(sought) = &mut journey.goal {
                    sought.reason = Reason::Change(address);
                }
                journey
            }
            (_, Some(Leg::Steps(_))) => Journey::to(with(Some(Leg::Steps(*number))), Reason::Breakpoint),
            _ => Journey::to(with(Some(run())), Reason::Breakpoint),
        }
    }

    /// The search begins at an earlier message: the place is the first behind this one, so that it
    /// is known by the number of messages.
    fn earlier(&mut self, sought: Sought) -> Order {
        let Some(Leg::Message(message)) = self.way.first() else {
            // The place is the program's start.
            *self = Journey::to(Vec::new(), Reason::ReplayBegins);
            return Order::Rewind;
        };
        let way = from_message(message.saturating_sub(sought.gap));
        *self = Journey::new(way, Goal::Before(Sought { stops: 0, gap: 2 * sought.gap, ..sought }), Points::default());
        Order::Rewind
    }
}

/// Legs that lead as far as so many steps, of which these are the addresses: by a run, if there is
/// an address that is rarely met, and the rest by steps.
fn shortened(trail: &[u64], steps: u64) -> Vec<Leg> {
    let mut met: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (address, step) in trail.iter().zip(1..=steps) {
        let entry = met.entry(*address).or_default();
        *entry = (entry.0 + 1, step);
    }
    let cost = |(times, last): (u64, u64)| STOP_COST * times + (steps - last);
    let best = met.into_iter().min_by_key(|(_, one)| cost(*one)).filter(|(_, one)| cost(*one) < steps);
    let (run, rest) = match best {
        Some((address, (stops, last))) => (Some(Leg::Run { points: Points { at: BTreeSet::from([address]), ..Points::default() }, stops }), steps - last),
        None => (None, steps),
    };
    run.into_iter().chain((rest > 0).then_some(Leg::Steps(rest))).collect()
}

/// The way to behind a message, of which there may be none.
fn from_message(message: u64) -> Vec<Leg> {
    if message == 0 { Vec::new() } else { vec![Leg::Message(message)] }
}

#[cfg(test)]
#[path = "journey_tests.rs"]
mod tests;
