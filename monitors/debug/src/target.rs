//! What a session does to the processes.

use crate::debugger::Debugger;
use crate::inferior::Inferior;
use crate::library::is_in_library;
use crate::live::is_programs;
use crate::manifest::MANIFEST;
use crate::threads::{self, Mode, TRAP_FLAG};
use alloc::format;
use alloc::vec::Vec;
use nacre_abi::state::ThreadState;
use nacre_gdb::target::FileError;
use nacre_nest::command::complain;
use nacre_gdb::{Action, Caught, Events, Registers, Target, ThreadId};
use nacre_proto::Errno;

impl Debugger {
    /// Lets a thread go on.
    fn go_on(&mut self, thread: ThreadId, action: Action) {
        let Debugger { inferiors, copier, pages, .. } = self;
        let Some(inferior) = inferiors.get_mut(&thread.process) else { return };
        let Some(entry) = inferior.threads.get(thread.thread).filter(|entry| entry.is_ours) else { return };
        entry.returned = None;
        if let Some(signalled) = entry.signalled.take() {
            self.answer_signal(thread, &signalled, action);
            return;
        }
        if let Some(call) = entry.call.take() {
            self.make_call(thread, call);
            return;
        }
        let pending = entry.pending.take();
        let Some(state) = entry.state() else { return };
        let is_inside = is_in_library(state.rip);
        if entry.mode == Mode::StepAgain
            && !(is_inside && action.is_step)
            && let Some(address) = entry.awaited.take()
        {
            inferior.breakpoints.remove(pages, address);
        }
        entry.mode = match entry.mode {
            Mode::Call(_) => Mode::Call(action.is_step),
            // The signal is not there yet.
            Mode::StepAgain if is_inside && action.is_step => Mode::StepAgain,
            _ if action.is_step => Mode::Step,
            _ => Mode::Run,
        };
        let flags = if action.is_step && entry.mode != Mode::StepAgain { state.rflags | TRAP_FLAG } else { state.rflags & !TRAP_FLAG };
        let state = ThreadState { rflags: flags, ..state };
        if let Some(exception) = pending.filter(|exception| exception.signal() == u64::from(action.signal)) {
            let ended = inferior.hand_on((thread.thread, self.tape.is_some()), &exception, &state);
            self.ended.extend(ended.map(|status| (thread.process, status)));
            return;
        }
        let state = inferior.send(copier, thread.thread, action, state);
        if let Some(entry) = inferior.threads.get(thread.thread) {
            entry.goes_on(&state);
        }
    }

    /// Lets threads go on that gdb does not see: those of the library.
    fn go_on_hidden(&mut self, process: u32) {
        let Debugger { inferiors, copier, .. } = self;
        let Some(inferior) = inferiors.get_mut(&process) else { return };
        let memory = (&inferior.view, &*copier);
        let hidden = |entry: &&threads::Entry| entry.is_ours && !threads::is_shown(memory, entry, inferior.is_foreign);
        let numbers: Vec<u32> = inferior.threads.iter().filter(hidden).map(|entry| entry.number).collect();
        for number in numbers {
            if let Some(entry) = inferior.threads.get(number) {
                entry.start();
            }
        }
    }
}

/// Takes `/proc/PROCESS/NAME` apart.
fn of_process(path: &[u8]) -> Option<(u32, &[u8])> {
    let rest = path.strip_prefix(b"/proc/")?;
    let at = rest.iter().position(|byte| *byte == b'/')?;
    let number = core::str::from_utf8(&rest[..at]).ok()?.parse().ok()?;
    Some((number, &rest[at + 1..]))
}

impl Target for Debugger {
    fn threads(&mut self) -> Vec<ThreadId> {
        let Debugger { inferiors, copier, .. } = self;
        let mut found = Vec::new();
        for inferior in inferiors.values_mut().filter(|inferior| inferior.is_attached) {
            let Inferior { view, threads, number: process, is_foreign, .. } = inferior;
            for entry in threads.iter_mut() {
                if threads::is_shown((view, copier), entry, *is_foreign) {
                    entry.is_told = true;
                    found.push(ThreadId { process: *process, thread: entry.number });
                }
            }
        }
        found
    }

    fn name(&mut self, thread: ThreadId) -> Vec<u8> {
        let path = self.program(thread.process);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        [name, format!(" {}", thread.thread).as_bytes()].concat()
    }

    fn registers(&mut self, thread: ThreadId) -> Option<Registers> {
        let (copier, inferior) = self.entry(thread)?;
        let (view, threads) = (&inferior.view, &mut inferior.threads);
        threads::registers((view, copier), threads.get(thread.thread)?)
    }

    fn set_registers(&mut self, thread: ThreadId, registers: &Registers) -> bool {
        let Some((copier, inferior)) = self.entry(thread) else { return false };
        let (view, threads) = (&inferior.view, &mut inferior.threads);
        threads.get(thread.thread).is_some_and(|entry| threads::set_registers((view, copier), entry, registers))
    }

    fn read(&mut self, process: u32, address: u64, into: &mut [u8]) -> usize {
        let Some(inferior) = self.inferiors.get(&process) else { return 0 };
        let count = inferior.view.read(&self.copier, address, into);
        inferior.breakpoints.hide(address, &mut into[..count]);
        count
    }

    fn write(&mut self, process: u32, address: u64, bytes: &[u8]) -> bool {
        let Debugger { inferiors, copier, pages, .. } = self;
        let Some(inferior) = inferiors.get_mut(&process) else { return false };
        inferior.with_watches_open((copier, pages), |inferior| inferior.view.write(copier, address, bytes))
    }

    fn insert_breakpoint(&mut self, process: u32, address: u64) -> bool {
        let Debugger { inferiors, copier, pages, .. } = self;
        let is_replay = self.tape.is_some_and(|tape| tape.lock().is_replay());
        let Some(inferior) = inferiors.get_mut(&process) else { return false };
        if inferior.wanted.contains(&address) {
            return true;
        }
        if is_replay {
            // Memory that is not there yet was there later.
            inferior.place(copier, pages, address);
        }
        (is_replay || inferior.insert(copier, pages, address)) && inferior.wanted.insert(address)
    }

    fn remove_breakpoint(&mut self, process: u32, address: u64) -> bool {
        let Debugger { inferiors, pages, .. } = self;
        inferiors.get_mut(&process).is_some_and(|inferior| inferior.wanted.remove(&address) && inferior.displace(pages, address))
    }

    fn can_watch(&mut self) -> bool {
        true
    }

    fn watch(&mut self, process: u32, address: u64, size: u64) -> bool {
        if self.tape.is_some_and(|tape| tape.lock().replays_threads()) {
            complain(MANIFEST.name, "memory is not watched in the replay of a program with several threads; breakpoints are met in both directions");
            return false;
        }
        let is_live = !self.is_replay();
        let Debugger { inferiors, copier, pages, .. } = self;
        let inferior = inferiors.get_mut(&process);
        inferior.is_some_and(|inferior| {
            let can_be = !is_live || is_programs((address, size)) && inferior.watches_live(copier, pages);
            can_be && inferior.watch((copier, pages), (address, size))
        })
    }

    fn unwatch(&mut self, process: u32, address: u64, size: u64) -> bool {
        let Debugger { inferiors, copier, pages, .. } = self;
        inferiors.get_mut(&process).is_some_and(|inferior| inferior.unwatch((copier, pages), (address, size)))
    }

    fn catch_calls(&mut self, process: u32, calls: Caught) {
        let Debugger { inferiors, copier, pages, .. } = self;
        if let Some(inferior) = inferiors.get_mut(&process) {
            inferior.catch(copier, pages, calls);
        }
    }

    fn pass_signals(&mut self, signals: u64) {
        self.signals.passed = signals;
    }

    fn program_signals(&mut self, signals: u64) {
        self.signals.left = signals;
    }

    fn signal_info(&mut self, thread: ThreadId) -> Option<Vec<u8>> {
        self.info(thread)
    }

    fn follow(&mut self, events: Events) {
        self.events = events;
    }

    fn can_go_back(&mut self) -> bool {
        self.is_replay()
    }

    fn go_back(&mut self, thread: ThreadId, is_step: bool) -> bool {
        self.goes_back(thread, is_step)
    }

    fn resume(&mut self, threads: &[(ThreadId, Action)]) {
        if let Some((_, action)) = threads.first() {
            self.lets_go_on(*action);
        }
        self.late = self.late_change(threads.iter().map(|(thread, _)| *thread));
        if self.late.is_some() {
            return;
        }
        let mut processes: Vec<u32> = threads.iter().map(|(thread, _)| thread.process).collect();
        processes.dedup();
        for process in &processes {
            self.show_signals(*process);
            self.hold(*process);
            let Debugger { inferiors, copier, pages, .. } = self;
            inferiors.get_mut(process).into_iter().for_each(|inferior| inferior.ends_watching(copier, pages));
        }
        for (thread, action) in threads {
            self.go_on(*thread, *action);
        }
        processes.into_iter().for_each(|process| self.go_on_hidden(process));
    }

    fn interrupt(&mut self) {
        self.is_interrupted = true;
    }

    fn kill(&mut self, process: u32) {
        if self.inferiors.contains_key(&process) {
            self.killed.push(process);
        }
    }

    fn detach(&mut self, process: u32) {
        self.gives_journey_up();
        self.hide_signals(process);
        let Debugger { inferiors, copier, pages, .. } = self;
        let Some(inferior) = inferiors.get_mut(&process).filter(|inferior| inferior.is_attached) else { return };
        let ended = inferior.detach(copier, pages);
        if self.tape.is_some() && ended.is_none() {
            // A program that reads the counter has exceptions.
            let _ = inferior.take_over();
        }
        self.history.is_lost();
        self.ended.extend(ended.map(|status| (process, status)));
    }

    fn auxiliary_vector(&mut self, process: u32) -> Vec<u8> {
        self.inferiors.get(&process).map_or(Vec::new(), |inferior| inferior.auxiliary_vector(&self.copier))
    }

    fn program(&mut self, process: u32) -> Vec<u8> {
        self.inferiors.get(&process).map_or(Vec::new(), |inferior| inferior.path(&self.copier))
    }

    fn link(&mut self, path: &[u8]) -> Result<Vec<u8>, FileError> {
        match of_process(path) {
            Some((process, b"exe")) if self.inferiors.contains_key(&process) => Ok(self.program(process)),
            _ => Err(Errno::EINVAL.0),
        }
    }

    fn open(&mut self, path: &[u8]) -> Result<u32, FileError> {
        let Some((process, name)) = of_process(path) else { return self.files.open(path) };
        let text = self.inferiors.get(&process).and_then(|inferior| match name {
            b"maps" => Some(inferior.maps().into_bytes()),
            b"cmdline" => Some(inferior.command(&self.copier)),
            _ => None,
        });
        self.files.open_text(text.ok_or(Errno::ENOENT.0)?)
    }

    fn read_file(&mut self, file: u32, offset: u64, size: usize) -> Result<Vec<u8>, FileError> {
        self.files.read(file, offset, size)
    }

    fn file_size(&mut self, file: u32) -> Result<u64, FileError> {
        self.files.size(file)
    }

    fn close(&mut self, file: u32) -> Result<(), FileError> {
        self.files.close(file)
    }
}

#[cfg(test)]
mod tests {
    use super::of_process;

    #[test]
    fn files_of_processes_are_told_from_others() {
        assert_eq!(of_process(b"/proc/12/maps"), Some((12, &b"maps"[..])));
        assert_eq!(of_process(b"/proc/12/task/3"), Some((12, &b"task/3"[..])));
        assert_eq!((of_process(b"/proc/12"), of_process(b"/proc/self/maps"), of_process(b"/proc/4294967296/maps")), (None, None, None));
    }
}
