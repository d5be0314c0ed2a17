//! What a guest learns of being frozen and copied: another time of day, and another identity.

use super::commands::{GUEST, MACHINE, Running, finished};
use crate::boot::kernel::{self, Kind};
use crate::builds::Products;
use crate::failure::Outcome;
use crate::rings::tally::TestCounts;
use crate::scratch::Folder;

const CALENDAR: &str = "a guest is frozen by a command, and its clock shows the time of its new machine";
const COPIES: &str = "copies of a guest draw random numbers of their own";

/// A guest that waits until its real-time clock differs from the system's, which was set by it. It
/// has slept first: the second machine has to be behind it for long enough.
const LOOK: &str = "sleep 20; echo up; d=0; while [ ${d#-} -lt 4 ]; do sleep 1; d=$(($(cat /sys/class/rtc/rtc0/since_epoch) - $(date +%s))); done; echo another time; exit 7";
/// A guest that draws eight bytes when it has read a word, and says how often its kernel was told
/// that others have its random numbers.
const DRAW: &str = "echo up; read word; sleep 2; head -c 8 /dev/urandom | od -An -tx1 | tr -d ' \\n'; echo; dmesg | grep -c 'due to virtual machine fork'; exit 7";
/// Words of a guest with the general kernel, below `checkpoint`.
const GENERAL: &[&str] = &["checkpoint", "-m", "320M", "machine", "--memory", "128M", "--share", "/tmp"];

/// Runs the cases whose names contain the filter.
pub fn run(products: &Products, filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    if CALENDAR.contains(filter) {
        tally.note(CALENDAR, calendar()?.as_deref());
    }
    if COPIES.contains(filter) {
        match kernel::kernel(&products.tree, Kind::General) {
            Ok(_) => tally.note(COPIES, copies()?.as_deref()),
            Err(failure) => println!("skipped: {COPIES}, because {failure}"),
        }
    }
    Ok(())
}

/// Returns the fault of the guest that is frozen, if there was one. Both machines begin at the same
/// time of day, so the second one's is earlier.
fn calendar() -> Outcome<Option<String>> {
    let folder = Folder::new("identity")?;
    let image = folder.path().join("image").to_string_lossy().into_owned();
    let name = format!("frozen-guest-{}", std::process::id());
    let mut original = Running::start(&[&["run", "--name", &name], MACHINE, GUEST, &["sh", "-c", LOOK]].concat())?;
    original.wait_for("up")?;
    let (status, _, errors) = finished(&["freeze", &name, "--end", "-o", &image])?;
    let ended = original.rest()?;
    if status != Some(0) || ended.status != Some(0) {
        return Ok(Some(format!("it was not frozen: {status:?}, {errors}; the machine: {}", ended.describe())));
    }
    let (status, said, errors) = finished(&[&["run"], MACHINE, &["checkpoint", "--thaw", &image]].concat())?;
    let passed = status == Some(7) && said.trim() == "another time";
    Ok((!passed).then(|| format!("it ended with {status:?} and says {said:?}; {errors}")))
}

/// Returns the fault of the copies, if there was one.
fn copies() -> Outcome<Option<String>> {
    let name = format!("identified-guest-{}", std::process::id());
    let mut original = Running::start(&[&["run", "--name", &name], MACHINE, GENERAL, &["sh", "-c", DRAW]].concat())?;
    original.wait_for("up")?;
    let (status, _, errors) = finished(&["fork", &name, "2", "--input", "go", "--wait"])?;
    let mut said = Vec::new();
    for number in [1, 2] {
        said.push(finished(&["logs", &format!("{name}.{number}")])?.1);
    }
    original.type_line("go")?;
    let ended = original.rest()?;
    // What copies say stands there, too.
    let own: Vec<&str> = ended.output.lines().map(str::trim).rev().take(2).collect();
    let lines: Vec<Vec<&str>> = said.iter().map(|text| text.lines().map(str::trim).collect()).collect();
    let is_told = lines.iter().all(|lines| matches!(lines[..], [drawn, "1"] if drawn.len() == 16));
    let passed = status == Some(7) && is_told && lines[0][0] != lines[1][0] && matches!(own[..], ["0", drawn] if drawn != lines[0][0] && drawn != lines[1][0]);
    Ok((!passed).then(|| format!("the copies ended with {status:?} and say {said:?}; {errors}; the original: {}", ended.describe())))
}
