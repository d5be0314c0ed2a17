//! Runs a child over managers of memory.

use crate::keeper::{AnyBank, FAULTS, Keeper, Manager};
use crate::tables::{self, Source};
use crate::watch::Through;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use nacre_abi::PAGE_SIZE;
use nacre_abi::rights::REFERENCE_USE;
use nacre_control::record;
use nacre_dataspaces::bank::MIN_FRAMES;
use nacre_dataspaces::store::Saved;
use nacre_dataspaces::policy::Random;
use nacre_dataspaces::{Access, Bank, Counts, Policy, Store};
use nacre_nest::command::{FAILED, complain};
use nacre_nest::interpose::stage;
use nacre_nest::{ChildPool, Services, attending};
use nacre_proto::flags::POOL_DATA;
use nacre_proto::{Errno, dataspace, file, memory};
use nacre_rt::{Arguments, thread};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedPort, OwnedPortSet, OwnedReference, Status, clock};

/// Bytes that the monitor keeps for itself of the memory that is left: records of pages and
/// dataspaces, relays.
const OWN: u64 = 8 << 20;
/// Maximum of bytes that a frame's mapping takes.
const FRAME_RECORD: u64 = 512;

/// A manager that is to be made.
pub struct Plan<'a> {
    /// Name and operations of the manager.
    pub manager: Manager,
    /// Number of its frames.
    pub frames: usize,
    /// Source of the frames.
    pub from: Source<'a>,
    /// Store of pages that leave.
    pub store: Box<dyn Store + Send>,
    /// Policy that chooses the pages that leave.
    pub policy: Box<dyn Policy + Send>,
    /// Frames belong to pages for good, and what they are. `None`: a page goes where there is room.
    pub homes: Option<Access>,
    /// Dataspaces that the store has already, if it makes generations.
    pub saved: Option<Vec<Saved>>,
}

/// Texts of a monitor about itself and its child.
pub struct Child<'a> {
    /// Name of the monitor.
    pub monitor: &'static str,
    /// Bytes of memory that stays.
    pub limit: u64,
    /// Seed for pages that go by chance.
    pub chaos: Option<u64>,
    /// Tells at the end, in words, what a manager did. `None`: nothing is told.
    pub report: Option<fn(&Figures) -> String>,
    /// The program and its arguments.
    pub command: &'a [&'a [u8]],
}

/// Counts of a manager's work.
#[derive(Clone, Copy)]
pub struct Figures {
    /// Name of the manager.
    pub name: &'static str,
    /// Events of its bank.
    pub counts: Counts,
    /// Bytes in the store.
    pub used: u64,
    /// Pages in the store.
    pub away: u64,
    /// Bytes that were in the store when it held most, and pages at that time.
    pub most: (u64, u64),
    /// Ticks of the machine's clock since the managers were made.
    pub ticks: u64,
}

/// Shares of the memory that is left.
pub struct Shares {
    /// Bytes that are neither for frames nor for ourselves.
    pub rest: u64,
    own: u64,
}

/// The server, until its thread takes it.
static KEEPER: Lock<Option<Keeper>> = Lock::new(None);
/// The child's pool: for all, and for data alone.
static POOL: Lock<Option<[OwnedReference; 2]>> = Lock::new(None);
/// Monitor that reports, and its report.
static REPORT: Lock<Option<(&'static str, fn(&Figures) -> String)>> = Lock::new(None);
/// A reference to the child's pool, if there is something to be written at the end.
static LAST: Lock<Option<OwnedReference>> = Lock::new(None);
/// Figures of all managers, as of the last event.
static FIGURES: Lock<Vec<Figures>> = Lock::new(Vec::new());

/// A reference to the child's pool, by which the managers are asked what they did.
static ASKED: Lock<Option<OwnedReference>> = Lock::new(None);
/// Set while somebody asks.
static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// Ticks of the machine's clock when the managers were made.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// An error of a service as a sentence.
pub fn refused(what: &'static str) -> impl Fn(Errno) -> String {
    move |errno| format!("cannot make {what}: {errno}")
}

/// An error of the kernel as a sentence.
pub fn kernel(what: &'static str) -> impl Fn(Status) -> String {
    move |status| format!("cannot make {what}: {status:?}")
}

/// Frames for so many bytes.
pub fn frames(bytes: u64) -> u64 {
    (bytes / PAGE_SIZE).max(MIN_FRAMES as u64)
}

/// Returns the shares of stores and of the child when there are so many frames.
pub fn shares(services: &Services, frames: u64) -> Result<Shares, String> {
    let status = services.status().map_err(refused("out how much memory there is"))?;
    let left = status.limit.saturating_sub(status.used);
    let own = (left / 8).min(OWN);
    let rest = left.checked_sub(own + frames * (PAGE_SIZE + FRAME_RECORD)).filter(|rest| *rest > own);
    let rest = rest.ok_or_else(|| format!("frames take {} KiB, and there are {} KiB", frames * 4, left >> 10))?;
    Ok(Shares { rest, own })
}

/// Bytes of pageable memory that the layer below can still promise, if it limits them.
pub fn pageable_left(services: &Services) -> u64 {
    // Where there are no managers, the pool alone is the limit.
    dataspace::interrogate(services.data_memory(), &b""[..], &mut [0; dataspace::NAME_SIZE][..]).map_or(u64::MAX, |told| told.limit.saturating_sub(told.promised))
}

impl Shares {
    /// Bytes of a store in our own memory: as many as were asked for, if that is wise.
    pub fn store(&self, wanted: Option<u64>) -> u64 {
        wanted.unwrap_or(self.rest / 2).min(self.rest / 4 * 3)
    }

    /// Bytes that we keep.
    pub fn own(&self) -> u64 {
        self.own
    }
}

/// Makes the server, and the child's pool.
fn prepare(plans: Vec<Plan<'_>>, child: &Child<'_>, services: &mut Services) -> Result<(), String> {
    BEGUN.store(clock::ticks(), Ordering::Relaxed);
    let set = OwnedPortSet::new().map_err(kernel("a set of ports"))?;
    let faults = OwnedPort::new(FAULTS, set.handle()).map_err(kernel("a port"))?;
    let mut top = tables::top(services).map_err(refused("its spaces"))?;
    let mut managers: Vec<(Manager, AnyBank)> = Vec::new();
    let (mut saved, mut window) = (None, None);
    for (number, plan) in plans.into_iter().enumerate() {
        if let Source::File(file, is_writable) = plan.from {
            window = Some((number, file, is_writable));
        }
        saved = plan.saved.map(|found| (number, found)).or(saved);
        let tables = top.add_manager(services, plan.frames, &plan.from, faults.handle()).map_err(refused("frames"))?;
        managers.push((plan.manager, match plan.homes {
            None => Bank::new(tables, plan.store, plan.policy, plan.frames),
            Some(access) => Bank::with_homes(tables, plan.store, plan.policy, plan.frames, access),
        }));
    }
    let own = match memory::pool_create(services.memory(), child.limit) {
        Ok(made) => made.pool,
        // Where pools may not be divided, the child's memory is ours.
        Err(_) => OwnedReference::copy_of(services.memory(), REFERENCE_USE).map_err(kernel("a copy of its pool"))?,
    };
    let mut keeper = Keeper::new(set, faults, top, managers, child.chaos.map(Random::new));
    let shows_files = keeper.serve_files(services.files()).map_err(kernel("a reference"))?;
    if let Some((number, file, is_writable)) = window {
        keeper.serve_window(number, file, is_writable).map_err(refused("a window"))?;
    }
    let pools = keeper.first_pool(own, child.limit).map_err(refused("a pool"))?;
    let keeps = saved.is_some();
    if let Some((number, saved)) = saved {
        keeper.restore(number, saved).map_err(refused("what lasts"))?;
    }
    if keeps || shows_files {
        *LAST.lock() = Some(OwnedReference::copy_of(pools[0].handle(), REFERENCE_USE).map_err(kernel("a reference"))?);
    }
    *ASKED.lock() = OwnedReference::copy_of(pools[0].handle(), REFERENCE_USE).ok();
    *POOL.lock() = Some(pools);
    *KEEPER.lock() = Some(keeper);
    *REPORT.lock() = child.report.map(|report| (child.monitor, report));
    Ok(())
}

/// Returns the pool that the child finds; `flags` are those of `memory.share`.
fn pool(_: &Services, flags: u64) -> Option<ChildPool> {
    let [all, data] = POOL.lock().take()?;
    let (shared, own) = if flags & POOL_DATA != 0 { (data, all) } else { (all, data) };
    Some(ChildPool { own, shared })
}

/// Notes what all managers did so far.
fn note(keeper: &Keeper) {
    let mut figures = FIGURES.lock();
    let before: Vec<(u64, u64)> = figures.iter().map(|figures| figures.most).collect();
    figures.clear();
    figures.extend(keeper.managers().enumerate().map(|(number, (manager, bank))| {
        let (used, away) = (bank.store().used(), bank.population().1 as u64);
        let most = before.get(number).copied().unwrap_or_default().max((used, away));
        Figures { name: manager.name, counts: bank.counts(), used, away, most, ticks: 0 }
    }));
}

/// Counts of all managers, for lists. The first manager's have plain names; those of others begin
/// with the manager's.
fn figures() -> record::Figures {
    IS_ASKED.store(true, Ordering::Relaxed);
    let Some(pool) = ASKED.lock().as_ref().map(OwnedReference::handle) else { return record::Figures::new() };
    // The managers' thread answers, and notes its counts before it does.
    let _ = memory::status(pool);
    IS_ASKED.store(false, Ordering::Relaxed);
    let all = FIGURES.lock();
    let prefix = |number: usize, name: &str| if number == 0 { String::new() } else { format!("{}_", name.replace('-', "_")) };
    all.iter().enumerate().flat_map(|(number, figures)| counts(&prefix(number, figures.name), figures)).collect()
}

/// Counts of one manager.
fn counts(prefix: &str, figures: &Figures) -> record::Figures {
    let Counts { faults, brought, put_away, fresh, .. } = figures.counts;
    let all = [("faults", faults), ("pages_fresh", fresh), ("pages_in", brought), ("pages_out", put_away), ("pages_away", figures.away), ("store_bytes", figures.used)];
    all.map(|(name, count)| (format!("{prefix}{name}"), count)).into()
}

/// Serves the child's memory, for ever.
fn keep(reports: usize) {
    let Some(mut keeper) = KEEPER.lock().take() else { return };
    let status = keeper.run(|keeper| {
        if reports != 0 || IS_ASKED.load(Ordering::Relaxed) {
            note(keeper);
        }
    });
    complain("memory", &format!("cannot receive: {status:?}"));
    nacre_rt::exit::exit(FAILED);
}

/// Writes what lasts, and tells what happened if that was asked for.
fn at_end() {
    if let Some(pool) = LAST.lock().take()
        && let Err(errno) = file::sync(pool.handle())
    {
        complain("memory", &format!("cannot write what lasts, so that the generation before stands: {errno}"));
    }
    let Some((monitor, report)) = *REPORT.lock() else { return };
    for figures in FIGURES.lock().iter() {
        let ticks = clock::ticks().saturating_sub(BEGUN.load(Ordering::Relaxed));
        complain(monitor, &report(&Figures { ticks, ..*figures }));
    }
}

/// Runs the child, and ends this program as the child ends. Returns only if there is none.
pub fn run(plans: Vec<Plan<'_>>, child: &Child<'_>, mut services: Services, arguments: &Arguments) -> Result<i32, String> {
    prepare(plans, child, &mut services)?;
    let hired = thread::spawn(keep, usize::from(child.report.is_some())).map_err(|errno| format!("cannot make a thread: {errno}"))?;
    attending::count(&hired);
    core::mem::forget(hired);
    let watch = Through { name: stage::name(child.command), monitor: child.monitor, figures, at_end };
    stage::run_with(watch, (), services, pool, child.command, arguments)
}

/// Finds our own services.
pub fn services() -> Result<Services, String> {
    Services::find().map_err(|refusal| refusal.to_string())
}
