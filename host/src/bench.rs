//! `nacre bench`: the same static program on Nacre and on Debian's Linux kernel, in the same QEMU
//! with the same clock.

mod aims;
pub mod arguments;
mod boots;
mod calls;
mod chain;
mod chart;
mod freeze;
pub mod linux;
mod machines;
mod memory;
mod moves;
mod outside;
mod page;
mod parallel;
mod scale;
mod source;
mod table;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::boot::files::Files;
use crate::boot::guest::Guest;
use crate::builds::{self, Products, Program};
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::json;
use crate::rings::describe;
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::{Captured, capture};
use crate::session::machine::qemu_version;
use crate::session::terminal::Facts;
use crate::tree::Tree;
use arguments::BenchArguments;
use boots::{LIMIT, boot, figures};
use page::Page;
use table::{Figures, Table};

/// Runs whose median is the wall-clock figure.
const WALL_RUNS: usize = 7;

/// Measures both systems, prints one table, writes the files that are asked for.
pub fn bench(tree: &Tree, arguments: &BenchArguments) -> Outcome<i32> {
    arguments.memory.iter().try_for_each(|name| memory::check(name))?;
    arguments.calls.iter().try_for_each(|names| calls::check(names))?;
    let products = builds::ensure(tree)?;
    if let Some(names) = &arguments.calls {
        println!("{}", calls::measure(tree, &products, names, arguments.no_linux)?);
        return Ok(0);
    }
    if let Some(names) = &arguments.scale {
        let scale = scale::measure(tree, &products, names, arguments.no_linux)?;
        println!("{scale}");
        return json::write(arguments.json.as_deref(), &scale.json()).map(|()| 0);
    }
    if let Some(name) = &arguments.memory {
        return memory(tree, &products, name, arguments.write).map(|()| 0);
    }
    if let Some(most) = arguments.freeze {
        let table = freeze::measure(tree, &products, most)?;
        print!("{table}");
        return if arguments.write { page::put_kept(tree, page::FREEZING, &table.to_string()).map(|()| 0) } else { Ok(0) };
    }
    if let Some(most) = arguments.moves {
        let table = moves::measure(tree, most)?;
        print!("{table}");
        return if arguments.write { page::put_kept(tree, page::MOVING, &table.to_string()).map(|()| 0) } else { Ok(0) };
    }
    if let Some(mebibytes) = arguments.outside {
        let table = outside::measure(tree, &products, mebibytes, arguments.no_linux)?;
        print!("{table}");
        return if arguments.write { page::put_kept(tree, page::OUTSIDE, &table.to_string()).map(|()| 0) } else { Ok(0) };
    }
    let Some(program) = products.program("measure") else {
        return Err(Failure::new(Class::NotFound, "the tree has no program to measure with (bench/measure)"));
    };
    if arguments.machines.is_some() {
        let machines = machines::measure(tree, &products, program)?;
        println!("{machines}");
        return if arguments.write { machines.write(tree).map(|()| 0) } else { Ok(0) };
    }
    let steady = MachineArguments { icount: true, debug: arguments.debug, ..MachineArguments::default() };
    let nacre = figures(&boot(&products, &["measure"], steady.clone())?)?;
    let linux = if arguments.no_linux { Figures::default() } else { figures(&on_linux(tree, program, steady)?)? };
    let table = Table::join(&nacre, &linux);
    println!("Guest instructions an operation (QEMU, icount: one tick an instruction)\n\n{table}");
    let wall = wall_clock(&products)?;
    println!("nacre run true, start to finish: {} ms on the wall (median of {WALL_RUNS})", wall.as_millis());
    let scaling = parallel::tell(&boot(&products, &["measure", "parallel"], two_cpus(arguments))?)?;
    println!("{scaling}");
    let calls = calls::measure(tree, &products, &[], arguments.no_linux)?;
    println!("{calls}");
    json::write(arguments.json.as_deref(), &table.json())?;
    json::write(arguments.svg.as_deref(), &chart::svg(&table))?;
    if arguments.write {
        let (qemu, linux) = (qemu_version()?, linux::release(tree)?);
        let machines = machines::measure(tree, &products, program)?;
        Page { qemu, linux, table: &table, calls: &calls, wall, scaling: &scaling, machines: &machines }.write(tree)?;
    }
    Ok(0)
}

/// Programs on paged memory, and the chain of forks below stacks of monitors.
fn memory(tree: &Tree, products: &Products, name: &str, writes: bool) -> Outcome<()> {
    if memory::is_any(name) {
        let table = memory::measure(tree, products, name)?;
        println!("{table}");
        if writes && memory::is_all(name) {
            page::put_kept(tree, page::PROGRAMS, &table.to_string())?;
        }
    }
    if !memory::is_chain(name) {
        return Ok(());
    }
    let table = chain::measure(tree, products)?;
    print!("{table}");
    if writes { page::put_kept(tree, page::CHAINS, &table.to_string()) } else { Ok(()) }
}

/// The measuring program as Linux's first.
fn on_linux(tree: &Tree, program: &Program, arguments: MachineArguments) -> Outcome<Captured> {
    let mut files = Files::default();
    let bytes = fs::read(&program.path).context(Class::Build, || format!("cannot read {}", program.path.display()))?;
    files.add_file(Path::new("/init"), 0o755, bytes);
    linux::boot(tree, &files, arguments, LIMIT)
}

/// A machine whose CPUs run at once, each on a thread of the host's: so without QEMU's counting of
/// instructions.
fn two_cpus(arguments: &BenchArguments) -> MachineArguments {
    MachineArguments { cpus: 2, debug: arguments.debug, ..MachineArguments::default() }
}

fn wall_clock(products: &Products) -> Outcome<Duration> {
    let mut times = Vec::new();
    for _ in 0..WALL_RUNS {
        let begun = Instant::now();
        boot(products, &["true"], MachineArguments::default())?.status?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times[WALL_RUNS / 2])
}
