//! Each place of the system's programs that makes a thread, and on whose time that thread runs.

use std::fs;
use std::path::{Path, PathBuf};

/// Call that makes a thread.
const MAKES: &str = "Thread::create(";
/// A thread of the maker's own space is scheduled as its maker is, which the kernel sees to.
const OWN: &str = "Space::OWN";

/// Files that make threads in spaces of others, and how each such thread comes to run on time of
/// that space: a file, and what stands there.
const FOREIGN: [(&str, &str, &str); 2] = [
    // The first thread of a child. A monitor that divides time gives it to its scheduler before it
    // starts; all threads of the child come from it.
    ("user/nest/src/spawn.rs", "monitors/share-cpu/src/main.rs", "child.thread().set_scheduler("),
    // The thread by which the process manager asks a library.
    ("monitors/process/src/visits.rs", "monitors/process/src/visits.rs", ".schedule_as(model)"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Adds each Rust file below `folder` that makes a thread in another space than its own, once for
/// each such place.
fn foreign(folder: &Path, found: &mut Vec<String>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            foreign(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            found.extend(text.lines().filter(|line| line.contains(MAKES) && !line.contains(OWN)).map(|_| name.clone()));
        }
    }
}

#[test]
fn each_thread_in_a_space_of_others_runs_on_time_of_that_space() {
    let mut found = Vec::new();
    ["user", "monitors", "servers"].into_iter().for_each(|folder| foreign(&root().join(folder), &mut found));
    found.sort();
    let mut known: Vec<&str> = FOREIGN.iter().map(|(file, ..)| *file).collect();
    known.sort_unstable();
    assert_eq!(found, known, "a place that makes threads in other spaces is to be listed, with what schedules them");
    for (file, place, words) in FOREIGN {
        assert!(fs::read_to_string(root().join(place)).unwrap().contains(words), "threads that {file} makes are not scheduled by {place}");
    }
}
