//! The agent: a thread of the library that receives what comes to the process from outside, and
//! makes signals of it.
//!
//! It is made when something first needs it: a handler, a blocked signal, a timer, a wait for
//! files. It holds the lock while it works and gives it up to wait, like any thread; it has no
//! place among the program's threads.

use crate::abi::errno::Errno;
use crate::abi::signal_info::{Info, LAST};
use crate::process::Process;
use crate::state::signals::signal_thread::SignalThread;
use nacre_abi::rights::{REFERENCE_CONTROL, REFERENCE_NOTIFY};
use nacre_proto::{parent, process as manager};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference};

/// Bit: the manager has signals for the process.
pub const SIGNALS: u64 = 1;
/// Bit: a timer was set that comes before all others.
const TIMERS: u64 = 2;
/// Bit: the board has something to tell.
pub const BOARD: u64 = 16;
/// Bit: a thread wants to know when all that came before was seen to.
pub const SETTLE: u64 = 8;

impl Process {
    /// Makes the agent, if there is none. The reference to its port.
    pub fn need_agent(&mut self) -> Result<Reference, Errno> {
        if self.agent.is_none() {
            let port = OwnedPort::new(0, PortSet::NONE)?;
            let reference = port.new_reference(REFERENCE_NOTIFY)?;
            let handle = nacre_rt::thread::spawn(self.signal_thread, port.handle().0 as usize)?;
            // It serves for as long as the process lives.
            drop(handle);
            // Without a manager nobody sends signals: then the agent serves what is inside.
            if self.is_managed() {
                manager::attach(Reference::PARENT, SIGNALS, reference.handle())?;
            }
            self.agent = Some(SignalThread { port, reference, keeps: false });
        }
        Ok(self.agent.as_ref().map(|agent| agent.reference.handle()).unwrap_or_default())
    }

    /// Returns true if signals come here, and do not just take their default effect.
    pub fn has_agent(&self) -> bool {
        self.agent.is_some()
    }

    /// Directs exceptions of the process's threads to the signal thread.
    pub fn need_exceptions(&mut self) -> Result<(), Errno> {
        self.need_agent()?;
        match &mut self.agent {
            Some(agent) if !agent.keeps => {
                // To be made a keeper takes control over the port. Nobody but our parent is given
                // that.
                let control = OwnedReference::made_by(|slot| agent.port.handle().reference(slot, REFERENCE_CONTROL))?;
                parent::keep(Reference::PARENT, control.handle())?;
                agent.keeps = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// The agent is to look at the timers again.
    pub fn call_agent(&mut self) -> Result<(), Errno> {
        let reference = self.need_agent()?;
        nacre_sys::ipc::notify(reference, TIMERS)?;
        Ok(())
    }

    /// Fetches what the manager has for the process.
    pub fn fetch_signals(&mut self) {
        while let Ok(reply) = manager::signal_take(Reference::PARENT)
            && (1..=LAST).contains(&reply.signal)
        {
            let info = of_reply(&reply);
            // A queue that is full loses signals, as Linux's does.
            let _ = match self.threads.find(reply.thread) {
                Some(index) if reply.thread != 0 => self.post_to(index, info),
                _ => self.post(info),
            };
        }
    }
}

/// A signal as the manager tells of it.
fn of_reply(reply: &manager::signal_take::Reply) -> Info {
    const SIGCHLD: u64 = 17;
    let code = reply.code as i32;
    let mut info = Info::from(reply.signal, code, reply.sender, reply.user);
    info.fields[1] = if reply.signal == SIGCHLD && code > 0 { reply.value & 0xffff_ffff } else { reply.value };
    info
}
