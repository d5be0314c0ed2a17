//! The hostile program, for as long as one likes.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::builds;
use super::arguments::FuzzArguments;
use crate::cli::{GuestArguments, MachineArguments, RunArguments};
use crate::failure::{Class, Failure, Outcome};
use crate::run::run_products;
use crate::tree::Tree;

/// Runs the hostile program; its status, after a line that says how to repeat the run.
pub fn fuzz(tree: &Tree, arguments: &FuzzArguments) -> Outcome<i32> {
    let products = builds::ensure(tree)?;
    if products.program("hostile").is_none() {
        return Err(Failure::new(Class::NotFound, "the tree has no hostile program (tests/hostile)"));
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = arguments.seed.unwrap_or(since.as_nanos() as u64);
    println!("nacre fuzz --seed {seed} --calls {} --cpus {}", arguments.calls, arguments.cpus);
    let (seed, calls) = (seed.to_string(), arguments.calls.to_string());
    let command = ["hostile", "--seed", &seed, "--calls", &calls].map(Into::into).to_vec();
    let run = RunArguments {
        machine: MachineArguments { cpus: arguments.cpus, debug: arguments.debug, ..MachineArguments::default() },
        store: None,
        gdb: None,
        name: None,
        rng: false,
        outputs: Vec::new(),
        warm: None,
        directory: Default::default(),
        volumes: Default::default(),
        disks: Default::default(),
        network: Default::default(),
        guest: GuestArguments { bare: true, command, ..GuestArguments::default() },
    };
    run_products(&products, &run)
}
