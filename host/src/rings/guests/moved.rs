//! A guest that writes all of its memory again and again is moved into another machine while it
//! does so.

use std::thread;
use std::time::Duration;

use super::commands::{GUEST, MACHINE, Running, finished};
use crate::failure::Outcome;
use crate::rings::tally::TestCounts;
use crate::scratch::Folder;

const NAME: &str = "a guest that writes all its memory again and again is moved";
/// Rounds behind the first in which the guest has seen that it is in another machine.
const MORE: usize = 3;
/// A guest that fills two files, compares them and says the number of the round, until its
/// real-time clock is that of another machine, and some rounds longer. It sleeps first, so that its
/// machine's time of day is surely another than the new one's.
const PROGRAM: &str = "sleep 20; echo up; i=0; left=3; while [ $left -gt 0 ]; do i=$((i + 1)); \
    head -c 5000000 /dev/zero | tr '\\0' $((i % 10)) >/tmp/a; cp /tmp/a /tmp/b; cmp /tmp/a /tmp/b || echo differs; echo round $i; \
    d=$(($(cat /sys/class/rtc/rtc0/since_epoch) - $(date +%s))); [ ${d#-} -lt 4 ] || left=$((left - 1)); done; echo end; exit 7";

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
    let wanted: Vec<String> = (1..=rounds.len()).map(|round| round.to_string()).collect();
    let goes_on = received.output.matches("round ").count() >= MORE;
    let passed = sent.status == Some(0) && received.status == Some(7) && goes_on && rounds == wanted && !text.contains("differs") && received.output.trim_end().ends_with("end");
    Ok((!passed).then(|| format!("{said}; the sender: {}; the receiver: {}", sent.describe(), received.describe())))
}
