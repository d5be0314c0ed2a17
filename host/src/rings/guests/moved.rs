//! A guest that writes all of its memory again and again is moved into another machine while it
//! does so.

use std::thread;
use std::time::Duration;

use super::commands::{GUEST, MACHINE, Running, finished};
use crate::failure::Outcome;
use crate::rings::tally::TestCounts;
use crate::scratch::Folder;

const NAME: &str = "a guest that writes all its memory again and again is moved";
const ROUNDS: usize = 24;
/// A guest that fills two files, compares them and says the number of the round.
const PROGRAM: &str = "echo up; i=0; while [ $i -lt 24 ]; do i=$((i + 1)); head -c 14000000 /dev/zero | tr '\\0' $((i % 10)) >/tmp/a; \
    cp /tmp/a /tmp/b; cmp /tmp/a /tmp/b || echo differs; echo round $i; done; echo end; exit 7";

/// Runs the case, if its name contains the filter.
pub fn run(filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    if NAME.contains(filter) {
        tally.note(NAME, fault()?.as_deref());
    }
    Ok(())
}

/// Returns the fault, if there was one.
fn fault() -> Outcome<Option<String>> {
    let folder = Folder::new("moved")?;
    let socket = folder.path().join("socket");
    let address = socket.to_string_lossy().into_owned();
    let name = format!("moved-guest-{}", std::process::id());
    let mut receiver = Running::start(&["receive", "--memory", "1G", "--timeout", "1200", &address])?;
    while !socket.exists() {
        if !receiver.is_alive() {
            return Ok(Some(format!("nobody receives: {}", receiver.rest()?.describe())));
        }
        thread::sleep(Duration::from_millis(100));
    }
    let mut sender = Running::start(&[&["run", "--name", &name], MACHINE, GUEST, &["sh", "-c", PROGRAM]].concat())?;
    sender.wait_for("up")?;
    let (status, said, errors) = finished(&["move", &name, "--to", &address])?;
    if status != Some(0) {
        return Ok(Some(format!("it was not moved: {status:?}, {errors}")));
    }
    let (sent, received) = (sender.rest()?, receiver.rest()?);
    let text = [&sent.output[..], &received.output[..]].concat();
    let rounds: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("round ")).collect();
    let wanted: Vec<String> = (1..=ROUNDS).map(|round| round.to_string()).collect();
    let passed = sent.status == Some(0) && received.status == Some(7) && rounds == wanted && !text.contains("differs") && received.output.trim_end().ends_with("end");
    Ok((!passed).then(|| format!("{said}; the sender: {}; the receiver: {}", sent.describe(), received.describe())))
}
