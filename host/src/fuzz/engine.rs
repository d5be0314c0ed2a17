//! The engine that follows coverage: `fuzz/` is built with the compiler's instrumentation and
//! libFuzzer, and run on one target after the other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::corpus;
use crate::builds::run_quietly;
use super::arguments::FuzzArguments;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::toolchain::Toolchain;
use crate::tree::Tree;

/// The architecture is named so that build scripts are not instrumented.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Edge counters for the engine, checks of arithmetic, and the address sanitizer with the runtime
/// that gcc brings (rustc's own is not in Debian).
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "-Coverflow-checks",
    "-Zsanitizer=address",
    "-Zexternal-clangrt",
    "-Zpre-link-arg=-Wl,--push-state,--no-as-needed",
    "-Zpre-link-arg=-lasan",
    "-Zpre-link-arg=-Wl,--pop-state",
];

/// Options of each run: an input is a finding if it takes 30 s, or 3 GiB.
const OPTIONS: &[&str] = &["-timeout=30", "-rss_limit_mb=3072", "-max_len=4096", "-print_final_stats=1"];

/// Fuzzes `core`, another target, or all `decoders` in turn; 1 if there is a finding.
pub fn fuzz(tree: &Tree, name: &str, arguments: &FuzzArguments) -> Outcome<i32> {
    let engine = Engine { tree, program: build(tree)? };
    let known = known_targets(tree)?;
    let targets: Vec<&String> = known.iter().filter(|target| *target == name || name == "decoders" && *target != "core").collect();
    if targets.is_empty() {
        let remedy = format!("the targets are {}, and decoders for all but core", known.join(", "));
        return Err(Failure::new(Class::Usage, format!("there is no target {name}")).remedy(remedy));
    }
    if let Some(input) = &arguments.input {
        return engine.repeat(targets[0], input);
    }
    let seconds = ((arguments.minutes * 60.0) as u64 / targets.len() as u64).max(1);
    let mut found = 0;
    for target in targets {
        found += i32::from(!engine.campaign(target, seconds, arguments)?);
    }
    println!("{found} of the targets have a finding");
    Ok(i32::from(found > 0))
}

fn build(tree: &Tree) -> Outcome<PathBuf> {
    eprintln!("nacre: building the fuzzer (the first time takes some minutes)");
    let mut command = Toolchain::from_environment().cargo(tree, "fuzz");
    command.args(["build", "--quiet", "--release", "--package", "nacre-fuzz", "--features", "engine", "--target", TARGET]);
    command.env("RUSTFLAGS", FLAGS.join(" "));
    command.envs([("CARGO_PROFILE_RELEASE_LTO", "off"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "4"), ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2")]);
    run_quietly(command, "the fuzzer")?;
    Ok(tree.target("fuzz").join(TARGET).join("release").join("nacre-fuzz"))
}

/// The names in the table of `fuzz/src/targets.rs`.
fn known_targets(tree: &Tree) -> Outcome<Vec<String>> {
    let path = tree.path("fuzz/src/targets.rs");
    let text = fs::read_to_string(&path).context(Class::File, || format!("cannot read {}", path.display()))?;
    let table = text.split_once("\ntargets! {").map_or("", |(_, rest)| rest);
    Ok(table.lines().filter_map(|line| Some(line.strip_prefix("    \"")?.split_once('"')?.0.to_string())).collect())
}

struct Engine<'a> {
    tree: &'a Tree,
    program: PathBuf,
}

impl Engine<'_> {
    fn command(&self, target: &str) -> Command {
        let mut command = Command::new(&self.program);
        // Names and arguments of boot images are kept for as long as root runs: what looks like a
        // leak is none.
        command.env("NACRE_FUZZ_TARGET", target).env("ASAN_OPTIONS", "detect_leaks=0").args(OPTIONS);
        command
    }

    fn run(&self, mut command: Command) -> Outcome<bool> {
        let status = command.status().context(Class::Machine, || format!("cannot start {}", self.program.display()))?;
        Ok(status.success())
    }

    /// One target for so many seconds; whether there was no finding.
    fn campaign(&self, target: &str, seconds: u64, arguments: &FuzzArguments) -> Outcome<bool> {
        let (list, folder) = (self.tree.path("fuzz/corpus").join(format!("{target}.txt")), self.folder("inputs", target));
        corpus::unpack(&list, &folder)?;
        println!("nacre: fuzzing {target} for {seconds} s");
        let mut command = self.command(target);
        command.arg(format!("-max_total_time={seconds}")).arg(format!("-artifact_prefix={}/", self.findings()?.display()));
        command.args(arguments.seed.map(|seed| format!("-seed={}", seed as u32))).arg(&folder);
        let clean = self.run(command)?;
        if !clean {
            println!("nacre: a finding; its input is a file in build/fuzz/findings; repeat it with: ./nacre fuzz {target} --input FILE");
        }
        if arguments.keep && clean {
            let kept = self.minimise(target, &folder)?;
            println!("nacre: {} inputs in {}", corpus::pack(&kept, &list)?, list.display());
        }
        Ok(clean)
    }

    fn folder(&self, kind: &str, target: &str) -> PathBuf {
        self.tree.target("fuzz").join(kind).join(target)
    }

    fn findings(&self) -> Outcome<PathBuf> {
        let folder = self.tree.target("fuzz").join("findings");
        fs::create_dir_all(&folder).context(Class::File, || format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// Copies as few inputs as reach what all reach.
    fn minimise(&self, target: &str, all: &Path) -> Outcome<PathBuf> {
        let kept = self.folder("kept", target);
        let _ = fs::remove_dir_all(&kept);
        fs::create_dir_all(&kept).context(Class::File, || format!("cannot make {}", kept.display()))?;
        let mut command = self.command(target);
        command.args(["-merge=1", "-use_value_profile=0"]).args([&kept, all]);
        match self.run(command)? {
            true => Ok(kept),
            false => Err(Failure::new(Class::Machine, format!("the inputs of {target} could not be merged"))),
        }
    }

    /// Runs one input: a file, or base 16.
    fn repeat(&self, target: &str, input: &str) -> Outcome<i32> {
        let path = match corpus::decode(input) {
            Some(bytes) => {
                let path = self.findings()?.join("input");
                fs::write(&path, bytes).context(Class::File, || format!("cannot write {}", path.display()))?;
                path
            }
            None => PathBuf::from(input),
        };
        let mut command = self.command(target);
        command.arg(path);
        Ok(i32::from(!self.run(command)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found() {
        let targets = known_targets(&Tree::find().unwrap()).unwrap();
        assert!(targets.contains(&"core".to_string()) && targets.len() > 10, "{targets:?}");
    }
}
