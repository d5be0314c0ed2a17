//! A port: where clients meet a server. Either senders wait on it or receivers do, never both (a
//! receiver may also wait on the set that the port is in). Pending notification bits wait beside.
//!
//! A set of ports shares the words that receiving needs, so that both are one *receivable* thing.

use crate::machine::{Machine, Physical};
use crate::list;
use crate::view::view;
use nacre_abi::ObjectType;

view! {
    /// A port.
    Port, 16 words {
        header, set_header: u64 = 0;
        /// The server's own word.
        word, set_word: u64 = 1;
        /// Pending notification bits.
        pending, set_pending: u64 = 2;
        /// The thread that received from here last; it counts while that thread's `served` names
        /// this port.
        holder, set_holder: Physical = 15;
    } places {
        /// Anchor of threads that wait to send.
        senders = 3;
        /// Anchor of threads that wait to receive.
        receivers = 5;
        /// Link to the set.
        set = 7;
        links = 10;
        /// Node in the set's ring of ports that have something.
        ready = 12;
        /// The claim of a short course on all that changes where senders and receivers meet. See
        /// `fast`.
        claim = 14;
    }
}

view! {
    /// A port or a set of ports, as seen by who receives from it.
    Receivable, 16 words {
        header, set_header: u64 = 0;
    } places {
        /// Set: anchor of its ports (their `set` links).
        ports = 1;
        /// Set: anchor of the ports that have something.
        ready = 3;
        receivers = 5;
        links = 10;
        /// As of a port.
        claim = 14;
    }
}

impl Port<'_> {
    /// Returns true if a receiver would get something at once.
    pub fn has_something<M: Machine>(self, machine: &M) -> bool {
        self.pending() != 0 || !list::is_empty(machine, self.senders())
    }

    /// Makes the words of a new port.
    pub fn init<M: Machine>(self, machine: &M, word: u64) {
        self.set_word(word);
        list::init(machine, self.senders());
        list::init(machine, self.receivers());
        list::link_init(machine, self.set());
        list::init(machine, self.links());
        list::init(machine, self.ready());
    }

    /// Keeps the port on its set's ring of ready ports exactly while it has something.
    pub fn refresh_ready<M: Machine>(self, machine: &M) {
        let Some(set) = list::link_target(machine, self.set()) else { return };
        let listed = !list::is_empty(machine, self.ready());
        match (self.has_something(machine), listed) {
            (true, false) => list::push_back(machine, Receivable::new(machine, set).ready(), self.ready()),
            (false, true) => list::remove(machine, self.ready()),
            _ => {}
        }
    }
}

impl Receivable<'_> {
    /// Returns true for a single port, false for a set.
    #[inline(always)]
    pub fn is_port(self) -> bool {
        self.header() == super::header(ObjectType::Port)
    }

    /// Makes the words of a new set.
    pub fn init_set<M: Machine>(self, machine: &M) {
        for anchor in [self.ports(), self.ready(), self.receivers(), self.links()] {
            list::init(machine, anchor);
        }
    }
}

/// The port whose `set` link has its node at `node`.
pub fn port_of_set_node(node: Physical) -> Physical {
    Physical(node.0 - 8 * 8)
}

/// The port whose ready node is at `node`.
pub fn port_of_ready_node(node: Physical) -> Physical {
    Physical(node.0 - 8 * 12)
}
