//! Composition as a program sees it.

use super::checks::{equal, fails, must};
use crate::fixture::{self, ARENA, EXPORTED, FREE, PORT, REGION, SPARE, population};
use alloc::string::String;
use nacre_abi::state::RegionState;
use nacre_abi::{Call, Code, Rights};
use nacre_raw::{read, write};

/// Address at which tests map in the own space.
const HERE: u64 = 0x3300_0000_0000;

fn map(slot: u64, start: u64, size: u64, rights: Rights) -> Result<(), String> {
    must(Call::MappingCreate, &[slot, 0, start, size, REGION, 0, rights.0]).map(|_| ())
}

pub fn shared() -> Result<(), String> {
    map(FREE, HERE, 0x4000, Rights::READ.union(Rights::WRITE))?;
    for page in 0..4 {
        write(EXPORTED + page * 4096 + 8, 0x1234 + page);
        equal("word", read(HERE + page * 4096 + 8), 0x1234 + page)?;
        write(HERE + page * 4096 + 16, 0x99 + page);
        equal("word", read(EXPORTED + page * 4096 + 16), 0x99 + page)?;
    }
    must(Call::MappingDestroy, &[FREE])?;
    Ok(())
}

/// Returns true if the kernel can read the word at `address` for this program.
fn readable(address: u64) -> bool {
    // A condition is only looked at if its word can be read; 1 is not what stands there.
    fixture::must(Call::ConditionWait, &[fixture::CONDITION, address, 1]).is_ok()
}

fn set_region(size: u64) -> Result<(), String> {
    let state = RegionState { start: EXPORTED, size, rights: Rights::ALL.0, ..RegionState::default() };
    for (index, word) in state.to_words().into_iter().enumerate() {
        write(fixture::BUFFER + 8 * index as u64, word);
    }
    must(Call::RegionSetState, &[REGION, fixture::BUFFER, RegionState::SIZE, 0]).map(|_| ())
}

pub fn narrowed() -> Result<(), String> {
    map(FREE, HERE, 0x4000, Rights::READ)?;
    equal("before", (readable(HERE), readable(HERE + 0x3000)), (true, true))?;
    set_region(0x2000)?;
    equal("narrowed", (readable(HERE), readable(HERE + 0x3000)), (true, false))?;
    set_region(0x4000)?;
    equal("widened", (readable(HERE), readable(HERE + 0x3000)), (true, true))?;
    must(Call::RegionDestroy, &[REGION])?;
    equal("destroyed", readable(HERE), false)?;
    must(Call::MappingDestroy, &[FREE])?;
    Ok(())
}

pub fn object_pages() -> Result<(), String> {
    map(FREE, HERE, 0x1000, Rights::ALL)?;
    write(EXPORTED, u64::MAX);
    must(Call::ReferenceCreate, &[EXPORTED + 64])?;
    equal("an object page through one address, then another", (readable(EXPORTED), readable(HERE)), (false, false))?;
    must(Call::ReferenceDestroy, &[HERE + 64])?;
    equal("given back", (readable(EXPORTED), readable(HERE)), (true, true))?;
    for word in 0..512 {
        equal("word", read(HERE + 8 * word), 0)?;
    }
    must(Call::MappingDestroy, &[FREE])?;
    Ok(())
}

pub fn reclaimed() -> Result<(), String> {
    let all = population();
    must(Call::MemoryReclaim, &[fixture::POOL, 8 * 4096])?;
    fails("the space whose tables were there", fixture::must(Call::SpaceGetState, &[fixture::SPACE, fixture::BUFFER, 64, 0]), Code::NotAnObject)?;
    if population() >= all {
        return Err("no object went".into());
    }
    must(Call::MemoryReclaim, &[ARENA, fixture::ARENA_SIZE])?;
    equal("objects that are left", population(), 0)?;
    equal("readable", readable_word(fixture::SPACE), 0)
}

pub fn touched() -> Result<(), String> {
    const CLEAR: u64 = nacre_abi::rights::RECLAIM_CLEAR;
    must(Call::MemoryReclaim, &[SPARE, 4 * 4096, CLEAR])?;
    equal("nothing yet", must(Call::MemoryTouched, &[SPARE, 4 * 4096])?, (SPARE + 4 * 4096, SPARE + 4 * 4096))?;
    write(SPARE + 3 * 4096, 7);
    equal("what was written", must(Call::MemoryTouched, &[SPARE, 4 * 4096])?, (SPARE + 3 * 4096, SPARE + 4 * 4096))?;
    equal("the rest", read(SPARE + 4096), 0)
}

pub fn copied() -> Result<(), String> {
    const CLEAR: u64 = nacre_abi::rights::RECLAIM_CLEAR;
    must(Call::MemoryReclaim, &[SPARE, 4 * 4096, CLEAR])?;
    write(SPARE + 3 * 4096 + 8, 7);
    must(Call::MemoryCopy, &[SPARE + 2 * 4096, SPARE, 2 * 4096])?;
    equal("zeros on both sides", must(Call::MemoryTouched, &[SPARE, 3 * 4096])?, (SPARE + 4096, SPARE + 2 * 4096))?;
    equal("what was written", read(SPARE + 4096 + 8), 7)?;
    write(SPARE + 4096 + 8, 9);
    equal("the first one", read(SPARE + 3 * 4096 + 8), 7)?;
    must(Call::MemoryCopy, &[SPARE, SPARE + 4096, 4096])?;
    equal("zeros over it", read(SPARE + 4096 + 8), 0)?;
    fails("from nowhere", fixture::must(Call::MemoryCopy, &[0, SPARE, 4096]), Code::BadAddress)?;
    fails("to nowhere", fixture::must(Call::MemoryCopy, &[SPARE, 0, 4096]), Code::BadAddress)
}

fn readable_word(address: u64) -> u64 {
    read(address)
}

pub fn small_pool() -> Result<(), String> {
    let (space, slot) = (FREE, FREE + 256);
    must(Call::SpaceCreate, &[space, SPARE, 5, PORT])?;
    // Far apart, so that each needs tables of its own: far more than the pool has. They are filled
    // by use; here only made and taken back.
    for number in 0..8u64 {
        must(Call::MappingCreate, &[slot + 128 * number, space, 0x100_0000_0000 * number, 0x1000, REGION, 0, Rights::ALL.0])?;
    }
    must(Call::SpaceDestroy, &[space])?;
    fails("a mapping of it", fixture::must(Call::MappingDestroy, &[slot]), Code::NotAnObject)
}

pub fn overlay() -> Result<(), String> {
    let over = |rights: Rights| rights.union(Rights::OVER).0;
    map(FREE, HERE, 0x3000, Rights::READ)?;
    (0..4).for_each(|page| write(EXPORTED + page * 4096, 10 + page));
    let shown = || [0, 1, 2].map(|page| read(HERE + page * 4096));
    equal("before", shown(), [10, 11, 12])?;
    let arguments = [FREE + 128, 0, HERE + 0x1000, 0x1000, REGION, 0x3000, over(Rights::READ.union(Rights::WRITE))];
    must(Call::MappingCreate, &arguments)?;
    equal("with an overlay", shown(), [10, 13, 12])?;
    write(HERE + 0x1000, 99);
    equal("what was written through it", read(EXPORTED + 0x3000), 99)?;
    must(Call::MappingCreate, &arguments)?;
    let second = [FREE + 256, 0, HERE + 0x1000, 0x1000, REGION, 0, over(Rights::READ)];
    fails("a second overlay", fixture::must(Call::MappingCreate, &second), Code::Overlap)?;
    must(Call::MappingDestroy, &[FREE + 128])?;
    equal("uncovered", shown(), [10, 11, 12])?;
    must(Call::MappingDestroy, &[FREE])?;
    Ok(())
}
