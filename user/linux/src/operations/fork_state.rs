//! Builds the state that a new environment of the program starts from: for `fork` and `execve`, as
//! an [`Inheritance`].

use crate::abi::errno::Errno;
use crate::abi::file_flags::FOREIGN;
use crate::abi::fork_record::{self, Copy, Descriptor, File, Inheritance, Member, STATE, area};
use crate::abi::registers::Frame;
use crate::operations::files::in_process_io;
use crate::process::Process;
use crate::services::segment::Segment;
use crate::state::files::epoll_set::Entry;
use crate::state::files::in_process_file::InProcessFile;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::{AtFork, Fill, read_only};
use crate::state::memory::pageable;
use crate::state::memory::soft_dirty;
use crate::state::memory::promised::{self, Copies, KnownPart};
use crate::state::memory::user_access;
use crate::state::signals::dispositions::Action;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::plan::{FOREIGN_STACK_END, MAX_FOREIGN_STACK};
use nacre_rt::fallible;
use nacre_sys::{OwnedReference, Reference, Region, memory};

/// Address range where the library maps a child's memory while it builds the child.
pub const WINDOWS: core::ops::Range<u64> = nacre_sys::window::WINDOWS;

/// Serial number of the next inheritance. None has the number 0.
static SERIALS: AtomicU64 = AtomicU64::new(1);

/// Something that is handed on: the plain data, and the references that it names.
pub struct ForkState {
    /// The plain data.
    pub data: Inheritance,
    /// The references; the process keeps its own.
    pub references: Vec<Reference>,
    /// Areas of the child.
    pub areas: Vec<nacre_nest::Area>,
    /// Areas to copy: index into `areas`, first address, and first address behind.
    pub copies: Vec<(usize, u64, u64)>,
    known: KnownPart,
    /// Number that no other inheritance of this process has.
    serial: u64,
    /// Files that are sets of files, with their numbers.
    sets: Vec<(u64, Rc<OpenFile>)>,
    /// Set if the areas hold a part of the first thread's stack.
    keeps_stack: bool,
    /// Segments that the areas show, kept until the areas exist.
    shown: Vec<Rc<Segment>>,
}

impl ForkState {
    /// Collects the state that survives an exec.
    pub fn of(process: &mut Process) -> Result<ForkState, Errno> {
        let data = Inheritance {
            owner: process.identity.owner(),
            umask: process.identity.umask,
            persona: process.identity.persona(),
            limits: process.limits.all(),
            mask: process.me().mask,
            ignored: process.signals.ignored(),
            name: process.me().name,
            executable: process.executable.clone(),
            pid: process.identity.pid,
            state: state(process),
            groups: fallible::collect(process.identity.groups.iter().map(|group| u64::from(*group)))?,
            ..Inheritance::default()
        };
        Ok(ForkState { data, references: Vec::new(), areas: Vec::new(), copies: Vec::new(), known: KnownPart::default(), serial: SERIALS.fetch_add(1, Ordering::Relaxed), sets: Vec::new(), keeps_stack: false, shown: Vec::new() })
    }

    /// Adds what only `execve` keeps: signals that wait. Those of the thread are the process's
    /// then.
    pub fn add_pending(&mut self, process: &mut Process) {
        let own: Vec<_> = process.me().pending.all().copied().collect();
        let all = own.iter().chain(process.signals.pending.all());
        self.data.pending =
            all.map(|info| [info.signal, u64::from(info.code as u32), info.fields[0], info.fields[1], info.fields[2], info.fields[3]]).collect();
    }

    fn reference(&mut self, reference: Reference) -> Result<u64, Errno> {
        fallible::push(&mut self.references, reference)?;
        Ok(self.references.len() as u64 - 1)
    }

    fn references_of<const N: usize>(&mut self, references: [Option<Reference>; N]) -> Result<[Option<u64>; N], Errno> {
        let mut numbers = [None; N];
        for (number, reference) in numbers.iter_mut().zip(references) {
            *number = reference.map(|reference| self.reference(reference)).transpose()?;
        }
        Ok(numbers)
    }

    /// Sets what keeps the program's file from being written. It stands behind all other
    /// references, so that the next attempt can replace it.
    pub fn set_executing(&mut self, hold: Option<Reference>) -> Result<(), Errno> {
        if self.data.executing.is_some() {
            self.references.pop();
        }
        [self.data.executing] = self.references_of([hold])?;
        Ok(())
    }

    /// The number of a file, if it is one that others can have. Each file keeps the number that it
    /// got, so that none is searched for.
    fn file(&mut self, file: &Rc<OpenFile>) -> Result<Option<u64>, Errno> {
        if let (serial, number) = file.inherited_as.get()
            && serial == self.serial
        {
            return Ok(Some(number));
        }
        let (stream, reference) = match &file.kind {
            Kind::Remote(reference) => (None, Some(reference)),
            Kind::Stream(number, reference) => (Some(*number), reference.get()),
            _ => (None, file.moved.get()),
        };
        let reference = reference.map(|reference| self.reference(reference.handle())).transpose()?;
        let (mode, flags) = (file.mode.get() | if file.watch.get().is_foreign { FOREIGN } else { 0 }, file.flags.get());
        let number = if stream.is_some() || reference.is_some() {
            let known = file.opened_by.borrow();
            // The path that it was opened by, if it says all.
            let path = known.as_ref().filter(|(base, path)| base.is_none() && path.len() < 4096).map_or(&[][..], |(_, path)| path);
            self.data.files.add(&File { stream, reference, mode, flags, path, position: 0 })?
        } else {
            let Some((path, position)) = made_here(file) else { return Ok(None) };
            self.data.files.add(&File { stream, reference, mode, flags, path: &path, position })?
        };
        if is_set(file) {
            fallible::push(&mut self.sets, (number, file.clone()))?;
        }
        file.inherited_as.set((self.serial, number));
        Ok(Some(number))
    }

    /// Adds the open files; those that `execve` closes only for a fork.
    pub fn add_files(&mut self, process: &mut Process, forks: bool) -> Result<(), Errno> {
        in_process_io::move_counters(process);
        for (number, file, close_on_exec) in process.descriptors.all() {
            if close_on_exec && !forks {
                continue;
            }
            if let Some(file) = self.file(file)? {
                fallible::push(&mut self.data.descriptors, Descriptor { number, file, close_on_exec })?;
            }
        }
        let kept = |reference: &Option<OwnedReference>| reference.as_ref().filter(|_| !forks).map(OwnedReference::handle);
        [self.data.lock_owner, self.data.keyed] = self.references_of([kept(&process.lock_owner), kept(&process.keyed.port)])?;
        self.data.attached = if forks { fallible::collect(process.keyed.attached.iter().map(|one| one.words()))? } else { Vec::new() };
        self.data.current = self.directory(&process.current)?;
        self.data.root = self.directory(&process.root)?;
        self.add_sets()
    }

    fn directory(&mut self, directory: &Option<Rc<OpenFile>>) -> Result<Option<u64>, Errno> {
        directory.as_ref().map_or(Ok(None), |directory| self.file(directory))
    }

    /// Adds what sets of files watch, as far as it is handed on.
    fn add_sets(&mut self) -> Result<(), Errno> {
        for (file, open) in core::mem::take(&mut self.sets) {
            let Kind::Local(local) = &open.kind else { continue };
            let mut members = Vec::new();
            if let InProcessFile::Set(set) = &*local.borrow() {
                for entry in set.entries() {
                    if let Some(member) = entry.file.upgrade().and_then(|file| member(entry, &file, self.serial)) {
                        fallible::push(&mut members, member)?;
                    }
                }
            }
            fallible::push(&mut self.data.sets, fork_record::Set { file, members })?;
        }
        Ok(())
    }

    /// Adds what only a fork copies: the thread, which returns with `frame`, and memory.
    pub fn add_copy(&mut self, process: &mut Process, frame: &Frame, shares: bool) -> Result<(), Errno> {
        let thread = process.me();
        let mut copy = Copy {
            registers: frame.to_words(),
            fs_base: thread.fs_base,
            alternate: [thread.alternate[0], thread.alternate[1], thread.alternate_flags],
            clear_number: 0,
            set_number: 0,
            actions: actions(process),
            program_break: process.memory.break_words(),
            fpu: user_access::fpu::saved(),
            segments: Vec::new(),
            areas: Vec::new(),
            services: self.references_of(process.services.found())?,
        };
        [self.data.executing] = self.references_of([process.executing.as_ref().map(OwnedReference::handle)])?;
        leave_for_later(process, frame.stack, shares)?;
        for area in process.memory.map.areas_mut() {
            self.add_area(&mut copy, area, frame.stack, shares)?;
        }
        self.data.copy = Some(copy);
        Ok(())
    }

    fn add_area(&mut self, copy: &mut Copy, area: &mut Area<Fill>, stack: u64, shares: bool) -> Result<(), Errno> {
        let is_stack = area.end > FOREIGN_STACK_END - MAX_FOREIGN_STACK;
        let (start, rights) = (if shares { area.start } else { kept_part(area, stack, self.keeps_stack) }, area.rights);
        let size = area.end - start;
        if size == 0 {
            return Ok(());
        }
        self.keeps_stack |= is_stack;
        let is_lazy = matches!(&area.backing, Fill::Own(part) if part.is_lazy());
        let (fill, shows) = match &mut area.backing {
            Fill::Library(_) => return Ok(()),
            Fill::Own(part) if part.at_fork == AtFork::Left => return Ok(()),
            Fill::Reserved | Fill::Beyond(_) => (area::Fill::Reserved, None),
            Fill::Own(part) => match part.shown_to_all(shares)? {
                None => {
                    let mut all = Copies { areas: &mut self.areas, copies: &mut self.copies, known: &mut self.known };
                    return promised::add_pieces(part, (start, area.end), rights, copy, &mut all);
                }
                Some((segment, offset)) => {
                    let sharing = part.sharing();
                    let number = self.segment(copy, &segment)?;
                    (area::Fill::Part { segment: number, offset, sharing }, Some((Region::through(segment.region()), offset)))
                }
            },
        };
        let kept = if let Fill::Beyond(rights) = area.backing { rights } else { rights };
        if fill == area::Fill::Reserved {
            fallible::push(&mut copy.areas, area::Area { start, end: area.end, rights: kept.0, fill })?;
            return Ok(());
        }
        let pieces = match &area.backing {
            Fill::Own(part) if shows.is_some() => part.pieces(start)?,
            _ => fallible::collect([(start, area.end, false)])?,
        };
        // Pages that were written since the fork before are copied at once, those between them are
        // shown.
        for (start, end, is_own) in pieces {
            let into = start - area.start;
            let shows = shows.filter(|_| !is_own).map(|(region, offset)| (region, offset + into));
            let fill = match fill {
                area::Fill::Part { segment, offset, sharing } if !is_own => area::Fill::Part { segment, offset: offset + into, sharing },
                _ => area::Fill::Own,
            };
            fallible::push(&mut copy.areas, area::Area { start, end, rights: kept.0, fill })?;
            if shows.is_none() {
                fallible::push(&mut self.copies, (self.areas.len(), start, end))?;
            }
            let rights = if is_lazy && shows.is_some() { read_only(rights) } else { rights };
            fallible::push(&mut self.areas, nacre_nest::Area { start, size: end - start, rights, shows })?;
        }
        Ok(())
    }

    fn segment(&mut self, copy: &mut Copy, segment: &Rc<Segment>) -> Result<u64, Errno> {
        if let Some(number) = self.shown.iter().position(|other| Rc::ptr_eq(other, segment)) {
            return Ok(number as u64);
        }
        let [port] = self.references_of([segment.shared_port()])?;
        let region = self.reference(segment.region())?;
        let record = fork_record::Segment { port, region, size: segment.size(), writable: segment.is_writable(), paging: segment.paging() as u64 };
        fallible::push(&mut copy.segments, record)?;
        fallible::push(&mut self.shown, segment.clone())?;
        Ok(self.shown.len() as u64 - 1)
    }
}

/// Copies at once all that was to be copied later if the child shares all memory. Otherwise leaves
/// as much as can be for later, but for what the kernel may be about to write for another thread:
/// an answer never waits for its page.
fn leave_for_later(process: &mut Process, stack: u64, shares: bool) -> Result<(), Errno> {
    const SMALL_STACK: u64 = 0x4_0000;
    soft_dirty::end_tracking(&mut process.memory)?;
    if shares {
        return process.memory.own_all();
    }
    let waiting = fallible::collect(process.memory.map.areas().filter(|area| is_worth_waiting(area)).map(|area| area.start))?;
    if waiting.is_empty() || process.need_exceptions().is_err() {
        return Ok(());
    }
    let Process { threads, memory, .. } = process;
    let is_awaited = |area: &Area<Fill>| threads.all().any(|(_, thread)| thread.answer.0 < area.end && area.start < thread.answer.1);
    let is_small_stack = |area: &Area<Fill>| (area.start..area.end).contains(&stack) && area.end - stack < SMALL_STACK;
    memory.make_lazy(|area| waiting.binary_search(&area.start).is_err() || is_awaited(area) || is_small_stack(area))
}

/// Returns true if an area can be left to be copied later, and enough of it holds something.
fn is_worth_waiting(area: &Area<Fill>) -> bool {
    matches!(&area.backing, Fill::Own(part) if part.can_wait() && !pageable::holds_little(part))
}

/// A file that the library makes itself, by a path and a position from which it can be made again.
fn made_here(file: &OpenFile) -> Option<(Vec<u8>, u64)> {
    if let Some(pid) = file.process() {
        return Some((PROCESS.to_vec(), pid));
    }
    let Kind::Local(local) = &file.kind else { return None };
    match &*local.borrow() {
        InProcessFile::Shown(shown) => Some((shown.node.path().into_bytes(), shown.position)),
        InProcessFile::Set(_) => Some((SET.to_vec(), 0)),
        InProcessFile::Signals(set) => Some((SIGNALS.to_vec(), *set)),
        InProcessFile::Timer(timer) => Some((timer.to_path(), 0)),
        _ => None,
    }
}

fn is_set(file: &OpenFile) -> bool {
    matches!(&file.kind, Kind::Local(local) if matches!(&*local.borrow(), InProcessFile::Set(_)))
}

/// Returns a file of a set as it is handed on, if it is in the inheritance with this serial number.
fn member(entry: &Entry, file: &OpenFile, serial: u64) -> Option<Member> {
    let (known, number) = file.inherited_as.get();
    let Entry { descriptor, wanted, data, told, changes, .. } = *entry;
    (known == serial).then(|| Member { descriptor, file: number, wanted, data, told, changes, is_used: file.used.get() != entry.used })
}

/// Signals whose dispositions are not the default.
fn actions(process: &Process) -> Vec<[u64; fork_record::ACTION]> {
    let all = (1..=fork_record::SIGNALS as u64).map(|signal| (signal, process.signals.action(signal)));
    all.filter(|(_, action)| *action != Action::default())
        .map(|(signal, Action { handler, flags, restorer, mask })| [signal, handler, flags, restorer, mask])
        .collect()
}

/// Returns the further state of a process as words.
fn state(process: &mut Process) -> [u64; STATE] {
    let random = process.random.words();
    let identity = &process.identity;
    let parts: [&[u64]; 8] = [
        &process.traits.words(),
        &identity.capabilities.words(),
        &identity.of_files.map(u64::from),
        &[process.schedule.policy, process.schedule.priority, process.schedule.io.into()],
        &process.strings,
        &process.timers.real_words(),
        &[process.threads.get(process.caller).map_or(0, |thread| thread.processors)],
        &random,
    ];
    let mut words = parts.into_iter().flatten().copied();
    core::array::from_fn(|_| words.next().unwrap_or(0))
}

/// Path value that marks a pidfd.
pub const PROCESS: &[u8] = b"process";
/// Path value that marks a set of files (`epoll`).
pub const SET: &[u8] = b"epoll";
/// Path value that marks a file of signals.
pub const SIGNALS: &[u8] = b"signals";

/// Returns the first address of the part of an area that a fork's child gets. The first thread's
/// stack grows again, so most of what lies below its pointer is left out. `keeps`: something below
/// is in use.
pub fn kept_part(area: &Area<Fill>, stack: u64, keeps: bool) -> u64 {
    const BELOW: u64 = 0x8000;
    let Fill::Own(part) = &area.backing else { return area.start };
    let is_private = (part.is_writable() || part.is_lazy()) && !part.shared && part.at_fork == AtFork::Copied;
    let grows = area.start >= FOREIGN_STACK_END - MAX_FOREIGN_STACK && (area.start..FOREIGN_STACK_END).contains(&stack);
    if keeps || !is_private || !grows || area.end > FOREIGN_STACK_END || area.rights != Rights::READ.union(Rights::WRITE) {
        return area.start;
    }
    let used = (stack.saturating_sub(BELOW) & !(PAGE_SIZE - 1)).clamp(area.start, area.end);
    let kept = memory::touched(area.start, used).map_or(used, |touched| touched.start);
    // What both are shown stays in one piece.
    if part.is_writable() || kept == area.end { kept } else { area.start }
}
