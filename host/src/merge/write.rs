//! The second reading, which writes one file: all layers at once, by the ends of their calls.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Write};

use super::arrows::{self, Arrows, Call, Place};
use super::line::{Event, Line, NUMBERS};
use super::lines::{Lines, Problem};
use super::survey::{MAX_TRACKS, Survey};

/// First number of the processes of the second layer. Those of the third begin with twice as much,
/// so all can be told from their digits.
const LAYER: u64 = 10_000_000;
/// First number of tracks that have no thread's number.
const FURTHER: u64 = 4 * NUMBERS;

/// Facts about the merged file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Name of each layer, its program, and its number of calls, in the order of the groups.
    pub layers: Vec<(String, String, u64)>,
    /// Number of arrows.
    pub arrows: u64,
    /// Files that were cut off.
    pub cut: Vec<usize>,
    /// Some arrows are missing, since too many calls were under way at once.
    pub is_crowded: bool,
    /// Arrows are missing, since times were measured.
    pub is_measured: bool,
}

/// Track of a layer. If its calls overlap, it has further ones.
struct Track {
    thread: u64,
    /// Numbers, and the end of the last call of each.
    lanes: Vec<(u64, u64)>,
}

/// Layer that is read.
struct Source<R> {
    lines: Lines<R>,
    /// Number of the layer, of its group, and of its tracer and file.
    layer: usize,
    group: u64,
    tracer: u64,
    file: usize,
    name: String,
    /// End of the call that comes next; `None`: there is none.
    next: Option<u64>,
    tracks: HashMap<(u64, u64), Track>,
    known: HashSet<u64>,
    /// Numbers of tracks that are in use, by process.
    taken: HashSet<(u64, u64)>,
}

/// The file that is written.
struct Output<W> {
    output: W,
    is_empty: bool,
    /// Number of tracks so far, and of arrows.
    tracks: usize,
    arrows: u64,
}

/// Nanoseconds as the format's microseconds.
fn microseconds(time: u64) -> String {
    format!("{}.{:03}", time / 1000, time % 1000)
}

impl<W: Write> Output<W> {
    fn line(&mut self, text: &str) -> Result<(), Problem> {
        let before = if std::mem::take(&mut self.is_empty) { "[\n" } else { ",\n" };
        self.output.write_all(before.as_bytes()).and_then(|()| self.output.write_all(text.as_bytes())).map_err(Problem::Write)
    }

    fn process(&mut self, pid: u64, group: u64, name: &str) -> Result<(), Problem> {
        self.line(&format!("{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{pid},\"args\":{{\"name\":\"{name}\"}}}}"))?;
        self.line(&format!("{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{pid},\"args\":{{\"sort_index\":{group}}}}}"))
    }

    fn track(&mut self, pid: u64, track: u64, name: &str) -> Result<(), Problem> {
        self.tracks += 1;
        if self.tracks > MAX_TRACKS {
            return Err(Problem::TooManyTracks);
        }
        self.line(&format!("{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{track},\"args\":{{\"name\":\"{name}\"}}}}"))
    }

    fn event(&mut self, event: &Event<'_>, place: Place) -> Result<(), Problem> {
        let Event { name, category, message, answer, .. } = event;
        let (start, duration) = (microseconds(event.start), microseconds(event.duration));
        let Place { pid, track, .. } = place;
        self.line(&format!("{{\"name\":\"{name}\",\"cat\":\"{category}\",\"ph\":\"X\",\"ts\":{start},\"dur\":{duration},\"pid\":{pid},\"tid\":{track},\"args\":{{\"message\":\"{message}\",\"answer\":\"{answer}\"}}}}"))
    }

    fn arrow(&mut self, from: Place, to: Place) -> Result<(), Problem> {
        self.arrows += 1;
        let number = self.arrows;
        for (place, kind) in [(from, "\"s\""), (to, "\"f\",\"bp\":\"e\"")] {
            let (time, Place { pid, track, .. }) = (microseconds(place.start), place);
            self.line(&format!("{{\"name\":\"became\",\"cat\":\"layers\",\"ph\":{kind},\"id\":{number},\"ts\":{time},\"pid\":{pid},\"tid\":{track}}}"))?;
        }
        Ok(())
    }
}

impl<R: BufRead> Source<R> {
    /// Number of a process among all layers.
    fn number(&self, pid: u64) -> u64 {
        self.group * LAYER + pid
    }

    /// Goes to the next call of this layer, and writes the names that stand before it.
    fn advance(&mut self, survey: &Survey, output: &mut Output<impl Write>) -> Result<(), Problem> {
        self.next = None;
        while let Some(line) = self.lines.next()? {
            match line {
                Line::Process(name) if name.tracer == self.tracer => {
                    let (pid, shown) = (self.group * LAYER + name.pid, format!("{}: {}", self.name, name.name));
                    self.known.insert(name.pid);
                    output.process(pid, self.group, &shown)?;
                }
                Line::Track(name) if name.tracer == self.tracer => {
                    let (pid, track, thread) = (name.pid, name.track, name.thread);
                    let shown = name.name.split(" of ").next().unwrap_or_default().to_string();
                    self.begin_track((pid, track), thread, &shown, output)?;
                }
                Line::Event(event) if survey.tracks.get(&(self.file, event.pid, event.track)).is_some_and(|track| track.0 == self.layer) => {
                    self.next = Some(event.end());
                    break;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn begin_track(&mut self, (pid, track): (u64, u64), thread: u64, name: &str, output: &mut Output<impl Write>) -> Result<(), Problem> {
        if self.tracks.contains_key(&(pid, track)) {
            return Ok(());
        }
        if self.known.insert(pid) {
            let name = format!("{}: process {pid}", self.name);
            output.process(self.number(pid), self.group, &name)?;
        }
        // A thread's first track has its number.
        let wanted = if thread == 0 { pid } else { thread };
        let number = if self.taken.insert((pid, wanted)) { wanted } else { FURTHER + output.tracks as u64 };
        output.track(self.number(pid), number, name)?;
        self.tracks.insert((pid, track), Track { thread, lanes: vec![(number, 0)] });
        Ok(())
    }

    /// Finds the place of a call: on its track, or on a further one if it begins before the last
    /// one there has ended.
    fn place(&mut self, event: (u64, u64), (start, end): (u64, u64), output: &mut Output<impl Write>) -> Result<Place, Problem> {
        let (pid, tracks) = (self.number(event.0), self.tracks.get_mut(&event).ok_or(Problem::Changed)?);
        let number = match tracks.lanes.iter_mut().find(|lane| lane.1 <= start) {
            Some(lane) => {
                lane.1 = end;
                lane.0
            }
            None => {
                let number = FURTHER + output.tracks as u64;
                let name = if tracks.thread == 0 { "messages".to_string() } else { format!("thread {}", tracks.thread) };
                output.track(pid, number, &format!("{name}, more ({})", tracks.lanes.len()))?;
                tracks.lanes.push((number, end));
                number
            }
        };
        Ok(Place { start, pid, track: number })
    }
}

/// All that is read, and the arrows.
struct Merge<'a, R, W> {
    survey: &'a Survey,
    sources: Vec<Source<R>>,
    /// Arrows from each layer to the one around it.
    arrows: Vec<Option<Arrows>>,
    output: Output<W>,
}

impl<R: BufRead, W: Write> Merge<'_, R, W> {
    /// Writes the call that ended first. False: there is none.
    fn step(&mut self) -> Result<bool, (usize, Problem)> {
        let first = self.sources.iter_mut().filter(|source| source.next.is_some()).min_by_key(|source| source.next);
        let Some(source) = first else { return Ok(false) };
        let file = source.file;
        let (place, call) = Self::write(self.survey, source, &mut self.output).map_err(|problem| (file, problem))?;
        let (layer, pid) = (source.layer, place.pid % LAYER);
        source.advance(self.survey, &mut self.output).map_err(|problem| (file, problem))?;
        let mut all = Vec::new();
        let mut draw = |from, to| all.push((from, to));
        if let Some(arrows) = &mut self.arrows[layer] {
            arrows.add_inner(call, place, &mut draw);
        }
        let layers = self.survey.layers.iter().zip(&mut self.arrows);
        for (_, arrows) in layers.filter(|(inner, _)| inner.around == Some(layer) && inner.processes.contains(&pid)) {
            arrows.iter_mut().for_each(|arrows| arrows.add_outer(call, place, &mut draw));
        }
        self.draw(all).map(|()| true)
    }

    fn write(survey: &Survey, source: &mut Source<R>, output: &mut Output<W>) -> Result<(Place, Call), Problem> {
        let Some(Line::Event(event)) = source.lines.current() else { return Err(Problem::Changed) };
        let (track, times) = ((event.pid, event.track), (event.start, event.end()));
        let thread = survey.tracks.get(&(source.file, event.pid, event.track)).map_or(0, |track| track.1);
        let call = Call { key: arrows::key(&event, thread), start: event.start, end: event.end() };
        let place = source.place(track, times, output)?;
        let Some(Line::Event(event)) = source.lines.current() else { return Err(Problem::Changed) };
        output.event(&event, place)?;
        Ok((place, call))
    }

    fn draw(&mut self, all: Vec<(Place, Place)>) -> Result<(), (usize, Problem)> {
        all.into_iter().try_for_each(|(from, to)| self.output.arrow(from, to)).map_err(|problem| (0, problem))
    }
}

/// Merges files, which `open` opens by their numbers from 0. The error has the number of the file.
pub fn merge<R: BufRead, W: Write>(count: usize, open: impl Fn(usize) -> io::Result<R>, output: W) -> Result<Written, (usize, Problem)> {
    let mut survey = Survey::default();
    for file in 0..count {
        let read = open(file).map_err(Problem::Read).and_then(|input| survey.read(file, input));
        read.map_err(|problem| (file, problem))?;
    }
    let order = survey.nest();
    let mut written = Written { cut: survey.cut.clone(), is_crowded: survey.is_crowded, ..Written::default() };
    let mut sources = Vec::new();
    for (group, layer) in order.iter().enumerate() {
        let found = &survey.layers[*layer];
        let is_around = survey.layers.iter().any(|other| other.around == Some(*layer));
        let place = match found.around {
            Some(around) => format!(" (inside trace {})", order.iter().position(|other| *other == around).unwrap_or(0) + 1),
            None if is_around => " (outer)".to_string(),
            None => String::new(),
        };
        let name = format!("trace {}{place}", group + 1);
        written.layers.push((name.clone(), found.program.clone(), found.events));
        let lines = open(found.file).map_err(Problem::Read).and_then(Lines::start).map_err(|problem| (found.file, problem))?;
        sources.push(Source { lines, layer: *layer, group: group as u64, tracer: found.tracer, file: found.file, name, next: None, tracks: HashMap::new(), known: HashSet::new(), taken: HashSet::new() });
    }
    let has_arrows = |layer: &super::survey::Layer| layer.around.is_some() && !layer.is_measured() && !survey.is_crowded;
    written.is_measured = survey.layers.iter().any(|layer| layer.around.is_some() && layer.is_measured());
    let arrows = survey.layers.iter().map(|layer| has_arrows(layer).then(|| Arrows::new(&layer.long))).collect();
    let mut merge = Merge { survey: &survey, sources, arrows, output: Output { output, is_empty: true, tracks: 0, arrows: 0 } };
    for source in &mut merge.sources {
        source.advance(&survey, &mut merge.output).map_err(|problem| (source.file, problem))?;
    }
    while merge.step()? {}
    let mut rest = Vec::new();
    for arrows in merge.arrows.iter_mut().flatten() {
        arrows.finish(|from, to| rest.push((from, to)));
        written.is_crowded |= arrows.is_crowded;
    }
    merge.draw(rest)?;
    written.arrows = merge.output.arrows;
    let Output { mut output, .. } = merge.output;
    output.write_all(b"\n]\n").and_then(|()| output.flush()).map_err(|error| (0, Problem::Write(error)))?;
    Ok(written)
}
