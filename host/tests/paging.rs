//! Tries signals that switch the paging of a guest while it runs: the guest sees no difference.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// A guest that adds up, forks and pipes once for each line that it reads.
const SCRIPT: &str = "echo up; while read line; do i=0; while [ $i -lt 20 ]; do (exit 3) || i=$((i + 1)); done; seq 1 500 | sort -n | tail -1; done; exit 7";

fn nacre(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_nacre")).args(words).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Number of times that the guest's processors went from one way to the other.
fn changes(name: &str) -> u64 {
    let told = nacre(&["stats", name, "--json"]);
    let count = told.split_once("\"paging_changes\":").and_then(|(_, count)| count.split([',', '}']).next()?.parse().ok());
    count.unwrap_or_else(|| panic!("no count: {told}"))
}

/// A machine that runs. It ends with the test.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn signals_switch_the_paging_of_a_guest() {
    nacre(&["run", "true"]);
    for (number, (paging, cpus)) in [("nested", "2"), ("shadow", "1")].into_iter().enumerate() {
        let name = format!("paging-{}-{number}", std::process::id());
        let mut running = Command::new(env!("CARGO_BIN_EXE_nacre"));
        running.args(["run", "--timeout", "300", "--bare", "--name", &name, "machine", "--paging", paging, "--cpus", cpus, "sh", "-c", SCRIPT]);
        let mut machine = Machine(running.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let mut input = machine.0.stdin.take().unwrap();
        let mut lines = BufReader::new(machine.0.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap().trim(), "up");
        let mut before = changes(&name);
        let signals = if paging == "nested" { ["12", "10", "12", "10"] } else { ["10", "12", "10", "12"] };
        for signal in signals {
            nacre(&["kill", &name, "--signal", signal]);
            input.write_all(b"go\n").unwrap();
            assert_eq!(lines.next().unwrap().unwrap().trim(), "500");
            let now = changes(&name);
            assert!(now > before, "{now} changes, as before signal {signal}");
            before = now;
        }
        drop(input);
        assert_eq!(machine.0.wait().unwrap().code(), Some(7));
    }
}
