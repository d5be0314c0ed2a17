//! The pager: runs a program on less memory than it uses. See the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod manifest;
mod options;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_abi::rights::REFERENCE_USE;
use nacre_dataspaces::policy::{Clock, Fifo, Random};
use nacre_dataspaces::store::Compressed;
use nacre_dataspaces::{Counts, Policy, Store};
use nacre_memory::keeper::{ALL_OPERATIONS, Manager};
use nacre_memory::stage::{self, Child, Figures, Plan, kernel};
use nacre_memory::stores::{InFile, InMemory};
use nacre_memory::tables::Source;
use nacre_nest::Services;
use nacre_nest::command::{FAILED, complain, explain, lossy};
use nacre_proto::directory;
use nacre_proto::flags::{O_CREAT, O_RDWR, O_TRUNC};
use nacre_proto::structures::Status;
use nacre_rt::Arguments;
use nacre_sys::OwnedReference;
use manifest::MANIFEST;
use options::{Backing, Options, PolicyName};

nacre_rt::entry!(pager);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;
/// Default for the bytes of a backing file.
const FILE_SIZE: u64 = 64 << 20;

fn store(options: &Options<'_>, arguments: &Arguments, services: &Services, size: u64) -> Result<Box<dyn Store + Send>, String> {
    Ok(match options.backing {
        Backing::Compress => Box::new(Compressed::new(size)),
        Backing::Parent => {
            let pool = OwnedReference::copy_of(services.data_memory(), REFERENCE_USE).map_err(kernel("a copy of its pool"))?;
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

/// Returns the size of a file that never gets longer: one of the devices, such as a store.
fn device_size(path: &[u8], services: &Services) -> Option<u64> {
    let mut bytes = [0; Status::SIZE];
    directory::status_at(services.files(), 0, path, &mut bytes[..]).ok().filter(|_| path.starts_with(b"/dev/"))?;
    Status::from_bytes(&bytes).map(|status| status.size)
}

/// Tells what happened.
fn report(figures: &Figures) -> String {
    let Counts { faults, shown_again, fresh, brought, along, put_away, left, full, lost, refused } = figures.counts;
    let (used, ticks) = (figures.most.0 >> 10, figures.ticks);
    format!("{faults} faults: {fresh} pages fresh, {brought} brought back ({along} along with others), {shown_again} shown again; unanswered: {full} without room, {lost} lost, {refused} refused; {put_away} put away, {left} let go; at most {used} KiB in the backing; {ticks} ticks")
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let services = stage::services()?;
    let frames = stage::frames(options.memory);
    let shares = stage::shares(&services, frames)?;
    let is_file = matches!(options.backing, Backing::File(_));
    let size = match options.backing {
        Backing::File(path) => {
            let size = options.backing_size.unwrap_or(FILE_SIZE);
            device_size(&arguments.absolute(path), &services).map_or(size, |all| all.min(size))
        }
        Backing::Compress => shares.store(options.backing_size),
        Backing::Parent => shares.store(options.backing_size).min(stage::pageable_left(&services).saturating_sub(frames * PAGE_SIZE)),
    };
    let limit = if is_file { shares.rest } else { shares.rest - size };
    let store = store(options, arguments, &services, size)?;
    let manager = Manager { name: NAME, operations: ALL_OPERATIONS };
    let plan = Plan { manager, frames: frames as usize, from: Source::Segment, store, policy: policy(options), homes: None, saved: None };
    let child = Child { monitor: NAME, limit, chaos: options.chaos, report: options.stats.then_some(report as fn(&Figures) -> String), command: options.command };
    stage::run(alloc::vec![plan], &child, services, arguments)
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
