//! Counts in persistent memory, where an earlier run has stopped.

use crate::attached::Attached;
use alloc::format;
use alloc::string::String;
use nacre_abi::PAGE_SIZE;
use nacre_proto::{Errno, dataspace, file};
use nacre_rt::memory::pool;
use nacre_rt::stream::print;
use nacre_sys::OwnedReference;

/// Rounds between two generations that are asked for.
const ASKED: u64 = 7;

/// A page's word in a round: never zero, and different in each page.
fn word(round: u64, page: u64) -> u64 {
    if round == 0 { 0 } else { round.wrapping_mul(0x1_0000_0001).wrapping_add(page << 20) }
}

/// The dataspace of this name, which is made if there is none.
fn find(name: &[u8], pages: u64) -> Result<OwnedReference, Errno> {
    let (pool, full) = (pool()?, [&b"persistent:"[..], name].concat());
    match dataspace::identify(pool, &full[..]) {
        Ok(found) => Ok(found.dataspace),
        Err(Errno::ENOENT) => Ok(dataspace::create(pool, pages * PAGE_SIZE, &full[..])?.dataspace),
        Err(errno) => Err(errno),
    }
}

/// The round of the first page, if all pages are of one moment: some of the last ones may be a
/// round behind.
fn round(memory: &Attached, pages: u64) -> Result<u64, String> {
    let read = |page| memory.read(page).map_err(|errno| format!("page {page}: {errno}"));
    let now = read(0)? & 0xffff_ffff;
    let mut behind = 0;
    for page in 0..pages {
        let found = read(page)?;
        if found == word(now.wrapping_sub(1), page) && now > 0 {
            behind += 1;
        } else if found != word(now, page) || behind > 0 {
            return Err(format!("page {page} holds {found:#x} in round {now}"));
        }
    }
    Ok(now)
}

/// Checks what is there, and counts on.
pub fn run(name: &[u8], pages: u64, rounds: u64) -> Result<(), String> {
    let told = |errno: Errno| format!("{errno}");
    let found = find(name, pages).map_err(told)?;
    let memory = Attached::new(found.handle(), 0).map_err(told)?;
    if memory.size != pages * PAGE_SIZE {
        return Err(format!("{} bytes", memory.size));
    }
    let first = round(&memory, pages)?;
    print(1, format_args!("found {first}\n"));
    for now in first + 1..=first + rounds {
        for page in 0..pages {
            memory.write(page, word(now, page)).map_err(told)?;
        }
        if now % ASKED == 0 {
            file::sync(memory.attachment.handle()).map_err(told)?;
            print(1, format_args!("kept {now}\n"));
        }
    }
    Ok(())
}
