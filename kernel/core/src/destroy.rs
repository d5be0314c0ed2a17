//! Destruction. Each long part is done step by step and can be cut off between any two: made again,
//! the call goes on with what is left.

use crate::call_result::wrong;
use crate::frame::PAGE_WORK;
use crate::kernel::{Attempt, Done, Kernel, Stop};
use crate::list;
use crate::machine::{Machine, Physical};
use crate::object::{self, Region, Space, Thread, WaitKind, port_of_set_node, thread_of_queue_node};
use nacre_abi::arguments;
use nacre_abi::rights::REFERENCE_CONTROL;
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Rights};

/// Cost of destroying a mapping or a region without revoking it, in instructions.
const PART_WORK: u32 = 400;

impl<M: Machine> Kernel<M> {
    pub(crate) fn verb_destroy(&self, caller: Thread<'_>, object: ObjectType) -> Attempt<Done> {
        let call: arguments::Destroy = caller.arguments();
        let (found, named) = self.object(caller, call.object)?;
        let at = self.target_of(call.object, (found, named), object, REFERENCE_CONTROL)?;
        if object == ObjectType::Space && (at == caller.space() || at == self.kernel_space().at) {
            return wrong(Code::Busy, call.object);
        }
        if at == named {
            self.destroy(object, at, caller)?;
        } else {
            self.destroy_by_reference(caller, object, at, named)?;
        }
        Ok(if at == caller.at { Done::Settled } else { Done::Return })
    }

    /// Destroys what the reference at `name` leads to. It is the last to be cut: a caller that must
    /// come back still finds the object by it.
    fn destroy_by_reference(&self, caller: Thread<'_>, object: ObjectType, at: Physical, name: Physical) -> Attempt<()> {
        let link = self.reference(name).target();
        list::remove(&self.machine, link.add(8));
        let result = self.destroy(object, at, caller);
        match result {
            Ok(()) => list::link_init(&self.machine, link),
            Err(_) => list::push_back(&self.machine, object::links_of(object, at), link.add(8)),
        }
        result
    }

    /// Destroys the object at `at`, step by step.
    pub(crate) fn destroy(&self, object: ObjectType, at: Physical, caller: Thread<'_>) -> Attempt<()> {
        if matches!(object, ObjectType::Space | ObjectType::Region | ObjectType::Mapping) {
            // A revocation under way may stand on it.
            self.revoke_idle()?;
        }
        match object {
            ObjectType::Space => self.space_end(at)?,
            ObjectType::Region => self.region_end(at)?,
            ObjectType::Mapping => self.mapping_end(at)?,
            ObjectType::Thread => self.thread_end(self.thread(at), caller)?,
            ObjectType::Port => self.port_end(at)?,
            ObjectType::PortSet => self.port_set_end(at)?,
            ObjectType::Reference => self.reference_clear(self.reference(at)),
            ObjectType::Mutex | ObjectType::Condition => self.waiters_end(self.waiters(at).threads())?,
        }
        if object != ObjectType::Reference {
            self.links_cut(object::links_of(object, at))?;
        }
        self.object_erase(at, object);
        Ok(())
    }

    /// Destroys an object that is not the caller's business to wait for (its space ends).
    fn destroy_part(&self, object: ObjectType, at: Physical) -> Attempt<()> {
        match object {
            ObjectType::Region => self.region_end(at)?,
            _ => self.mapping_end(at)?,
        }
        self.links_cut(object::links_of(object, at))?;
        self.object_erase(at, object);
        self.work(PART_WORK)
    }

    fn space_end(&self, at: Physical) -> Attempt<()> {
        let space = self.space(at);
        while let Some(node) = list::first(&self.machine, space.threads()) {
            let thread = self.thread(Physical(node.0 & !0xfff));
            self.halt(thread)?;
            self.thread_unbind(thread);
            // A thread outlives its space, but cannot run any more.
            thread.set_space(Physical(0));
            self.tell_end(space, false);
            self.step()?;
        }
        while let Some(region) = self.regions(space).outer() {
            self.destroy_part(ObjectType::Region, region)?;
        }
        while let Some(mapping) = self.mappings(space).outer().or_else(|| self.overlays(space).outer()) {
            self.destroy_part(ObjectType::Mapping, mapping)?;
        }
        self.link_to_port(space.keeper(), None);
        self.link_to_port(space.watcher(), None);
        self.links_cut(space.links())?;
        if space.root() != Physical(0) {
            self.machine.table_reset(space.root());
            self.guest_forget(space);
        }
        while self.pool_give_back(space) {
            self.work(PAGE_WORK)?;
        }
        Ok(())
    }

    /// Takes a stopped thread out of everything that links it to others.
    fn thread_unbind(&self, thread: Thread<'_>) {
        self.wait_cancel(thread);
        self.client_leaves(thread);
        if thread.client() != Physical(0) {
            self.client_fail(self.thread(thread.client()));
        }
        if thread.space() != Physical(0) {
            let space = self.space(thread.space());
            space.set_population(space.population() - 1);
        }
        list::remove(&self.machine, thread.peers());
        self.chain_unbind(thread);
        self.leave_cpu(thread);
    }

    fn thread_end(&self, thread: Thread<'_>, caller: Thread<'_>) -> Attempt<()> {
        if thread.at != caller.at {
            self.halt(thread)?;
            self.wait_cancel(thread);
        }
        // This can take several entries, between which the thread is still one: a caller that ends
        // itself comes back, others can be started again.
        self.links_cut(thread.links())?;
        thread.raise(Thread::STOPPED);
        self.thread_unbind(thread);
        self.unload(thread);
        if thread.space() != Physical(0) {
            self.tell_end(self.space(thread.space()), thread.space() != caller.space());
        }
        Ok(())
    }

    /// Notifies the watcher of a space, or else its keeper, after a thread has left it. A space
    /// hears of the ends of its own threads from its own; but nobody in it can tell if the last one
    /// is gone, or does, if somebody outside took one.
    fn tell_end(&self, space: Space<'_>, is_foreign: bool) {
        let told = [space.watcher(), space.keeper()].into_iter().find_map(|link| list::link_target(&self.machine, link));
        if let Some(port) = told.filter(|_| is_foreign || list::is_empty(&self.machine, space.threads())) {
            self.notify(self.port(port), nacre_abi::message::THREAD_ENDED);
        }
    }

    fn region_end(&self, at: Physical) -> Attempt<()> {
        let region = self.region(at);
        let space = self.space_at_home(region.home());
        // While this is cut off, the region is still what it was.
        self.links_cut(region.links())?;
        if !region.is_closed() {
            self.region_close(region);
        }
        self.revoke_finish(region.revoked())?;
        self.links_cut(region.mappings())?;
        self.link_to_port(region.keeper(), None);
        self.regions(space).remove(at);
        space.set_population(space.population() - 1);
        Ok(())
    }

    /// Closes a region from which nothing is derived any more, and begins to revoke what was
    /// derived from it.
    fn region_close(&self, region: Region<'_>) {
        let number = self.revoke_begin_region(region);
        let regions = self.regions(self.space_at_home(region.home()));
        regions.remove(region.at);
        // An empty range is found in the tree like any other, but for one at 0.
        region.set_start(region.start().max(PAGE_SIZE));
        region.set_size(0);
        region.set_rights(Rights::NONE);
        region.set_revoked(number);
        regions.insert(region.at);
    }

    fn mapping_end(&self, at: Physical) -> Attempt<()> {
        let mapping = self.mapping(at);
        self.links_cut(mapping.links())?;
        if list::link_target(&self.machine, mapping.region()).is_some() {
            list::link_clear(&self.machine, mapping.region());
            mapping.set_revoked(self.revoke_begin_mapping(mapping));
        }
        self.revoke_finish(mapping.revoked())?;
        let space = self.space_at_home(mapping.home());
        self.layer_of(mapping).remove(at);
        space.set_population(space.population() - 1);
        Ok(())
    }

    /// Everybody who waits on a ring gets `Gone`.
    fn waiters_end(&self, anchor: Physical) -> Attempt<()> {
        while let Some(node) = list::first(&self.machine, anchor) {
            self.wait_gone(self.thread(thread_of_queue_node(node)));
            self.step()?;
        }
        Ok(())
    }

    fn port_end(&self, at: Physical) -> Attempt<()> {
        let port = self.port(at);
        // Keepers first: a thread whose fault is thrown back must not find this port again.
        self.links_cut(port.links())?;
        self.waiters_end(port.senders())?;
        self.waiters_end(port.receivers())?;
        list::remove(&self.machine, port.ready());
        if list::link_target(&self.machine, port.set()).is_some() {
            list::link_clear(&self.machine, port.set());
        }
        Ok(())
    }

    fn port_set_end(&self, at: Physical) -> Attempt<()> {
        let set = self.receivable(at);
        while let Some(node) = list::first(&self.machine, set.ports()) {
            let port = self.port(port_of_set_node(node));
            list::remove(&self.machine, port.ready());
            list::link_clear(&self.machine, port.set());
            self.step()?;
        }
        self.waiters_end(set.receivers())
    }

    /// Makes sure that a thread is stopped and on no CPU. On another CPU: that one is told, once,
    /// and the call is to be made again. Emulated CPUs that take turns lose theirs to each
    /// interrupt, so one that is told again and again never comes to the end of the first.
    pub(crate) fn halt(&self, thread: Thread<'_>) -> Attempt<()> {
        if thread.cpu() != 0 && thread.cpu() != self.machine.cpu() as u64 + 1 {
            if thread.has(Thread::EVICT) {
                core::hint::spin_loop();
            } else {
                thread.raise(Thread::EVICT);
                self.machine.cpu_kick(thread.cpu() as usize - 1);
            }
            return Err(Stop::Yield);
        }
        thread.raise(Thread::STOPPED);
        if thread.waits_for(WaitKind::None) {
            // It may be in the run queue.
            list::remove(&self.machine, thread.queue());
        }
        Ok(())
    }
}
