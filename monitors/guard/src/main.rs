//! The guard: runs a program and lets it do only what a policy allows.
//!
//! It stands between the program and everything else, by the nesting library's interposition layer.
//! Reading on: `policy`, then `guardian`.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_guard::audit::Audit;
use nacre_guard::denied::names_machine;
use nacre_guard::guardian::Guardian;
use nacre_guard::limits::Limits;
use nacre_guard::manifest::MANIFEST;
use nacre_guard::names::Names;
use nacre_guard::options::{self, Options, Source};
use nacre_guard::policy::Policy;
use nacre_guard::subject::{Kind, PARENT, tag};
use nacre_nest::Services;
use nacre_nest::clock::Clock;
use nacre_nest::command::{FAILED, complain, create, explain, lossy};
use nacre_nest::interpose::stage::{self, messages};
use nacre_proto::flags::O_RDONLY;
use nacre_proto::{directory, file};
use nacre_rt::Arguments;
use nacre_sys::lock::Lock;

nacre_rt::entry!(guard);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;

/// All of a file; its rules are text.
fn read(services: &Services, arguments: &Arguments, path: &[u8]) -> Result<String, String> {
    let cannot = |errno| format!("cannot read {}: {errno}", lossy(path));
    let opened = directory::open(services.files(), O_RDONLY, 0, arguments.absolute(path).as_slice()).map_err(cannot)?.file;
    let (mut text, mut buffer) = (Vec::new(), vec![0; MAX_BYTES as usize]);
    loop {
        let count = file::read(opened.handle(), text.len() as u64, MAX_BYTES, &mut buffer[..]).map_err(cannot)?.data;
        if count == 0 {
            return String::from_utf8(text).map_err(|_| format!("{} is not text", lossy(path)));
        }
        text.extend_from_slice(&buffer[..count]);
    }
}

fn policy(options: &Options<'_>, services: &Services, arguments: &Arguments) -> Result<Policy, String> {
    let mut policy = Policy::default();
    for source in &options.rules {
        match source {
            Source::Allow(rule) => policy.add(true, &lossy(rule)).map_err(|why| format!("--allow: {why}"))?,
            Source::Deny(rule) => policy.add(false, &lossy(rule)).map_err(|why| format!("--deny: {why}"))?,
            Source::File(path) => policy.add_file(&read(services, arguments, path)?).map_err(|why| format!("{}, {why}", lossy(path)))?,
        }
    }
    Ok(policy)
}

fn audit(options: &Options<'_>, services: &Services, arguments: &Arguments) -> Result<Option<Audit>, String> {
    match options.audit {
        None => Ok(None),
        Some(b"-") => Ok(Some(Audit::new(messages()?, None))),
        Some(path) => {
            let path = arguments.absolute(path);
            Ok(Some(Audit::new(create(services, &path)?, Some(&path))))
        }
    }
}

/// Names of machines, of which the resolver will tell, and the clock by which they are forgotten,
/// if the policy has rules by names.
fn machines(policy: &Policy, services: &Services, arguments: &Arguments) -> (Names, Option<Clock>) {
    let mut machines = Names::default();
    if !policy.has_names() {
        return (machines, None);
    }
    let is_known = read(services, arguments, b"/etc/resolv.conf").is_ok_and(|text| machines.set_resolvers(&text));
    let clock = Clock::find().ok().filter(|_| is_known);
    if clock.is_none() {
        complain(NAME, "rules that name machines by their names match nothing: /etc/resolv.conf names no resolver outside of the machine, or there is no clock");
    }
    (machines, clock)
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let mut limits = Limits::default();
    options.limits.iter().try_for_each(|limit| limits.add(limit)).map_err(|why| format!("--limit: {why}"))?;
    let mut policy = policy(options, &services, arguments)?;
    if policy.is_empty() {
        let advice = "most programs need --allow console --allow memory, and --allow 'read /**' to read files";
        complain(NAME, &format!("no rule allows anything, so {} can do nothing; {advice}", stage::name(options.command)));
    }
    let (machines, clock) = machines(&policy, &services, arguments);
    let charge = limits.directory(services.files())?;
    let network = limits.network()?;
    policy.bounds_found = charge.is_some() || network.is_some();
    limits.bind_processes(&services)?;
    let guardian = Guardian { machines: Lock::new(machines), clock, policy, charge, network, audit: audit(options, &services, arguments)?, name: stage::name(options.command), made: Lock::default(), processes: Lock::default(), own_addresses: Lock::default(), runs_machine: names_machine(options.command), denied: Lock::default(), names: Lock::default(), refused: Default::default() };
    let pool = if limits.memory.is_some() { Services::own_pool } else { Services::pool_for_child };
    stage::run_with(guardian, tag(PARENT, Kind::Parent), limits.services(services)?, pool, options.command, arguments)
}

fn guard(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(stop) => explain(&MANIFEST, &stop),
        Ok(options) => run(&options, arguments).unwrap_or_else(|text| {
            complain(NAME, &text);
            FAILED
        }),
    }
}
