//! Pseudo-terminals: a line discipline between the end of the master, which types and looks at the
//! screen, and those of slaves, which read and write.
//!
//! A terminal is there as long as its master. When that goes the slaves are hung up: they read an
//! end of file and can do nothing else. What the master types waits, if the discipline has no room,
//! as it does in Linux between the two; a signal that a key asks for is an event, for whoever
//! attends the terminal.

use super::Hub;
use super::file_attributes::FileAttributes;
use super::pseudo_terminal::{Pair, MAX_ECHO, INPUT, OUTPUT};
use crate::queue::{Received, ReceiveRequest};
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI, POLLRDNORM, POLLWRNORM, TCSAFLUSH, TERMINAL_HANGUP, TERMINAL_WINDOW};
use nacre_terminal::{Attributes, Terminal};

/// Maximum number of terminals.
pub const MAX_TERMINALS: usize = 256;
/// Number of typed bytes that may wait for the discipline, and of output bytes that may wait for
/// the master.
const TYPED: usize = 8192;
const SCREEN: usize = 8192;
/// Maximum of bytes that the master gets at a time.
const PIECE: usize = 4096;
const READABLE: u64 = POLLIN | POLLRDNORM;
const WRITABLE: u64 = POLLOUT | POLLWRNORM;
const BOTH: u64 = 2;

/// TerminalStatus about a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalStatus {
    /// Number of the terminal.
    pub number: u64,
    /// Set for the end of a slave.
    pub is_slave: bool,
    /// Set if slaves cannot be opened.
    pub is_locked: bool,
}

impl<R> Hub<R> {
    /// A terminal, with the end of its master. An account makes no more while it holds as many as
    /// are still free.
    pub fn terminal(&mut self, flags: u64) -> Result<(u64, u64), Errno> {
        let account = self.accounts.payer();
        let held = self.terminals.values().filter(|pair| pair.account == account).count();
        if account != 0 && held >= MAX_TERMINALS - self.terminals.len().min(MAX_TERMINALS) {
            return Err(Errno::ENOSPC);
        }
        let is_used = |number: &u64| self.terminals.values().any(|pair| pair.number == *number);
        let number = (0..MAX_TERMINALS as u64).find(|number| !is_used(number)).ok_or(Errno::ENOSPC)?;
        let master = self.add_end(0, flags)?;
        let key = self.key();
        let mut terminal = Terminal::default().with_flow();
        terminal.attributes = Attributes::of_pair();
        self.terminals.insert(key, Pair { number, account, terminal, master, is_locked: true, ..Pair::default() });
        self.end_mut(master)?.terminal = Some((key, false));
        Ok((number, master))
    }

    fn numbered(&mut self, number: u64) -> Result<(u64, &mut Pair), Errno> {
        self.terminals.iter_mut().find(|(_, pair)| pair.number == number).map(|(key, pair)| (*key, pair)).ok_or(Errno::ENOENT)
    }

    /// Adds an end of a slave.
    pub fn terminal_open(&mut self, number: u64, flags: u64) -> Result<u64, Errno> {
        let (key, pair) = self.numbered(number)?;
        if pair.is_locked {
            return Err(Errno::EIO);
        }
        let slave = self.add_end(0, flags)?;
        self.end_mut(slave)?.terminal = Some((key, true));
        let pair = self.terminals.get_mut(&key).ok_or(Errno::ENOENT)?;
        pair.slaves.insert(slave);
        pair.is_left = false;
        self.touch_terminal(key);
        Ok(slave)
    }

    /// Returns the facts about the terminal with this number.
    pub fn terminal_numbered(&mut self, number: u64) -> Result<TerminalStatus, Errno> {
        let (_, pair) = self.numbered(number)?;
        Ok(TerminalStatus { number, is_slave: true, is_locked: pair.is_locked })
    }

    /// Returns the facts about the terminal of an end.
    pub fn terminal_facts(&self, key: u64) -> Result<TerminalStatus, Errno> {
        let (_, is_slave) = self.end(key)?.terminal.ok_or(Errno::ENOTTY)?;
        let pair = self.the_pair(key)?;
        Ok(TerminalStatus { number: pair.number, is_slave, is_locked: pair.is_locked })
    }

    /// Returns the file attributes of the terminal with this number.
    pub fn terminal_looks(&mut self, number: u64) -> Result<&mut FileAttributes, Errno> {
        Ok(&mut self.numbered(number)?.1.looks)
    }

    /// Returns number and file attributes of the terminal of a slave's end.
    pub fn slave_looks(&mut self, key: u64) -> Result<(u64, &mut FileAttributes), Errno> {
        if !self.terminal_facts(key)?.is_slave {
            return Err(Errno::ENOTTY);
        }
        let pair = self.pair_mut(key)?.1;
        Ok((pair.number, &mut pair.looks))
    }

    /// Forbids or allows that slaves are opened.
    pub fn terminal_lock(&mut self, key: u64, is_locked: bool) -> Result<(), Errno> {
        if self.terminal_facts(key)?.is_slave {
            return Err(Errno::ENOTTY);
        }
        self.pair_mut(key)?.1.is_locked = is_locked;
        Ok(())
    }

    /// Returns the hub's key of an end's terminal, for those who attend it.
    pub fn terminal_of(&self, key: u64) -> Result<u64, Errno> {
        let (terminal, _) = self.end(key)?.terminal.ok_or(Errno::ENOTTY)?;
        if self.terminals.contains_key(&terminal) { Ok(terminal) } else { Err(Errno::EIO) }
    }

    fn the_pair(&self, key: u64) -> Result<&Pair, Errno> {
        self.terminals.get(&self.terminal_of(key)?).ok_or(Errno::EIO)
    }

    fn pair_mut(&mut self, key: u64) -> Result<(u64, &mut Pair), Errno> {
        let terminal = self.terminal_of(key)?;
        self.terminals.get_mut(&terminal).map(|pair| (terminal, pair)).ok_or(Errno::EIO)
    }

    /// Events of terminals since this was asked last: whose, and which.
    pub fn terminal_told(&mut self) -> Vec<(u64, u64)> {
        core::mem::take(&mut self.told)
    }

    fn touch_terminal(&mut self, terminal: u64) {
        if let Some(pair) = self.terminals.get(&terminal) {
            self.touched.extend(pair.slaves.iter().chain([&pair.master]));
        }
    }

    /// Lets the discipline go on; those at the ends look again.
    fn terminal_pump(&mut self, terminal: u64) {
        let events = self.terminals.get_mut(&terminal).map_or(0, Pair::pump);
        if events != 0 {
            self.told.push((terminal, events));
        }
        self.touch_terminal(terminal);
    }

    /// Types, or writes to the screen. `None`: there is no room. `EPERM`: output of the background
    /// would stop it, and it is not known who writes.
    pub(super) fn terminal_send(&mut self, key: u64, data: &[u8], is_urgent: bool) -> Result<Option<usize>, Errno> {
        let is_slave = self.end(key)?.terminal.is_some_and(|(_, is_slave)| is_slave);
        let (terminal, pair) = self.pair_mut(key)?;
        if is_slave && pair.terminal.stops_background() && !is_urgent {
            return Err(Errno::EPERM);
        }
        if is_slave && pair.terminal.is_stopped() && !data.is_empty() {
            return Ok(None);
        }
        let (room, count) = if is_slave { (SCREEN, pair.screen.len()) } else { (TYPED, pair.typed.len()) };
        let data = &data[..data.len().min(room.saturating_sub(count))];
        if data.is_empty() {
            return Ok(if count < room { Some(0) } else { None });
        }
        if is_slave {
            pair.terminal.write(data, &mut pair.screen);
        } else {
            pair.typed.extend(data);
        }
        self.terminal_pump(terminal);
        Ok(Some(data.len()))
    }

    /// Reads what was typed, or looks at the screen. `has_more`: of a line some is left.
    pub(super) fn terminal_receive(&mut self, key: u64, wish: ReceiveRequest) -> Result<Option<Received<R>>, Errno> {
        let is_slave = self.end(key)?.terminal.is_some_and(|(_, is_slave)| is_slave);
        let Ok((terminal, pair)) = self.pair_mut(key) else { return Ok(Some(Received::nothing())) };
        if wish.size == 0 {
            return Ok(Some(Received::nothing()));
        }
        let (data, has_more) = if is_slave {
            if !pair.terminal.is_readable_for(wish.size) {
                return Ok(None);
            }
            let line = pair.terminal.available();
            let data = pair.terminal.read(wish.size);
            let has_more = data.len() < line;
            (data, has_more)
        } else {
            if let Some(news) = pair.packets.take() {
                return Ok(Some(Received { data: alloc::vec![news], total: 1, ..Received::nothing() }));
            }
            let before = usize::from(pair.packets.is_on);
            match pair.screen.len() {
                0 if pair.is_left => return Err(Errno::EIO),
                0 => return Ok(None),
                count => (core::iter::repeat_n(0, before).chain(pair.screen.drain(..count.min((wish.size - before).min(PIECE)))).collect::<Vec<u8>>(), false),
            }
        };
        self.terminal_pump(terminal);
        let total = data.len();
        Ok(Some(Received { data, has_more, total, ..Received::nothing() }))
    }

    /// Puts back bytes that did not reach their receiver.
    pub(super) fn terminal_put_back(&mut self, key: u64, received: &Received<R>) {
        let is_slave = self.ends.get(&key).and_then(|end| end.terminal).is_some_and(|(_, is_slave)| is_slave);
        let Ok((terminal, pair)) = self.pair_mut(key) else { return };
        if is_slave {
            pair.terminal.put_back(&received.data, !received.has_more);
        } else if let (true, [news @ 1..=u8::MAX, ..]) = (pair.packets.is_on, &received.data[..]) {
            pair.packets.tell(*news);
        } else {
            let data = &received.data[usize::from(pair.packets.is_on).min(received.data.len())..];
            data.iter().rev().for_each(|byte| pair.screen.push_front(*byte));
        }
        self.touch_terminal(terminal);
    }

    /// An end has gone.
    pub(super) fn terminal_close(&mut self, terminal: u64, is_slave: bool, key: u64) {
        if is_slave {
            if let Some(pair) = self.terminals.get_mut(&terminal) {
                pair.slaves.remove(&key);
                pair.is_left = pair.slaves.is_empty();
                self.touch_terminal(terminal);
            }
            return;
        }
        self.touch_terminal(terminal);
        if self.terminals.remove(&terminal).is_some() {
            self.told.push((terminal, TERMINAL_HANGUP));
        }
    }

    pub(super) fn terminal_waiting(&self, key: u64) -> Result<usize, Errno> {
        let is_slave = self.end(key)?.terminal.is_some_and(|(_, is_slave)| is_slave);
        let pair = self.the_pair(key)?;
        Ok(if is_slave { pair.terminal.waiting() } else { pair.screen.len() })
    }

    pub(super) fn terminal_events(&self, key: u64) -> Result<u64, Errno> {
        let is_slave = self.end(key)?.terminal.is_some_and(|(_, is_slave)| is_slave);
        let Ok(pair) = self.the_pair(key) else { return Ok(READABLE | WRITABLE | POLLERR | POLLHUP) };
        let (is_readable, has_room) = match is_slave {
            true => (pair.terminal.has_input(), pair.screen.len() < SCREEN && !pair.terminal.is_stopped()),
            false => (!pair.screen.is_empty() || pair.packets.has_news(), pair.typed.len() < TYPED),
        };
        let news = if !is_slave && pair.packets.has_news() { POLLPRI } else { 0 };
        let left = news | if !is_slave && pair.is_left { POLLHUP } else { 0 };
        Ok(if is_readable { READABLE } else { 0 } | if has_room { WRITABLE } else { 0 } | left)
    }

    /// The terminal's attributes.
    pub fn attributes(&self, key: u64) -> Result<Attributes, Errno> {
        Ok(self.the_pair(key)?.terminal.attributes)
    }

    /// Sets them.
    pub fn set_attributes(&mut self, key: u64, when: u64, attributes: Attributes) -> Result<(), Errno> {
        let (terminal, pair) = self.pair_mut(key)?;
        if when == TCSAFLUSH {
            pair.typed.clear();
        }
        let (was_stopped, before) = (pair.terminal.is_stopped(), pair.terminal.attributes);
        pair.terminal.set_attributes(attributes, when == TCSAFLUSH);
        pair.packets.changed(&before, &attributes);
        pair.packets.flow((was_stopped, pair.terminal.is_stopped()));
        self.terminal_pump(terminal);
        Ok(())
    }

    /// Rows and columns.
    pub fn window(&self, key: u64) -> Result<(u16, u16), Errno> {
        Ok(self.the_pair(key)?.terminal.window)
    }

    /// Sets them.
    pub fn set_window(&mut self, key: u64, window: (u16, u16)) -> Result<(), Errno> {
        let (terminal, pair) = self.pair_mut(key)?;
        if core::mem::replace(&mut pair.terminal.window, window) != window {
            self.told.push((terminal, TERMINAL_WINDOW));
        }
        Ok(())
    }

    /// Drops what waits: what this end would read, what it has written, or both.
    pub fn flush(&mut self, key: u64, which: u64) -> Result<(), Errno> {
        let is_slave = self.terminal_facts(key)?.is_slave;
        let (terminal, pair) = self.pair_mut(key)?;
        match which {
            INPUT | OUTPUT if !is_slave => pair.flush(OUTPUT - which),
            INPUT | OUTPUT | BOTH => pair.flush(which),
            _ => return Err(Errno::EINVAL),
        }
        self.touch_terminal(terminal);
        Ok(())
    }

    /// Holds output back or lets it go on, or sends the master a key that asks for it. A master's
    /// own output is not held back.
    pub fn flow(&mut self, key: u64, action: u64) -> Result<(), Errno> {
        let is_slave = self.terminal_facts(key)?.is_slave;
        let (terminal, pair) = self.pair_mut(key)?;
        let was_stopped = pair.terminal.is_stopped();
        match action {
            0..=3 if !is_slave => {}
            0 => pair.terminal.stop_output(),
            1 => pair.terminal.start_output(),
            2 | 3 => pair.screen.extend(pair.terminal.flow_key(action == 2).filter(|_| pair.screen.len() < MAX_ECHO)),
            _ => return Err(Errno::EINVAL),
        }
        pair.packets.flow((was_stopped, pair.terminal.is_stopped()));
        self.terminal_pump(terminal);
        Ok(())
    }

    /// Switches a master's packet mode (0 and 1); whether it is on.
    pub fn packets(&mut self, key: u64, action: u64) -> Result<bool, Errno> {
        if self.terminal_facts(key)?.is_slave {
            return Err(Errno::ENOTTY);
        }
        let (_, pair) = self.pair_mut(key)?;
        if action < 2 {
            pair.packets.switch(action == 1);
        }
        Ok(pair.packets.is_on)
    }

    /// A byte as if it were typed.
    pub fn type_byte(&mut self, key: u64, byte: u8) -> Result<(), Errno> {
        let (terminal, pair) = self.pair_mut(key)?;
        if pair.typed.len() < TYPED {
            pair.typed.push_back(byte);
        }
        self.terminal_pump(terminal);
        Ok(())
    }
}

#[cfg(test)]
#[path = "terminals_tests.rs"]
mod tests;
