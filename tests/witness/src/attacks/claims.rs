//! Servers believe what a program says that it is. A guard passed the words unchecked, so a guarded
//! program was any process to those outside.

use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use nacre_proto::flags::{SERVICE_CHANNELS, SOCK_STREAM};
use nacre_proto::{Errno, channel, process};
use nacre_sys::Reference;

/// Process that is nobody's child.
const FIRST: u64 = 1;

/// Says that it is the first process and, with the argument `user`, the superuser.
pub fn attack(argument: &[u8]) -> Outcome {
    let Ok(channels) = find(SERVICE_CHANNELS) else { return Ok(Verdict::Absent("channels")) };
    let own = match process::numbers(Reference::PARENT, 0) {
        Ok(reply) => reply.pid,
        Err(Errno::ENOSYS | Errno::EACCES) => return Ok(Verdict::Absent("process manager")),
        Err(errno) => return Err(why("its own number")(errno)),
    };
    let is_other_user = argument == b"user";
    if is_other_user && process::identity(Reference::PARENT, 0, 0, 0, 0).is_ok() {
        return Err("it has become the superuser".into());
    }
    let pair = channel::pair(channels.handle(), SOCK_STREAM, 0, FIRST, 0, 0).map_err(why("two sockets"))?;
    let told = channel::credentials(pair.first.handle()).map_err(why("credentials"))?;
    match told {
        _ if told.pid != own => Err(format!("process {own} is taken for process {}", told.pid)),
        _ if is_other_user && told.uid == 0 => Err("it is taken for the superuser".into()),
        _ => Ok(Verdict::Refused),
    }
}
