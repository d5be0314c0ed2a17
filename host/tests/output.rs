//! Output of a program, as who runs it gets it: all of it, in order, at any speed of the reader,
//! and an end when nobody reads.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

fn start(options: &[&str], script: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    command.arg("run").args(options).args(["sh", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns what `seq 1 LAST` prints.
fn numbers(last: u32) -> String {
    (1..=last).map(|number| format!("{number}\n")).collect()
}

#[test]
fn all_of_it_comes_in_order() {
    for (options, last) in [(&["--cpus", "2"][..], 300_000), (&["--icount"], 20_000)] {
        let output = start(options, &format!("seq 1 {last}; exit 3")).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{options:?} {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout == numbers(last).as_bytes(), "{options:?}: {} bytes", output.stdout.len());
    }
}

#[test]
fn a_slow_reader_gets_all_of_it() {
    let mut child = start(&[], "seq 1 100000");
    let mut pipe = child.stdout.take().unwrap();
    let mut read = Vec::new();
    let mut part = [0; 50_000];
    loop {
        match pipe.read(&mut part).unwrap() {
            0 => break,
            count => read.extend_from_slice(&part[..count]),
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert!(child.wait().unwrap().success() && read == numbers(100_000).as_bytes());
}

#[test]
fn nobody_prints_for_a_reader_that_has_gone() {
    let mut child = start(&["--timeout", "300"], "yes");
    child.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
    // The pipe is closed by now.
    assert_eq!(child.wait().unwrap().code(), Some(141));
}

#[test]
fn what_was_said_before_the_end_comes() {
    let output = start(&["--timeout", "5"], "echo said; sleep 1000").wait_with_output().unwrap();
    assert_eq!((&output.stdout[..], output.status.code()), (&b"said\n"[..], Some(124)));
    let output = start(&[], "seq 1 50000; kill -9 $$").wait_with_output().unwrap();
    assert!(output.stdout == numbers(50_000).as_bytes() && output.status.code() == Some(137));
    let both = start(&[], "exec 2>&1; for i in 1 2 3; do echo $i; echo e$i >&2; done").wait_with_output().unwrap();
    assert_eq!(both.stdout, b"1\ne1\n2\ne2\n3\ne3\n");
}
