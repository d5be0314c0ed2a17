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

/// Part of a way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Leg {
    /// Way to behind the call that sends the message with this number, counted from 1. It is the
    /// first leg.
    Message(u64),
    /// Number of steps.
    Steps(u64),
    /// Run to the `stops`th stop with breakpoints at these addresses.
    Run {
        /// Addresses of the breakpoints.
        at: BTreeSet<u64>,
        /// Number of stops.
        stops: u64,
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
    /// A breakpoint made it.
    pub is_breakpoint: bool,
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
    /// Breakpoints of which the last one before is wanted, in place of the step before.
    counted: Option<BTreeSet<u64>>,
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
    seen: Seen,
}

/// A journey.
#[derive(Clone, Debug)]
pub struct Journey {
    way: Vec<Leg>,
    goal: Goal,
    /// Breakpoints that are counted.
    counted: BTreeSet<u64>,
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
    fn new(way: Vec<Leg>, goal: Goal, counted: BTreeSet<u64>) -> Journey {
        Journey { way, goal, counted, leg: 0, done: 0, passed: 0, started: 0, found: None, found_before: None, steps: 0, met: 0, trail: Vec::new() }
    }

    /// A journey to a place that this way leads to.
    pub fn to(way: Vec<Leg>, reason: Reason) -> Journey {
        Journey::new(way, Goal::Arrive(reason), BTreeSet::new())
    }

    /// A journey to the last of these breakpoints before the place that this way leads to, or to
    /// the start.
    pub fn to_last(way: Vec<Leg>, counted: BTreeSet<u64>) -> Journey {
        Journey::new(way, Goal::Last, counted)
    }

    /// A journey to one step before the place that this way leads to. `started` is the number of
    /// messages that had been answered when the last leg began. `is_exact` says that the way leads
    /// there: otherwise only what is seen is known.
    pub fn before(way: &[Leg], seen: Seen, started: u64, is_exact: bool) -> Journey {
        let nothing = BTreeSet::new;
        let (last, earlier) = match way.split_last() {
            Some((last, earlier)) if is_exact => (Some(last), earlier),
            _ => (None, way),
        };
        if let Some(Leg::Steps(steps)) = last {
            let less = (*steps > 1).then_some(Leg::Steps(steps - 1));
            return Journey::to(earlier.iter().cloned().chain(less).collect(), Reason::Signal);
        }
        let (at, stops) = match last {
            Some(Leg::Run { at, stops }) => (at.clone(), *stops),
            _ => (nothing(), 0),
        };
        let has_met = at.contains(&seen.registers.rip);
        let (prefix, stops, counts_first) = match last {
            Some(Leg::Run { .. }) if seen.messages == started => (earlier.to_vec(), stops, false),
            Some(Leg::Message(message)) => (from_message(message - 1), 0, true),
            // How often it was met since the last message is known if it was met once.
            _ => (from_message(seen.messages), u64::from(stops == 1), true),
        };
        let stops = if has_met { stops } else { 0 };
        Journey::new(prefix, Goal::Before(Sought { seen, at, stops, counts_first, counted: None, gap: 1 }), nothing())
    }

    /// A journey to the last of these breakpoints before a place of which only this is known.
    pub fn to_last_before(seen: Seen, counted: BTreeSet<u64>) -> Journey {
        let (way, at) = (from_message(seen.messages), BTreeSet::new());
        Journey::new(way, Goal::Before(Sought { seen, at, stops: 0, counts_first: true, counted: Some(counted), gap: 1 }), BTreeSet::new())
    }

    /// The way that leads to where the journey ends.
    pub fn way(&self) -> &[Leg] {
        &self.way
    }

    /// Returns the number of messages that had been answered when the last leg began.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Addresses of breakpoints of the leg.
    pub fn breakpoints(&self) -> BTreeSet<u64> {
        match self.way.get(self.leg) {
            Some(Leg::Run { at, .. }) => at.union(&self.counted).copied().collect(),
            Some(Leg::Message(_)) => self.counted.clone(),
            _ => BTreeSet::new(),
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
            Some(Leg::Run { .. }) => Order::Run,
            None => self.is_through(halt),
        }
    }

    /// The program has stopped on the way.
    pub fn stops(&mut self, halt: &Halt) -> Order {
        let address = halt.seen.registers.rip;
        let is_counted = self.counted.contains(&address);
        let (is_over, number) = match self.way.get(self.leg) {
            Some(Leg::Message(_)) => {
                self.passed += u64::from(!halt.is_breakpoint && !halt.is_behind_message || is_counted);
                (halt.is_behind_message, self.passed)
            }
            Some(Leg::Steps(steps)) => {
                self.done += 1;
                (self.done == *steps, self.done)
            }
            Some(Leg::Run { at, stops }) => {
                self.done += u64::from(!halt.is_breakpoint || at.contains(&address));
                self.passed += u64::from(!halt.is_breakpoint || is_counted);
                (self.done == *stops, self.passed)
            }
            None => {
                self.steps += 1;
                if self.trail.try_reserve(1).is_ok() {
                    self.trail.push(address);
                }
                return self.is_through(halt);
            }
        };
        if is_counted && !(is_over && self.leg + 1 == self.way.len()) {
            let found = Found { leg: self.leg, number, seen: halt.seen.clone() };
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
                let is_here = self.found.as_ref().is_some_and(|found| found.seen.is(&halt.seen));
                *self = match if is_here { &self.found_before } else { &self.found } {
                    Some(found) => Journey::to(self.cut(found.leg, found.number), Reason::Breakpoint),
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
                        *self = Journey::to(self.way.iter().cloned().chain(shortened(&self.trail, steps - 1)).collect(), Reason::Signal);
                        Order::Rewind
                    }
                    _ if is_past => Order::Fail,
                    _ => Order::Step,
                }
            }
        }
    }

    /// The way to a stop of a leg.
    fn cut(&self, leg: usize, number: u64) -> Vec<Leg> {
        let last = match self.way.get(leg) {
            Some(Leg::Steps(_)) => Leg::Steps(number),
            _ => Leg::Run { at: self.counted.clone(), stops: number },
        };
        self.way[..leg].iter().cloned().chain([last]).collect()
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
        *self = Journey::new(way, Goal::Before(Sought { stops: 0, gap: 2 * sought.gap, ..sought }), BTreeSet::new());
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
        Some((address, (stops, last))) => (Some(Leg::Run { at: BTreeSet::from([address]), stops }), steps - last),
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
