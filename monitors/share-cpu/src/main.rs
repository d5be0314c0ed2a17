//! Divides CPU time among programs: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod manifest;
mod options;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_control::Facts;
use nacre_nest::command::{FAILED, complain, explain};
use nacre_nest::host::{Exception, Handler, ExceptionAction};
use nacre_nest::interpose::{report_exception, report_killed, stage};
use nacre_nest::supply::ResourceSource;
use nacre_nest::{Child, ChildPool, Ports, SpawnError, Services, Ward, attend, attending, search};
use nacre_proto::flags::{SERVICE_CONTROL, SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::{Errno, Given, parent, process};
use nacre_rt::thread::Handle;
use nacre_rt::{Arguments, exit, thread};
use nacre_sched::{Claim, Lottery, Policy, Priority, RoundRobin, Scheduler, Stride};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedPort, OwnedReference, Port, PortSet, Reference, Space, Status, Thread, clock};
use manifest::MANIFEST;
use options::{Options, PolicyName};

nacre_rt::entry!(share_cpu);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a monitor of Nacre: build it for a target without an operating system.");
}

/// One program while it runs.
enum Running {
    /// Child in memory of this monitor.
    Own { name: String, processors: u64, parent: OwnedPort, pool: Option<ChildPool>, child: Child<Services> },
    /// A process of our manager's.
    Process(Ward),
}

/// A scheduler of any policy.
type AnyScheduler = Scheduler<Box<dyn Policy + Send>>;

/// Name of this program, before its complaints.
const NAME: &str = MANIFEST.name;

/// Scheduler of the threads that divide the time.
static DIVISION: Lock<Option<&'static AnyScheduler>> = Lock::new(None);
/// Threads that divide the time.
static DIVIDERS: Lock<Vec<Option<Thread>>> = Lock::new(Vec::new());
/// Weights of the programs.
static WEIGHTS: Lock<Vec<u64>> = Lock::new(Vec::new());
/// The programs, until the threads that answer them take them.
static PROGRAMS: Lock<Vec<Option<Running>>> = Lock::new(Vec::new());
/// Exit statuses of the programs.
static STATUSES: Lock<Vec<u64>> = Lock::new(Vec::new());

/// Everything that a program asks is its grandparent's to answer, but for its memory.
struct Forward {
    name: String,
    /// Number of processors on which all programs together run at once.
    processors: u64,
    space: Space,
    /// The port that hears of its end.
    watcher: Reference,
    pool: Option<ChildPool>,
}

impl Handler for Forward {
    fn pool(&self) -> Option<Reference> {
        self.pool.as_ref().map(|pool| pool.shared.handle())
    }

    fn find(&mut self, service: u64) -> Result<Given, Errno> {
        match (self.pool(), attending::service()) {
            (Some(pool), _) if [SERVICE_MEMORY, SERVICE_OBJECTS].contains(&service) => Ok(pool.into()),
            (_, Some(own)) if service == SERVICE_CONTROL => Ok(own.into()),
            _ => parent::find(Reference::PARENT, service).map(|reply| reply.found.into()),
        }
    }

    fn processors(&mut self) -> Result<u64, Errno> {
        parent::processors(Reference::PARENT).map(|reply| reply.count.min(self.processors))
    }

    fn keep(&mut self, keeper: Reference) -> Result<(), Errno> {
        Ok(nacre_nest::host::keep_and_watch(self.space, keeper, self.watcher)?)
    }

    fn exception(&mut self, exception: &Exception, _: Option<&nacre_abi::state::ThreadState>, _: Option<OwnedReference>) -> ExceptionAction {
        report_exception(&self.name, exception);
        ExceptionAction::End(exception.exit_status())
    }

    fn thread_ended(&mut self) -> Option<u64> {
        Some(report_killed(&self.name))
    }
}

impl Running {
    /// Answers it until it ends, and takes it back: its status.
    fn attend(self) -> u64 {
        match self {
            Running::Process(ward) => ward.wait().unwrap_or(FAILED as u64),
            Running::Own { name, processors, parent, pool, child } => {
                let mut handler = Forward { name, processors, space: child.space(), watcher: parent.handle().as_keeper(), pool };
                attend(parent.handle(), &mut handler).unwrap_or(FAILED as u64)
            }
        }
    }
}

/// Sees to a program until it ends.
fn answer(number: usize) {
    let Some(running) = PROGRAMS.lock().get_mut(number).and_then(Option::take) else {
        return;
    };
    let status = running.attend();
    if let Some(place) = STATUSES.lock().get_mut(number) {
        *place = status;
    }
}

/// Nanoseconds that a thread that divides the time has had for itself; 0 where time is hidden.
fn own_time(number: usize) -> u64 {
    let divider = DIVIDERS.lock().get(number).copied().flatten();
    divider.and_then(|divider| divider.time().ok()).unwrap_or(0)
}

/// Donates the calling thread's time to the programs, and never returns.
fn divide(number: usize) {
    let Some(scheduler) = *DIVISION.lock() else {
        return;
    };
    let status = scheduler.run(|| own_time(number));
    complain(NAME, &format!("cannot divide time any more: {status:?}"));
    exit::exit(FAILED);
}

fn scheduler(policy: PolicyName, claims: &[Claim], port: Port) -> Option<AnyScheduler> {
    let policy: Box<dyn Policy + Send> = match policy {
        PolicyName::Stride => Box::new(Stride::new(claims)),
        PolicyName::Lottery => Box::new(Lottery::new(claims, clock::ticks())),
        PolicyName::RoundRobin => Box::new(RoundRobin::default()),
        PolicyName::Priority => Box::new(Priority::new(claims)),
    };
    Scheduler::new(policy, port, claims.len())
}

fn kernel(what: &'static str) -> impl Fn(Status) -> SpawnError {
    move |status| SpawnError::Kernel(what, status)
}

/// Resources from which a program is started.
struct Start<'a> {
    command: &'a [&'a [u8]],
    number: usize,
    arguments: &'a Arguments,
    scheduler: Reference,
    processors: u64,
}

impl Start<'_> {
    /// Makes the program, and lets the scheduler's port have its thread: all threads that come from
    /// it are then scheduled with it.
    fn make<S: ResourceSource>(&self, supplier: &mut S, ports: Ports) -> Result<Child<S>, SpawnError> {
        let child = search::spawn(supplier, self.command, self.number as u64, self.arguments, ports)?;
        child.thread().set_scheduler(self.scheduler, self.number as u64).map_err(kernel("its scheduler"))?;
        Ok(child)
    }

    fn run(&self, services: &mut Services) -> Result<Running, SpawnError> {
        if let Some(ward) = Ward::new()? {
            let child = self.make(&mut ward.maker(services.files()), Ports { parent: ward.port(), keeper: Reference::NONE })?;
            // A manager that tells of no processors cannot tell of too many.
            let _ = process::processors_limit(ward.port(), self.processors);
            ward.begin(&child, self.command, true)?;
            return Ok(Running::Process(ward));
        }
        let parent = OwnedPort::new(0, PortSet::NONE).map_err(kernel("the port of its parent"))?;
        let reference = parent.new_reference(REFERENCE_USE).map_err(kernel("a reference to its parent"))?;
        let child = self.make(services, Ports { parent: reference.handle(), keeper: parent.handle().as_keeper() })?;
        child.start()?;
        Ok(Running::Own { name: stage::name(self.command), processors: self.processors, parent, pool: services.pool_for_child(0), child })
    }
}

/// Facts that we tell about ourselves: for each program, by its number, the weight of its share and
/// the nanoseconds that its threads were given.
fn facts() -> Facts {
    let given = DIVISION.lock().map_or(Vec::new(), Scheduler::given);
    let told = |(number, (given, weight)): (usize, (u64, &u64))| [(format!("weight_{number}"), *weight), (format!("given_ns_{number}"), given)];
    let figures = given.into_iter().zip(WEIGHTS.lock().iter()).enumerate().flat_map(told).collect();
    Facts { name: NAME, memory: None, time: attending::time(), figures }
}

/// Starts all programs, then the scheduler's threads, then one that answers each.
fn start_all(options: &Options<'_>, arguments: &Arguments) -> Result<Vec<Handle>, (String, i32)> {
    let failed = |text: String| (text, FAILED);
    let mut services = Services::find().map_err(|refusal| failed(refusal.to_string()))?;
    let port = OwnedPort::new(0, PortSet::NONE).map_err(|status| failed(format!("cannot make a port: {status:?}")))?.leak();
    // A program without a scheduler would wait for ever.
    let claims: Vec<Claim> = options.shares.iter().map(|share| share.claim).collect();
    let scheduler = scheduler(options.policy, &claims, port).ok_or_else(|| failed("no memory to divide time".into()))?;
    *DIVISION.lock() = Some(Box::leak(Box::new(scheduler)));
    *WEIGHTS.lock() = claims.iter().map(|claim| claim.weight).collect();
    attending::begin(facts);
    for (number, share) in options.shares.iter().enumerate() {
        let running = Start { command: &share.command, number, arguments, scheduler: Reference(port.address()), processors: options.processors as u64 }.run(&mut services);
        let running = running.map_err(|refusal| (format!("cannot run {}: {refusal}", stage::name(&share.command)), refusal.exit_status() as i32))?;
        PROGRAMS.lock().push(Some(running));
        STATUSES.lock().push(0);
    }
    let hire = |function: fn(usize), number| thread::spawn(function, number).inspect(attending::count).map_err(|errno| failed(format!("cannot make a thread: {errno}")));
    for number in 0..options.processors {
        let divider = hire(divide, number)?;
        DIVIDERS.lock().push(divider.thread());
        core::mem::forget(divider);
    }
    (0..options.shares.len()).map(|number| hire(answer, number)).collect()
}

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, (String, i32)> {
    start_all(options, arguments)?.into_iter().for_each(Handle::join);
    let status = STATUSES.lock().first().copied().unwrap_or(0);
    Ok(exit::as_child(status))
}

fn share_cpu(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(stop) => explain(&MANIFEST, &stop),
        Ok(options) => run(&options, arguments).unwrap_or_else(|(text, status)| {
            complain(NAME, &text);
            status
        }),
    }
}
