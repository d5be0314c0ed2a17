//! Anonymous memory: zeros at first, backed by compression, and then by a file or by memory of the
//! layer below.

use crate::means::{Means, plan};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use nacre_abi::PAGE_SIZE;
use nacre_abi::rights::REFERENCE_USE;
use nacre_dataspaces::policy::Clock;
use nacre_dataspaces::store::{Chain, Compressed, Store};
use nacre_memory::keeper::ALL_OPERATIONS;
use nacre_memory::stage::{Plan, kernel};
use nacre_memory::stores::{InFile, InMemory};
use nacre_nest::command::lossy;
use nacre_proto::directory;
use nacre_proto::flags::{O_CREAT, O_RDWR, O_TRUNC};
use nacre_sys::OwnedReference;

/// Name of the manager.
pub const NAME: &str = "anonymous";
/// Bytes of the backing file.
const FILE_SIZE: u64 = 64 << 20;
/// Part of the store in our own memory that compressed pages take.
const COMPRESSED: u64 = 4;

/// Pages that were not used lately are compressed. What finds no room there goes to the file, if
/// there is one, else to pageable memory of our pool, as it is.
pub fn make<'a>(means: &Means<'a>) -> Result<Plan<'a>, String> {
    let behind: Box<dyn Store + Send> = match means.backing {
        Some(path) => {
            let opened = directory::open(means.files, O_RDWR | O_CREAT | O_TRUNC, 0o600, path);
            let file = opened.map_err(|errno| format!("cannot write {}: {errno}", lossy(path)))?.file;
            Box::new(InFile::new(file, FILE_SIZE / PAGE_SIZE))
        }
        None => {
            let pool = OwnedReference::copy_of(means.pool, REFERENCE_USE).map_err(kernel("a copy of its pool"))?;
            Box::new(InMemory::new(pool, means.below / PAGE_SIZE))
        }
    };
    let store = Chain::new(Compressed::new(means.compressed.unwrap_or(u64::MAX).min(means.store / COMPRESSED)), behind);
    Ok(plan(NAME, ALL_OPERATIONS, means.frames, means, Box::new(store), Box::new(Clock::default())))
}
