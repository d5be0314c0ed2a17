//! Journeys through a program that is a list of addresses.

use super::*;

/// A program: for each instruction its address, and the messages answered before it.
struct Model {
    places: Vec<(u64, u64)>,
}

impl Model {
    fn new(seed: u64, length: usize) -> Model {
        let (mut random, mut messages) = (seed, 0);
        let places = (0..length).map(|at| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            messages += if at > 0 && random >> 60 == 0 { (random >> 50 & 3) + 1 } else { 0 };
            (0x1000 + (random >> 33) % 12, messages)
        });
        Model { places: places.collect() }
    }

    fn seen(&self, at: usize) -> Seen {
        let (rip, messages) = self.places[at];
        let mut registers = Registers { rip, ..Registers::default() };
        registers.general[0] = at as u64;
        Seen { messages, registers, is_end: at + 1 == self.places.len() }
    }

    /// The first place behind `at` for which `stops` holds, or the end.
    fn run(&self, at: usize, stops: impl Fn(&(u64, u64)) -> bool) -> usize {
        (at + 1..self.places.len()).find(|next| stops(&self.places[*next])).unwrap_or(self.places.len() - 1)
    }

    /// Does what a journey asks for: the place where it ends, and the reason.
    fn travel(&self, journey: &mut Journey) -> (usize, Option<Reason>) {
        let mut at = 0;
        let mut order = Order::Rewind;
        for _ in 0..100_000 {
            let breakpoints = journey.points().at;
            let has = |place: &(u64, u64)| breakpoints.contains(&place.0);
            let mut is_behind_message = false;
            order = match order {
                Order::Rewind => {
                    at = 0;
                    journey.begins(&Halt { seen: self.seen(0), ..Halt::default() })
                }
                Order::Tell(reason) => return (at, Some(reason)),
                Order::Fail => return (at, None),
                Order::Step | Order::Run | Order::RunToMessage(_) => {
                    let is_step = order == Order::Step;
                    at = match order {
                        Order::Run => self.run(at, has),
                        Order::RunToMessage(message) => self.run(at, |place| place.1 >= message || has(place)),
                        _ => at + 1,
                    };
                    if let Order::RunToMessage(message) = order {
                        is_behind_message = self.places[at].1 >= message;
                    }
                    let halt = Halt { seen: self.seen(at), cause: if !is_step && has(&self.places[at]) { Cause::Breakpoint } else { Cause::Other }, is_behind_message, ..Halt::default() };
                    journey.stops(&halt)
                }
            };
        }
        panic!("it does not end");
    }
}

fn points(at: &BTreeSet<u64>) -> Points {
    Points { at: at.clone(), ..Points::default() }
}

/// A way as gdb makes one: steps and runs to breakpoints. Returns where it leads, too, and how
/// many messages there were before the last leg.
fn way(model: &Model, seed: u64) -> (Vec<Leg>, usize, u64) {
    let (mut legs, mut at, mut started, mut random) = (Vec::new(), 0, 0, seed);
    for _ in 0..4 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if at + 10 >= model.places.len() {
            break;
        }
        started = model.places[at].1;
        if random >> 63 == 0 {
            let steps = 1 + (random >> 40) % 5;
            at += steps as usize;
            legs.push(Leg::Steps(steps));
        } else {
            let set = BTreeSet::from([0x1000 + (random >> 33) % 12]);
            at = model.run(at, |place| set.contains(&place.0));
            legs.push(Leg::Run { points: Points { at: set, ..Points::default() }, stops: 1 });
        }
    }
    (legs, at, started)
}

#[test]
fn a_step_back_leads_to_the_instruction_before() {
    for seed in 0..400 {
        let model = Model::new(seed, 200);
        let (mut legs, mut place, mut started) = way(&model, seed);
        // Again and again, down to the start.
        for _ in 0..5 {
            if place == 0 {
                break;
            }
            let mut journey = Journey::before(&legs, model.seen(place), started, true);
            let (found, reason) = model.travel(&mut journey);
            assert_eq!((found, reason), (place - 1, Some(Reason::Signal)), "seed {seed} from {place}");
            (legs, place, started) = (journey.way().to_vec(), found, journey.started());
        }
    }
}

#[test]
fn a_place_that_no_way_leads_to_is_found_by_what_is_seen() {
    for seed in 0..100 {
        let model = Model::new(seed, 300);
        let place = 1 + (seed as usize * 37) % 290;
        let mut journey = Journey::before(&[], model.seen(place), 0, false);
        assert_eq!(model.travel(&mut journey), (place - 1, Some(Reason::Signal)), "seed {seed}");
    }
}

#[test]
fn a_breakpoint_before_an_unknown_place_is_found() {
    for seed in 0..100 {
        let model = Model::new(seed, 300);
        let place = (seed as usize * 37) % 290;
        let counted = BTreeSet::from([0x1003]);
        let wanted = (1..place).rev().find(|place| model.places[*place].0 == 0x1003).unwrap_or(0);
        let mut journey = Journey::to_last_before(model.seen(place), points(&counted));
        assert_eq!(model.travel(&mut journey).0, wanted, "seed {seed}");
    }
}

#[test]
fn the_last_breakpoint_before_a_place_is_found() {
    for seed in 0..400 {
        let model = Model::new(seed, 200);
        let (legs, at, _) = way(&model, seed);
        let counted = BTreeSet::from([0x1003, 0x1000 + seed % 12]);
        let wanted = (1..at).rev().find(|place| counted.contains(&model.places[*place].0));
        let mut journey = Journey::to_last(legs, points(&counted));
        let (found, reason) = model.travel(&mut journey);
        match wanted {
            Some(wanted) => assert_eq!((found, reason), (wanted, Some(Reason::Breakpoint)), "seed {seed} from {at}"),
            None => assert_eq!((found, reason), (0, Some(Reason::ReplayBegins)), "seed {seed} from {at}"),
        }
        // The way that was found leads there again.
        let mut again = Journey::to(journey.way().to_vec(), Reason::Signal);
        assert_eq!(model.travel(&mut again).0, found);
    }
}

#[test]
fn a_search_ends() {
    let model = Model::new(1, 100);
    let mut seen = model.seen(50);
    seen.registers.rip = 7;
    assert_eq!(model.travel(&mut Journey::before(&[], seen, 0, false)).1, None);
    let mut abandoned = Journey::to(vec![Leg::Steps(5)], Reason::ReplayBegins);
    abandoned.abandon();
    assert_eq!(model.travel(&mut abandoned), (0, Some(Reason::Signal)));
}

/// Address of what programs watch.
const WATCHED: u64 = 0x8000;

/// A program that writes: for each instruction, whether it writes to the page of what is watched,
/// and the value that was there before it.
struct Writer {
    model: Model,
    writes: Vec<bool>,
    values: Vec<u64>,
}

impl Writer {
    fn new(seed: u64) -> Writer {
        let (model, mut random) = (Model::new(seed, 120), seed ^ 0x5555);
        let (mut writes, mut values) = (Vec::new(), vec![0]);
        for _ in 0..model.places.len() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            writes.push(random >> 61 == 0);
            values.push(if random >> 61 == 0 { random >> 40 & 1 } else { values[values.len() - 1] });
        }
        Writer { model, writes, values }
    }

    /// Does what a journey asks for: the place where it ends, and the reason.
    fn travel(&self, journey: &mut Journey) -> (usize, Option<Reason>) {
        let (mut at, mut touches, mut order) = (0, 0, Order::Rewind);
        for _ in 0..100_000 {
            let (points, leg) = (journey.points(), journey.leg());
            let is_watched = !points.watched.is_empty();
            let halt = match order {
                Order::Tell(reason) => return (at, Some(reason)),
                Order::Fail => return (at, None),
                Order::Rewind => {
                    (at, touches) = (0, 0);
                    order = journey.begins(&Halt { seen: self.model.seen(0), ..Halt::default() });
                    continue;
                }
                Order::Step | Order::Run | Order::RunToMessage(_) => loop {
                    let place = self.model.places[at];
                    let is_call = self.model.places[at + 1].1 != place.1;
                    let has_touched = is_watched && self.writes[at] && !is_call;
                    touches += u64::from(has_touched);
                    if has_touched && journey.touch() == Some(touches) {
                        break Halt { seen: self.model.seen(at), is_before_touch: true, ..Halt::default() };
                    }
                    at += 1;
                    let has_changed = is_watched && self.values[at] != self.values[at - 1];
                    let is_behind_message = matches!(order, Order::RunToMessage(message) if self.model.places[at].1 >= message);
                    let is_met = order != Order::Step && points.at.contains(&self.model.places[at].0);
                    let is_end = at + 1 == self.model.places.len();
                    let cause = match (has_changed, is_met) {
                        (true, _) => Cause::Change { address: WATCHED, touch: (!is_call).then_some(touches) },
                        (_, true) => Cause::Breakpoint,
                        _ => Cause::Other,
                    };
                    if has_changed || is_met || is_behind_message || is_end || order == Order::Step {
                        break Halt { seen: self.model.seen(at), cause, is_behind_message, ..Halt::default() };
                    }
                },
            };
            order = journey.stops(&halt);
            if journey.leg() != leg {
                touches = 0;
            }
        }
        panic!("it does not end");
    }
}

#[test]
fn the_last_change_or_breakpoint_before_a_place_is_found() {
    let watched = BTreeSet::from([(WATCHED, 4)]);
    for (seed, at) in (0..400).flat_map(|seed| [(seed, BTreeSet::new()), (seed, BTreeSet::from([0x1003, 0x1007]))]) {
        let writer = Writer::new(seed);
        let (legs, end, _) = way(&writer.model, seed);
        let change = (0..end).rev().find(|place| writer.values[*place] != writer.values[place + 1]);
        let breakpoint = (1..end).rev().find(|place| at.contains(&writer.model.places[*place].0));
        let mut journey = Journey::to_last(legs.clone(), Points { at, watched: watched.clone() });
        let (found, reason) = writer.travel(&mut journey);
        assert_eq!(found, change.max(breakpoint).unwrap_or(0), "seed {seed} from {end}: {legs:?}, {reason:?}");
    }
}
