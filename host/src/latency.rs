//! `nacre latency`: the longest stretch with interrupts off, in instructions, of each way into the
//! kernel, while programs do what they can to lengthen it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use nacre_abi::Call;

use crate::boot::guest::Guest;
use crate::builds::{self, Products};
use crate::cli::{GuestArguments, LatencyArguments, MachineArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::rings::describe;
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::capture;
use crate::session::terminal::Facts;
use crate::tree::Tree;

/// A guard against hanging.
const LIMIT: Duration = Duration::from_secs(1800);
/// Programs that run when none is named.
const PROGRAMS: [&str; 3] = ["conformance", "hostile --seed 1 --calls 1000000", "measure"];

/// The longest stretch of each way in: `call 12` or `vector 14`.
type Longest = BTreeMap<(String, u64), u64>;

/// Runs the programs on a kernel that measures itself, and prints a table; 1 if a stretch is longer
/// than the limit.
pub fn latency(tree: &Tree, arguments: &LatencyArguments) -> Outcome<i32> {
    let products = builds::ensure_measuring(tree)?;
    let commands: Vec<Vec<OsString>> = if arguments.command.is_empty() {
        PROGRAMS.iter().map(|line| line.split(' ').map(OsString::from).collect()).collect()
    } else {
        vec![arguments.command.clone()]
    };
    let mut all = Longest::new();
    for command in commands {
        for (door, ticks) in watch(&products, command, arguments.debug)? {
            let longest = all.entry(door).or_default();
            *longest = ticks.max(*longest);
        }
    }
    Ok(print(&all, arguments.limit))
}

/// Runs one program; what the kernel told on the debug console.
fn watch(products: &Products, command: Vec<OsString>, debug: bool) -> Outcome<Longest> {
    let guest = GuestArguments { bare: true, command, ..GuestArguments::default() };
    let guest = Guest::compose(products, &guest, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let console = Scratch::write("latency", b"")?;
    let steady = MachineArguments { icount: true, debug, console: Some(console.path().to_path_buf()), ..MachineArguments::default() };
    let captured = capture(&machine(products, &image, steady), Limits { timeout: Some(LIMIT), ..Limits::default() }, b"")?;
    if captured.status.is_err() {
        eprintln!("{}", describe(&captured));
        return Err(Failure::new(Class::Guest, format!("{} did not come to its end", guest.name)).remedy("what it said is above"));
    }
    let told = fs::read_to_string(console.path()).context(Class::File, || "cannot read what the kernel told".to_string())?;
    Ok(parse(&told))
}

fn parse(told: &str) -> Longest {
    let mut longest = Longest::new();
    for line in told.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [door, number, ticks] = words[..]
            && let (Ok(number), Ok(ticks)) = (number.parse(), ticks.parse())
        {
            longest.insert((door.to_string(), number), ticks);
        }
    }
    longest
}

fn name_of((door, number): &(String, u64)) -> String {
    let call = Call::ALL.get(*number as usize).filter(|_| door == "call");
    call.map_or_else(|| format!("{door} {number}"), |call| call.name().to_string())
}

fn print(all: &Longest, limit: u64) -> i32 {
    let mut rows: Vec<_> = all.iter().collect();
    rows.sort_by_key(|(_, ticks)| std::cmp::Reverse(**ticks));
    println!("Instructions with interrupts off, at most (what took fewer than 500 is not shown)\n");
    for (door, ticks) in &rows {
        println!("{:<28} {ticks:>9}", name_of(door));
    }
    let over = rows.iter().filter(|(_, ticks)| **ticks > limit).count();
    println!("\n{over} of {} took more than {limit}", rows.len());
    i32::from(over > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_door_counts() {
        let longest = parse("call 1 600\nvector 14 700\ncall 1 800\ncall 9\nnonsense\n");
        assert_eq!(longest.len(), 2);
        assert_eq!(longest[&("call".to_string(), 1)], 800);
    }

    #[test]
    fn a_stretch_over_the_limit_fails() {
        let longest = parse("call 1 600\n");
        assert_eq!((print(&longest, 600), print(&longest, 599)), (0, 1));
    }

    #[test]
    fn doors_have_names() {
        assert_eq!(name_of(&("call".to_string(), Call::SpaceMove as u64)), "space_move");
        assert_eq!(name_of(&("vector".to_string(), 14)), "vector 14");
    }
}
