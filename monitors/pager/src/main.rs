//! The pager: runs a program on less memory than it uses. See the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod keeper;
mod manifest;
mod options;
mod pools;
mod stores;
mod tables;
mod watch;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use keeper::{AnyBank, FAULTS, Keeper};
use nacre_abi::PAGE_SIZE;
use nacre_abi::rights::REFERENCE_USE;
use nacre_dataspace::bank::LEAST_FRAMES;
use nacre_dataspace::policy::{Clock, Fifo, Random};
use nacre_dataspace::store::Compressed;
use nacre_dataspace::{Bank, Counts, Policy, Store};
use nacre_nest::command::{FAILED, complain, explain, lossy};
use nacre_nest::interpose::stage;
use nacre_nest::{ChildPool, Services};
use nacre_proto::flags::{POOL_DATA, O_CREAT, O_RDWR, O_TRUNC};
use nacre_proto::{Errno, directory, memory};
use nacre_rt::{Arguments, thread};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedPort, OwnedPortSet, OwnedReference, Status};
use manifest::MANIFEST;
use options::{Backing, Options, PolicyName};
use stores::{InFile, InMemory};
use watch::Through;

nacre_rt::entry!(pager);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;
/// Bytes of the memory that is left which the pager keeps: for records of pages and segments, and
/// for relays.
const OWN: u64 = 8 << 20;
/// Default for the bytes of a backing file.
const FILE_SIZE: u64 = 64 << 20;

/// The server, until its thread takes it.
static KEEPER: Lock<Option<Keeper>> = Lock::new(None);
/// The child's pool: for all, and for data alone.
static POOL: Lock<Option<[OwnedReference; 2]>> = Lock::new(None);
/// Counts for the line at the end, if `--stats` is given.
static REPORT: Lock<Option<(Counts, u64)>> = Lock::new(None);

/// Division of the pager's memory.
struct Shares {
    frames: usize,
    /// Bytes for what is put away, and for memory of the child's that stays.
    store: u64,
    child: u64,
}

fn refused(what: &'static str) -> impl Fn(Errno) -> String {
    move |errno| format!("cannot make {what}: {errno}")
}

fn shares(options: &Options<'_>, services: &Services) -> Result<Shares, String> {
    let status = memory::status(services.memory()).map_err(refused("out how much memory there is"))?;
    let left = status.limit.saturating_sub(status.used);
    let frames = (options.memory / PAGE_SIZE).max(LEAST_FRAMES as u64);
    let own = (left / 8).min(OWN);
    // A frame's mapping takes a few hundred bytes.
    let rest = left.checked_sub(own + frames * (PAGE_SIZE + 512)).filter(|rest| *rest > own);
    let rest = rest.ok_or_else(|| format!("-m takes {} KiB, and there are {} KiB", frames * 4, left >> 10))?;
    let store = match options.backing {
        Backing::File(_) => options.backing_size.unwrap_or(FILE_SIZE),
        _ => options.backing_size.unwrap_or(rest / 2).min(rest / 4 * 3),
    };
    let child = if matches!(options.backing, Backing::File(_)) { rest } else { rest - store };
    Ok(Shares { frames: frames as usize, store, child })
}

fn store(options: &Options<'_>, arguments: &Arguments, services: &Services, size: u64) -> Result<Box<dyn Store + Send>, String> {
    Ok(match options.backing {
        Backing::Compress => Box::new(Compressed::new(size)),
        Backing::Parent => {
            let pool = OwnedReference::copy_of(services.memory(), REFERENCE_USE).map_err(kernel("a copy of its pool"))?;
            Box::new(InMemory::new(pool, size / PAGE_SIZE))
        }
        Backing::File(path) => {
            let path = arguments.absolute(path);
            let opened = directory::open(services.files(), O_RDWR | O_CREAT | O_TRUNC, 0o600, &path[..]);
            let file = opened.map_err(|errno| format!("cannot write {}: {errno}", lossy(&path)))?.file;
            Box::new(InFile::new(file, size / PAGE_SIZE))
        }
    })
}

fn policy(options: &Options<'_>) -> Box<dyn Policy + Send> {
    match options.policy {
        PolicyName::Clock => Box::new(Clock::default()),
        PolicyName::Fifo => Box::new(Fifo::default()),
        PolicyName::Random => Box::new(Random::new(options.chaos.unwrap_or(1))),
    }
}

fn kernel(what: &'static str) -> impl Fn(Status) -> String {
    move |status| format!("cannot make {what}: {status:?}")
}

/// Makes the server, and the child's pool.
fn prepare(options: &Options<'_>, arguments: &Arguments, services: &mut Services) -> Result<(), String> {
    let shares = shares(options, services)?;
    let set = OwnedPortSet::new().map_err(kernel("a set of ports"))?;
    let faults = OwnedPort::new(FAULTS, set.handle()).map_err(kernel("a port"))?;
    let (tables, top) = tables::make(services, shares.frames, faults.handle()).map_err(refused("frames"))?;
    let bank: AnyBank = Bank::new(tables, store(options, arguments, services, shares.store)?, policy(options), shares.frames);
    let own = match memory::pool_create(services.memory(), shares.child) {
        Ok(made) => made.pool,
        // Where pools may not be divided, the child's memory is ours.
        Err(_) => OwnedReference::copy_of(services.memory(), REFERENCE_USE).map_err(kernel("a copy of its pool"))?,
    };
    let mut keeper = Keeper::new(set, faults, top, bank, options.chaos.map(Random::new));
    *POOL.lock() = Some(keeper.first_pool(own, shares.child).map_err(refused("a pool"))?);
    *KEEPER.lock() = Some(keeper);
    Ok(())
}

/// Returns a pool for the child. `flags` are those of `memory.share`.
fn pool(_: &Services, flags: u64) -> Option<ChildPool> {
    let [all, data] = POOL.lock().take()?;
    let (shared, own) = if flags & POOL_DATA != 0 { (data, all) } else { (all, data) };
    Some(ChildPool { own, shared })
}

/// Serves the child's memory, for ever.
fn keep(told: usize) {
    let Some(mut keeper) = KEEPER.lock().take() else { return };
    let each = |keeper: &Keeper| {
        if told != 0 {
            *REPORT.lock() = Some(keeper.counts());
        }
    };
    let status = keeper.run(each);
    complain(NAME, &format!("cannot receive: {status:?}"));
    nacre_rt::exit::exit(FAILED);
}

/// Tells what happened, if that was asked for.
fn at_end() {
    let Some((counts, used)) = *REPORT.lock() else { return };
    let Counts { faults, shown_again, fresh, brought, put_away, left, refused } = counts;
    complain(
        NAME,
        &format!("{faults} faults: {fresh} pages fresh, {brought} brought back, {shown_again} shown again, {refused} refused; {put_away} put away, {left} let go; {} KiB in the backing", used >> 10),
    );
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let mut services = Services::find().map_err(|refusal| refusal.to_string())?;
    prepare(options, arguments, &mut services)?;
    let hired = thread::spawn(keep, usize::from(options.stats)).map_err(|errno| format!("cannot make a thread: {errno}"))?;
    core::mem::forget(hired);
    let watch = Through { name: stage::name(options.command), at_end };
    stage::run_with(watch, (), services, pool, options.command, arguments)
}

fn pager(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(stop) => explain(&MANIFEST, &stop),
        Ok(options) => run(&options, arguments).unwrap_or_else(|text| {
            complain(NAME, &text);
            FAILED
        }),
    }
}
