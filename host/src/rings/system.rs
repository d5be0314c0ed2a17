//! The second ring: programs that test the system from inside.

use std::time::Duration;

use super::parallel_tests;
use super::tally::TestCounts;
use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::Outcome;
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::{Captured, capture, capture_late};
use crate::session::terminal::Facts;

/// A guard against hanging, for one machine. It is no limit of speed: where others keep the
/// processors busy, a machine has taken ten times as long as alone.
pub const LIMIT: Duration = Duration::from_secs(1200);
/// Numbers of processors that each program is run on.
const CPUS: [u32; 3] = [1, 2, 4];
/// Programs of random instructions that the hostile program runs before its calls.
const PROGRAMS: u64 = 3_000;
/// Calls that the hostile program makes, on one processor and again on two. On more there are a
/// fifth of them, because all CPUs of the guest share the host's.
const HOSTILE_CALLS: u64 = 1_000_000;
/// Seed of the hostile program: fixed, so that a test run can be repeated.
const HOSTILE_SEED: u64 = 1;

/// Frames of guests that the frames program enters, and its threads that change them meanwhile.
const FRAMES: u64 = 4_000;
const MEDDLERS: u64 = 2;

/// Delay of a late reader: longer than the program takes after its first line.
const LATE: Duration = Duration::from_secs(2);

/// A program that tells of its tests.
pub struct Teller {
    /// Name of the program.
    pub name: &'static str,
    /// Command.
    pub words: &'static [&'static str],
    /// Options on four processors: a host that has fewer takes twenty times as long.
    on_four: &'static [&'static str],
}

const TELLERS: [Teller; 5] = [
    Teller { name: "survive", words: &["survive"], on_four: &["--rounds", "1", "--moves", "10"] },
    Teller { name: "export", words: &["export"], on_four: &[] },
    Teller { name: "conformance", words: &["conformance"], on_four: &[] },
    Teller { name: "confined", words: &["confined"], on_four: &[] },
    Teller { name: "processes", words: &["process", "--processes", "8", "processes"], on_four: &[] },
];

/// A byte of RAM that the kernel writes over itself while it starts, and whether its tables allow
/// that. The kernel's code lies at 2 MiB.
const PROBES: [(&str, &str, bool); 2] = [
    ("the kernel can write its own memory through the map of all RAM", "probe=16777216", true),
    ("the kernel cannot write its own code through the map of all RAM", "probe=2097152", false),
];

/// Pages of the kernel's half that a user's tables have, by the kernel's option: see `KERNEL_PAGES`
/// of the conformance program.
const KERNEL_HALVES: [(&str, &str, &str); 2] = [
    ("isolated users have nothing of the kernel's tables but the entries", "isolate=1", "absent\nabsent\nabsent\nabsent\npresent\n"),
    ("other users have the kernel's tables, and may not use them", "isolate=0", "present\npresent\npresent\npresent\npresent\n"),
];

/// Boots each program that tells of its tests on one processor, on two and on four; each line
/// `ok ID SENTENCE` or `not ok ID SENTENCE: WHY` is a test. Up to `jobs` machines with one
/// processor run at once; those with more do not like to share theirs.
pub fn conformance(products: &Products, filter: &str, jobs: usize) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    for cpus in CPUS {
        tally.add(parallel_tests::each(&TELLERS, if cpus == 1 { jobs } else { 1 }, |teller| tell(products, teller, cpus, filter))?);
    }
    for (name, option, survives) in PROBES.into_iter().filter(|(name, ..)| name.contains(filter)) {
        let captured = boot_on(products, with_option(option), &["true"])?;
        let refused = String::from_utf8_lossy(&captured.messages).contains("exception 14 in the kernel, error 0x3");
        let fault = if survives { !matches!(captured.status, Ok(0)) } else { !refused };
        tally.note(name, fault.then(|| describe(&captured)).as_deref());
    }
    let late = "what a program wrote arrives whole at a reader that comes after its end";
    if late.contains(filter) {
        tally.note(late, late_reader(products)?.as_deref());
    }
    for (option, program) in [("fpu=1", "conformance with an eager FPU"), ("isolate=1", "conformance with isolated users")] {
        let captured = boot_on(products, with_option(option), &["conformance"])?;
        judge_lines(&captured, program, 1, filter, &mut tally);
    }
    for (name, option, expected) in KERNEL_HALVES.into_iter().filter(|(name, ..)| name.contains(filter)) {
        let captured = boot_on(products, with_option(option), &["conformance", "kernel-half"])?;
        let fault = captured.output != expected.as_bytes();
        tally.note(name, fault.then(|| describe(&captured)).as_deref());
    }
    Ok(tally)
}

/// The lines between the machine and a host that does not read take some hundreds of bytes.
fn late_reader(products: &Products) -> Outcome<Option<String>> {
    let image = image(products, &["seq", "1", "2000"])?;
    let captured = capture_late(&machine(products, &image, MachineArguments::default()), limits(), b"", LATE)?;
    let expected: String = (1..=2000).map(|number| format!("{number}\n")).collect();
    Ok((captured.output != expected.as_bytes()).then(|| format!("{} of {} bytes came", captured.output.len(), expected.len())))
}

fn with_option(option: &str) -> MachineArguments {
    MachineArguments { kernel_option: vec![option.to_string()], ..MachineArguments::default() }
}

fn tell(products: &Products, teller: &Teller, cpus: u32, filter: &str) -> Outcome<TestCounts> {
    let (mut tally, program) = (TestCounts::default(), teller.name);
    if products.program(program).is_none() {
        tally.note(program, Some(&format!("there is no tests/{program}")));
        return Ok(tally);
    }
    let more = if cpus == 4 { teller.on_four } else { &[] };
    let words = [teller.words, more].concat();
    let captured = boot(products, cpus, &words)?;
    judge_lines(&captured, program, cpus, filter, &mut tally);
    judge_cpus(&captured, program, cpus, filter, &mut tally);
    Ok(tally)
}

/// The programs that tell of their tests.
pub fn tellers() -> &'static [Teller] {
    &TELLERS
}

/// Returns the results that a program has told: whether a test passed, and its id and sentence. And
/// the number of tests that it announced, if it came to its end.
pub fn told(captured: &Captured) -> (Vec<(bool, String)>, Option<usize>) {
    let text = String::from_utf8_lossy(&captured.output);
    let results = text.lines().filter_map(|line| {
        let passed = line.strip_prefix("ok ").map(|rest| (true, rest.to_string()));
        passed.or_else(|| line.strip_prefix("not ok ").map(|rest| (false, rest.to_string())))
    });
    let announced = text.lines().rev().find_map(|line| line.strip_prefix("end ")?.trim().parse().ok());
    (results.collect(), announced)
}

fn judge_lines(captured: &Captured, program: &str, cpus: u32, filter: &str, tally: &mut TestCounts) {
    let (results, announced) = told(captured);
    for (passed, rest) in results.iter().filter(|(_, rest)| rest.contains(filter)) {
        tally.note(&format!("{rest} [cpus {cpus}]"), (!passed).then_some(""));
    }
    if announced != Some(results.len()) {
        let fault = format!("{} tests told their result; announced: {announced:?}\n{}", results.len(), describe(captured));
        tally.note(&format!("{program} comes to its end [cpus {cpus}]"), Some(&fault));
    }
}

/// Fails a test for several processors that ran on fewer.
fn judge_cpus(captured: &Captured, program: &str, cpus: u32, filter: &str, tally: &mut TestCounts) {
    let name = format!("{program}: all processors start [cpus {cpus}]");
    if name.contains(filter) {
        let came = cpus_of(captured);
        tally.note(&name, (came != Some(cpus)).then(|| format!("the kernel says {came:?}")).as_deref());
    }
}

/// Returns the number of processors that run, as the kernel says when it starts: `... cpus: 2,
/// ...`.
fn cpus_of(captured: &Captured) -> Option<u32> {
    let text = String::from_utf8_lossy(&captured.messages);
    let (_, rest) = text.split_once(" cpus: ")?;
    rest.split(',').next()?.parse().ok()
}

/// Boots the hostile program and the frames program. They pass by ending with 0 in a system that is
/// still whole.
pub fn hostile(products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    if products.program("hostile").is_none() {
        tally.note("hostile", Some("there is no tests/hostile"));
        return Ok(tally);
    }
    for cpus in CPUS {
        let calls = if cpus > 2 { HOSTILE_CALLS / 5 } else { HOSTILE_CALLS };
        let name = format!("hostile: {PROGRAMS} programs, {calls} calls, seed {HOSTILE_SEED} [cpus {cpus}]");
        if !name.contains(filter) {
            continue;
        }
        let (seed, programs, calls) = (HOSTILE_SEED.to_string(), PROGRAMS.to_string(), calls.to_string());
        let captured = boot(products, cpus, &["hostile", "--seed", &seed, "--programs", &programs, "--calls", &calls])?;
        let passed = matches!(captured.status, Ok(0)) && cpus_of(&captured) == Some(cpus);
        tally.note(&name, (!passed).then(|| describe(&captured)).as_deref());
    }
    frames(products, filter, &mut tally)?;
    Ok(tally)
}

/// Boots the frames program: with threads that change frames while guests run, on memory that a
/// pager takes away, and where nothing is left.
fn frames(products: &Products, filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    let (frames, meddlers) = (FRAMES.to_string(), MEDDLERS.to_string());
    let campaign = ["frames", "--frames", &frames, "--meddlers", &meddlers, "--seed", "1"];
    let paged = [&["pager", "-m", "256K", "--chaos", "1"], &campaign[..], &["--paged"]].concat();
    let cases = CPUS.map(|cpus| (format!("frames: {frames} frames, {meddlers} meddlers [cpus {cpus}]"), cpus, &campaign[..]));
    let more = [
        (format!("frames: {frames} frames below a pager [cpus 2]"), 2, &paged[..]),
        ("frames: guests without tables, and without memory".to_string(), 1, &["frames", "--starve"]),
    ];
    for (name, cpus, words) in cases.into_iter().chain(more).filter(|(name, ..)| name.contains(filter)) {
        // QEMU emulates SVM wrongly on several threads.
        let captured = boot_on(products, MachineArguments { cpus, takes_turns: true, ..MachineArguments::default() }, words)?;
        let passed = matches!(captured.status, Ok(0)) && !String::from_utf8_lossy(&captured.output).contains("no guests here");
        tally.note(&name, (!passed).then(|| describe(&captured)).as_deref());
    }
    Ok(())
}

fn boot(products: &Products, cpus: u32, words: &[&str]) -> Outcome<Captured> {
    boot_on(products, MachineArguments { cpus, ..MachineArguments::default() }, words)
}

/// Runs a command in a machine, and listens.
pub fn boot_on(products: &Products, arguments: MachineArguments, words: &[&str]) -> Outcome<Captured> {
    let image = image(products, words)?;
    capture(&machine(products, &image, arguments), limits(), b"")
}

/// A boot image that runs a command, without a monitor that the command does not name.
pub fn image(products: &Products, words: &[&str]) -> Outcome<Scratch> {
    let guest = GuestArguments { bare: true, command: words.iter().map(Into::into).collect(), ..GuestArguments::default() };
    let guest = Guest::compose(products, &guest, &Facts::PIPE)?;
    Scratch::write("boot-image", &guest.image)
}

/// Limits of a machine that may take long.
pub fn limits() -> Limits {
    Limits { timeout: Some(LIMIT), ..Limits::default() }
}

/// Describes a session for a person who looks for the fault.
pub fn describe(captured: &Captured) -> String {
    let status = match &captured.status {
        Ok(status) => format!("status {status}"),
        Err(failure) => failure.to_string(),
    };
    let tail = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    };
    format!("{status}\n{}\n{}\n{}", tail(&captured.output), tail(&captured.errors), tail(&captured.messages))
}
