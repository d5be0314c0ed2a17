//! `execve`: the process becomes another program, where it is ([`renewal`]) or in an environment of
//! its own that takes the place of this one.

mod exec_in_place;

use crate::abi::errno::{Answer, E2BIG, EACCES, EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOEXEC, ENOSYS, Errno};
use crate::abi::file_flags::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, CURRENT, O_PATH};
use crate::abi::fork_record::Inheritance;
use crate::abi::registers::Frame;
use crate::abi::signal_numbers::SIGKILL;
use crate::calls::processes::fork::PreparedEnvironment;
use crate::operations::files::busy_file;
use crate::operations::fork_state::ForkState;
use crate::operations::paths::file_status;
use crate::operations::paths::path_of;
use crate::operations::paths::path_start::{self, is_own_executable, own_descriptor};
use crate::operations::paths::path_status;
use crate::operations::paths::permissions::{self, EXECUTE, S_IFLNK, S_IFMT};
use crate::operations::proc;
use crate::process::{Process, futex_wake};
use crate::process::end::end_by_signal;
use crate::process::exchange::Place;
use crate::process::wait::NoReturn;
use crate::services::resource_source::{self, Maker};
use crate::state::limits::CpuLimit;
use crate::state::memory::page_table_pool::Tables;
use crate::state::memory::user_access::PATH_MAX;
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::{Heritage, Ports, Program, SpawnError, Sizes};
use nacre_nest::services::{execute, open_with_mode};
use nacre_proto::flags::BEGIN_PROGRAM;
use nacre_proto::process;
use nacre_rt::fallible;
use nacre_sys::{OwnedReference, Reference};

/// Maximum size of an argument with its final zero.
const LONGEST: u64 = 128 << 10;
/// Maximum size of the path, all arguments and the environment, with their final zeros and the
/// addresses of the latter two: a quarter of the stack, within these bounds.
const MOST: core::ops::RangeInclusive<u64> = 128 << 10..=2 << 20;
/// Maximum size of the command that the manager is told.
const MAX_NAMES: usize = 1040;
/// Bytes of the stack that a program starts with, beside its arguments: it grows.
const STACK: u64 = 64 << 10;
/// Scripts whose interpreters are scripts, at most.
const DEPTH: usize = 5;

/// Program to run, with its arguments.
struct Command {
    path: Vec<u8>,
    arguments: Vec<Vec<u8>>,
    environment: Vec<Vec<u8>>,
    /// The file itself and its mode, once it is open.
    opened: Option<(OwnedReference, u64)>,
    /// Keeps others from writing the file.
    hold: Option<OwnedReference>,
    /// The directory that the path starts at, if it is relative.
    directory: Reference,
    /// The directory that it starts at if it is absolute.
    root: Reference,
    /// The file's own path, if it is not that.
    place: Option<Vec<u8>>,
}

/// The strings of an array that ends with a null; `total` counts their bytes.
fn strings(process: &Process, address: u64, total: &mut u64) -> Result<Vec<Vec<u8>>, Errno> {
    let mut all = Vec::new();
    if address == 0 {
        return Ok(all);
    }
    let most = (process.limits.stack() / 4).clamp(*MOST.start(), *MOST.end());
    for offset in (0..).step_by(8) {
        let [start] = process.memory.read_words(address.wrapping_add(offset))?;
        if start == 0 {
            break;
        }
        let text = process.memory.string(start, LONGEST).map_err(|error| if error == ENAMETOOLONG { E2BIG } else { error })?;
        *total += text.len() as u64 + 9;
        if *total > most {
            return Err(E2BIG);
        }
        fallible::push(&mut all, fallible::collect(text.iter().copied())?)?;
    }
    Ok(all)
}

fn slices(strings: &[Vec<u8>]) -> Result<Vec<&[u8]>, SpawnError> {
    fallible::collect(strings.iter().map(|text| &text[..])).map_err(|error| SpawnError::Service("arguments", error.into()))
}

/// The interpreter of a script and its one argument, from the line behind `#!`.
fn interpreter(line: &[u8]) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let line = line.trim_ascii();
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    let (path, rest) = line.split_at(end);
    let rest = rest.trim_ascii();
    (!path.is_empty()).then(|| (path.to_vec(), (!rest.is_empty()).then(|| rest.to_vec())))
}

impl Command {
    /// The command that runs the interpreter of this script, whose first line is `line`.
    fn interpreted(self, line: &[u8], root: Reference, current: Reference) -> Result<Command, Errno> {
        let (path, argument) = interpreter(line).ok_or(ENOEXEC)?;
        let mut arguments = Vec::from([path.clone()]);
        arguments.extend(argument);
        arguments.push(self.path);
        arguments.extend(self.arguments.into_iter().skip(1));
        let directory = if path.starts_with(b"/") { root } else { current };
        Ok(Command { path, arguments, environment: self.environment, opened: None, hold: None, directory, root, place: None })
    }

    /// The absolute path of the file, with links in it; nothing if it is too long to be told.
    fn absolute(&self, process: &mut Process) -> Result<Vec<u8>, Errno> {
        let path = self.place.as_ref().unwrap_or(&self.path);
        let mut whole = Vec::new();
        if path.starts_with(b"/") {
            if self.place.is_none() && self.root != process.services.files()? {
                whole = path_of::path_of(self.root)?;
            }
        } else {
            let is_current = self.directory == process.current_directory()?;
            whole = if is_current { path_of::current_path(process)? } else { path_of::path_of(self.directory)? };
            whole.push(b'/');
        }
        whole.extend(path);
        Ok(if whole.len() < PATH_MAX as usize { whole } else { Vec::new() })
    }

    /// Opens the file, unless a descriptor names it, and keeps others from writing it. Its mode and
    /// a reference of the caller's.
    fn open(&mut self, process: &mut Process) -> Result<(OwnedReference, u64), Errno> {
        let (opened, mode) = match self.opened.take() {
            Some(opened) => opened,
            None => {
                let directory = if self.path.starts_with(b"/") { self.root } else { self.directory };
                open_with_mode(directory, &self.path).map_err(|refusal| match refusal {
                    // It may be the way to it that is not there.
                    SpawnError::NotFound => why_not_found(directory, &self.path),
                    refusal => resource_source::errno(&refusal),
                })?
            }
        };
        if self.hold.is_none() {
            self.hold = busy_file::while_busy(process, |process| process.unlocked(|| execute(opened.handle())))?;
        }
        let copy = OwnedReference::copy_of(opened.handle(), REFERENCE_USE)?;
        self.opened = Some((opened, mode));
        Ok((copy, mode))
    }

    /// Bytes that its arguments take on the stack.
    fn size(&self) -> u64 {
        self.arguments.iter().chain(&self.environment).map(|text| text.len() as u64 + 9).sum()
    }
}

/// `execve(path, arguments, environment)`.
pub fn execve(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, arguments, environment, ..] = frame.arguments();
    execute_at(process, frame, CURRENT, path, [arguments, environment], 0)
}

/// `execveat(directory, path, arguments, environment, flags)`.
pub fn execveat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [directory, path, arguments, environment, flags, _] = frame.arguments();
    execute_at(process, frame, directory, path, [arguments, environment], flags)
}

fn execute_at(process: &mut Process, frame: &mut Frame, directory: u64, path: u64, [arguments, environment]: [u64; 2], flags: u64) -> Answer {
    let path = process.memory.path(path)?;
    if path.is_empty() && flags & AT_EMPTY_PATH == 0 {
        return Err(ENOENT);
    }
    if flags & !(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0 {
        return Err(EINVAL);
    }
    let mut total = path.len() as u64 + 1;
    let arguments = strings(process, arguments, &mut total)?;
    let environment = strings(process, environment, &mut total)?;
    let mut command = named(process, directory, path, flags)?;
    // The path as it was given: /proc/self/exe makes an `exe`, by which busybox knows that it has
    // run itself.
    let called = name(if path.is_empty() { &command.path } else { path });
    (command.arguments, command.environment) = (arguments, environment);
    if command.arguments.is_empty() {
        command.arguments.push(Vec::new());
    }
    // Who asks this of a parent that is no manager is told so before anything is made.
    if !process.is_managed() {
        process.report(format_args!("execve: this needs a process manager: run the program below `process`"));
        return Err(ENOSYS);
    }
    run(process, frame, command, called)
}

/// Resolves the path of an exec: to a file, the process's own program, or one of its descriptors.
fn named(process: &mut Process, descriptor: u64, path: &'static [u8], flags: u64) -> Result<Command, Errno> {
    let own = if path.is_empty() { Some(Ok(descriptor)) } else { own_descriptor(path) };
    let (path, directory) = match own {
        Some(number) => return of_descriptor(process, number?),
        None if is_own_executable(path) => {
            let (path, directory, root) = (process.executable.clone(), process.current_directory()?, process.services.files()?);
            return Ok(Command { path, arguments: Vec::new(), environment: Vec::new(), opened: None, hold: None, directory, root, place: None });
        }
        None => {
            let directory = path_start::directory(process, descriptor, path)?;
            permissions::check_place(process, Place { directory, path }, true, EXECUTE)?;
            if flags & AT_SYMLINK_NOFOLLOW != 0 && path_status::of_place(process, Place { directory, path }, flags)?.mode & S_IFMT == S_IFLNK {
                return Err(ELOOP);
            }
            (path.to_vec(), directory)
        }
    };
    let root = process.root_directory()?;
    Ok(Command { path, arguments: Vec::new(), environment: Vec::new(), opened: None, hold: None, directory, root, place: None })
}

/// The file of a descriptor, by the path that scripts know it by; if it is open as a path alone, by
/// that path.
fn of_descriptor(process: &mut Process, number: u64) -> Result<Command, Errno> {
    let file = process.descriptors.get(number)?;
    if !file.is_regular() {
        return Err(EACCES);
    }
    let status = file_status::of_file(process, &file)?;
    permissions::check_mode(process, &status, EXECUTE)?;
    let root = process.services.files()?;
    let opened_by = file.opened_by.borrow().clone().filter(|_| file.flags.get() & O_PATH != 0);
    if let Some((base, path)) = opened_by {
        let directory = match base {
            Some(base) => base.reference()?,
            None if path.starts_with(b"/") => root,
            None => process.current_directory()?,
        };
        return Ok(Command { path, arguments: Vec::new(), environment: Vec::new(), opened: None, hold: None, directory, root, place: None });
    }
    let reference = OwnedReference::copy_of(file.reference()?, REFERENCE_USE)?;
    let place = proc::tree::path_opened(&file)?;
    let path = alloc::format!("/dev/fd/{}", number as u32).into_bytes();
    Ok(Command { path, arguments: Vec::new(), environment: Vec::new(), opened: Some((reference, status.mode)), hold: None, directory: root, root, place })
}

/// Runs a command, or the interpreter of a script, in a process that has the name `called` from
/// then on.
fn run(process: &mut Process, frame: &mut Frame, mut command: Command, called: [u8; 16]) -> Answer {
    let mut legacy = ForkState::of(process)?;
    legacy.data.name = called;
    legacy.data.owner = owner_as(process, [None; 2]);
    let (world, files) = (process.services.files()?, process.root_directory()?);
    let (mut depth, mut owners) = (0, [None; 2]);
    let (mut stays, mut has_files) = (process.threads.is_first_alone(), false);
    while depth < DEPTH {
        if !stays && !has_files {
            legacy.add_files(process, false)?;
            has_files = true;
        }
        legacy.data.executable = command.absolute(process)?;
        let opened = Some(command.open(process)?);
        let mut maker = Maker {
            files,
            world,
            current: command.directory,
            port: Reference::PARENT,
            opened,
            owners,
            found: owners,
            is_linker: false,
            library: process.library.clone(),
        };
        let outcome = if stays { exec_in_place::renew(process, frame, &mut maker, &command, &mut legacy) } else { replace(process, &mut maker, &command, &mut legacy) };
        match outcome {
            Ok(Outcome::Done(answer)) => {
                if answer.is_ok() {
                    process.executing = command.hold;
                }
                return answer;
            }
            Ok(Outcome::Elsewhere) => {
                stays = false;
                continue;
            }
            // What it takes over says whose it runs as; nothing of what its caller could have
            // spoiled is there.
            Err(_) if maker.found != owners => {
                // A file whose owner changes again and again is like a script that runs itself.
                depth += usize::from(owners != [None; 2]);
                (owners, stays) = (maker.found, false);
                legacy.data.owner = owner_as(process, owners);
                continue;
            }
            Err(SpawnError::Script(line)) => {
                let current = process.current_directory()?;
                command = command.interpreted(line.as_bytes(), files, current)?;
            }
            Err(refusal) => return Err(resource_source::errno(&refusal)),
        }
        depth += 1;
    }
    Err(ELOOP)
}

/// Result of an attempt that was not refused.
pub enum Outcome {
    /// The answer of the call.
    Done(Answer),
    /// The program cannot take this one's place here.
    Elsewhere,
}

/// Makes an environment for the program, which takes the place of this one.
fn replace(process: &mut Process, maker: &mut Maker, command: &Command, legacy: &mut ForkState) -> Result<Outcome, SpawnError> {
    let is_short = |error| SpawnError::Service("what the program takes over", error);
    legacy.set_executing(command.hold.as_ref().map(OwnedReference::handle)).map_err(is_short)?;
    let random = random(process)?;
    // Programs that inherit nothing of ours are told where they start.
    let place = process.current.is_some().then(|| path_of::current_path(process).ok()).flatten().unwrap_or_default();
    // Not before: others had their turn while files were looked for.
    legacy.add_pending(process);
    let bytes = legacy.data.to_bytes().map_err(is_short)?;
    let heritage = Heritage { bytes: &bytes, references: &legacy.references, areas: &[] };
    let sizes = Sizes { pool_pages: Tables::FEWEST, stack: STACK + command.size() };
    let (arguments, environment) = (slices(&command.arguments)?, slices(&command.environment)?);
    let program = Program { path: &command.path, arguments: &arguments, environment: &environment, directory: &place, random, sizes };
    let child = nacre_nest::spawn_heir(maker, &program, &heritage, Ports { parent: Reference::PARENT, keeper: Reference::NONE })?;
    let heir = PreparedEnvironment::of(&child).map_err(|error| SpawnError::Service("references for the manager", error))?;
    become_it(process, heir, &legacy.data, &command.arguments)
}

/// Sixteen bytes that differ from program to program.
fn random(process: &mut Process) -> Result<[u8; 16], SpawnError> {
    let mut random = [0; 16];
    process.services.random(&mut random).map_err(|error| SpawnError::Service("random bytes", error))?;
    Ok(random)
}

/// Real, effective and saved user and group of a program that runs as these owners, if there are
/// any and it may: what is saved is what is effective.
fn owner_as(process: &Process, [user, group]: resource_source::Owners) -> [u32; 6] {
    let [real, effective, _, real_group, effective_group, _] = process.identity.owner();
    let may = |owner: Option<u32>| owner.filter(|_| !process.traits.no_new_privileges);
    let (user, group) = (may(user).unwrap_or(effective), may(group).unwrap_or(effective_group));
    [real, user, user, real_group, group, group]
}

/// The manager hears whom the program that follows belongs to; one that is not its caller's is not
/// told of its parent's end.
fn tell_owner(process: &Process, owner: [u32; 6], _: &NoReturn) {
    let [real, effective, saved, real_group, effective_group, _] = owner;
    if owner != process.identity.owner() {
        let _ = process::identity(Reference::PARENT, real.into(), effective.into(), saved.into(), real_group.into());
    }
    if (real != effective || real_group != effective_group) && process.traits.death_signal != 0 {
        let _ = process::family(Reference::PARENT, 0, process.traits.is_reaper.into());
    }
}

/// The error of a path that leads to no program.
fn why_not_found(directory: Reference, path: &[u8]) -> Errno {
    let mut status = [0; nacre_proto::structures::Status::SIZE];
    nacre_proto::directory::status_at(directory, 0, path, &mut status).err().unwrap_or(ENOENT)
}

/// Returns the name of a thread that runs the program at `path`.
fn name(path: &[u8]) -> [u8; 16] {
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let mut name = [0; 16];
    let size = last.len().min(15);
    name[..size].copy_from_slice(&last[..size]);
    name
}

/// Returns the name and the command of a program, as the manager stores them.
fn names(name: &[u8; 16], arguments: &[Vec<u8>]) -> Vec<u8> {
    let size = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let mut names: Vec<u8> = [&name[..size]].into_iter().chain(arguments.iter().map(|text| &text[..])).flat_map(|word| word.iter().copied().chain([0])).collect();
    names.truncate(MAX_NAMES);
    names
}

/// Lets the new environment take the place of this one, which ends here. There is no way back: as
/// on Linux, what fails from here on ends the process.
fn become_it(process: &mut Process, heir: PreparedEnvironment, data: &Inheritance, arguments: &[Vec<u8>]) -> ! {
    let end = process.halt_others();
    futex_wake::release_all_robust(process, &end);
    // Only those who look at lists of processes miss it.
    let _ = process::name_set(Reference::PARENT, names(&data.name, arguments).as_slice());
    if heir.is_native {
        give_streams(process, &end);
    }
    let attends = if process.me().mask != 0 || process.timers.is_armed() || process.limits.cpu() != CpuLimit::NONE {
        nacre_proto::flags::BEGIN_ATTENDS
    } else {
        0
    };
    tell_owner(process, data.owner, &end);
    // There is an answer to it only if it fails.
    let answer = heir.begin(Reference::PARENT, BEGIN_PROGRAM | attends, process.signals.ignored());
    process.report(format_args!("execve: the process manager does not begin the new program: {answer:?}"));
    end_by_signal(process, SIGKILL)
}

/// A program that keeps no descriptors finds the first three with its parent.
fn give_streams(process: &mut Process, _: &NoReturn) {
    for number in 0..3 {
        let Ok(file) = process.descriptors.get(number) else {
            continue;
        };
        // What only this library knows of nobody else can use.
        if let Ok(reference) = file.reference() {
            let _ = process::stream_set(Reference::PARENT, number, reference);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scripts_first_line_names_its_interpreter_and_one_argument() {
        assert_eq!(interpreter(b" /bin/sh"), Some((b"/bin/sh".to_vec(), None)));
        assert_eq!(interpreter(b"/usr/bin/env  python3 -x "), Some((b"/usr/bin/env".to_vec(), Some(b"python3 -x".to_vec()))));
        assert_eq!(interpreter(b"  \t"), None);
    }

    #[test]
    fn a_thread_is_called_like_the_file() {
        assert_eq!(&name(b"/usr/bin/ls")[..3], b"ls\0");
        assert_eq!(&name(b"a-name-that-is-too-long"), b"a-name-that-is-\0");
    }
}
