//! What the process manager tells of the process.

use crate::process::Process;
use crate::state::parent_table::{Parents, Table};
use crate::state::threads::thread_table::PID;
use nacre_proto::process as manager;
use nacre_sys::Reference;

impl Process {
    /// Returns true if there is a process manager. The library asks once and remembers.
    pub fn is_managed(&mut self) -> bool {
        if self.managed.is_none() {
            self.pid();
        }
        self.managed == Some(true)
    }

    /// The parent's number, if the table says it. From the second question on it does, and the
    /// entry answers for the threads that there are.
    pub fn parent_in_table(&mut self, own: u64) -> Option<u64> {
        self.parents = match core::mem::take(&mut self.parents) {
            Parents::Unasked => Parents::Asked,
            Parents::Asked => Table::map().map_or(Parents::Absent, Parents::Mapped),
            known => known,
        };
        let Parents::Mapped(table) = &self.parents else { return None };
        let address = table.address(own)?;
        let parent = table.place.window().read_word(8 * own)?;
        self.set_quick_parent(address);
        Some(parent)
    }

    /// Process, user and group, as the other end of a socket is told.
    pub fn owner(&mut self) -> [u64; 3] {
        let [_, user, _, _, group, _] = self.identity.owner();
        [self.pid(), user.into(), group.into()]
    }

    /// The process's number.
    pub fn pid(&mut self) -> u64 {
        if self.identity.pid == 0 {
            // Who has no manager is the only process and has no parent, now and ever.
            let known = manager::numbers(Reference::PARENT, 0);
            self.managed = Some(known.is_ok());
            let (own, parent) = known.map_or((PID, Some(0)), |reply| (reply.pid, None));
            self.identity.pid = own;
            // Others are made only once this is known.
            if let Some(first) = self.threads.get_mut(0) {
                first.set_number(own);
            }
            self.set_quick_numbers(own, parent);
        }
        self.identity.pid
    }
}
