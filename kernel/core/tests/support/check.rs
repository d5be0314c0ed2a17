//! Everything that must hold of the kernel's memory between two entries, read by its own naive
//! means.

mod mappings;
mod time;

use super::machine::{FakeMachine, RAM_END, RAM_START};
use super::world::World;
use nacre_abi::object::TargetType;
use nacre_abi::{ObjectType, PAGE_SIZE, Rights};
use nacre_core::list;
use nacre_core::machine::{Frame, INTERRUPT_LINES, Leaf, LeafKind, Machine, PageSize, Physical};
use nacre_core::object::{self, Mapping, Port, Receivable, Reference, Region, Space, Thread, WaitKind, Waiters, links_of};
use nacre_core::tree::Node;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const NULL: Physical = Physical(0);
/// Offsets in the frame of globals.
const BINDINGS: u64 = 1024;
const KERNEL_SPACE: u64 = 3072;
const PHYSICAL_REGION: u64 = 3328;
const DEPTH: usize = 64;

/// All live objects, and what was found of who is on which ring.
pub struct Checker<'w> {
    world: &'w World,
    machine: &'w FakeMachine,
    /// Type of each live object by its address.
    pub live: BTreeMap<u64, ObjectType>,
    /// The threads that hang on a ring by their queue node: which ring.
    queued: HashMap<u64, (&'static str, u64)>,
    /// Link nodes that were found on the ring of the target that they name.
    linked: HashMap<u64, u64>,
    /// Frames that tables are made of.
    table_frames: BTreeSet<u64>,
}

/// Checks a world; panics with what is wrong.
pub fn check(world: &World) {
    let mut checker = Checker::new(world);
    checker.rings();
    checker.objects();
    checker.pools();
    if !world.kernel.is_revoking() {
        checker.tables();
    }
}

impl<'w> Checker<'w> {
    /// Finds the live objects.
    pub fn new(world: &'w World) -> Self {
        let machine = world.machine();
        let mut checker = Checker { world, machine, live: BTreeMap::new(), queued: HashMap::new(), linked: HashMap::new(), table_frames: BTreeSet::new() };
        checker.find_boot_objects();
        let mut special = vec![0; machine_counts()];
        for at in (RAM_START..RAM_END).step_by(PAGE_SIZE as usize) {
            let frame = machine.frame(Physical(at)).expect("frame");
            special[((at - RAM_START) >> 21) as usize] += u32::from(frame.kind.get() != Frame::PLAIN);
            match frame.kind.get() {
                Frame::PLAIN | Frame::BLANK => assert_eq!(frame.units.get(), 0, "a plain frame has units"),
                Frame::OBJECTS => checker.find_objects(at, frame.units.get()),
                kind if kind % PAGE_SIZE == Frame::TABLE => _ = checker.table_frames.insert(at),
                _ => {}
            }
        }
        for (number, count) in special.into_iter().enumerate() {
            let at = Physical(RAM_START + ((number as u64) << 21));
            assert_eq!(machine.special_count(at).expect("count").load(std::sync::atomic::Ordering::Relaxed), count, "count of special frames at {at:?}");
        }
        checker
    }

    fn find_boot_objects(&mut self) {
        let globals = RAM_START;
        let objects = globals + PAGE_SIZE;
        let mappings = (0..4).map(|number| objects + 256 + number * 128);
        let all = [globals + KERNEL_SPACE, globals + PHYSICAL_REGION, objects, globals + 2 * PAGE_SIZE].into_iter().chain(mappings);
        for at in all {
            if let Some(kind) = object::type_of(self.machine.peek(at)) {
                self.live.insert(at, kind);
            }
        }
    }

    fn find_objects(&mut self, at: u64, units: u64) {
        let mut unit = 0;
        while unit < 64 {
            let address = at + 64 * unit;
            if units >> unit & 1 == 0 {
                assert!((0..8).all(|word| self.machine.peek(address + 8 * word) == 0), "free unit {address:#x} is not zero");
                unit += 1;
                continue;
            }
            let kind = object::type_of(self.machine.peek(address)).unwrap_or_else(|| panic!("unit {address:#x} is used by nothing"));
            assert_eq!(address % kind.alignment(), 0);
            let count = kind.size() / 64;
            assert!((unit..unit + count).all(|unit| units >> unit & 1 == 1), "{kind:?} at {address:#x} has units that are free");
            self.live.insert(address, kind);
            unit += count;
        }
    }

    /// The live objects of a type.
    pub fn all(&self, kind: ObjectType) -> Vec<Physical> {
        self.live.iter().filter(|(_, found)| **found == kind).map(|(at, _)| Physical(*at)).collect()
    }

    fn assert_live(&self, at: Physical, kind: ObjectType, what: &str) {
        assert_eq!(self.live.get(&at.0), Some(&kind), "{what} names {at:?}");
    }

    fn thread(&self, at: Physical) -> Thread<'w> {
        Thread::new(self.machine, at)
    }

    /// The nodes of a ring, which must be well-formed both ways.
    fn ring(&self, anchor: Physical) -> Vec<Physical> {
        let mut nodes = Vec::new();
        let (mut previous, mut node) = (anchor, list::next(self.machine, anchor));
        loop {
            assert_eq!(self.machine.peek(node.0 + 8), previous.0, "node {node:?} of ring {anchor:?} does not lead back");
            if node == anchor {
                return nodes;
            }
            assert!(nodes.len() < 100_000, "ring {anchor:?} has no end");
            nodes.push(node);
            (previous, node) = (node, list::next(self.machine, node));
        }
    }

    fn queue_ring(&mut self, name: &'static str, anchor: Physical, owner: Physical) {
        for node in self.ring(anchor) {
            let thread = object::thread_of_queue_node(node);
            self.assert_live(thread, ObjectType::Thread, name);
            assert_eq!(self.thread(thread).queue(), node, "{name} holds something that is no queue node");
            assert!(self.queued.insert(thread.0, (name, owner.0)).is_none(), "{thread:?} hangs on two rings");
        }
    }

    fn link_ring(&mut self, anchor: Physical, owner: Physical) {
        for node in self.ring(anchor) {
            let target = self.machine.peek(node.0 - 8);
            assert_eq!(target, owner.0, "a link on the ring of {owner:?} leads elsewhere");
            assert!(self.linked.insert(node.0, anchor.0).is_none());
        }
    }

    /// Walks every ring that has an anchor in a live object.
    fn rings(&mut self) {
        self.ready_rings();
        for (at, kind) in self.live.clone() {
            let at = Physical(at);
            if kind != ObjectType::Reference {
                self.link_ring(links_of(kind, at), at);
            }
            match kind {
                ObjectType::Region => self.link_ring(Region::new(self.machine, at).mappings(), at),
                ObjectType::Thread => self.link_ring(self.thread(at).reply_links(), at),
                ObjectType::Port => {
                    let port = Port::new(self.machine, at);
                    self.queue_ring("senders", port.senders(), at);
                    self.queue_ring("receivers", port.receivers(), at);
                }
                ObjectType::PortSet => {
                    let set = Receivable::new(self.machine, at);
                    self.link_ring(set.ports(), at);
                    self.queue_ring("receivers", set.receivers(), at);
                }
                ObjectType::Mutex | ObjectType::Condition => self.queue_ring("waiters", Waiters::new(self.machine, at).threads(), at),
                _ => {}
            }
        }
        for line in 0..u64::from(INTERRUPT_LINES) {
            self.link(Physical(RAM_START + BINDINGS + 32 * line), ObjectType::Port, None);
        }
    }

    /// A link leads to a live object of a type and hangs on its ring (`anchor`, or that of its
    /// links), or is null and on no ring. Where it leads.
    fn link(&mut self, link: Physical, kind: ObjectType, anchor: Option<fn(&FakeMachine, Physical) -> Physical>) -> Option<Physical> {
        let node = link.add(8);
        let Some(target) = list::link_target(self.machine, link) else {
            assert!(self.ring(node).is_empty() && !self.linked.contains_key(&node.0), "the null link {link:?} hangs on a ring");
            return None;
        };
        self.assert_live(target, kind, "a link");
        let anchor = anchor.map_or_else(|| links_of(kind, target), |anchor| anchor(self.machine, target));
        assert_eq!(self.linked.remove(&node.0), Some(anchor.0), "the link {link:?} is not on the ring of {target:?}");
        Some(target)
    }

    fn objects(&mut self) {
        for (at, kind) in self.live.clone() {
            let at = Physical(at);
            match kind {
                ObjectType::Space => self.space(at),
                ObjectType::Region => {
                    let region = Region::new(self.machine, at);
                    self.link(region.keeper(), ObjectType::Port, None);
                }
                ObjectType::Mapping => {
                    let mapping = Mapping::new(self.machine, at);
                    self.link(mapping.region(), ObjectType::Region, Some(|machine, at| Region::new(machine, at).mappings()));
                }
                ObjectType::Thread => self.check_thread(self.thread(at)),
                ObjectType::Port => self.port(at),
                ObjectType::PortSet => self.set(at),
                ObjectType::Reference => self.reference(at),
                ObjectType::Mutex | ObjectType::Condition => {}
            }
        }
        let left: Vec<_> = self.linked.keys().filter(|node| !self.is_reference_link(**node)).collect();
        assert!(left.is_empty(), "links that no object holds: {left:x?}");
        let globals = RAM_START;
        assert!(self.live.contains_key(&(globals + KERNEL_SPACE)));
    }

    fn is_reference_link(&self, node: u64) -> bool {
        self.live.get(&(node - 32)) == Some(&ObjectType::Reference)
    }

    fn reference(&mut self, at: Physical) {
        let reference = Reference::new(self.machine, at);
        let kind = match reference.kind() {
            kind if kind == TargetType::Reply as u64 => {
                self.link(reference.target(), ObjectType::Thread, Some(|machine, at| Thread::new(machine, at).reply_links()));
                return;
            }
            kind => ObjectType::from_number(kind),
        };
        match kind {
            Some(kind) => drop(self.link(reference.target(), kind, None)),
            None => assert_eq!(list::link_target(self.machine, reference.target()), None, "a reference to nothing leads to something"),
        }
    }

    fn port(&mut self, at: Physical) {
        let port = Port::new(self.machine, at);
        assert_eq!(self.machine.peek(port.claim().0), 0, "a claim on port {at:?} was not given back");
        let set = self.link(port.set(), ObjectType::PortSet, Some(|machine, at| Receivable::new(machine, at).ports()));
        let something = port.has_something(self.machine);
        let receivers = !list::is_empty(self.machine, port.receivers());
        assert!(!(something && receivers), "port {at:?} has receivers and something for them");
        let listed = set.is_some_and(|set| self.ring(Receivable::new(self.machine, set).ready()).contains(&port.ready()));
        assert_eq!(listed, !list::is_empty(self.machine, port.ready()), "port {at:?} is ready in another set");
        let Some(set) = set else { return };
        assert!(listed || !something, "port {at:?} has something and is not ready in its set");
        let waiting = !list::is_empty(self.machine, Receivable::new(self.machine, set).receivers());
        assert!(!(something && waiting), "set {set:?} has receivers and a port with something");
    }

    fn set(&mut self, at: Physical) {
        let set = Receivable::new(self.machine, at);
        assert_eq!(self.machine.peek(set.claim().0), 0, "a claim on set {at:?} was not given back");
        for node in self.ring(set.ready()) {
            let port = object::port_of_ready_node(node);
            self.assert_live(port, ObjectType::Port, "a set's ready ring");
            assert_eq!(list::link_target(self.machine, Port::new(self.machine, port).set()), Some(at));
        }
    }

    fn check_thread(&mut self, thread: Thread<'w>) {
        let at = thread.at;
        let (name, _) = self.queued.get(&at.0).copied().unwrap_or(("nothing", 0));
        let stopped = thread.has(Thread::STOPPED);
        let expected = match thread.wait() {
            wait if wait == WaitKind::Send as u64 || wait == WaitKind::Fault as u64 => "senders",
            wait if (wait == WaitKind::Receive as u64 || wait == WaitKind::Donate as u64) && name == "announcements" => name,
            wait if wait == WaitKind::Receive as u64 => "receivers",
            wait if wait == WaitKind::Lock as u64 => "waiters",
            wait if wait == WaitKind::Ready as u64 && name == "announcements" => name,
            wait if wait == WaitKind::Ready as u64 => "senders",
            wait if wait == WaitKind::Donate as u64 && name == "receivers" => name,
            wait if wait != WaitKind::None as u64 => "nothing",
            _ if stopped || thread.cpu() != 0 => "nothing",
            _ => "run queue",
        };
        assert_eq!(name, expected, "thread {at:?} (wait {}, flags {:#x}, cpu {})", thread.wait(), thread.flags(), thread.cpu());
        if name == "nothing" {
            assert!(self.ring(thread.queue()).is_empty(), "thread {at:?} hangs on an unknown ring");
        }
        assert!(!stopped || thread.waits_for(WaitKind::None), "thread {at:?} is stopped and waits");
        self.check_cpu(thread);
        self.check_time(thread);
        self.check_bond(thread);
        self.check_deadline(thread);
        self.check_memory(thread);
    }

    /// Checks that a thread's remembered lookup still holds in its space's tables.
    fn check_memory(&self, thread: Thread<'w>) {
        let space = thread.space();
        if space != NULL && !self.world.kernel.is_revoking() && thread.named_generation() == Space::new(self.machine, space).generation() {
            let now = self.meaning(space, thread.named(), 0).map(|(at, _)| at);
            assert_eq!(now, Some(thread.named_at()), "{:?} remembers a wrong place of {:#x}", thread.at, thread.named());
            assert_ne!(self.machine.kind(thread.named_at()), Frame::PLAIN);
        }
    }

    fn check_cpu(&self, thread: Thread<'w>) {
        let running = (0..self.machine.cpus.len()).find(|cpu| self.world.running(*cpu).map(|thread| thread.at) == Some(thread.at));
        assert_eq!(thread.cpu(), running.map_or(0, |cpu| cpu as u64 + 1), "thread {:?} is not where it says", thread.at);
        if running.is_some() {
            assert!(thread.waits_for(WaitKind::None) && !thread.has(Thread::STOPPED), "{:?} runs, but may not", thread.at);
            assert_ne!(thread.space(), NULL);
        } else {
            assert!(!thread.has(Thread::EVICT), "{:?} is to be evicted from nowhere", thread.at);
        }
    }

    fn check_bond(&self, thread: Thread<'w>) {
        let (at, server, client) = (thread.at, thread.server(), thread.client());
        let replies = self.ring(thread.reply_links());
        assert!(replies.len() <= 1 && (replies.is_empty() || server == NULL), "{at:?} can be answered in two ways");
        if server != NULL {
            self.assert_live(server, ObjectType::Thread, "a client's server");
            assert_eq!(self.thread(server).client(), at, "the server of {at:?} has another client");
        }
        if client != NULL {
            self.assert_live(client, ObjectType::Thread, "a server's client");
            assert_eq!(self.thread(client).server(), at, "the client of {at:?} has another server");
        }
        let connected = server != NULL || !replies.is_empty();
        let waits = thread.waits_for(WaitKind::Reply);
        let awaits = thread.has(Thread::AWAITS_REPLY);
        let stopped = thread.has(Thread::STOPPED);
        assert!(!connected || awaits || thread.fault() != 0, "{at:?} does not know of its server");
        assert!(!awaits || waits || stopped, "{at:?} goes on although it awaits a reply");
        assert!(!awaits || thread.fault() == 0, "{at:?} awaits two answers");
        assert!(!waits || connected, "{at:?} waits for a reply that nobody owes");
        assert!(!waits || thread.fault() != 0 || thread.has(Thread::AWAITS_REPLY));
        let may_fault = waits || stopped || thread.waits_for(WaitKind::Fault);
        assert!(thread.fault() == 0 || may_fault, "{at:?} has faulted and does not wait for its keeper");
        assert!(thread.fault() != 0 || !thread.waits_for(WaitKind::Fault));
    }

    fn check_deadline(&self, thread: Thread<'w>) {
        let armed = thread.deadline_armed() != 0;
        assert!(!armed || !thread.waits_for(WaitKind::None), "{:?} has a deadline and does not wait", thread.at);
        assert!(armed || !thread.waits_for(WaitKind::Sleep), "{:?} sleeps for ever", thread.at);
        if !armed {
            return;
        }
        // All deadlines are in one tree: from each, the same root is reached.
        let mut node = Node::new(self.machine, thread.deadline_node());
        while node.parent() != NULL {
            let parent = Node::new(self.machine, node.parent());
            assert!(parent.left() == node.at || parent.right() == node.at, "a deadline's parent does not know it");
            self.assert_live(Physical(parent.at.0 & !0xfff), ObjectType::Thread, "the tree of deadlines");
            assert_ne!(self.thread(Physical(parent.at.0 & !0xfff)).deadline_armed(), 0);
            node = parent;
        }
        let seen = self.tree(node.at);
        let armed = self.all(ObjectType::Thread).into_iter().filter(|at| self.thread(*at).deadline_armed() != 0).count();
        assert_eq!(seen.len(), armed, "there are deadlines in no tree");
    }

    /// The nodes of a tree in order; its shape must be sound.
    fn tree(&self, root: Physical) -> Vec<Physical> {
        let mut nodes = Vec::new();
        if root != NULL {
            assert_eq!(Node::new(self.machine, root).parent(), NULL, "the root of a tree has a parent");
            self.subtree(root, &mut nodes);
        }
        let starts: Vec<u64> = nodes.iter().map(|at| Node::new(self.machine, *at).start()).collect();
        assert!(starts.is_sorted(), "a tree is out of order");
        nodes
    }

    fn subtree(&self, at: Physical, nodes: &mut Vec<Physical>) -> u64 {
        assert!(nodes.len() < 100_000, "a tree without an end");
        let node = Node::new(self.machine, at);
        let mut highest = node.end();
        if node.left() != NULL {
            assert_eq!(Node::new(self.machine, node.left()).parent(), at);
            highest = highest.max(self.subtree(node.left(), nodes));
        }
        nodes.push(at);
        if node.right() != NULL {
            assert_eq!(Node::new(self.machine, node.right()).parent(), at);
            highest = highest.max(self.subtree(node.right(), nodes));
        }
        assert_eq!(node.highest(), highest, "highest end below {at:?}");
        highest
    }

    fn space(&mut self, at: Physical) {
        let space = Space::new(self.machine, at);
        self.link(space.keeper(), ObjectType::Port, None);
        self.link(space.watcher(), ObjectType::Port, None);
        let layers = [space.mapping_root(), space.overlay_root()].map(|root| self.tree(Physical(self.machine.peek(root.0))));
        let mappings = layers.concat();
        let regions = self.tree(Physical(self.machine.peek(space.region_root().0)));
        let threads: Vec<Physical> = self.ring(space.threads()).into_iter().map(|node| Physical(node.0 & !0xfff)).collect();
        let mine = |kind, of: &dyn Fn(Physical) -> Physical| -> BTreeSet<Physical> { self.all(kind).into_iter().filter(|it| of(*it) == at).collect() };
        let sets = [
            (&mappings, mine(ObjectType::Mapping, &|at| self.machine.home_of(Mapping::new(self.machine, at).home()))),
            (&regions, mine(ObjectType::Region, &|at| self.machine.home_of(Region::new(self.machine, at).home()))),
            (&threads, mine(ObjectType::Thread, &|at| self.thread(at).space())),
        ];
        for (found, expected) in sets {
            assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), expected, "parts of space {at:?}");
        }
        assert_eq!(space.population(), (mappings.len() + regions.len() + threads.len()) as u64);
        layers.iter().zip([false, true]).for_each(|(layer, over)| self.layer(layer, over));
        let active = (0..self.machine.cpus.len()).filter(|cpu| self.machine.cpus[*cpu].root.get() == Some(space.root()));
        assert_eq!(space.active(), active.map(|cpu| 1 << cpu).sum::<u64>(), "CPUs that have space {at:?}");
    }

    fn pools(&self) {
        let mut owned = BTreeSet::new();
        for at in self.all(ObjectType::Space) {
            let (space, mut chain) = (Space::new(self.machine, at), Vec::new());
            let mut frame = space.root();
            while frame != NULL {
                let record = self.machine.frame(frame).expect("frame");
                let owner = if chain.is_empty() { at } else { space.root() };
                assert_eq!((record.kind.get() % PAGE_SIZE, record.units.get()), (Frame::TABLE, owner.0), "frame {frame:?} of the pool of {at:?}");
                assert!(owned.insert(frame.0), "a frame is in two pools");
                chain.push(frame);
                frame = Physical(record.kind.get() & !(PAGE_SIZE - 1));
            }
            assert_eq!(space.pool_pages(), chain.len() as u64);
            let Some(last) = chain.last() else { continue };
            assert_eq!(space.pool_last(), *last);
            let taken = chain.iter().position(|frame| *frame == space.pool_cursor()).unwrap_or(chain.len());
            let tables = self.machine.tables.borrow();
            let frames = &tables[&space.root().0].frames;
            assert!(frames.iter().all(|frame| chain[1..taken].contains(&Physical(*frame))), "tables of {at:?} use what can be taken again");
        }
        assert_eq!(self.table_frames, owned, "frames of tables, and of pools");
    }

    fn tables(&self) {
        for at in self.all(ObjectType::Space) {
            let space = Space::new(self.machine, at);
            if space.root() == NULL {
                continue;
            }
            for (start, leaf) in &self.machine.tables.borrow()[&space.root().0].leaves {
                self.leaf(at, *start, *leaf);
            }
        }
        for cpu in &self.machine.cpus {
            let Some(root) = cpu.root.get() else { continue };
            for (page, held) in cpu.translations.borrow().iter() {
                let now = self.machine.table_lookup(root, *page);
                let same = now.is_some_and(|now| (now.physical, now.kind, now.rights) == (held.physical, held.kind, held.rights));
                assert!(same, "a CPU still holds {held:?} for {page:#x}; the tables say {now:?}");
            }
        }
    }

    fn leaf(&self, space: Physical, start: u64, leaf: Leaf) {
        let pages = leaf.size.bytes() / PAGE_SIZE;
        let step = [1, 61, 30011][[PageSize::Small, PageSize::Large, PageSize::Huge].iter().position(|size| *size == leaf.size).unwrap_or(0)];
        for page in (0..pages).step_by(step).chain([pages - 1]) {
            let (address, physical) = (start + page * PAGE_SIZE, leaf.physical.add(page * PAGE_SIZE));
            // Rights that were given since then are not in the tables before somebody wants them.
            let meant = self.meaning(space, address, 0).is_some_and(|(at, rights)| at == physical && rights.contains(leaf.rights));
            let is_memory = matches!(leaf.kind, LeafKind::Memory | LeafKind::Privileged);
            let meant = meant || is_memory && self.may_view(space, address, physical, leaf.rights);
            assert!(meant, "leaf of {space:?} at {address:#x} ({:?})", leaf.size);
            let kind = match self.machine.kind(physical) {
                Frame::PLAIN => LeafKind::Memory,
                Frame::OBJECTS => LeafKind::Objects,
                u64::MAX => LeafKind::Device,
                kind => panic!("a leaf shows a frame of kind {kind}"),
            };
            let shown = if leaf.kind == LeafKind::Privileged { LeafKind::Memory } else { leaf.kind };
            assert_eq!(kind, shown, "leaf of {space:?} at {address:#x}");
        }
    }
}

fn machine_counts() -> usize {
    ((RAM_END - RAM_START) >> 21) as usize
}
