//! Files that monitors' options name.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use nacre_manifest::{Given, Value, without_read_only};

/// Files, as they are written in the options.
#[derive(Default)]
pub struct Named {
    /// Files that a monitor writes.
    pub outputs: BTreeSet<PathBuf>,
    /// Number of files that stay under the name of an output, if the monitor was told.
    pub kept: BTreeMap<PathBuf, u64>,
    /// Files that a monitor reads.
    pub inputs: BTreeSet<PathBuf>,
}

impl Named {
    /// Notes the files that the options of a monitor name.
    pub fn note(&mut self, given: &[Given<'_>]) {
        let kept = given.iter().rfind(|option| matches!(option.choice.value, Value::Kept(_))).and_then(|option| nacre_manifest::kept(option.value));
        for option in given.iter().filter(|option| option.value != b"-") {
            let path = || PathBuf::from(OsStr::from_bytes(option.value));
            match option.choice.value {
                Value::Output(_) => {
                    self.kept.extend(kept.map(|kept| (path(), kept)));
                    self.outputs.insert(path());
                }
                Value::Input(_) => drop(self.inputs.insert(path())),
                Value::Disk(_) => {
                    let (file, _) = without_read_only(option.value);
                    self.inputs.insert(PathBuf::from(OsStr::from_bytes(file)));
                }
                Value::Text(_) | Value::Kept(_) | Value::None => {}
            }
        }
    }
}
