//! Tries `ps` and `stats`: each monitor has a line, below whatever it runs in, and counts its work.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Once;

/// The first run may build the system: the others wait for it instead of building beside it.
static BUILT: Once = Once::new();

fn nacre(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_nacre")).args(words).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A machine that runs, with a name. It ends with the test.
struct Machine {
    name: String,
    running: Child,
}

impl Machine {
    /// Starts a command that says `up` when it runs.
    fn start(name: &str, command: &[&str]) -> Machine {
        BUILT.call_once(|| drop(nacre(&["run", "true"])));
        let name = format!("{name}-{}", std::process::id());
        let mut running = Command::new(env!("CARGO_BIN_EXE_nacre"));
        running.args(["run", "--timeout", "600", "--name", &name]).args(command);
        let mut running = running.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 3];
        running.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        assert_eq!(&first, b"up\n");
        Machine { name, running }
    }

    /// Lines of the list, from where they are indented on.
    fn tree(&self) -> Vec<String> {
        let listed = nacre(&["ps", &self.name]);
        let start = listed.find("WHAT").unwrap();
        listed.lines().skip(2).map(|line| line.chars().skip(start).collect()).collect()
    }

    /// The count of a monitor that stands alone.
    fn count(&self, monitor: &str, figure: &str) -> u64 {
        let told = nacre(&["stats", &self.name, "--json"]);
        let (_, of) = told.split_once(&format!("\"name\":\"{monitor}\"")).unwrap_or_else(|| panic!("no {monitor}: {told}"));
        let (_, count) = of.split_once(&format!("\"{figure}\":")).unwrap_or_else(|| panic!("no {figure}: {told}"));
        count.split([',', '}']).next().and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{figure} is no number: {told}"))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

#[test]
fn monitors_stand_one_in_the_other_and_count() {
    let monitors = "trace -q share-cpu --weight 3 guard --allow * pager -m 8M debug -q --run checkpoint -m 48M dataspace anonymous -m 4M --quota 4M process";
    let script = "echo up; cat /nonesuch 2>&1; read line; exit 5";
    let command: Vec<&str> = monitors.split(' ').chain(["sh", "-c", script]).collect();
    let mut machine = Machine::start("stats", &command);
    let tree = machine.tree();
    let expected = ["  trace", "    share-cpu", "      guard", "        pager", "          debug", "            checkpoint", "              dataspace", "                process"];
    assert_eq!(tree[..expected.len()], expected, "{tree:#?}");
    assert!(tree[expected.len()].starts_with("                  1 sh -c echo up"), "{tree:#?}");
    assert_eq!(machine.count("share-cpu", "weight_0"), 3);
    assert_eq!(machine.count("checkpoint", "freezes"), 0);
    let before = machine.count("trace", "messages");
    let lines = std::env::temp_dir().join(format!("{}.lines", machine.name));
    let mut looks = Command::new(env!("CARGO_BIN_EXE_nacre")).args(["trace", &machine.name, "-e", "trace=openat", "-o"]).arg(&lines).spawn().unwrap();
    let has_line = || std::fs::read_to_string(&lines).is_ok_and(|text| text.contains("directory.open(") && text.contains("\"/etc/passwd\""));
    while !has_line() {
        nacre(&["exec", &machine.name, "cat", "/etc/passwd"]);
    }
    looks.kill().unwrap();
    looks.wait().unwrap();
    assert!(std::fs::read_to_string(&lines).unwrap().lines().all(|line| line.contains("directory.open(")));
    std::fs::remove_file(&lines).unwrap();
    assert!(machine.count("trace", "messages") > before);
    let image = std::env::temp_dir().join(format!("{}.image", machine.name));
    nacre(&["freeze", &machine.name, "-q", "-o", image.to_str().unwrap()]);
    std::fs::remove_file(&image).unwrap();
    assert_eq!(machine.count("checkpoint", "freezes"), 1);
    assert!(machine.count("checkpoint", "last_pause_ticks") > 0 && machine.count("checkpoint", "last_objects") > 10);
    assert!(machine.count("dataspace", "faults") > 0 && machine.count("share-cpu", "given_ns_0") > 0);
    machine.running.stdin.take().unwrap().write_all(b"one\n").unwrap();
    assert_eq!(machine.running.wait().unwrap().code(), Some(5));
}

#[test]
fn a_monitor_that_is_a_process_stands_below_it() {
    let script = "guard --allow '*' --deny 'read /etc/passwd' sh -c 'cat /etc/passwd 2>/dev/null; pager -m 4M sh -c \"echo up; read line\"'; read line";
    let machine = Machine::start("stats-inside", &["process", "sh", "-c", script]);
    let tree = machine.tree();
    let at = |wanted: &str| tree.iter().position(|line| line.trim_start() == wanted).unwrap_or_else(|| panic!("no {wanted}: {tree:#?}"));
    let depth = |line: usize| tree[line].len() - tree[line].trim_start().len();
    // The first process of all, the process that is the guard, and what the guard tells.
    assert!(tree[at("guard") - 1].trim_start().contains(" guard --allow") && depth(at("guard")) == depth(at("guard") - 1) + 2, "{tree:#?}");
    assert_eq!(depth(at("pager")), depth(at("guard")) + 2, "{tree:#?}");
    // What the pager runs has its own words, and not those of the pager.
    let words = |line: &String| line.trim_start().split_once(' ').is_some_and(|(_, words)| words == "sh -c echo up; read line");
    assert!(tree.iter().any(words), "{tree:#?}");
    assert!(machine.count("guard", "refused") > 0 && machine.count("pager", "faults") > 0);
}

#[test]
fn processes_tell_what_they_wait_for() {
    let script = "sh -c 'while :; do :; done' & sleep 1000 & echo up; top -b -n 2 -d 1 | grep 'sh -c while' | grep -v grep | tail -1; read line";
    let mut machine = Machine::start("stats-waits", &["process", "sh", "-c", script]);
    // The line of the loop in `top`: its letter, and what it has of the processor.
    let (mut top, mut byte) = (String::new(), [0]);
    while !top.ends_with('\n') {
        machine.running.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        top.push(char::from(byte[0]));
    }
    let words: Vec<&str> = top.split_whitespace().collect();
    assert!(words.contains(&"R") && words.iter().filter_map(|word| word.strip_suffix('%').and_then(|share| share.parse::<f64>().ok())).any(|share| share > 20.0), "{top}");
    let told = nacre(&["ps", &machine.name, "--json"]);
    let of = |name: &str| told.split("{\"path\"").find(|line| line.contains(&format!("\"name\":\"{name}"))).unwrap_or_else(|| panic!("no {name}: {told}"));
    let memory = |line: &str| line.split_once("\"memory\":").and_then(|(_, rest)| rest.split(',').next()?.parse().ok()).unwrap_or(0);
    assert!(of("sh -c while").contains("\"state\":\"R\"") && of("sh -c while").contains("\"waits_for\":\"running\""), "{told}");
    assert!(of("sleep 1000").contains("\"state\":\"S\"") && of("sleep 1000").contains("nanosleep\""), "{told}");
    assert!(memory(of("sleep 1000")) > 100_000 && memory(of("sleep 1000")) < 10_000_000, "{told}");
}

#[test]
fn programs_of_one_monitor_have_parts_of_their_own() {
    let machine = Machine::start("stats-two", &["--bare", "share-cpu", "process", "sleep", "1000", ":", "process", "sh", "-c", "echo up; read line"]);
    let tree = machine.tree();
    assert_eq!((&*tree[0], &*tree[1], &*tree[3]), ("  share-cpu", "    process", "    process"), "{tree:#?}");
    // They attend in any order.
    let mut within = [&*tree[2], &*tree[4]];
    within.sort_unstable();
    assert!(within[0].starts_with("      1 sh -c echo up") && within[1] == "      1 sleep 1000", "{tree:#?}");
}
