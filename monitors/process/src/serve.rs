//! Protocols `parent` and `process`, at the port of a process: its word says which.

use crate::manager::{Life, Manager};
use crate::world::Sent;
use alloc::sync::Arc;
use nacre_nest::ChildPool;
use nacre_proto::flags::{BEGIN_PROGRAM, SEGMENT_OBJECTS, SERVICE_CHANNELS, SERVICE_CLOCK, SERVICE_CONTROL, SERVICE_FILES, SERVICE_MEMORY, SERVICE_NETWORK, SERVICE_OBJECTS, SERVICE_PROCESS};
use nacre_proto::parent::{exit, find, keep, processors, report, stream};
use nacre_proto::process::{
    abandon, answer, answer_file, ask, ask_file, attach, begin, bound, create, dispositions, domain, family, foreground, foreground_set, group_set, identity, kill, limits, list, look, memory_set, name_set,
    numbers, parents, prepare, priority, priority_set, processors_limit, reach, released, renew, session_create, signal_take, stopped, stream_set, system_name_set, system_names, terminal, terminal_acquire, terminal_check, terminal_leave, terminal_owner, thread_create, thread_end, times, visit, wait,
};
use nacre_proto::server::Output;
use nacre_proto::{Answer, Errno, HandlerResult, Request, channel, directory, memory, parent, process};
use nacre_sys::{OwnedReference, Reference};

impl Manager {
    fn body(&mut self, request: &Request<'_>) -> Result<&mut crate::manager::ProcessEntry, Errno> {
        self.bodies.get_mut(&request.word()).ok_or(Errno::ESRCH)
    }

    /// `EPERM`: the caller is in a domain, and what it asks for is about all processes.
    fn check_open(&self, request: &Request<'_>) -> Result<(), Errno> {
        if self.world.is_in_domain(request.word()) { Err(Errno::EPERM) } else { Ok(()) }
    }
}

impl Manager {
    /// The root directory for a process. What it opens is counted as its own, within what the
    /// process that made it may have.
    fn files(&mut self, pid: u64) -> Result<Reference, Errno> {
        let shared = self.shared.files.handle();
        let body = self.bodies.get_mut(&pid).ok_or(Errno::ESRCH)?;
        let base = body.files.as_ref().map_or(shared, |files| files.handle());
        if body.has_files {
            return Ok(base);
        }
        // A server that does not count, or that has nothing left to give: the process shares what
        // its maker has.
        let Ok(reply) = directory::share(base) else { return Ok(base) };
        let files = body.files.insert(Arc::new(reply.directory));
        body.has_files = true;
        Ok(files.handle())
    }
}

impl Manager {
    /// The pool for data: what a monitor has set for the process, or that of all.
    fn memory(&mut self, pid: u64) -> Result<Reference, Errno> {
        let body = self.bodies.get_mut(&pid).ok_or(Errno::ESRCH)?;
        // A monitor's pool goes with it.
        body.memory.take_if(|pool| pool.is_null().unwrap_or(true));
        Ok(body.memory.as_ref().map_or(self.shared.memory.handle(), |pool| pool.handle()))
    }

    /// Pipes and local sockets as the process has them: on an account of its own.
    fn channels(&mut self, pid: u64) -> Result<Reference, Errno> {
        let body = self.bodies.get_mut(&pid).ok_or(Errno::ESRCH)?;
        let found = match body.channels.take() {
            Some(found) => found,
            None => channel::account(self.shared.channels.handle())?.channels,
        };
        Ok(body.channels.insert(found).handle())
    }
}

impl Manager {
    /// Sockets of the internet, on an account of the process's own, where our parent has them.
    fn network(&mut self, pid: u64) -> Result<Reference, Errno> {
        if self.shared.network.is_none() {
            self.shared.network = Some(parent::find(Reference::PARENT, SERVICE_NETWORK)?.found);
        }
        let shared = lent(self.shared.network.as_ref())?;
        let body = self.bodies.get_mut(&pid).ok_or(Errno::ESRCH)?;
        // Below another manager it is that one's account.
        if body.network.is_none() {
            body.network = match channel::account(shared) {
                Err(Errno::EPERM) => None,
                made => Some(made?.channels),
            };
        }
        Ok(body.network.as_ref().map_or(shared, OwnedReference::handle))
    }
}

impl Manager {
    /// A pool of the process's own for kernel objects, within that of all. It is destroyed when the
    /// process ends or begins elsewhere. `ESRCH`: it has ended.
    fn objects(&mut self, pid: u64) -> Result<Reference, Errno> {
        if self.world.process(pid)?.has_ended() {
            return Err(Errno::ESRCH);
        }
        let body = self.bodies.get_mut(&pid).ok_or(Errno::ESRCH)?;
        let pool = match body.objects.take() {
            Some(pool) => pool,
            None => {
                let own = memory::pool_create(self.pool.handle(), u64::MAX)?.pool;
                let shared = memory::share(own.handle(), 0)?.pool;
                ChildPool { own, shared }
            }
        };
        Ok(body.objects.insert(pool).shared.handle())
    }
}

/// A copy of what is there, for an answer.
fn lent(reference: Option<&OwnedReference>) -> Result<Reference, Errno> {
    reference.map(|reference| reference.handle()).ok_or(Errno::ENOENT)
}

impl parent::Server for Manager {
    fn find(&mut self, request: &mut Request<'_>, service: u64) -> HandlerResult<find::Output> {
        let found = match service {
            SERVICE_FILES => self.files(request.word())?.into(),
            SERVICE_MEMORY => self.memory(request.word())?.into(),
            SERVICE_OBJECTS => self.objects(request.word())?.into(),
            SERVICE_CLOCK => lent(self.shared.clock.as_ref())?.into(),
            SERVICE_CHANNELS => self.channels(request.word())?.into(),
            SERVICE_NETWORK => self.network(request.word())?.into(),
            SERVICE_PROCESS => self.port(request.word())?.into(),
            SERVICE_CONTROL => self.commands.service(request.word(), self.set())?.into(),
            service => parent::find(Reference::PARENT, service)?.found.into(),
        };
        find::Output { found }.now()
    }

    fn stream(&mut self, request: &mut Request<'_>, number: u64) -> HandlerResult<stream::Output> {
        let number = usize::try_from(number).map_err(|_| Errno::ENOENT)?;
        let own = self.body(request)?.streams.get(number).and_then(Option::as_ref).map(|stream| stream.handle());
        let file = match own {
            Some(own) => own,
            None => lent(self.shared.streams.get(number).and_then(Option::as_ref))?,
        };
        stream::Output { file: file.into() }.now()
    }

    fn exit(&mut self, request: &mut Request<'_>, status: u64) -> HandlerResult<exit::Output> {
        self.world.exit(request.word(), status);
        Ok(Answer::Later)
    }

    fn report(&mut self, _: &mut Request<'_>, kind: u64, text: &[u8]) -> HandlerResult<report::Output> {
        parent::report(Reference::PARENT, kind, text)?;
        report::Output::default().now()
    }

    fn processors(&mut self, request: &mut Request<'_>) -> HandlerResult<processors::Output> {
        let most = self.world.process(request.word())?.traits.most_processors;
        processors::Output { count: parent::processors(Reference::PARENT)?.count.min(most) }.now()
    }

    fn keep(&mut self, request: &mut Request<'_>, keeper: Reference) -> HandlerResult<keep::Output> {
        self.body(request)?.keep(keeper)?;
        keep::Output::default().now()
    }
}

impl process::Server for Manager {
    fn attach(&mut self, request: &mut Request<'_>, bits: u64, _: Reference) -> HandlerResult<attach::Output> {
        let agent = request.keep(0)?;
        self.body(request)?.agent = Some((agent, bits));
        self.world.attach(request.word())?;
        attach::Output::default().now()
    }

    fn numbers(&mut self, request: &mut Request<'_>, pid: u64) -> HandlerResult<numbers::Output> {
        let own = request.word();
        let pid = if pid == 0 { own } else { pid };
        let process = self.world.seen(own, pid)?;
        numbers::Output { pid, parent: self.world.parent_seen(own, process), group: process.group, session: process.session, world: self.born }.now()
    }

    fn create(&mut self, request: &mut Request<'_>, exit_signal: u64) -> HandlerResult<create::Output> {
        let pid = self.world.create(request.word(), exit_signal)?;
        let port = self.add_body(pid, request.word()).inspect_err(|_| self.world.lost(pid))?;
        create::Output { pid, port: port.into() }.now()
    }

    fn prepare(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<prepare::Output> {
        if self.world.process(request.word())?.has_ended() {
            return Err(Errno::ESRCH);
        }
        self.body(request)?.forget_prepared();
        let taken = memory::segment_create(self.pool.handle(), size, SEGMENT_OBJECTS)?;
        self.body(request)?.prepared = Some(taken.segment);
        prepare::Output { size: taken.size, region: taken.region.into() }.now()
    }

    fn begin(&mut self, request: &mut Request<'_>, flags: u64, ignored: u64, visited: u64, _: Reference, _: Reference) -> HandlerResult<begin::Output> {
        let pid = request.word();
        if self.world.process(pid)?.has_ended() {
            // The process was killed meanwhile. Its parent hears of that by another way.
            return begin::Output::default().now();
        }
        let (space, thread) = (request.keep(0)?, request.keep(1)?);
        let body = self.body(request)?;
        let segment = body.prepared.take().ok_or(Errno::EINVAL)?;
        let is_another = body.live(Life::Made { segment, space, thread }, visited)?;
        self.world.begin(pid, flags, ignored)?;
        let body = self.body(request)?;
        body.start();
        body.visit();
        if flags & BEGIN_PROGRAM != 0 {
            self.release(pid);
        }
        if is_another { Ok(Answer::Later) } else { begin::Output::default().now() }
    }

    fn renew(&mut self, request: &mut Request<'_>, ignored: u64, name: &[u8]) -> HandlerResult<renew::Output> {
        let pid = request.word();
        self.world.renew(pid, ignored)?;
        self.world.set_name(pid, name)?;
        self.release(pid);
        renew::Output::default().now()
    }

    fn abandon(&mut self, request: &mut Request<'_>) -> HandlerResult<abandon::Output> {
        self.world.abandon(request.word())?;
        abandon::Output::default().now()
    }

    fn wait(&mut self, request: &mut Request<'_>, which: u64, options: u64) -> HandlerResult<wait::Output> {
        let (pid, which) = (request.word(), which as i64);
        if let Some(answer) = self.wait_now(pid, which, options)? {
            return answer.now();
        }
        if !self.may_wait(pid) {
            return Err(Errno::EAGAIN);
        }
        let reply = request.detach()?;
        self.wait_later(pid, which, options, reply);
        Ok(Answer::Later)
    }

    fn kill(&mut self, request: &mut Request<'_>, target: u64, thread: u64, signal: u64, code: u64, value: u64) -> HandlerResult<kill::Output> {
        self.world.kill(request.word(), &Sent { target: target as i64, thread, number: signal, code, value })?;
        kill::Output::default().now()
    }

    fn signal_take(&mut self, request: &mut Request<'_>) -> HandlerResult<signal_take::Output> {
        let taken = self.world.signal_take(request.word())?.unwrap_or_default();
        let crate::world::Signal { number: signal, code, sender, user, value, thread } = taken;
        signal_take::Output { signal, code, sender, user, value, thread }.now()
    }

    fn dispositions(&mut self, request: &mut Request<'_>, ignored: u64, flags: u64) -> HandlerResult<dispositions::Output> {
        self.world.dispositions(request.word(), ignored, flags)?;
        dispositions::Output::default().now()
    }

    fn group_set(&mut self, request: &mut Request<'_>, pid: u64, group: u64) -> HandlerResult<group_set::Output> {
        self.world.group_set(request.word(), pid, group)?;
        group_set::Output::default().now()
    }

    fn session_create(&mut self, request: &mut Request<'_>) -> HandlerResult<session_create::Output> {
        session_create::Output { session: self.world.session_create(request.word())? }.now()
    }

    fn thread_create(&mut self, request: &mut Request<'_>) -> HandlerResult<thread_create::Output> {
        thread_create::Output { thread: self.world.thread_create(request.word())? }.now()
    }

    fn thread_end(&mut self, request: &mut Request<'_>, thread: u64) -> HandlerResult<thread_end::Output> {
        self.world.thread_end(request.word(), thread)?;
        thread_end::Output::default().now()
    }

    fn stopped(&mut self, request: &mut Request<'_>, signal: u64) -> HandlerResult<stopped::Output> {
        self.world.set_stopped(request.word(), signal)?;
        stopped::Output::default().now()
    }

    fn foreground(&mut self, request: &mut Request<'_>) -> HandlerResult<foreground::Output> {
        foreground::Output { group: self.world.foreground(request.word())? }.now()
    }

    fn foreground_set(&mut self, request: &mut Request<'_>, group: u64) -> HandlerResult<foreground_set::Output> {
        self.world.foreground_set(request.word(), group)?;
        foreground_set::Output::default().now()
    }

    fn terminal_acquire(&mut self, request: &mut Request<'_>, device: u64, steals: u64) -> HandlerResult<terminal_acquire::Output> {
        let session = self.world.terminal_acquire(request.word(), device, steals != 0)?;
        terminal_acquire::Output { port: self.add_terminal(session)?.into() }.now()
    }

    fn terminal(&mut self, request: &mut Request<'_>) -> HandlerResult<terminal::Output> {
        terminal::Output { device: self.world.terminal(request.word())? }.now()
    }

    fn terminal_check(&mut self, request: &mut Request<'_>, device: u64, signal: u64) -> HandlerResult<terminal_check::Output> {
        terminal_check::Output { stops: self.world.terminal_check(request.word(), device, signal)?.into() }.now()
    }

    fn terminal_owner(&mut self, request: &mut Request<'_>, device: u64) -> HandlerResult<terminal_owner::Output> {
        let (session, group, is_own) = self.world.terminal_owner(request.word(), device)?;
        terminal_owner::Output { session, group, is_own: is_own.into() }.now()
    }

    fn terminal_leave(&mut self, request: &mut Request<'_>) -> HandlerResult<terminal_leave::Output> {
        self.world.terminal_leave(request.word())?;
        terminal_leave::Output::default().now()
    }

    fn identity(&mut self, request: &mut Request<'_>, user: u64, effective: u64, saved: u64, group: u64) -> HandlerResult<identity::Output> {
        self.world.identity(request.word(), [user, effective, saved], group)?;
        identity::Output::default().now()
    }

    fn limits(&mut self, request: &mut Request<'_>, processes: u64, signals: u64) -> HandlerResult<limits::Output> {
        self.world.limits(request.word(), processes, signals)?;
        limits::Output::default().now()
    }

    fn family(&mut self, request: &mut Request<'_>, death_signal: u64, reaper: u64) -> HandlerResult<family::Output> {
        self.world.family(request.word(), death_signal, reaper != 0)?;
        family::Output::default().now()
    }

    fn name_set(&mut self, request: &mut Request<'_>, name: &[u8]) -> HandlerResult<name_set::Output> {
        self.world.set_name(request.word(), name)?;
        name_set::Output::default().now()
    }

    fn list(&mut self, request: &mut Request<'_>, pid: u64) -> HandlerResult<list::Output> {
        let own = request.word();
        let (pid, process) = self.world.next(own, pid).ok_or(Errno::ESRCH)?;
        request.put(&process.name);
        let (state, threads) = (self.letter(pid, process).into(), process.threads.len() as u64 + 1);
        list::Output { pid, parent: self.world.parent_seen(own, process), group: process.group, session: process.session, state, threads }.now()
    }

    fn reach(&mut self, request: &mut Request<'_>, pid: u64) -> HandlerResult<reach::Output> {
        self.reach_process(request, pid)
    }

    fn stream_set(&mut self, request: &mut Request<'_>, number: u64, _: Reference) -> HandlerResult<stream_set::Output> {
        let file = request.keep(0)?;
        let number = usize::try_from(number).map_err(|_| Errno::EINVAL)?;
        *self.body(request)?.streams.get_mut(number).ok_or(Errno::EINVAL)? = Some(file);
        stream_set::Output::default().now()
    }

    fn memory_set(&mut self, request: &mut Request<'_>, _: Reference) -> HandlerResult<memory_set::Output> {
        let pool = request.keep(0)?;
        self.body(request)?.memory = Some(Arc::new(pool));
        memory_set::Output::default().now()
    }

    fn look(&mut self, request: &mut Request<'_>, pid: u64) -> HandlerResult<look::Output> {
        let foreground = self.world.foreground(pid).unwrap_or(0);
        let process = self.world.seen(request.word(), pid)?;
        request.put(&process.command);
        let ([user, effective, _], ignored, priority) = (process.traits.identity, process.traits.ignored, process.traits.priority);
        look::Output { user, effective, foreground, ignored, priority, time: self.time_of(pid) }.now()
    }

    fn priority(&mut self, request: &mut Request<'_>, which: u64, who: u64) -> HandlerResult<priority::Output> {
        priority::Output { value: self.world.priority(request.word(), which, who)? }.now()
    }

    fn priority_set(&mut self, request: &mut Request<'_>, which: u64, who: u64, value: u64) -> HandlerResult<priority_set::Output> {
        self.world.priority_set(request.word(), which, who, value)?;
        priority_set::Output::default().now()
    }

    fn released(&mut self, request: &mut Request<'_>, pid: u64) -> HandlerResult<released::Output> {
        if self.world.is_released(request.word(), pid)? {
            return released::Output::default().now();
        }
        if !self.may_wait_for_release(pid) {
            return Err(Errno::EAGAIN);
        }
        let reply = request.detach()?;
        self.release_later(pid, reply);
        Ok(Answer::Later)
    }

    fn ask(&mut self, request: &mut Request<'_>, pid: u64, _: u64, _: u64, _: u64, _: u64, data: &[u8]) -> HandlerResult<ask::Output> {
        self.ask_later(request, pid, data)
    }

    fn ask_file(&mut self, request: &mut Request<'_>, pid: u64, _: u64, _: u64, _: u64, _: u64) -> HandlerResult<ask_file::Output> {
        self.ask_later(request, pid, &[])
    }

    fn visit(&mut self, request: &mut Request<'_>) -> HandlerResult<visit::Output> {
        let reply = request.detach()?;
        self.body(request)?.visits.wait(reply);
        Ok(Answer::Later)
    }

    fn answer(&mut self, request: &mut Request<'_>, error: u64, first: u64, second: u64, data: &[u8]) -> HandlerResult<answer::Output> {
        self.body(request)?.visits.answer(error, [first, second], data);
        answer::Output::default().now()
    }

    fn answer_file(&mut self, request: &mut Request<'_>, first: u64, second: u64, _: Reference) -> HandlerResult<answer_file::Output> {
        let file = request.keep(0)?;
        self.body(request)?.visits.answer_file([first, second], file);
        answer_file::Output::default().now()
    }

    fn system_names(&mut self, request: &mut Request<'_>) -> HandlerResult<system_names::Output> {
        let [host, domain] = self.names.get();
        request.put(&[&host[..], &domain[..]].concat());
        system_names::Output { host: host.len() as u64 }.now()
    }

    fn system_name_set(&mut self, request: &mut Request<'_>, which: u64, name: &[u8]) -> HandlerResult<system_name_set::Output> {
        self.check_open(request)?;
        self.names.set(which, name)?;
        system_name_set::Output::default().now()
    }

    fn processors_limit(&mut self, request: &mut Request<'_>, count: u64) -> HandlerResult<processors_limit::Output> {
        self.world.processors(request.word(), count)?;
        processors_limit::Output::default().now()
    }

    fn times(&mut self, request: &mut Request<'_>) -> HandlerResult<times::Output> {
        let all = self.time_of_all();
        let body = self.body(request)?;
        times::Output { before: body.used, children: body.children_used, all }.now()
    }

    fn domain(&mut self, request: &mut Request<'_>) -> HandlerResult<domain::Output> {
        self.world.domain_create(request.word())?;
        domain::Output::default().now()
    }

    fn bound(&mut self, request: &mut Request<'_>, most: u64) -> HandlerResult<bound::Output> {
        self.world.bound_create(request.word(), most)?;
        bound::Output::default().now()
    }

    fn parents(&mut self, request: &mut Request<'_>) -> HandlerResult<parents::Output> {
        self.check_open(request)?;
        parents::Output { size: crate::parents::SIZE, region: self.parents.reference()?.into() }.now()
    }
}
