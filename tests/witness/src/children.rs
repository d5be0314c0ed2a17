//! Children of attacks: processes that run this program in a role.

use crate::tools::{find, moment, why};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use nacre_nest::supply::ResourceSource;
use nacre_nest::{Child, Ports, Program, Services, Sizes, Ward, spawn};
use nacre_proto::flags::{BEGIN_PROGRAM, SERVICE_MEMORY};
use nacre_proto::{Errno, memory, process};
use nacre_sys::{OwnedReference, Reference};
use nacre_abi::rights::REFERENCE_ALL;

/// Path of this program.
const PATH: &[u8] = b"/bin/witness";
/// Number of [`moment`]s in which what a process had must be back.
const MOMENTS: u32 = 1500;

/// Makes a stopped child that plays a role.
fn build<S: ResourceSource>(supplier: &mut S, port: Reference, role: &[u8], argument: &[u8]) -> Result<Child<S>, String> {
    let arguments: [&[u8]; 4] = [PATH, b"play", role, argument];
    let program = Program { path: PATH, arguments: &arguments, environment: &[], directory: b"", random: [7; 16], sizes: Sizes::default() };
    spawn(supplier, &program, Ports { parent: port, keeper: Reference::NONE }).map_err(|refusal| refusal.to_string())
}

/// Starts a child that plays a role. `None`: there is no process manager.
pub fn start(role: &[u8], argument: &[u8]) -> Result<Option<Ward>, String> {
    let Some(ward) = Ward::new().map_err(|refusal| refusal.to_string())? else { return Ok(None) };
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let child = build(&mut ward.maker(services.files()), ward.port(), role, argument)?;
    ward.begin(&child, &[&b"witness"[..]], true).map_err(|refusal| refusal.to_string())?;
    Ok(Some(ward))
}

/// The caller becomes this role. Returns only if that fails.
pub fn become_role(role: &[u8], argument: &[u8]) -> Result<(), String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let mut maker = Renewal(services);
    let child = build(&mut maker, Reference::PARENT, role, argument)?;
    let space = OwnedReference::made_by(|slot| child.space().reference(slot, REFERENCE_ALL)).map_err(why("its space"))?;
    let thread = OwnedReference::made_by(|slot| child.thread().reference(slot, REFERENCE_ALL)).map_err(why("its thread"))?;
    process::begin(Reference::PARENT, BEGIN_PROGRAM, 0, 0, space.handle(), thread.handle()).map_err(why("begin")).map(drop)
}

/// Memory for the caller itself as another program.
struct Renewal(Services);

impl ResourceSource for Renewal {
    type File = nacre_nest::services::File;
    type Segment = nacre_nest::services::Prepared;

    fn open(&mut self, path: &[u8]) -> Result<Self::File, nacre_nest::SpawnError> {
        self.0.open(path)
    }

    fn segment(&mut self, size: u64) -> Result<Self::Segment, nacre_nest::SpawnError> {
        nacre_nest::services::Prepared::new(Reference::PARENT, size)
    }
}

/// Processes, their threads, and bytes of memory in use, as far as the caller sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    processes: u64,
    threads: u64,
    memory: u64,
}

impl Count {
    /// Counts.
    pub fn now() -> Result<Count, String> {
        let pool = find(SERVICE_MEMORY).map_err(why("memory"))?;
        let memory = memory::status(pool.handle()).map_err(why("its status"))?.used;
        let mut count = Count { processes: 0, threads: 0, memory };
        let mut next = 1;
        loop {
            match process::list(Reference::PARENT, next, &mut [0; 64][..]) {
                Ok(found) => {
                    count.processes += 1;
                    count.threads += found.threads;
                    next = found.pid + 1;
                }
                Err(Errno::ESRCH) => return Ok(count),
                Err(errno) => return Err(why("the list of processes")(errno)),
            }
        }
    }

    /// Waits until there is no more of anything than before; an error says what is left.
    pub fn check(self) -> Result<(), String> {
        let mut after = self;
        for _ in 0..MOMENTS {
            after = Count::now()?;
            if after.processes <= self.processes && after.threads <= self.threads && after.memory <= self.memory {
                return Ok(());
            }
            moment();
        }
        Err(alloc::format!("{self:?} before, {after:?} after"))
    }
}

/// Reads numbers with commas between them. Those that lack have the default.
pub fn numbers<const COUNT: usize>(argument: &[u8], default: [u64; COUNT]) -> [u64; COUNT] {
    let text = String::from_utf8_lossy(argument);
    let given: Vec<Option<u64>> = text.split(',').map(|word| word.parse().ok()).collect();
    core::array::from_fn(|at| given.get(at).copied().flatten().unwrap_or(default[at]))
}

