//! A process that is debugged: its space, its threads, its breakpoints, and who keeps it.

use crate::breakpoints::{Breakpoints, Pages};
use crate::copier::Copier;
use crate::gates::Gates;
use crate::signalled::Shown;
use crate::threads::{Mode, TRAP_FLAG, Threads};
use crate::view::View;
use crate::watches::Watches;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use core::fmt::Write;
use nacre_abi::Rights;
use nacre_abi::environment::{AT_FOREIGN_ENTRY, FOREIGN_LIBRARY};
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_CONTROL, REFERENCE_USE};
use nacre_abi::state::ThreadState;
use nacre_gdb::{Caught, ThreadId};
use nacre_nest::host::keep_and_watch;
use nacre_nest::plan::{FOREIGN_STACK_END, MAX_FOREIGN_STACK};
use nacre_proto::{Errno, parent};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference, Space, Thread};

/// Port that hears of the exceptions that are the program's.
pub enum Keeper {
    /// Port of the program's own.
    Own(OwnedReference),
    /// Port of our relay, which ends the program.
    Relay(OwnedReference),
    /// Port of the process manager, which nobody else can make a keeper.
    Manager,
}

/// News for gdb of a program that has reached its first breakpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// A program begins.
    Nothing,
    /// The process has become another program.
    Exec,
    /// Thread that has made the process.
    Fork(ThreadId),
}

/// Word of the next process's port. Ports of one process's environments differ.
static NEXT_WORD: AtomicU64 = AtomicU64::new(1);

/// Entries of an auxiliary vector.
const AT_NULL: u64 = 0;
const AT_ENTRY: u64 = 9;
const AT_EXECFN: u64 = 31;
/// Words of a stack that are looked at for the auxiliary vector: arguments and environment too.
const MAX_WORDS: usize = 16384;
/// Maximum length of a path.
const MAX_PATH: usize = 4096;
/// Entries of an auxiliary vector from this number on are the library's.
const OWN_ENTRIES: u64 = 0x4e61_0000;

/// A process.
pub struct Inferior {
    /// Number of the process.
    pub number: u32,
    space: OwnedReference,
    /// Parent port of the process, where others can ask something in its name.
    pub parent: OwnedReference,
    /// Memory of the process.
    pub view: View,
    /// Threads of the process.
    pub threads: Threads,
    /// Breakpoints of the process.
    pub breakpoints: Breakpoints,
    /// Address of the first breakpoint, before the program's first instruction, until that is
    /// reached.
    pub first_stop: Option<u64>,
    /// News for gdb when the first breakpoint is reached.
    pub arrival: Arrival,
    /// True if the library is about to enter a program that has changed: a breakpoint lies at its
    /// way out.
    pub is_leaving: bool,
    /// True if the process is about to become a program in another environment.
    pub is_replaced: bool,
    /// Entries of the library, once they are known.
    pub gates: Option<Gates>,
    /// System calls at which the process stops.
    pub caught: Caught,
    /// Signals of the process.
    pub shown: Shown,
    /// True while the library stops no threads.
    pub is_held: bool,
    /// True if a manager sends the process signals.
    pub is_managed: bool,
    /// True if nobody manages it but we: it is one that a replay has made.
    pub is_offspring: bool,
    /// Addresses of gdb's breakpoints.
    pub wanted: BTreeSet<u64>,
    /// Addresses of breakpoints of a way back, and of those that wait for memory.
    pub marks: BTreeSet<u64>,
    pub unplaced: BTreeSet<u64>,
    /// Memory that is watched.
    pub watches: Watches,
    /// Receiver of exceptions that are none of ours.
    pub keeper: Keeper,
    /// Port that hears of its end.
    watcher: Option<OwnedReference>,
    /// Port that receives exceptions of the space, and its word.
    port: OwnedPort,
    pub word: u64,
    /// Address of its auxiliary vector, and of the path of its program; 0 if there is none.
    auxiliary: u64,
    path: u64,
    /// Address of the list of its arguments, and their number.
    arguments: Option<u64>,
    argument_count: usize,
    /// True if the program makes Linux's calls, by a library in its space.
    pub is_foreign: bool,
    /// True if a gdb debugs the process.
    pub is_attached: bool,
    /// True if exceptions of the space come to us.
    is_taken: bool,
}

impl Inferior {
    /// A process whose first thread is stopped before its first instruction.
    pub fn new(number: u32, (space, thread): (Space, Thread), parent: Reference, (set, copier): (PortSet, &Copier)) -> Result<Inferior, Errno> {
        let own = OwnedReference::made_by(|slot| space.reference(slot, REFERENCE_ALL))?;
        let view = View::new(Space::through(own.handle()))?;
        let state = thread.get_state()?;
        let word = NEXT_WORD.fetch_add(1, Ordering::Relaxed);
        let mut inferior = Inferior {
            number,
            space: own,
            parent: OwnedReference::copy_of(parent, REFERENCE_USE)?,
            view,
            threads: Threads::new(thread, number)?,
            breakpoints: Breakpoints::default(),
            first_stop: None,
            arrival: Arrival::Nothing,
            is_leaving: false,
            is_replaced: false,
            gates: None,
            caught: Caught::Nothing,
            shown: Shown::default(),
            is_held: false,
            is_managed: true,
            is_offspring: false,
            wanted: BTreeSet::new(),
            marks: BTreeSet::new(),
            unplaced: BTreeSet::new(),
            watches: Watches::default(),
            keeper: Keeper::Manager,
            watcher: None,
            port: OwnedPort::new(word, set)?,
            word,
            auxiliary: 0,
            path: 0,
            arguments: None,
            argument_count: 0,
            is_foreign: false,
            is_attached: false,
            is_taken: false,
        };
        inferior.look_at_stack(copier, &state);
        Ok(inferior)
    }

    /// The space.
    pub fn space(&self) -> Space {
        Space::through(self.space.handle())
    }

    /// Tells its manager that it has ended, as it would itself.
    pub fn exits(&self, status: u64) {
        if !self.is_offspring {
            // The manager answers nobody whose process has ended.
            let _ = parent::exit(self.parent.handle(), status);
        }
    }

    /// Finds the auxiliary vector at the start of the first thread's stack, and in it where the
    /// program begins.
    fn look_at_stack(&mut self, copier: &Copier, state: &ThreadState) {
        self.is_foreign = false;
        self.look_at_vector(copier, state.rsp, state.rip);
    }

    /// Finds the auxiliary vector at a stack pointer with which a program begins.
    pub fn look_at_vector(&mut self, copier: &Copier, stack: u64, rip: u64) {
        let mut bytes = vec![0; 8 * MAX_WORDS];
        let count = self.view.read(copier, stack, &mut bytes) / 8;
        let words: Vec<u64> = bytes.chunks_exact(8).take(count).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect();
        let Some(start) = auxiliary_start(&words) else { return };
        self.auxiliary = stack + 8 * start as u64;
        (self.arguments, self.argument_count) = (Some(stack + 8), words[0] as usize);
        let entries = || words[start..].chunks_exact(2).take_while(|entry| entry[0] != AT_NULL);
        let value = |key| entries().find(|entry| entry[0] == key).map(|entry| entry[1]);
        self.path = value(AT_EXECFN).unwrap_or(0);
        self.is_foreign |= value(AT_FOREIGN_ENTRY).is_some_and(|entry| entry != 0);
        self.first_stop = value(AT_FOREIGN_ENTRY).filter(|entry| *entry != 0).or(value(AT_ENTRY)).or(Some(rip));
    }

    /// Returns the auxiliary vector as its program sees it.
    pub fn auxiliary_vector(&self, copier: &Copier) -> Vec<u8> {
        let mut vector = Vec::new();
        for number in 0..64 {
            let mut entry = [0; 16];
            if self.auxiliary == 0 || self.view.read(copier, self.auxiliary + 16 * number, &mut entry) != entry.len() {
                break;
            }
            let key = u64::from_le_bytes(entry[..8].try_into().unwrap_or_default());
            if key < OWN_ENTRIES {
                vector.extend(entry);
            }
            if key == AT_NULL {
                break;
            }
        }
        vector
    }

    /// Returns the words of its command, each with a zero behind it.
    pub fn command(&self, copier: &Copier) -> Vec<u8> {
        let Some(first) = self.arguments.and_then(|at| self.view.word(copier, at)) else { return Vec::new() };
        let mut text = vec![0; MAX_PATH];
        let count = self.view.read(copier, first, &mut text);
        text.truncate(count);
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at + 1);
        let end = ends.take(self.argument_count).last().unwrap_or(0);
        text.truncate(end);
        text
    }

    /// Returns the path of its program.
    pub fn path(&self, copier: &Copier) -> Vec<u8> {
        let mut path = vec![0; MAX_PATH];
        let count = if self.path == 0 { 0 } else { self.view.read(copier, self.path, &mut path) };
        let end = path[..count].iter().position(|byte| *byte == 0).unwrap_or(0);
        path.truncate(end);
        path
    }

    /// Exceptions of its space come to us from now on, and its end, if nobody else is told of that.
    pub fn take_over(&mut self) -> Result<(), Errno> {
        let watcher = self.watcher.as_ref().map_or(self.port.handle().as_keeper(), |watcher| watcher.handle());
        keep_and_watch(self.space(), self.port.handle().as_keeper(), watcher)?;
        self.is_taken = true;
        Ok(())
    }

    /// Notes the port of the relay, which keeps a program that does not keep itself, and watches
    /// over it in any case.
    pub fn set_relay(&mut self, relay: Reference) -> Result<(), Errno> {
        let control = || OwnedReference::made_by(|slot| nacre_sys::Port(relay.0).reference(slot, REFERENCE_CONTROL));
        self.watcher = Some(control()?);
        self.keeper = Keeper::Relay(control()?);
        Ok(())
    }

    /// A manager has made this port of the program's its keeper.
    pub fn is_kept(&mut self, keeper: OwnedReference) -> Result<(), Errno> {
        self.keeper = Keeper::Own(keeper);
        if self.is_taken { self.take_over() } else { Ok(()) }
    }

    /// The program keeps itself by this port from now on, beside us.
    pub fn set_keeper(&mut self, keeper: Reference) -> Result<(), Errno> {
        self.keeper = Keeper::Own(OwnedReference::copy_of(keeper, REFERENCE_CONTROL)?);
        match self.is_taken {
            true => self.take_over(),
            false => self.give_over().then_some(()).ok_or(Errno::EIO),
        }
    }

    /// Exceptions of its space go to who keeps it beside us. False: that cannot be told.
    pub fn give_over(&mut self) -> bool {
        let (Keeper::Own(keeper) | Keeper::Relay(keeper)) = &self.keeper else { return false };
        let watcher = self.watcher.as_ref().map_or(self.port.handle().as_keeper(), |watcher| watcher.handle());
        keep_and_watch(self.space(), keeper.handle(), watcher).is_ok()
    }

    /// Lets all threads go on by themselves, without breakpoints. Exceptions that gdb was told of
    /// are the program's.
    pub fn detach(&mut self, copier: &Copier, pages: &mut Pages) -> Option<u64> {
        self.is_attached = false;
        self.hold(copier);
        // Exceptions that are on their way may be those of what is taken away now.
        self.threads.stop_known();
        self.withdraw();
        self.settle_writer(copier, pages);
        self.threads.iter_mut().for_each(|entry| entry.is_late = !entry.is_ours && entry.state().is_some());
        self.watches.forget(pages);
        self.ends_watching(copier, pages);
        self.breakpoints.clear(pages);
        self.watches.clear(pages);
        self.wanted.clear();
        self.caught = Caught::Nothing;
        (self.first_stop, self.arrival, self.is_leaving) = (None, Arrival::Nothing, false);
        let numbers: Vec<u32> = self.threads.iter().filter(|entry| entry.is_ours).map(|entry| entry.number).collect();
        let mut ended = None;
        for number in numbers {
            let Some(entry) = self.threads.get(number) else { continue };
            let Some(state) = entry.state() else { continue };
            let state = ThreadState { rflags: state.rflags & !TRAP_FLAG, ..state };
            let pending = entry.pending.take();
            (entry.mode, entry.awaited, entry.call, entry.returns) = (Mode::Run, None, None, None);
            entry.returned = None;
            entry.changed.clear();
            match pending {
                Some(exception) => ended = self.hand_on((number, false), &exception, &state).or(ended),
                None => {
                    entry.set(&state);
                    entry.start();
                }
            }
        }
        // What is a manager's cannot be given back.
        self.is_taken = !self.give_over();
        ended
    }

    /// Address of the auxiliary vector, and of the program's path, in a process that is a copy.
    pub fn take_places(&mut self, from: &Inferior) {
        (self.auxiliary, self.path, self.is_foreign, self.gates) = (from.auxiliary, from.path, from.is_foreign, from.gates);
        (self.arguments, self.argument_count) = (from.arguments, from.argument_count);
    }

    /// Finds the entries of the library, in a process whose first thread has begun.
    pub fn find_gates(&mut self, copier: &Copier) -> Option<Gates> {
        if self.gates.is_none() {
            let foreign = self.threads.iter().find_map(|entry| entry.state().map(|state| state.foreign_entry).filter(|entry| *entry != 0))?;
            self.gates = Gates::read((&self.view, copier), foreign);
        }
        self.gates
    }

    /// Finds the entries of the library in a process that runs.
    pub fn find_gates_of_running(&mut self, copier: &Copier) {
        if self.gates.is_some() {
            return;
        }
        let stopped: Vec<u32> = self.threads.iter().filter(|entry| entry.is_ours).map(|entry| entry.number).collect();
        self.threads.stop_known();
        self.find_gates(copier);
        self.threads.iter_mut().filter(|entry| entry.is_ours && !stopped.contains(&entry.number)).for_each(|entry| entry.start());
    }

    /// Sets the system calls at which the process stops.
    pub fn catch(&mut self, copier: &Copier, pages: &mut Pages, calls: Caught) {
        let was = core::mem::replace(&mut self.caught, calls);
        let Some(gates) = self.find_gates(copier) else { return };
        for address in gates.entries() {
            match (was == Caught::Nothing, self.caught == Caught::Nothing) {
                (true, false) => drop(self.insert(copier, pages, address)),
                (false, true) => drop(self.breakpoints.remove(pages, address)),
                _ => {}
            }
        }
    }

    /// Returns the mappings of its program, as Linux's `maps` has them.
    pub fn maps(&self) -> String {
        let is_shown = |start: u64| !self.is_foreign || start < FOREIGN_LIBRARY || (FOREIGN_STACK_END - MAX_FOREIGN_STACK..FOREIGN_STACK_END).contains(&start);
        let mut all: Vec<_> = self.view.mappings().into_iter().filter(|one| is_shown(one.start)).collect();
        all.sort_by_key(|one| one.start);
        all.dedup_by_key(|one| one.start);
        let mut text = String::new();
        for one in all {
            let may = |bit: Rights, letter: char| if one.rights & bit.0 != 0 { letter } else { '-' };
            let rights = [may(Rights::READ, 'r'), may(Rights::WRITE, 'w'), may(Rights::EXECUTE, 'x'), 'p'];
            let end = one.start.saturating_add(one.size);
            let label = if (one.start..end).contains(&self.auxiliary) { "                          [stack]" } else { "" };
            let _ = writeln!(text, "{:08x}-{end:08x} {} 00000000 00:00 0 {label}", one.start, rights.iter().collect::<String>());
        }
        text
    }

    /// Puts a breakpoint at an address.
    pub fn insert(&mut self, copier: &Copier, pages: &mut Pages, address: u64) -> bool {
        let space = Space::through(self.space.handle());
        self.breakpoints.insert((space, &self.view), (copier, pages), address).is_ok()
    }
}

/// Returns the index of the auxiliary vector: behind the count of arguments, the arguments and the
/// environment, each list ended by a zero.
fn auxiliary_start(words: &[u64]) -> Option<usize> {
    let arguments = usize::try_from(*words.first()?).ok()?;
    let environment = words.get(arguments.checked_add(2)?..)?;
    Some(arguments + 2 + environment.iter().position(|word| *word == 0)? + 1)
}

#[cfg(test)]
mod tests {
    use super::auxiliary_start;

    #[test]
    fn the_auxiliary_vector_follows_the_environment() {
        assert_eq!(auxiliary_start(&[1, 100, 0, 200, 201, 0, 9, 5]), Some(6));
        assert_eq!(auxiliary_start(&[0, 0, 0, 9]), Some(3));
        assert_eq!((auxiliary_start(&[]), auxiliary_start(&[u64::MAX, 0, 0]), auxiliary_start(&[1, 1, 0, 1])), (None, None, None));
    }
}
