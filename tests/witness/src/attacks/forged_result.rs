//! A guard let a program hand out memory, and its own files, under any name: also under those that
//! the command line names for others.

use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use nacre_proto::flags::{O_CREAT, O_RDWR, SERVICE_FILES};
use nacre_proto::{Errno, directory, file};
use nacre_sys::Reference;

/// Text of the forged file.
const TEXT: &[u8] = b"forged\n";

/// Writes the text to a file, and hands that out under a name that is not its own.
fn hand_out(file: Reference, name: &[u8], what: &str) -> Result<(), String> {
    file::write(file, 0, TEXT).map_err(why("its own file"))?;
    match file::hand_out(file, name) {
        Err(Errno::EACCES | Errno::EINVAL) => Ok(()),
        other => Err(format!("{what} went out as {}: {:?}", String::from_utf8_lossy(name), other.map(|_| ()))),
    }
}

/// Hands out memory, and a file in `/tmp`, as the argument.
pub fn attack(name: &[u8]) -> Outcome {
    let Ok(files) = find(SERVICE_FILES) else { return Ok(Verdict::Absent("files")) };
    match directory::memory(files.handle(), 0) {
        Ok(made) => hand_out(made.file.handle(), name, "memory")?,
        Err(Errno::EACCES) => {}
        Err(errno) => return Err(why("memory")(errno)),
    }
    match directory::open(files.handle(), O_CREAT | O_RDWR, 0o600, b"/tmp/witness-forged") {
        Ok(opened) => hand_out(opened.file.handle(), name, "its own file")?,
        Err(Errno::EACCES) => {}
        Err(errno) => return Err(why("its own file")(errno)),
    }
    Ok(Verdict::Refused)
}
