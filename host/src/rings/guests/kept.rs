//! Disks of a guest that are files of this machine: what the guest writes is kept in them.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::commands::{MACHINE, finished};
use crate::failure::{Class, Context, Outcome};
use crate::rings::tally::TestCounts;
use crate::scratch::Folder;

const NAME: &str = "what a guest writes to a disk is kept in the file";
/// Size of each disk.
const SIZE: usize = 1 << 16;
/// The guest changes the first disk, reads the second one, and may not write the third one.
const SCRIPT: &str = "echo kept >/tmp/text; dd if=/tmp/text of=/dev/vda conv=notrunc 2>/dev/null; cat /dev/vdb | wc -c
dd if=/tmp/text of=/dev/vdc conv=notrunc 2>/dev/null || echo refused; sync; exit 7";

/// Runs the case, if its name contains the filter.
pub fn run(filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    if NAME.contains(filter) {
        tally.note(NAME, fault()?.as_deref());
    }
    Ok(())
}

/// Returns the fault, if there was one.
fn fault() -> Outcome<Option<String>> {
    let folder = Folder::new("kept")?;
    let paths = ["changed", "read", "refused"].map(|name| folder.path().join(name));
    let cannot = || "cannot use a disk".to_string();
    for path in &paths {
        fs::write(path, vec![b'.'; SIZE]).context(Class::Internal, cannot)?;
    }
    let number = || fs::metadata(&paths[1]).map(|metadata| metadata.ino()).context(Class::Internal, cannot);
    let before = number()?;
    let names = [paths[0].display().to_string(), paths[1].display().to_string(), format!("{}:ro", paths[2].display())];
    let disks: Vec<&str> = names.iter().flat_map(|name| ["--disk", name]).collect();
    let words = [&["run"][..], MACHINE, &["machine"], &disks, &["sh", "-c", SCRIPT]].concat();
    let (status, output, errors) = finished(&words)?;
    let changed = fs::read(&paths[0]).context(Class::Internal, cannot)?;
    let is_kept = changed.starts_with(b"kept\n...") && changed.len() == SIZE;
    let is_same = number()? == before && fs::read(&paths[2]).context(Class::Internal, cannot)? == vec![b'.'; SIZE];
    let is_right = status == Some(7) && output == format!("{SIZE}\nrefused\n") && is_kept && is_same;
    Ok((!is_right).then(|| format!("kept {is_kept}, others as they were {is_same}, status {status:?}, output {output:?}, errors {errors:?}")))
}
