//! The third ring: each command of a scenario runs on this machine and in Nacre under layers of
//! monitors, and both must say the same.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::arguments::TestArguments;
use super::part::Extent;
use super::tally::TestCounts;
use super::scenario::{Item, Run, Scenario, Source};
use super::system::{describe, limits};
use crate::boot::guest::Guest;
use crate::boot::program::GUEST_PATH;
use crate::builds::{Products, run_quietly};
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::run::machine;
use crate::scratch::{Folder, Scratch};
use crate::session::capture::capture;
use crate::session::terminal::Facts;
use crate::tree::Tree;

/// Variables that runs have here and in the system, whatever the person has who runs the tests.
const ENVIRONMENT: [(&str, &str); 3] = [("LANG", "C"), ("TERM", "dumb"), ("TZ", "UTC0")];

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ending {
    status: i32,
    output: Vec<u8>,
    errors: Vec<u8>,
}

/// Runs every scenario whose name or command contains `filter`.
pub fn run(tree: &Tree, products: &Products, filter: &str, arguments: &TestArguments) -> Outcome<TestCounts> {
    let scenarios = load(tree)?;
    let wanted = |(scenario, run): &(&Scenario, &Run)| format!("{}: {}", scenario.name, run.line).contains(filter);
    let queue: Vec<(&Scenario, &Run)> = scenarios
        .iter()
        .flat_map(|scenario| scenario.runs.iter().map(move |run| (scenario, run)))
        .filter(wanted)
        .collect();
    let next = AtomicUsize::new(0);
    let tally = Mutex::new(TestCounts::default());
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                while let Some((scenario, run)) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
                    run_one(products, scenario, run, arguments.extent(), &tally);
                }
            });
        }
    });
    Ok(tally.into_inner().unwrap_or_default())
}

fn load(tree: &Tree) -> Outcome<Vec<Scenario>> {
    let folder = tree.path("tests/stacks");
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .context(Class::File, || format!("cannot read the directory {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "scenario"))
        .collect();
    paths.sort();
    paths.iter().map(|path| load_one(tree, path)).collect()
}

fn load_one(tree: &Tree, path: &Path) -> Outcome<Scenario> {
    let text = fs::read_to_string(path).context(Class::File, || format!("cannot read {}", path.display()))?;
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut scenario =
        Scenario::parse(&name, &text).map_err(|error| Failure::new(Class::File, error).remedy("see tests/stacks/README.md"))?;
    for item in &mut scenario.items {
        if let Item::Program(_, _, Source::File(path)) = item {
            *path = tree.path(&path);
        }
    }
    Ok(scenario)
}

/// One command under numbers of layers, on numbers of processors; each is a test of its own.
fn run_one(products: &Products, scenario: &Scenario, run: &Run, extent: Extent, tally: &Mutex<TestCounts>) {
    let note = |name: &str, fault: Option<&str>| {
        if let Ok(mut tally) = tally.lock() {
            tally.note(name, fault);
        }
    };
    let name = format!("{}: {}", scenario.name, run.line);
    let prepared = prepare(products, scenario, run).and_then(|(place, guests)| {
        let expected = expected(run, &place)?;
        Ok((place, guests, expected))
    });
    let (place, guests, expected) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return note(&name, Some(&failure.to_string())),
    };
    let settings = guests.iter().flat_map(|(layers, guest)| run.cpus.iter().map(move |cpus| (layers, guest, *cpus))).collect();
    for (layers, guest, cpus) in extent.of(&name, settings) {
        let on = if run.cpus == [1] { String::new() } else { format!(", cpus {cpus}") };
        let name = format!("{name} [{}{on}]", layers.name);
        let fault = boot(products, guest, cpus, &place.fill(&run.input)).map_err(|failure| failure.to_string());
        let fault = fault.and_then(|captured| compare(run, layers.words.is_empty(), &expected, &captured));
        note(&name, fault.err().as_deref());
    }
}

/// A scratch directory with the scenario's items in it.
struct Place(Folder);

impl Place {
    /// Programs that the run does not name are left out: each takes a compiler's time and room in
    /// the boot image.
    fn new(scenario: &Scenario, run: &Run) -> Outcome<Place> {
        let place = Place(Folder::new("stack")?);
        for item in scenario.items.iter().filter(|item| is_wanted(item, run)) {
            place.put(item)?;
        }
        Ok(place)
    }

    fn put(&self, item: &Item) -> Outcome<()> {
        let set_mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        let result = match item {
            Item::File(name, mode, text) => {
                let path = self.0.path().join(name);
                fs::write(&path, self.fill(text)).and_then(|()| set_mode(&path, *mode))
            }
            Item::Directory(name, mode) => {
                let path = self.0.path().join(name);
                fs::create_dir(&path).and_then(|()| set_mode(&path, *mode))
            }
            Item::Link(name, target) => symlink(String::from_utf8_lossy(&self.fill(target)).as_ref(), self.0.path().join(name)),
            Item::Made(name, words) => {
                let run = Run { line: words.join(" "), words: words.clone(), ..Run::default() };
                fs::write(self.0.path().join(name), on_this_machine(&run, self)?.output)
            }
            Item::Program(name, compiler, source) => return self.compile(name, compiler, source),
        };
        result.context(Class::File, || format!("cannot fill {}", self.0.path().display()))
    }

    fn compile(&self, name: &str, compiler: &str, source: &Source) -> Outcome<()> {
        match source {
            Source::Text(text) => self.compile_file(name, compiler, Scratch::write("source.c", text.as_bytes())?.path()),
            Source::File(path) => self.compile_file(name, compiler, path),
        }
    }

    fn compile_file(&self, name: &str, compiler: &str, source: &Path) -> Outcome<()> {
        let mut command = Command::new(compiler);
        command.args(["-static", "-o"]).arg(self.0.path().join(name)).arg(source).arg("-lm");
        run_quietly(command, name)
    }

    /// The text with the directory's path in place of `@/`.
    fn fill(&self, text: &str) -> Vec<u8> {
        text.replace("@/", &format!("{}/", self.0.path().display())).into_bytes()
    }

    fn words(&self, words: &[String]) -> Vec<String> {
        words.iter().map(|word| String::from_utf8_lossy(&self.fill(word)).into_owned()).collect()
    }
}

fn is_wanted(item: &Item, run: &Run) -> bool {
    match item {
        Item::Program(name, ..) => run.line.contains(&format!("@/{name}")),
        _ => true,
    }
}

/// Words before a command.
struct Layers {
    name: String,
    words: Vec<String>,
}

fn layers(run: &Run) -> impl Iterator<Item = Layers> {
    let traced = run.layers.iter().map(|count| Layers { name: format!("{count} layers"), words: vec!["trace".into(); *count] });
    traced.chain(run.under.iter().map(|words| Layers { name: format!("under {}", words.join(" ")), words: words.clone() }))
}

/// The guests of a run, composed before the command changes the directory on this machine.
fn prepare(products: &Products, scenario: &Scenario, run: &Run) -> Outcome<(Place, Vec<(Layers, Guest)>)> {
    let place = Place::new(scenario, run)?;
    let mut guests = Vec::new();
    for layers in layers(run) {
        let words = [place.words(&layers.words), place.words(&run.words)].concat();
        let command = words.into_iter().map(Into::into).collect();
        let files = vec![place.0.path().display().to_string()];
        let arguments = GuestArguments { bare: true, command, files, environment: ENVIRONMENT.map(|(name, value)| format!("{name}={value}")).to_vec(), ..GuestArguments::default() };
        guests.push((layers, Guest::compose(products, &arguments, &Facts::PIPE)?));
    }
    Ok((place, guests))
}

fn expected(run: &Run, place: &Place) -> Outcome<Ending> {
    match &run.expected {
        Some((status, output)) => Ok(Ending { status: *status, output: place.fill(output), errors: Vec::new() }),
        None => on_this_machine(run, place),
    }
}

/// Runs the command here, with busybox if it is no path.
fn on_this_machine(run: &Run, place: &Place) -> Outcome<Ending> {
    let words = place.words(&run.words);
    let is_path = words[0].contains('/');
    let mut command = Command::new(if is_path { &words[0] } else { "/bin/busybox" });
    command.args(&words[usize::from(is_path)..]).current_dir("/").env_clear();
    command.envs([("PATH", GUEST_PATH), ("HOME", "/root")]).envs(ENVIRONMENT);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = || format!("cannot run {} on this machine", run.line);
    let mut child = command.spawn().context(Class::Internal, failed)?;
    if let Some(mut input) = child.stdin.take() {
        // A command that does not read its input closes it early; that is no fault.
        let _ = input.write_all(&place.fill(&run.input));
    }
    let output = child.wait_with_output().context(Class::Internal, failed)?;
    let status = output.status.code().or(output.status.signal().map(|signal| 128 + signal)).unwrap_or(0);
    Ok(Ending { status, output: output.stdout, errors: output.stderr })
}

fn boot(products: &Products, guest: &Guest, cpus: u32, input: &[u8]) -> Outcome<crate::session::capture::Captured> {
    let image = Scratch::write("boot-image", &guest.image)?;
    capture(&machine(products, &image, MachineArguments { cpus, ..MachineArguments::default() }), limits(), input)
}

/// Standard error is compared without layers only: with them it holds the trace.
fn compare(run: &Run, is_bare: bool, expected: &Ending, captured: &crate::session::capture::Captured) -> Result<(), String> {
    let arrange = |bytes: &[u8]| if run.is_sorted { sorted(bytes) } else { bytes.to_vec() };
    if !matches!(captured.status, Ok(status) if status == expected.status) {
        return Err(format!("status {} was expected, but: {}", expected.status, describe(captured)));
    }
    differ("output", &arrange(&expected.output), &arrange(&captured.output))?;
    if is_bare && run.expected.is_none() && !run.ignores_errors {
        differ("standard error", &arrange(&expected.errors), &arrange(&captured.errors))?;
    }
    Ok(())
}

fn sorted(bytes: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines.concat()
}

/// Says where two outputs part.
fn differ(what: &str, expected: &[u8], got: &[u8]) -> Result<(), String> {
    if expected == got {
        return Ok(());
    }
    let (expected, got) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(got));
    let same = expected.lines().zip(got.lines()).take_while(|(one, other)| one == other).count();
    let line = |text: &str| text.lines().nth(same).map_or("its end".to_string(), |line| format!("{line:?}"));
    Err(format!("{what} differs in line {}: expected {}, got {}", same + 1, line(&expected), line(&got)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_its_line() {
        assert_eq!(differ("output", b"a\nb\n", b"a\nb\n"), Ok(()));
        let fault = differ("output", b"a\nb\n", b"a\n").unwrap_err();
        assert_eq!(fault, "output differs in line 2: expected \"b\", got its end");
    }

    #[test]
    fn every_attack_is_in_a_scenario() {
        let table = include_str!("../../../tests/witness/src/attacks.rs");
        let scenario = [
            include_str!("../../../tests/stacks/witness.scenario"),
            include_str!("../../../tests/stacks/witness-random.scenario"),
        ]
        .concat();
        let names: Vec<&str> = table.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split('"').next()).collect();
        assert!(!names.is_empty() && names.is_sorted());
        for name in names {
            // A program may start the witness.
            let mut attacks = scenario.lines().filter_map(|line| line.strip_prefix("run ")?.split_once("witness "));
            let is_run = attacks.any(|(_, attacks)| attacks.split([' ', '=']).any(|word| word == name));
            let is_open = scenario.contains(&format!("# open {name}: "));
            assert!(is_run != is_open, "{name}: `run` or `# open`, one of them");
        }
    }

    #[test]
    fn sorting_keeps_every_byte() {
        assert_eq!(sorted(b"b\na\nc"), b"a\nb\nc");
    }

    #[test]
    fn this_machine_runs_a_scenario() {
        let text = "file a\n| x\n| y\nrun wc -l @/a\nrun sh -c 'exit 3'\nrun cat\ninput\n| hello\n";
        let scenario = Scenario::parse("s", text).unwrap();
        let place = Place::new(&scenario, &scenario.runs[0]).unwrap();
        let results: Vec<Ending> = scenario.runs.iter().map(|run| on_this_machine(run, &place).unwrap()).collect();
        assert_eq!(results[0].output, place.fill("2 @/a\n"));
        assert_eq!(results[1].status, 3);
        assert_eq!(results[2].output, b"hello\n");
    }
}
