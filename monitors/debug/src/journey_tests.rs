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
            let breakpoints = journey.breakpoints();
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
                    let halt = Halt { seen: self.seen(at), is_breakpoint: !is_step && has(&self.places[at]), is_behind_message };
                    journey.stops(&halt)
                }
            };
        }
        panic!("it does not end");
    }
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
            legs.push(Leg::Run { at: set, stops: 1 });
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
        let mut journey = Journey::to_last_before(model.seen(place), counted);
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
        let mut journey = Journey::to_last(legs, counted);
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
