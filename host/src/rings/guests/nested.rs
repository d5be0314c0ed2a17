//! This system as a guest of itself: its kernel in a machine, with a boot image of its own.

use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments, Seed};
use crate::failure::Outcome;
use crate::rings::parallel_tests;
use crate::rings::system::{Teller, describe, image, limits, tellers, told};
use crate::rings::tally::TestCounts;
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::capture::{Captured, capture};
use crate::session::terminal::Facts;

const NAME: &str = "the system runs a command in a machine in itself";
/// Processes, pipes and files of the inner system.
const COMMAND: &str = "seq 1 300 | sort -n | tail -1 >/tmp/f; cat /tmp/f; echo the answer is $((6 * 7)); echo told >&2; exit 7";
/// Processors of the inner system.
const CPUS: [u32; 2] = [1, 2];
/// Program of the conformance ring that every run of this ring has. The others take minutes: a
/// filter has to name them.
const ALWAYS: &str = "conformance";

/// Tests of the program `export` that use AVX, which no guest has: there they fail.
const NEED_AVX: [&str; 3] = ["EXPORT0005 ", "EXPORT0006 ", "EXPORT0009 "];

/// Tests that measure time. Where this machine is busy, the processor of a machine in a machine
/// rests at any moment, and one of them has failed: what fails alone is tried once more.
const TIMED: &str = "SCHED";

/// Runs the cases whose names contain the filter.
pub fn run(products: &Products, filter: &str, jobs: usize) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    if NAME.contains(filter) {
        tally.note(NAME, fault(products)?.as_deref());
    }
    let name = |teller: &Teller, cpus: u32| format!("the system passes its {} in a machine in itself [cpus {cpus}]", teller.name);
    let wanted = |teller: &Teller, cpus: u32| name(teller, cpus).contains(filter) && (teller.name == ALWAYS || !filter.is_empty());
    let cases: Vec<_> = CPUS.iter().flat_map(|cpus| tellers().iter().map(move |teller| (teller, *cpus))).filter(|(teller, cpus)| wanted(teller, *cpus)).collect();
    tally.add(parallel_tests::each(&cases, jobs, |&(teller, cpus)| {
        let mut one = TestCounts::default();
        one.note(&name(teller, cpus), ring_fault(products, teller, cpus)?.as_deref());
        Ok(one)
    })?);
    Ok(tally)
}

/// Boots an image in a machine in a machine.
fn captured(products: &Products, inner: &Scratch, words: &[&str]) -> Outcome<Captured> {
    let files = vec![format!("{}:/kernel", products.kernel.display()), format!("{}:/image", inner.path().display())];
    let command = ["machine", "--memory", "192M", "--kernel", "/kernel", "--initrd", "/image"].iter().chain(words).map(Into::into).collect();
    let guest = Guest::compose(products, &GuestArguments { files, command, ..GuestArguments::default() }, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let arguments = MachineArguments { takes_turns: true, memory: 1 << 30, ..MachineArguments::default() };
    capture(&machine(products, &image, arguments), limits(), b"")
}

/// Returns the fault of the command, if there was one.
fn fault(products: &Products) -> Outcome<Option<String>> {
    let inner = GuestArguments { command: ["process", "sh", "-c", COMMAND].map(Into::into).to_vec(), seed: Seed::Processor, ..GuestArguments::default() };
    let inner = Scratch::write("inner-image", &Guest::compose(products, &inner, &Facts::PIPE)?.image)?;
    let captured = captured(products, &inner, &[])?;
    let (text, errors) = (String::from_utf8_lossy(&captured.output).into_owned(), String::from_utf8_lossy(&captured.errors).into_owned());
    let passed = text == "300\nthe answer is 42\n" && errors.contains("told") && matches!(captured.status, Ok(7));
    Ok((!passed).then(|| describe(&captured)))
}

/// Returns the fault of a program that tells of its tests, if there was one.
fn ring_fault(products: &Products, teller: &Teller, cpus: u32) -> Outcome<Option<String>> {
    let (fault, is_timed) = one_fault(products, teller, cpus)?;
    match fault {
        Some(fault) if is_timed => {
            println!("again:  the system's {} in a machine in itself [cpus {cpus}]: {}", teller.name, fault.lines().next().unwrap_or_default());
            Ok(one_fault(products, teller, cpus)?.0)
        }
        fault => Ok(fault),
    }
}

/// Returns the fault of one run, and whether nothing but tests that measure time have failed.
fn one_fault(products: &Products, teller: &Teller, cpus: u32) -> Outcome<(Option<String>, bool)> {
    let (count, word) = (cpus.to_string(), format!("cpus={cpus}"));
    let captured = captured(products, &image(products, teller.words)?, &["--cpus", &count, "--append", &word])?;
    let (results, announced) = told(&captured);
    let failed = results.iter().filter(|(passed, _)| !passed).map(|(_, text)| text.as_str());
    let (known, failed): (Vec<&str>, Vec<&str>) = failed.partition(|text| NEED_AVX.iter().any(|id| text.starts_with(id)));
    // The inner kernel's first message comes among the errors of the machine around it.
    let has_all = String::from_utf8_lossy(&captured.errors).contains(&format!(" cpus: {cpus},"));
    let is_whole = announced == Some(results.len()) && has_all;
    let passed = failed.is_empty() && is_whole && captured.status.as_ref().is_ok_and(|status| *status == i32::from(!known.is_empty()));
    let is_timed = is_whole && !failed.is_empty() && failed.iter().all(|text| text.starts_with(TIMED));
    let fault = (!passed).then(|| format!("{} of {announced:?} told, all processors: {has_all}, failed: {failed:?}\n{}", results.len(), describe(&captured)));
    Ok((fault, is_timed))
}
