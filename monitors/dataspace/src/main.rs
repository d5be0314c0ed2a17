//! The monitor `dataspace`: runs a program whose memory has managers. See the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod anonymous;
mod coloured;
mod colours;
mod compressed;
mod device;
mod device_window;
mod file;
mod managers;
mod means;
mod manifest;
mod options;
mod persistent;
mod physical;
mod pinned;
mod store_file;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use device_window::DeviceWindow;
use managers::MANAGERS;
use means::Means;
use manifest::MANIFEST;
use nacre_memory::stage::{self, Child, Figures, Plan};
use nacre_nest::Services;
use nacre_nest::command::{FAILED, Stop, complain, explain, lossy};
use nacre_proto::{Errno, dataspace};
use nacre_rt::Arguments;
use options::Options;
use store_file::StoreFile;

nacre_rt::entry!(dataspace);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Name of the monitor, in its messages.
const NAME: &str = MANIFEST.name;
/// Bytes of a page.
const PAGE: u64 = nacre_abi::PAGE_SIZE;

/// Tells what a manager did.
fn report(figures: &Figures) -> String {
    let counts = &figures.counts;
    let (used, away) = figures.most;
    let ratio = if used == 0 { 0 } else { away * PAGE * 100 / used };
    format!(
        "{}: {} faults, {} pages fresh, {} brought back, {} put away; unanswered: {} without room, {} lost, {} refused; at most {} KiB kept in {} KiB, ratio {}.{:02}",
        figures.name, counts.faults, counts.fresh, counts.brought, counts.put_away, counts.full, counts.lost, counts.refused, away * PAGE >> 10, used.div_ceil(1 << 10), ratio / 100, ratio % 100
    )
}

/// Plans of all managers that are wanted; that of the first one, which all memory has unless
/// somebody says otherwise, is the first.
fn plans<'a>(options: &Options<'_>, means: &Means<'a>) -> Result<Vec<Plan<'a>>, String> {
    let there = MANAGERS.iter().filter(|(name, _)| options.wants(name));
    let (chosen, others): (Vec<_>, Vec<_>) = there.partition(|(name, _)| *name == options.manager);
    chosen.iter().chain(&others).map(|(_, make)| make(means)).collect()
}

/// Checks that the layer below has the manager that `--over` names, and serves dataspaces at all.
fn check_below(manager: &[u8], services: &Services) -> Result<(), String> {
    let name = lossy(manager);
    match dataspace::interrogate(services.data_memory(), manager, &mut [0; dataspace::NAME_SIZE][..]) {
        Ok(_) => Ok(()),
        Err(Errno::ENOENT) => Err(format!("--over {name}: the layer below has no manager of this name; `--with` or the name after `dataspace` makes one")),
        Err(Errno::ENOSYS) => Err(format!("--over {name}: the layer below has no managers; run this below another dataspace, as `dataspace {name} dataspace ... --over {name}`")),
        Err(errno) => Err(format!("--over {name}: {errno}")),
    }
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let services = stage::services()?;
    options.over.map_or(Ok(()), |manager| check_below(manager, &services))?;
    let (frames, quota) = (stage::frames(options.memory), stage::frames(options.quota));
    let window = options.window.map(|path| DeviceWindow::open(path, &services, arguments)).transpose()?;
    let store_file = options.store.map(|path| StoreFile::open(path, &services, arguments)).transpose()?;
    let quotas = quota * (1 + u64::from(options.wants(physical::NAME)) + u64::from(options.wants(coloured::NAME)));
    let all = frames * (2 + u64::from(store_file.is_some()) + u64::from(options.wants(file::NAME))) + quotas;
    let records = store_file.as_ref().map_or(0, StoreFile::records);
    let shares = stage::shares(&services, all)?;
    let rest = shares.rest.checked_sub(records).ok_or("the file is too large for this memory")?;
    let store = rest / 4;
    let below = stage::pageable_left(&services).saturating_sub(all * PAGE);
    let backing = options.backing.map(|path| arguments.absolute(path));
    let means = Means {
        pool: services.data_memory(),
        files: services.files(),
        frames,
        quota,
        store,
        below: (store / 4 * 3).min(below),
        compressed: options.compressed,
        backing: backing.as_deref(),
        file: store_file.as_ref(),
        colours: options.colours.clone(),
        window: window.as_ref(),
        over: options.over,
    };
    let plans = plans(options, &means)?;
    let child = Child { monitor: NAME, limit: rest - 2 * store, chaos: options.chaos, report: options.stats.then_some(report as fn(&Figures) -> String), command: options.command };
    stage::run(plans, &child, services, arguments)
}

fn dataspace(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(Stop::Value(name)) if options::lacks_manager(name) => {
            let names: Vec<&str> = MANAGERS.iter().map(|(name, _)| *name).filter(|name| *name != device::NAME).collect();
            complain(NAME, &format!("{} is no manager that a program can run on; name one of {} first", lossy(words[0]), names.join(", ")));
            FAILED
        }
        Err(stop) => explain(&MANIFEST, &stop),
        Ok(options) => run(&options, arguments).unwrap_or_else(|text| {
            complain(NAME, &text);
            FAILED
        }),
    }
}
