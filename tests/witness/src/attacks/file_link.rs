//! A file that the guard handed out as it is took the place of a directory in `directory.link`, and
//! named itself anywhere.

use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use nacre_proto::flags::{AT_EMPTY_PATH, O_CREAT, O_RDONLY, O_RDWR, SERVICE_FILES};
use nacre_proto::{Errno, directory};

/// Makes a file at `FROM`, and tries to name it `TO`, where the program may not write.
pub fn attack(argument: &[u8]) -> Outcome {
    let Ok(files) = find(SERVICE_FILES) else { return Ok(Verdict::Absent("files")) };
    let mut parts = argument.split(|byte| *byte == b',');
    let (Some(from), Some(to)) = (parts.next(), parts.next()) else { return Err("the paths are missing".into()) };
    let made = directory::open(files.handle(), O_RDWR | O_CREAT, 0o644, from).map_err(why("its own file"))?;
    match directory::link(made.file.handle(), AT_EMPTY_PATH, 0, to, made.file.handle()) {
        Err(Errno::ENOTDIR | Errno::EACCES | Errno::EXDEV) => {}
        other => return Err(format!("naming the file: {:?}", other.map(|_| ()))),
    }
    match directory::open(files.handle(), O_RDONLY, 0, to) {
        Err(_) => Ok(Verdict::Refused),
        Ok(_) => Err("the file has its new name".into()),
    }
}
