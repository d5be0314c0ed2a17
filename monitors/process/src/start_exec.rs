//! Starts processes for a person outside, and carries out what is said about them.

use crate::commands::DONE;
use crate::exec::process::Exec;
use crate::exec::requests;
use crate::exec::terminal::Terminal;
use crate::exec::words::{TOLD, word};
use crate::manager::{EVENTS, Manager};
use crate::start;
use nacre_abi::rights::REFERENCE_USE;
use nacre_control::{Command, exec};
use nacre_nest::SpawnError;
use nacre_proto::channel::terminal_device;
use nacre_proto::flags::{COMMAND_EXEC, COMMAND_INPUT, COMMAND_SIGNAL, COMMAND_TAKEN, COMMAND_TERMINAL, COMMAND_WINDOW, O_NONBLOCK, O_RDWR};
use nacre_proto::{Errno, channel, terminal};
use nacre_sys::{OwnedPort, OwnedReference};

/// Streams of a process.
type Streams = [Option<OwnedReference>; 3];

impl Manager {
    /// Carries out a command about such a process. `ENOSYS`: it is none of ours, so it may be one
    /// within. `None`: it is done later.
    pub(crate) fn exec_command(&mut self, command: &Command) -> Option<Errno> {
        if command.operation == COMMAND_EXEC {
            return self.exec_start(command).err();
        }
        let Some((of, rest)) = exec::about(&command.text) else { return Some(Errno::EINVAL) };
        let Some(exec) = self.execs.of_command(of) else { return Some(Errno::ENOSYS) };
        match command.operation {
            COMMAND_INPUT => return exec.input.feed(command.number, rest),
            COMMAND_TAKEN => exec.output.taken(exec::number(rest).unwrap_or(0)),
            COMMAND_WINDOW => return Some(exec.resize(rest).err().unwrap_or(DONE)),
            COMMAND_SIGNAL => {
                let pid = exec.pid;
                match exec::number(rest) {
                    Some(9) => self.world.kill_session(pid),
                    Some(signal @ 1..=64) => self.world.signal_group(pid, signal),
                    _ => return Some(Errno::EINVAL),
                }
            }
            _ => return Some(Errno::ENOSYS),
        }
        Some(DONE)
    }

    /// Lets all go on: bytes in both directions, and ends.
    pub(crate) fn execs_go_on(&mut self) {
        for exec in self.execs.all.values_mut() {
            exec.move_terminal();
            exec.settle(&self.commands);
            if !exec.is_ended && let Some(status) = self.world.status_from_outside(exec.pid) {
                self.world.forget_from_outside(exec.pid);
                exec.end(status, &self.commands);
            }
            let was_left = exec.is_left;
            exec.send(&self.commands);
            if exec.is_left && !was_left {
                self.world.kill_session(exec.pid);
            }
        }
        self.execs.all.retain(|_, exec| !exec.is_over(&self.commands));
    }

    /// Says of all that they have ended: the world has.
    pub(crate) fn execs_end(&mut self) {
        for (_, mut exec) in core::mem::take(&mut self.execs.all) {
            exec.end(256 + 9, &self.commands);
            exec.send(&self.commands);
            self.commands.end(exec.command, if exec.output.has_frames() { Errno::EPIPE } else { DONE });
        }
    }
}

impl Manager {
    /// Starts a process. One that cannot be started is answered in words.
    fn exec_start(&mut self, command: &Command) -> Result<(), Errno> {
        let start = exec::start(&command.text, command.flags & COMMAND_TERMINAL != 0).ok_or(Errno::EINVAL)?;
        let number = self.execs.fresh_number().ok_or(Errno::EAGAIN)?;
        let pid = self.world.create_from_outside()?;
        let mut exec = Exec::new(command.number, pid);
        let made = self.exec_make(number, pid, &start, &mut exec);
        if let Err(refusal) = made {
            self.world.lost(pid);
            exec.refuse(&refusal);
        }
        self.execs.all.insert(number, exec);
        Ok(())
    }

    fn exec_make(&mut self, number: u64, pid: u64, start: &exec::Start<'_>, exec: &mut Exec) -> Result<(), SpawnError> {
        let own = |doing| move |errno| SpawnError::Service(doing, errno);
        // Kept until the process has one: without any, it would count as lost.
        let _port = self.add_body(pid, 0).map_err(own("making its port"))?;
        let streams = match start.window {
            None => self.exec_pipes(number, exec),
            Some(window) => self.exec_terminal(number, pid, window, exec),
        };
        let streams = streams.map_err(own("making its streams"))?;
        if let Some(body) = self.bodies.get_mut(&pid) {
            body.streams = streams;
        }
        start::begin(self, pid, &start.words)
    }

    fn exec_pipes(&mut self, number: u64, exec: &mut Exec) -> Result<Streams, Errno> {
        let (ports, references) = requests::make(number, self.set())?;
        exec.streams = ports;
        Ok(references)
    }

    /// Makes a terminal, which the session of the process has from the start.
    fn exec_terminal(&mut self, number: u64, pid: u64, (rows, columns): (u16, u16), exec: &mut Exec) -> Result<Streams, Errno> {
        let channels = self.shared.channels.handle();
        let made = channel::terminal(channels, O_NONBLOCK | O_RDWR)?;
        channel::terminal_lock(made.master.handle(), 0)?;
        let slave = channel::terminal_open(channels, made.number, O_RDWR)?.slave;
        terminal::set_window(made.master.handle(), rows.into(), columns.into())?;
        let session = self.world.terminal_acquire(pid, terminal_device(made.number), false)?;
        let keys = self.add_terminal(session)?;
        terminal::attend(slave.handle(), EVENTS, keys.handle())?;
        let told = OwnedPort::new(word(number, TOLD), self.set())?;
        exec.terminal = Some(Terminal { master: made.master, told, awaited: 0, is_hung_up: false });
        let copy = || OwnedReference::copy_of(slave.handle(), REFERENCE_USE).map_err(Errno::from);
        Ok([Some(copy()?), Some(copy()?), Some(copy()?)])
    }
}
