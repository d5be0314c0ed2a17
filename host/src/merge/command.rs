//! The subcommand `trace-merge`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

use clap::Args;

use super::lines::Problem;
use super::survey::{MAX_LAYERS, MAX_TRACKS};
use super::write::{Written, merge};
use crate::failure::{Class, Context, Failure, Outcome};

/// Arguments of `trace-merge`.
#[derive(Args, Debug)]
pub struct TraceMergeArguments {
    /// The file to write; one that is there stays until the new one is whole
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Files that `trace -o FILE.json` wrote, in one machine
    #[arg(value_name = "FILE", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Print nothing but what is missing
    #[arg(short, long)]
    pub quiet: bool,
}

/// Output that takes its place when it is whole.
struct Partial<'a> {
    path: PathBuf,
    place: &'a Path,
}

impl<'a> Partial<'a> {
    fn create(place: &'a Path) -> Outcome<(Partial<'a>, File)> {
        let mut name = OsString::from(place);
        name.push(".part");
        let path = PathBuf::from(name);
        let file = File::create(&path).context(Class::File, || format!("cannot write {}", path.display()))?;
        Ok((Partial { path, place }, file))
    }

    fn finish(self) -> Outcome<()> {
        fs::rename(&self.path, self.place).context(Class::File, || format!("cannot write {}", self.place.display()))
    }
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        // One that was renamed is not there any more, and one that stays is in nobody's way.
        let _ = fs::remove_file(&self.path);
    }
}

/// Merges traces into one file.
pub fn merge_traces(arguments: &TraceMergeArguments) -> Outcome<i32> {
    let TraceMergeArguments { output, inputs, quiet } = arguments;
    check_inputs(inputs)?;
    let (partial, file) = Partial::create(output)?;
    let open = |number: usize| File::open(&inputs[number]).map(|file| BufReader::with_capacity(1 << 16, file));
    let written = merge(inputs.len(), open, BufWriter::with_capacity(1 << 16, file)).map_err(|(number, problem)| refusal(&inputs[number], inputs, output, &problem))?;
    partial.finish()?;
    for number in &written.cut {
        eprintln!("nacre: {} was cut off: what its tracer wrote last is missing; let the program end by itself to have all", inputs[*number].display());
    }
    if written.is_measured {
        eprintln!("nacre: no arrows are drawn, since the times are not exact: a program that reads no clock of the machine, as below `checkpoint`, was traced");
    }
    if written.is_crowded {
        eprintln!("nacre: arrows are missing, since too many calls were under way at once; trace fewer operations, with -e");
    }
    if !quiet {
        print!("{}", summary(output, &written));
    }
    Ok(0)
}

/// Each file is read twice, so it has to be one, and one alone.
fn check_inputs(inputs: &[PathBuf]) -> Outcome<()> {
    for (number, input) in inputs.iter().enumerate() {
        let shown = input.display();
        let found = fs::metadata(input).context(Class::File, || format!("cannot read {shown}"))?;
        if !found.is_file() {
            return Err(Failure::new(Class::File, format!("{shown} is no file")).remedy("name files that trace -o FILE.json wrote"));
        }
        let real = fs::canonicalize(input).ok();
        if inputs[..number].iter().any(|other| fs::canonicalize(other).ok() == real) {
            return Err(Failure::new(Class::Usage, format!("{shown} is named twice")));
        }
    }
    Ok(())
}

/// Text of JSON as a terminal may show it.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

fn summary(output: &Path, written: &Written) -> String {
    let mut text = format!("{}: {} arrows\n", output.display(), written.arrows);
    for (name, program, events) in &written.layers {
        text += &format!("  {name}: {} ({events} calls)\n", plain(program));
    }
    text
}

fn refusal(path: &Path, inputs: &[PathBuf], output: &Path, problem: &Problem) -> Failure {
    let shown = path.display();
    let failure = |text: String, remedy: &str| Failure::new(Class::File, text).remedy(remedy);
    match problem {
        Problem::Read(error) => Failure::new(Class::File, format!("cannot read {shown}: {error}")),
        Problem::Write(error) => Failure::new(Class::File, format!("cannot write {}: {error}", output.display())),
        Problem::NoTrace => failure(format!("{shown} is no trace"), "make one with nacre run trace -o FILE.json PROGRAM"),
        Problem::Old => failure(format!("{shown} does not tell its clock, since an older trace wrote it"), "trace the program again"),
        Problem::Damaged(line) => failure(format!("{shown} is damaged: line {line} is none of a trace"), "trace the program again, each tracer into a file of its own"),
        Problem::TooManyTracks => failure(format!("there are over {MAX_TRACKS} processes and threads up to {shown}"), "merge fewer files, or trace fewer operations, with -e"),
        Problem::TooManyTracers => failure(format!("there are over {MAX_LAYERS} tracers up to {shown}"), "merge fewer files"),
        Problem::OtherClock(other) => failure(format!("{shown} has another clock than {}", inputs[*other].display()), "merge traces of one run: each start of a machine begins a clock, and so does each `checkpoint`"),
        Problem::Changed => failure(format!("{shown} has changed while it was read"), "merge when all tracers have ended"),
    }
}
