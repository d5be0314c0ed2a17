//! Restores a process from the state that its parent built: `fork` and `execve`, in the new
//! environment.

use crate::abi::errno::{EINVAL, ENOMEM, ENOSYS, Errno};
use crate::abi::file_flags::CURRENT;
use crate::abi::fork_record::{self, Copy, File, Inheritance};
use crate::abi::fork_record::area::{self, Sharing};
use crate::abi::signal_info::{Info, LAST};
use crate::abi::signal_numbers::HANDLER_IGNORE;
use crate::operations::files::pidfd;
use crate::operations::fork_state::{PROCESS, SET, SIGNALS, WINDOWS};
use crate::operations::proc;
use crate::operations::program_image::{Auxiliary, mapping_slot};
use crate::process::Process;
use crate::raw::memory_words;
use crate::services::segment::{Paging, Segment};
use crate::state::capabilities::Capabilities;
use crate::state::credentials::Identity;
use crate::state::files::descriptor_table::Descriptors;
use crate::state::files::epoll_set::{Entry, Set};
use crate::state::files::inherited_files::{self, InheritedFiles};
use crate::state::files::in_process_file::{FileTimer, InProcessFile};
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::proc_node::{Node, Shown, Target};
use crate::state::limits::Limits;
use crate::state::memory::Memory;
use crate::state::memory::address_map::{Area, Map};
use crate::state::memory::mapped_part::{Fill, Part, read_only};
use crate::state::memory::page_table_pool::Tables;
use crate::state::process_attributes::ProcessAttributes;
use crate::state::random::Random;
use crate::state::signals::dispositions::Action;
use crate::state::system_v::Attached;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use nacre_abi::{ObjectType, Rights};
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::keyed;
use nacre_rt::fallible;
use nacre_rt::memory::{HEAP_END, HEAP_START};
use nacre_sys::{Mapping, OwnedReference, Reference};

/// Takes it over, as another program or as a fork's child.
fn take_state(process: &mut Process, data: &Inheritance) {
    let mut words = data.state.into_iter();
    let mut next = || words.next().unwrap_or(0);
    let traits = ProcessAttributes::of(core::array::from_fn(|_| next()));
    let capabilities = Capabilities::of(core::array::from_fn(|_| next()));
    let of_files = [next() as u32, next() as u32];
    (process.schedule.policy, process.schedule.priority, process.schedule.io) = (next(), next(), next() as u16);
    let strings = core::array::from_fn(|_| next());
    let timer = [next(), next()];
    process.me().processors = next();
    let random = Random::of([next(), next()]);
    process.identity.groups = data.groups.iter().map(|group| *group as u32).collect();
    if data.copy.is_some() {
        process.traits = traits.of_child();
        process.identity.capabilities = capabilities;
        process.identity.of_files = of_files;
        process.strings = strings;
        process.random = random;
        return;
    }
    process.traits = traits.of_program(process.identity.is_others());
    let [real, effective, _, _, group, _] = data.owner;
    process.identity.capabilities = capabilities.of_program([real, effective]);
    process.identity.of_files = [effective, group];
    process.timers.set_real_words(timer);
    for [signal, code, fields @ ..] in data.pending.iter().filter(|words| (1..=LAST).contains(&words[0])) {
        // There were not more before.
        let _ = process.signals.pending.add(Info { signal: *signal, code: *code as i32, fields: *fields });
    }
}

/// The references that came with an inheritance.
pub struct Given {
    /// Address of the first reference.
    first: u64,
    count: u64,
    /// A bit for each one that was taken for good. Empty until the first one is.
    kept: Vec<u64>,
}

impl Given {
    fn slot(&self, number: u64) -> Reference {
        Reference(self.first + number * ObjectType::Reference.size())
    }

    fn is_kept(&self, number: u64) -> bool {
        self.kept.get(number as usize / 64).is_some_and(|word| word & 1 << (number % 64) != 0)
    }

    /// Takes a reference, and returns true if it was taken before.
    fn keep(&mut self, number: u64) -> Result<bool, Errno> {
        if self.kept.is_empty() {
            self.kept = fallible::zeros(self.count.div_ceil(64) as usize)?;
        }
        let word = self.kept.get_mut(number as usize / 64).ok_or(EINVAL)?;
        let before = *word;
        *word |= 1 << (number % 64);
        Ok(before == *word)
    }

    /// Returns a reference, or a copy if it was taken before, since a record may name one twice.
    fn take(&mut self, number: u64) -> Result<OwnedReference, Errno> {
        if self.keep(number)? {
            return OwnedReference::copy_of(self.slot(number), REFERENCE_USE).map_err(|_| ENOMEM);
        }
        Ok(OwnedReference::adopt(self.slot(number)))
    }

    /// The originals go.
    fn finish(self) {
        for number in (0..self.count).filter(|number| !self.is_kept(*number)) {
            drop(OwnedReference::adopt(self.slot(number)));
        }
    }
}

/// Returns the references that the auxiliary vector describes. Called once, because taking them
/// empties their slots.
pub fn given(auxiliary: &Auxiliary) -> Given {
    Given { first: mapping_slot(auxiliary.window_count), count: auxiliary.inherited_count, kept: Vec::new() }
}

/// Reads the inheritance, if the process was born with one.
pub fn read(auxiliary: &Auxiliary) -> Result<Option<Inheritance>, Errno> {
    if auxiliary.inheritance == 0 {
        return Ok(None);
    }
    let bytes = memory_words::given(auxiliary.inheritance, auxiliary.inheritance_size);
    Inheritance::from_bytes(bytes, auxiliary.inherited_count).map(Some).ok_or(EINVAL)
}

/// The areas of a fork's child; what the library uses itself is not among them. Those of its own
/// lie
/// in its data segment, if it has one, one behind the other.
pub fn memory(auxiliary: &Auxiliary, given: &mut Given, copy: &Copy, data: Option<&Rc<Segment>>) -> Result<Memory, Errno> {
    let mut segments = Vec::new();
    for segment in &copy.segments {
        let port = segment.port.map(|port| given.take(port)).transpose()?;
        segments.push(Segment::common(port, given.take(segment.region)?, segment.size, segment.writable, Paging::of(segment.paging)));
    }
    let mut map = Map::new();
    for range in [HEAP_START..HEAP_END, WINDOWS] {
        map.insert(Area { start: range.start, end: range.end, rights: Rights::NONE, backing: Fill::Library(Rights::NONE) })?;
    }
    let (mut mappings, mut own) = (0..auxiliary.window_count, 0);
    for area in &copy.areas {
        let rights = Rights(area.rights);
        let mut mapped = |rights, writable| {
            let mapping = mappings.next().ok_or(EINVAL)?;
            Ok::<Part, Errno>(Part::given(Mapping(mapping_slot(mapping)), area.start, area.end - area.start, rights, writable))
        };
        let backing = match area.fill {
            area::Fill::Reserved if rights != Rights::NONE => {
                map.insert(Area { start: area.start, end: area.end, rights: Rights::NONE, backing: Fill::Beyond(rights) })?;
                continue;
            }
            area::Fill::Reserved => Fill::Reserved,
            area::Fill::Fresh => continue,
            area::Fill::Own => {
                own += area.end - area.start;
                Fill::Own(mapped(rights, true)?.of_data(data, own - (area.end - area.start)))
            }
            area::Fill::Part { segment, offset, sharing } => {
                let segment = segments.get(segment as usize).ok_or(EINVAL)?.clone();
                let shown = if sharing == Sharing::Shown { read_only(rights) } else { rights };
                Fill::Own(mapped(shown, false)?.of_segment(segment, offset, sharing))
            }
        };
        map.insert(Area { start: area.start, end: area.end, rights, backing })?;
    }
    Ok(Memory::copied(map, copy.program_break, Tables::of_child(auxiliary.table_pages)))
}

/// Restores identity, attributes, and ignored, blocked and pending signals.
pub fn take_traits(process: &mut Process, data: &Inheritance) {
    process.identity = Identity::of(data.owner, data.umask, data.persona, data.pid);
    take_state(process, data);
    for signal in (1..=fork_record::SIGNALS as u64).filter(|signal| data.ignored & 1 << (signal - 1) != 0) {
        process.signals.set_action(signal, Action { handler: HANDLER_IGNORE, ..Action::default() });
    }
    process.me().mask = data.mask;
    process.me().name = data.name;
}

/// Makes a process what it inherits, but for its memory.
pub fn take_over(process: &mut Process, mut given: Given, data: &mut Inheritance) -> Result<(), Errno> {
    take_traits(process, data);
    process.limits = Limits::of(data.limits);
    take_files(process, &mut given, data)?;
    process.lock_owner = data.lock_owner.map(|number| given.take(number)).transpose()?;
    process.keyed.port = data.keyed.map(|number| given.take(number)).transpose()?;
    process.executing = data.executing.map(|number| given.take(number)).transpose()?;
    if let Some(copy) = &data.copy {
        take_services(process, &mut given, copy);
    }
    given.finish();
    if data.pid != 0 {
        process.managed = Some(true);
        process.me().set_number(data.pid);
        process.set_quick_numbers(data.pid, None);
    }
    attach_inherited(process, data.attached.iter().map(|words| Attached::of(*words)).collect());
    if !data.executable.is_empty() {
        process.executable = data.executable.clone();
    }
    if let Some(copy) = &data.copy {
        take_thread(process, copy);
        for area in copy.areas.iter().filter(|area| area.fill == area::Fill::Fresh) {
            process.memory.add(&mut process.services, area.start, area.end - area.start, Rights(area.rights))?;
        }
        process.memory.check_tables();
    }
    Ok(())
}

/// Takes over descriptors and directories. A file that a server has is opened when it is first
/// used.
fn take_files(process: &mut Process, given: &mut Given, data: &mut Inheritance) -> Result<(), Errno> {
    let files = InheritedFiles::new(core::mem::take(&mut data.files), given.first)?;
    for ((has_server, reference), index) in files.files().servers().zip(0..) {
        // A reference that a record names twice is copied, and the file opened at once.
        if !has_server || reference.map_or(Ok(false), |number| given.keep(number))? {
            let file = files.files().get(index).ok_or(EINVAL)?;
            files.set(index, inherited_file(process, &file, given)?);
        }
    }
    for one in &data.descriptors {
        files.count(one.file);
    }
    data.sets.iter().try_for_each(|set| fill_set(set, &files))?;
    process.current = data.current.and_then(|number| files.open(number));
    process.root = data.root.and_then(|number| files.open(number));
    files.forget_unnamed();
    process.descriptors = Descriptors::inherited(&data.descriptors, Box::new(files))?;
    Ok(())
}

/// Makes an open file again.
fn inherited_file(process: &mut Process, file: &File<'_>, given: &mut Given) -> Result<Rc<OpenFile>, Errno> {
    if file.has_server() {
        let reference = file.reference.map(|number| given.take(number)).transpose()?;
        return inherited_files::with_server(file, reference).map(Rc::new).ok_or(EINVAL);
    }
    let local = |local| Rc::new(OpenFile::new(Kind::Local(RefCell::new(local)), file.mode, file.flags));
    if let Some(timer) = FileTimer::of_path(file.path) {
        let open = local(InProcessFile::Timer(timer));
        fallible::push(&mut process.file_timers, Rc::downgrade(&open))?;
        return Ok(open);
    }
    Ok(match file.path {
        PROCESS => Rc::new(pidfd::open_file(file.position, file.flags)),
        SET => local(InProcessFile::Set(Set::new())),
        SIGNALS => {
            process.has_signal_files = true;
            local(InProcessFile::Signals(file.position))
        }
        path => shown(process, path, file)?,
    })
}

/// Puts files into a set again, with what was told of them.
fn fill_set(set: &fork_record::Set, files: &InheritedFiles) -> Result<(), Errno> {
    let open = files.open(set.file).ok_or(EINVAL)?;
    let Kind::Local(local) = &open.kind else { return Err(EINVAL) };
    let InProcessFile::Set(into) = &mut *local.borrow_mut() else { return Err(EINVAL) };
    for member in &set.members {
        let file = files.open(member.file).ok_or(EINVAL)?;
        let (serial, used) = (into.next_serial(), file.used.get().wrapping_add(member.is_used.into()));
        let fork_record::Member { descriptor, wanted, data, told, changes, .. } = *member;
        into.add(Entry { descriptor, file: Rc::downgrade(&file), wanted, data, told, used, changes, serial, told_in: 0, is_looked_at: false })?;
    }
    Ok(())
}

/// Takes over the parent's service connections, so that the child need not look them up.
fn take_services(process: &mut Process, given: &mut Given, copy: &Copy) {
    process.services.take(copy.services.map(|number| number.and_then(|number| given.take(number).ok())));
}

fn take_thread(process: &mut Process, copy: &Copy) {
    for [signal, handler, flags, restorer, mask] in copy.actions.iter().copied() {
        process.signals.set_action(signal, Action { handler, flags, restorer, mask });
    }
    let thread = process.me();
    thread.fs_base = copy.fs_base;
    [thread.alternate[0], thread.alternate[1], thread.alternate_flags] = copy.alternate;
    thread.clear_number = copy.clear_number;
}

/// Something in `/proc` again. What is not there any more is as a folder without names.
fn shown(process: &mut Process, path: &[u8], file: &File<'_>) -> Result<Rc<OpenFile>, Errno> {
    let node = match proc::tree::in_proc(process, CURRENT, path, false) {
        Some(Ok(Target::Node(node))) => node,
        Some(Ok(Target::Outside(path))) if let Some(number) = proc::terminals::named(&path) => Node::Terminal(number),
        _ => Node::Descriptors(0, false),
    };
    Ok(Rc::new(Shown::open(node, file.position, file.flags)))
}

/// The process is a child that was made by `fork`: it has the segments too. Those that are gone
/// meanwhile stay as memory.
pub fn attach_inherited(process: &mut Process, attached: Vec<Attached>) {
    if let Some(port) = &process.keyed.port {
        // It is another program, to which what waits to be undone has come, and no memory.
        let _ = keyed::detach_all(port.handle());
    }
    if attached.is_empty() {
        return;
    }
    if let Ok(port) = keyed(process) {
        for one in &attached {
            let _ = keyed::attach(port, one.number);
        }
    }
    process.keyed.attached = attached;
}

/// Returns the reference to the process's port of the protocol `keyed`.
pub fn keyed(process: &mut Process) -> Result<Reference, Errno> {
    if process.keyed.port.is_none() {
        let (pid, owner) = (process.pid(), process.identity.owner());
        let service = process.services.channels().map_err(|_| ENOSYS)?;
        process.keyed.port = Some(keyed::enter(service, pid, u64::from(owner[1]) | u64::from(owner[4]) << 32)?.port);
    }
    process.keyed.port.as_ref().map(OwnedReference::handle).ok_or(ENOSYS)
}
