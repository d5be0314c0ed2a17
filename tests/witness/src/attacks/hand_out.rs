//! Root handed out any file by its path, for programs that could not open it.

use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use nacre_proto::flags::{O_CREAT, O_WRONLY, SERVICE_FILES};
use nacre_proto::{Errno, directory, file, parent};
use nacre_sys::Reference;

/// The kind of report by which a path was handed out.
const FILE: u64 = 2;
/// The name that the files get outside. The command line of the test does not name it, so nothing
/// is written.
const NAME: &[u8] = b"/witness-handed-out";

/// Hands out a file by its path alone, and one that the program cannot read.
pub fn attack(_: &[u8]) -> Outcome {
    match parent::report(Reference::PARENT, FILE, b"/etc/nacre/command") {
        Err(Errno::EINVAL | Errno::EACCES | Errno::ENOSYS) => {}
        other => return Err(format!("by its path: {:?}", other.map(|_| ()))),
    }
    let Ok(files) = find(SERVICE_FILES) else { return Ok(Verdict::Refused) };
    let opened = match directory::open(files.handle(), O_CREAT | O_WRONLY, 0o200, b"/tmp/witness-unreadable") {
        Err(Errno::EACCES) => return Ok(Verdict::Refused),
        opened => opened.map_err(why("its own file"))?.file,
    };
    match file::hand_out(opened.handle(), NAME) {
        Err(Errno::EBADF | Errno::EACCES) => Ok(Verdict::Refused),
        other => Err(format!("a file that cannot be read: {:?}", other.map(|_| ()))),
    }
}
