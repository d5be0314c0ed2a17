//! Moving an object to another address: its words are copied, and whatever knew where it was is
//! told. Rings are mended in place, so an object can be moved while it is in use.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel};
use crate::list;
use crate::machine::{Machine, Physical};
use crate::object::{Receivable, Space, Thread, links_of};
use crate::tree::Tree;
use nacre_abi::arguments;
use nacre_abi::{Code, ObjectType};

/// Maximum number of references to a movable object, and of mappings, ports or threads linked to
/// it. One entry must update them all.
const MAX_TOLD: u64 = 500;

impl<M: Machine> Kernel<M> {
    /// `(object, slot)`.
    pub(crate) fn verb_move(&self, caller: Thread<'_>, object: ObjectType) -> Attempt<Done> {
        let call: arguments::Move = caller.arguments();
        let (found, from) = self.object(caller, call.object)?;
        if found != object {
            return wrong(Code::WrongType, call.object);
        }
        let to = self.free_slot(caller, call.slot, object)?;
        match object {
            ObjectType::Thread if self.thread(from).cpu() != 0 => return wrong(Code::Busy, call.object),
            ObjectType::Space if self.space(from).active() != 0 => return wrong(Code::Busy, call.object),
            _ => {}
        }
        if matches!(object, ObjectType::Space | ObjectType::Region | ObjectType::Mapping) {
            // A revocation under way may stand on it.
            self.revoke_idle()?;
        }
        self.frame_prepare(to)?;
        if self.must_be_told(object, from) > MAX_TOLD {
            return wrong(Code::Busy, call.object);
        }
        self.object_place(to, object)?;
        if object == ObjectType::Thread {
            self.machine.fpu_settle(from, true);
            self.chain_touched(self.thread(from));
        }
        self.machine.copy(from, to, self.object_extent(from, object));
        match object {
            ObjectType::Space => self.space_moved(self.space(from), self.space(to)),
            ObjectType::Region => self.region_moved(from, to),
            ObjectType::Mapping => self.mapping_moved(from, to),
            ObjectType::Thread => self.thread_moved(self.thread(from), self.thread(to)),
            ObjectType::Port => self.port_moved(from, to),
            ObjectType::PortSet => self.port_set_moved(self.receivable(from), self.receivable(to)),
            ObjectType::Reference => list::link_move(&self.machine, self.reference(from).target(), self.reference(to).target()),
            ObjectType::Mutex | ObjectType::Condition => {
                list::replace(&self.machine, self.waiters(from).threads(), self.waiters(to).threads());
            }
        }
        if object != ObjectType::Reference {
            self.links_moved(object, from, to);
        }
        self.object_erase(from, object);
        Ok(Done::Return)
    }

    /// Counts the words that hold the object's place, to a little more than is allowed.
    fn must_be_told(&self, object: ObjectType, at: Physical) -> u64 {
        let count = |anchor, so_far: u64| so_far + list::count(&self.machine, anchor, MAX_TOLD + 1 - so_far.min(MAX_TOLD));
        let parts = match object {
            ObjectType::Reference => return 0,
            ObjectType::Space => self.space(at).threads(),
            ObjectType::Region => self.region(at).mappings(),
            ObjectType::PortSet => self.receivable(at).ports(),
            _ => return count(links_of(object, at), 0),
        };
        count(parts, count(links_of(object, at), 0))
    }

    /// References to the object lead to its new place.
    fn links_moved(&self, object: ObjectType, from: Physical, to: Physical) {
        let anchor = links_of(object, to);
        list::replace(&self.machine, links_of(object, from), anchor);
        list::links_redirect(&self.machine, anchor, to);
    }

    fn space_moved(&self, old: Space<'_>, new: Space<'_>) {
        list::link_move(&self.machine, old.keeper(), new.keeper());
        list::link_move(&self.machine, old.watcher(), new.watcher());
        list::replace(&self.machine, old.threads(), new.threads());
        let anchor = new.threads();
        let mut node = list::next(&self.machine, anchor);
        while node != anchor {
            self.thread(Physical(node.0 & !0xfff)).set_space(new.at);
            node = list::next(&self.machine, node);
        }
        // Its mappings and regions know it by its home, which stays where it is.
        self.home_set(new.root(), new.at);
    }

    fn region_moved(&self, from: Physical, to: Physical) {
        let (old, new) = (self.region(from), self.region(to));
        self.regions(self.space_at_home(new.home())).replace(from, to);
        list::replace(&self.machine, old.mappings(), new.mappings());
        list::links_redirect(&self.machine, new.mappings(), to);
        list::link_move(&self.machine, old.keeper(), new.keeper());
    }

    fn mapping_moved(&self, from: Physical, to: Physical) {
        let (old, new) = (self.mapping(from), self.mapping(to));
        self.layer_of(new).replace(from, to);
        list::link_move(&self.machine, old.region(), new.region());
    }

    fn thread_moved(&self, old: Thread<'_>, new: Thread<'_>) {
        let rings = [(old.queue(), new.queue()), (old.peers(), new.peers()), (old.reply_links(), new.reply_links()), (old.turn(), new.turn())];
        for (from, to) in rings {
            list::replace(&self.machine, from, to);
        }
        list::links_redirect(&self.machine, new.reply_links(), new.at);
        list::link_move(&self.machine, old.scheduler(), new.scheduler());
        list::link_move(&self.machine, old.donee(), new.donee());
        self.chain_moved(old, new);
        if new.deadline_armed() != 0 {
            Tree::new(&self.machine, &self.deadlines).replace(old.deadline_node(), new.deadline_node());
        }
        if new.server() != Physical(0) {
            self.thread(new.server()).set_client(new.at);
        }
        if new.client() != Physical(0) {
            self.thread(new.client()).set_server(new.at);
        }
    }

    fn port_moved(&self, from: Physical, to: Physical) {
        let (old, new) = (self.port(from), self.port(to));
        for (from, to) in [(old.senders(), new.senders()), (old.receivers(), new.receivers()), (old.ready(), new.ready())] {
            list::replace(&self.machine, from, to);
        }
        list::link_move(&self.machine, old.set(), new.set());
    }

    fn port_set_moved(&self, old: Receivable<'_>, new: Receivable<'_>) {
        for (from, to) in [(old.ready(), new.ready()), (old.receivers(), new.receivers()), (old.ports(), new.ports())] {
            list::replace(&self.machine, from, to);
        }
        list::links_redirect(&self.machine, new.ports(), new.at);
    }
}
