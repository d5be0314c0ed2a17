//! Hostile guests: a kernel of `tests/guests` does random things, while a neighbour works.

use std::path::Path;

use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::Outcome;
use super::compiler::compile;
use crate::rings::parallel_tests;
use crate::rings::system::{describe, limits};
use crate::rings::tally::TestCounts;
use crate::run::machine;
use crate::scratch::{Folder, Scratch};
use crate::session::capture::capture;
use crate::session::terminal::Facts;

/// Runs with this in their environment go on with other seeds.
const SEED: &str = "SEED";
/// Machines of a run, and steps of each processor.
const MACHINES: u64 = 6;
const STEPS: u64 = 3000;
/// Machines one after the other, with a disk and a directory. Each ends with its guest's status, or
/// with that of the monitor and a sentence. A neighbour counts beside them.
const SCRIPT: &str = "truncate -s 1M /tmp/d; mkdir -p /tmp/s/a; echo x >/tmp/s/a/f; echo y >/tmp/s/g
(i=0; until [ -e /tmp/over ]; do i=$((i + 1)); (exit 3); [ $? = 3 ] || echo wrong; done; [ $i -gt 0 ] && echo neighbour counted) &
for number in $(seq FIRST LAST); do
    machine --memory 16M --cpus CPUS --kernel /image --disk /tmp/d --share /tmp/s --append \"cpus=CPUS seed=$number steps=STEPS\" >/tmp/out 2>/tmp/told
    status=$?
    if [ $status = 42 ]; then echo survived
    elif [ $status = 125 ] && grep -q '^machine: .* ' /tmp/told; then echo told: $(cat /tmp/told)
    else echo seed $number: status $status, $(tail -c 300 /tmp/told); fi
done; echo >/tmp/over; wait; exit 5";

/// Runs the cases whose names contain the filter: guests with one processor and with two.
pub fn run(products: &Products, filter: &str, jobs: usize) -> Outcome<TestCounts> {
    parallel_tests::each(&[1, 2], jobs, |&cpus| {
        let mut tally = TestCounts::default();
        let name = format!("hostile guests end or are ended, and their neighbour goes on [cpus {cpus}]");
        if name.contains(filter) {
            let folder = Folder::new("hostile")?;
            let kernel = folder.path().join("image");
            compile(&products.tree, &kernel, &["-mno-red-zone", "-T", "hostile.ld", "entry.S", "hostile.c"])?;
            tally.note(&name, fault(products, &kernel, cpus)?.as_deref());
        }
        Ok(tally)
    })
}

/// Returns the fault, if there was one. Seeds are told, so that a run can be made again.
fn fault(products: &Products, kernel: &Path, cpus: u32) -> Outcome<Option<String>> {
    let first = std::env::var(SEED).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
    let values = [("FIRST", first), ("LAST", first + MACHINES - 1), ("CPUS", cpus.into()), ("STEPS", STEPS)];
    let script = values.iter().fold(SCRIPT.to_string(), |script, (name, value)| script.replace(name, &value.to_string()));
    let command = ["process", "sh", "-c", &script].map(Into::into).to_vec();
    let guest = GuestArguments { files: vec![format!("{}:/image", kernel.display())], command, ..GuestArguments::default() };
    let guest = Guest::compose(products, &guest, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let arguments = MachineArguments { cpus, takes_turns: true, ..MachineArguments::default() };
    let captured = capture(&machine(products, &image, arguments), limits(), b"")?;
    let text = String::from_utf8_lossy(&captured.output).into_owned();
    let count = |start: &str| text.lines().filter(|line| line.starts_with(start)).count() as u64;
    let passed = count("survived") >= 1 && count("survived") + count("told: ") == MACHINES && count("neighbour counted") == 1 && count("wrong") == 0;
    let passed = passed && matches!(captured.status, Ok(5));
    Ok((!passed).then(|| format!("seeds from {first}: {}", describe(&captured))))
}
