//! A guarded program left its directory at a server and asked for it again. The relay had put the
//! original in the proxy's place on the way there, so the program got the real directory.

use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use nacre_proto::channel::{Outgoing, receive_with, send_with};
use nacre_proto::flags::{IPC_CREAT, SERVICE_CHANNELS, SERVICE_FILES, SERVICE_MEMORY, SOCK_STREAM};
use nacre_proto::{Errno, channel, directory, keyed, parent, process};
use nacre_sys::{OwnedReference, Reference, Space};

/// Key of the memory that is left at the service of keyed objects.
const KEY: u64 = 0x7769_746e;

/// Returns true if a reference leads to a directory that the guard's rules do not open.
fn leads_out(reference: Reference) -> bool {
    directory::status_at(reference, 0, b"/", &mut [0; 256][..]).is_ok()
}

/// Requires that what came back is no more than what was left.
fn judge(way: &str, came_back: Result<OwnedReference, Errno>) -> Result<(), String> {
    match came_back {
        Ok(reference) if leads_out(reference.handle()) => Err(format!("{way} gives the real directory")),
        _ => Ok(()),
    }
}

fn by_stream(files: Reference) -> Result<(), String> {
    let before = parent::stream(Reference::PARENT, 0).map(|reply| reply.file);
    if process::stream_set(Reference::PARENT, 0, files).is_ok() {
        judge("parent.stream", parent::stream(Reference::PARENT, 0).map(|reply| reply.file))?;
    }
    // A stream that is there can be left again, which only later programs would miss.
    let _ = before.map(|file| process::stream_set(Reference::PARENT, 0, file.handle()));
    Ok(())
}

fn by_pool(files: Reference) -> Result<(), String> {
    if process::memory_set(Reference::PARENT, files).is_ok() {
        judge("the service of memory", find(SERVICE_MEMORY))?;
        // Later programs are to find the pool that was there.
        let pool = nacre_rt::memory::pool().map_err(why("the pool"))?;
        let _ = process::memory_set(Reference::PARENT, pool);
    }
    Ok(())
}

fn by_keeper(files: Reference) -> Result<(), String> {
    if parent::keep(Reference::PARENT, files).is_err() {
        return Ok(());
    }
    let link = OwnedReference::null().map_err(why("a slot"))?;
    Space::SELF.get_state_and_links(&[link.handle()]).map_err(why("the space's state"))?;
    judge("the space's keeper", Ok(link))
}

fn by_key(channels: Reference, files: Reference) -> Result<(), String> {
    let Ok(entered) = keyed::enter(channels, 0, 0) else { return Ok(()) };
    let port = entered.port.handle();
    let Ok(made) = keyed::get_memory(port, KEY, 4096, IPC_CREAT | 0o600, files) else { return Ok(()) };
    judge("keyed.attach", keyed::attach(port, made.number).map(|reply| reply.file))
}

fn by_socket(channels: Reference, files: Reference) -> Result<(), String> {
    let Ok(pair) = channel::pair(channels, SOCK_STREAM, 0, 0, 0, 0) else { return Ok(()) };
    if send_with(pair.first.handle(), Outgoing::default(), &b"x"[..], &[files]).is_err() {
        return Ok(());
    }
    let slot = OwnedReference::null().map_err(why("a slot"))?;
    let received = receive_with(pair.second.handle(), 0, 1, &[slot.handle()], &mut [0; 64][..]);
    judge("channel.receive", received.map(|_| slot))
}

/// Leaves the guarded directory everywhere, and fetches it again.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(files) = find(SERVICE_FILES) else { return Ok(Verdict::Absent("directory")) };
    let files = files.handle();
    if leads_out(files) {
        return Ok(Verdict::Absent("guard that hides the root directory"));
    }
    by_stream(files)?;
    by_pool(files)?;
    by_keeper(files)?;
    if let Ok(channels) = find(SERVICE_CHANNELS) {
        by_key(channels.handle(), files)?;
        by_socket(channels.handle(), files)?;
    }
    Ok(Verdict::Refused)
}
