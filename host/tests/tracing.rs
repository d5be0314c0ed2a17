//! Runs programs with several threads below tracers, and reads what the tracers wrote.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Program whose second and third thread open a file each, and whose third starts a process.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int pair[2];
static void *work(void *number) {
    char path[32];
    snprintf(path, sizeof path, "/etc/none%ld", syscall(SYS_gettid));
    for (int i = 0; i < 3; i++) open(path, O_RDONLY);
    send(pair[1], path, 1, 0);
    if (number && fork() == 0) { open("/etc/none-child", O_RDONLY); _exit(0); }
    return 0;
}
int main() {
    pthread_t threads[2];
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    for (long i = 0; i < 2; i++) pthread_create(threads + i, 0, work, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    wait(0);
    return open("/etc/none-first", O_RDONLY) != -1;
}
"#;

/// A directory with the program `threads`.
fn place(name: &str) -> PathBuf {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("threads.c"), PROGRAM).unwrap();
    assert!(Command::new("gcc").args(["-pthread", "-o", "threads", "threads.c"]).current_dir(&place).status().unwrap().success());
    place
}

/// Runs words that succeed; what they write as errors.
fn run(place: &Path, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_nacre")).args(["run", "--timeout", "300"]).args(words).current_dir(place).stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {errors}");
    errors
}

#[test]
fn lines_tell_threads() {
    let place = place("tracing-lines");
    for under in [&["trace"][..], &["--bare", "trace"], &["trace", "process"], &["process", "trace", "-q", "trace"], &["trace", "pager", "-m", "8M"]] {
        if under[0] == "--bare" {
            // It cannot fork there.
            fs::write(place.join("threads.c"), PROGRAM.replace("if (number", "if (0")).unwrap();
            assert!(Command::new("gcc").args(["-pthread", "-o", "alone", "threads.c"]).current_dir(&place).status().unwrap().success());
        }
        let program = if under[0] == "--bare" { "./alone" } else { "./threads" };
        let lines = run(&place, &[under, &[program]].concat());
        let opened = |name: &str| lines.lines().filter(|line| line.contains(&format!("\"/etc/none{name}"))).collect::<Vec<_>>();
        let threads: Vec<u64> = (2..20).filter(|thread| !opened(&format!("{thread}\"")).is_empty()).collect();
        assert_eq!(threads.len(), 2, "{under:?}: {lines}");
        for thread in threads {
            let own = opened(&format!("{thread}\""));
            assert!(own.len() == 3 && own.iter().all(|line| line.contains(&format!("tid {thread}] directory.open("))), "{under:?}: {own:?}");
            assert!(lines.lines().any(|line| line.contains(&format!("tid {thread}] channel.send("))) || under[0] == "--bare" || under[1..] == ["process"], "{under:?}: {lines}");
        }
        let others = [opened("-first"), opened("-child")].concat();
        assert!(!others.is_empty() && others.iter().all(|line| !line.contains("tid")), "{under:?}: {others:?}");
    }
}

/// Value of a number in an event.
fn number(event: &str, name: &str) -> f64 {
    let (_, rest) = event.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("no {name}: {event}"));
    rest[..rest.find([',', '}']).unwrap()].parse().unwrap()
}

#[test]
fn nested_tracers_write_one_file_with_a_track_for_each_thread() {
    let place = place("tracing-file");
    run(&place, &["trace", "-o", "all.json", "trace", "-o", "all.json", "./threads"]);
    let text = fs::read_to_string(place.join("all.json")).unwrap();
    let events: Vec<&str> = text.strip_prefix("[\n").and_then(|text| text.trim_end().strip_suffix("\n]")).unwrap().split(",\n").collect();
    let mut tracks: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
    let mut names = BTreeMap::new();
    for event in events {
        assert!(event.starts_with('{') && event.ends_with('}'), "{event}");
        let track = |tid: f64| (number(event, "pid") as u64, tid as u64);
        if event.contains("\"thread_name\"") {
            names.insert(track(number(event, "tid")), event.rsplit("\"name\":\"").next().unwrap().split('"').next().unwrap().to_string());
        } else if event.contains("\"ph\":\"X\"") {
            tracks.entry(track(number(event, "tid"))).or_default().push((number(event, "ts"), number(event, "dur")));
        }
    }
    for (track, events) in &mut tracks {
        events.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(names.contains_key(track) && events.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0 + 0.001), "{track:?}: {events:?}");
    }
    // Each tracer has a track for each thread of the process that it runs, and two know one.
    let of_second: Vec<&str> = names.values().filter_map(|name| name.split_once(" of ")).filter(|(_, of)| of.ends_with("/threads")).map(|(name, _)| name).collect();
    let threads: Vec<&&str> = of_second.iter().filter(|name| name.starts_with("thread ")).collect();
    assert!(threads.len() >= 2 && threads.iter().all(|name| names.values().any(|other| other == **name)), "{names:?}");
    // Perfetto keeps 32 bits.
    assert!(names.keys().all(|track| track.1 <= u64::from(u32::MAX)), "{names:?}");
}

#[test]
fn traces_of_layers_merge_into_one_file_with_arrows() {
    let place = place("tracing-merge");
    run(&place, &["trace", "-o", "a.json", "guard", "--allow", "*", "trace", "-o", "b.json", "./threads"]);
    let merge = |inputs: &[&str]| Command::new(env!("CARGO_BIN_EXE_nacre")).args(["trace-merge", "-o", "all.json"]).args(inputs).current_dir(&place).output().unwrap();
    let merged = merge(&["b.json", "a.json"]);
    let told = String::from_utf8_lossy(&merged.stdout).into_owned();
    assert!(merged.status.success() && told.contains("trace 1 (outer): guard") && told.contains("trace 2 (inside trace 1): "), "{told}{}", String::from_utf8_lossy(&merged.stderr));
    let text = fs::read_to_string(place.join("all.json")).unwrap();
    let events: Vec<&str> = text.strip_prefix("[\n").and_then(|text| text.strip_suffix("\n]\n")).unwrap().split(",\n").collect();
    let mut ends: BTreeMap<(u64, u64), f64> = BTreeMap::new();
    let mut calls = BTreeMap::new();
    for event in events.iter().filter(|event| event.contains("\"ph\":\"X\"")) {
        let (track, start) = ((number(event, "pid") as u64, number(event, "tid") as u64), number(event, "ts"));
        let end = ends.entry(track).or_default();
        assert!(start + 0.0005 >= *end, "{event}");
        *end = start + number(event, "dur");
        calls.insert((track, start.to_bits()), *event);
    }
    // Each arrow leads from a call of the inner layer to the same call of the outer one, for
    // threads that tell their numbers, too.
    let ends_of = |kind: &str| events.iter().filter(|event| event.contains(&format!("\"ph\":\"{kind}\""))).copied().collect::<Vec<_>>();
    let call = |end: &str| calls[&((number(end, "pid") as u64, number(end, "tid") as u64), number(end, "ts").to_bits())];
    let arrows: Vec<(&str, &str)> = ends_of("s").into_iter().zip(ends_of("f")).map(|(from, to)| (call(from), call(to))).collect();
    let name = |event: &str| event.split('"').nth(3).unwrap().to_string();
    assert!(arrows.iter().all(|(from, to)| name(from) == name(to) && number(from, "pid") == number(to, "pid") + 10_000_000.0), "{arrows:?}");
    let of_threads = arrows.iter().filter(|(from, _)| from.contains("/etc/none") && number(from, "tid") + 10_000_000.0 != number(from, "pid"));
    assert!(of_threads.count() >= 6 && told.contains(&format!("{} arrows", arrows.len())), "{told}{arrows:?}");
    // Files of another machine have another clock.
    run(&place, &["trace", "-o", "c.json", "true"]);
    let other = merge(&["a.json", "c.json"]);
    let refusal = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(other.status.code() == Some(119) && refusal.contains("c.json has another clock than a.json"), "{refusal}");
    assert_eq!(fs::read_to_string(place.join("all.json")).unwrap(), text);
}

#[test]
fn a_machine_without_a_tracer_is_looked_at() {
    let name = format!("tracing-{}", std::process::id());
    let lines = std::env::temp_dir().join(format!("{name}.lines"));
    let script = "echo up; while read line; do cat /etc/passwd | wc -l >/dev/null; (echo $line); done; exit 5";
    let mut running = Command::new(env!("CARGO_BIN_EXE_nacre"));
    running.args(["run", "--timeout", "600", "--name", &name, "sh", "-c", script]);
    let mut running = running.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(running.stdout.take().unwrap()).lines();
    assert_eq!(output.next().unwrap().unwrap(), "up");
    let mut input = running.stdin.take().unwrap();
    let mut turn = |text: &str| {
        writeln!(input, "{text}").unwrap();
        assert_eq!(output.next().unwrap().unwrap(), text);
    };
    turn("before");
    for look in ["first", "second"] {
        let mut looks = Command::new(env!("CARGO_BIN_EXE_nacre")).args(["trace", &name, "-e", "openat,process", "-o"]).arg(&lines).spawn().unwrap();
        let started = Instant::now();
        let is_seen = |text: &str| ["directory.open(", "\"/etc/passwd\"", "process.wait(", "[pid 1] "].iter().all(|part| text.contains(part));
        while !fs::read_to_string(&lines).is_ok_and(|text| is_seen(&text)) {
            assert!(started.elapsed() < Duration::from_secs(120), "{look}: {:?}", fs::read_to_string(&lines));
            turn(look);
        }
        looks.kill().unwrap();
        looks.wait().unwrap();
        fs::remove_file(&lines).unwrap();
        // The end of the look is noticed by the next lines.
        (0..3).for_each(|_| turn("after"));
    }
    let table = [2, 10, 60].into_iter().map(|seconds| counted(&name, seconds, &mut || turn("counted"))).find(|table| table.contains("directory.open"));
    let table = table.expect("no counts");
    assert!(table.starts_with("       ticks") && table.trim_end().ends_with("total") && !table.contains("file.read"), "{table}");
    drop(input);
    assert_eq!(running.wait().unwrap().code(), Some(5));
}

/// Counts for so many seconds, until Ctrl-C; the table.
fn counted(name: &str, seconds: u64, turn: &mut dyn FnMut()) -> String {
    let counts = Command::new(env!("CARGO_BIN_EXE_nacre")).args(["trace", name, "-c", "-e", "openat,process"]).stdout(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(seconds) {
        turn();
    }
    assert!(Command::new("kill").args(["-INT", &counts.id().to_string()]).status().unwrap().success());
    let output = counts.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    (0..3).for_each(|_| turn());
    String::from_utf8(output.stdout).unwrap()
}

/// A tracer that waited for the last of these processes would never show a line.
#[test]
fn a_machine_where_processes_begin_all_the_time_is_looked_at() {
    let name = format!("tracing-busy-{}", std::process::id());
    let lines = std::env::temp_dir().join(format!("{name}.lines"));
    let nacre = || Command::new(env!("CARGO_BIN_EXE_nacre"));
    let script = "echo up; for i in $(seq 40); do (while :; do /bin/true; done) & done; wait";
    let mut running = nacre().args(["run", "--timeout", "300", "--name", &name, "sh", "-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(running.stdout.take().unwrap()).lines();
    assert_eq!(output.next().unwrap().unwrap(), "up");
    std::thread::sleep(Duration::from_secs(3));
    let mut looks = nacre().args(["trace", &name, "-o"]).arg(&lines).spawn().unwrap();
    let started = Instant::now();
    while !fs::read_to_string(&lines).is_ok_and(|text| text.contains("process.wait(")) {
        assert!(started.elapsed() < Duration::from_secs(120), "nothing was shown");
        std::thread::sleep(Duration::from_millis(100));
    }
    looks.kill().unwrap();
    looks.wait().unwrap();
    fs::remove_file(&lines).unwrap();
    assert!(nacre().args(["kill", &name, "--now"]).status().unwrap().success());
    running.wait().unwrap();
}
