//! The first reading of all files, which finds the tracers that wrote them, and which of those are
//! inside of which.

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;

use super::arrows::{self, Call, MAX_CALLS, PATIENCE};
use super::line::{Event, Line, ProcessName, TrackName};
use super::lines::{Lines, Problem};

/// Maximum number of layers. Each has numbers of processes of its own, and all fit into 31 bits.
pub const MAX_LAYERS: usize = 200;
/// Maximum number of tracks of all files.
pub const MAX_TRACKS: usize = 1 << 20;
/// Maximum number of letters of a program's name that are kept.
const MAX_NAME: usize = 200;
/// Nanoseconds by which two readings of one clock can differ that were measured.
const MEASURED: u64 = 1_000_000_000;

/// Events of one tracer.
#[derive(Debug)]
pub struct Layer {
    /// Number of the file, and of the tracer in it.
    pub file: usize,
    pub tracer: u64,
    /// The program, as JSON has it.
    pub program: String,
    own: u64,
    world: u64,
    clock: [u64; 3],
    /// Start of the first call.
    first: u64,
    /// Processes that have calls.
    pub processes: BTreeSet<u64>,
    /// Number of calls.
    pub events: u64,
    /// Calls that take so long that others cannot wait for their end.
    pub long: Vec<Call>,
    /// Layer around this one, if that is certain.
    pub around: Option<usize>,
}

impl Layer {
    /// Returns true if the length of a tick was measured, so that times are not exact.
    pub fn is_measured(&self) -> bool {
        self.clock[..2] == [0, 0]
    }

    fn has_clock_of(&self, other: &Layer) -> bool {
        self.clock == other.clock || self.is_measured() && other.is_measured() && self.clock[2].abs_diff(other.clock[2]) < MEASURED
    }

    /// Returns true if this layer shows the tracer of another one.
    fn shows(&self, other: &Layer) -> bool {
        let is_known = other.own != 0 && other.world != 0 && self.world == other.world;
        is_known && self.processes.contains(&other.own) && self.first < other.first
    }
}

/// Facts about all files.
#[derive(Debug, Default)]
pub struct Survey {
    /// Layers, in the order of the files.
    pub layers: Vec<Layer>,
    /// Layer and thread of each track, by file, process and number.
    pub tracks: HashMap<(usize, u64, u64), (usize, u64)>,
    /// Files that were cut off.
    pub cut: Vec<usize>,
    /// True if there are so many long calls that no arrows can be told.
    pub is_crowded: bool,
}

impl Survey {
    /// Reads a file, the next one.
    pub fn read(&mut self, file: usize, input: impl BufRead) -> Result<(), Problem> {
        let mut lines = Lines::start(input)?;
        let before = self.layers.len();
        loop {
            let understood = match lines.next()? {
                None => break,
                Some(Line::Process(name)) => self.process(file, name)?,
                Some(Line::Track(name)) => self.track(file, name)?,
                Some(Line::Event(event)) => self.event(file, &event),
            };
            if !understood {
                return Err(lines.damaged());
            }
        }
        if lines.is_cut {
            self.cut.push(file);
        }
        if self.layers.len() == before { Err(Problem::NoTrace) } else { Ok(()) }
    }

    fn layer(&self, file: usize, tracer: u64) -> Option<usize> {
        self.layers.iter().rposition(|layer| (layer.file, layer.tracer) == (file, tracer))
    }

    /// A tracer begins, or names a process. False if it cannot.
    fn process(&mut self, file: usize, name: ProcessName<'_>) -> Result<bool, Problem> {
        let known = self.layer(file, name.tracer);
        let Some(beginning) = name.beginning else { return Ok(known.is_some()) };
        if self.layers.len() == MAX_LAYERS {
            return Err(Problem::TooManyTracers);
        }
        let layer = Layer {
            file,
            tracer: name.tracer,
            program: name.name.chars().take(MAX_NAME).collect(),
            own: beginning.own,
            world: beginning.world,
            clock: beginning.clock,
            first: u64::MAX,
            processes: BTreeSet::new(),
            events: 0,
            long: Vec::new(),
            around: None,
        };
        match self.layers.first() {
            Some(other) if !other.has_clock_of(&layer) => return Err(Problem::OtherClock(other.file)),
            _ => self.layers.push(layer),
        }
        Ok(known.is_none())
    }

    fn track(&mut self, file: usize, name: TrackName<'_>) -> Result<bool, Problem> {
        let Some(layer) = self.layer(file, name.tracer) else { return Ok(false) };
        if self.tracks.len() == MAX_TRACKS {
            return Err(Problem::TooManyTracks);
        }
        let track = (layer, name.thread);
        Ok(*self.tracks.entry((file, name.pid, name.track)).or_insert(track) == track)
    }

    fn event(&mut self, file: usize, event: &Event<'_>) -> bool {
        let Some(&(layer, thread)) = self.tracks.get(&(file, event.pid, event.track)) else { return false };
        let layer = &mut self.layers[layer];
        layer.events += 1;
        layer.first = layer.first.min(event.start);
        layer.processes.insert(event.pid);
        if event.duration > PATIENCE {
            if layer.long.len() < MAX_CALLS {
                layer.long.push(Call { key: arrows::key(event, thread), start: event.start, end: event.end() });
            } else {
                self.is_crowded = true;
            }
        }
        true
    }

    /// Finds the layer around each, the innermost of those that show its tracer. Returns the layers
    /// in the order of their groups: each before those within it, and those by their first call.
    pub fn nest(&mut self) -> Vec<usize> {
        for number in 0..self.layers.len() {
            let own = &self.layers[number];
            let around = (0..self.layers.len()).filter(|other| self.layers[*other].shows(own));
            self.layers[number].around = around.max_by_key(|other| self.layers[*other].first);
        }
        let mut order = Vec::new();
        let mut waiting = self.within(None);
        while let Some(layer) = waiting.pop() {
            order.push(layer);
            waiting.extend(self.within(Some(layer)));
        }
        order
    }

    /// Layers that are right inside of one, the last one first.
    fn within(&self, around: Option<usize>) -> Vec<usize> {
        let mut found: Vec<usize> = (0..self.layers.len()).filter(|layer| self.layers[*layer].around == around).collect();
        found.sort_by_key(|layer| std::cmp::Reverse((self.layers[*layer].first, *layer)));
        found
    }
}
