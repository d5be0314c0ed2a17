//! The layer: a tree around the files of our parent's, whose changes stay in it, and those who ask
//! for its files.

use crate::below::{Below, Paths};
use crate::objects::{Kind, Objects};
use crate::store::Memory;
use alloc::boxed::Box;
use alloc::rc::Rc;
use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::fault;
use nacre_abi::message::{MAX_BYTES, NO_REFERENCES};
use nacre_proto::flags::{CLOCK_REALTIME, SERVICE_CLOCK, SERVICE_FILES};
use nacre_proto::{Errno, Event, Request, ServerEndpoint, clock, directory, file, parent, terminal};
use nacre_root::locks::{Holder, Locks};
use nacre_root::open_file::{DEVICES, OpenFile};
use nacre_root::store::Store;
use nacre_root::table::Key;
use nacre_root::tree::outside::Changes;
use nacre_root::tree::{Node, NodeContent, Time, Tree};
use nacre_root::values::Values;
use nacre_sys::{FOREVER, OwnedReference, Reference, Status};

/// Bytes of the layer's memory that are taken, and number of its files that are known.
pub static TAKEN: AtomicU64 = AtomicU64::new(0);
/// See [`TAKEN`].
pub static KNOWN: AtomicU64 = AtomicU64::new(0);

/// The layer.
pub struct Layer {
    /// The tree.
    pub tree: Tree<Memory>,
    /// Objects of those who ask.
    pub objects: Objects,
    /// Locks of files.
    pub locks: Locks<OwnedReference>,
    /// Number of locks.
    pub locked: usize,
    /// Values of extended attributes that come in parts.
    pub values: Values,
    /// The files of our parent's.
    pub below: Rc<OwnedReference>,
    paths: Rc<RefCell<Paths>>,
    clock: OwnedReference,
}

impl Layer {
    /// Makes an empty layer of so many bytes over our parent's files.
    pub fn new(size: u64) -> Result<Layer, Errno> {
        let find = |service| parent::find(Reference::PARENT, service).map(|reply| reply.found);
        let (below, clock) = (Rc::new(find(SERVICE_FILES)?), find(SERVICE_CLOCK)?);
        let paths = Rc::new(RefCell::new(Paths::new(1)));
        let mut tree = Tree::new(Memory::new(size), Time::default());
        let root = tree.root();
        tree.join(root, Box::new(Below::new(below.clone(), paths.clone())), Changes::Kept)?;
        let mut layer = Layer { tree, objects: Objects::new()?, locks: Locks::default(), locked: 0, values: Values::default(), below, paths, clock };
        layer.count_known();
        Ok(layer)
    }

    /// A reference to the outermost directory, for the program within.
    pub fn reference(&mut self) -> Result<OwnedReference, Errno> {
        let root = self.tree.root();
        let file = OpenFile::new(root, self.tree.node(root)?, 0, false)?;
        self.tree.opened(root);
        self.objects.give(Kind::File(file))
    }

    /// The time since 1970.
    pub fn now(&self) -> Time {
        let read = clock::read(self.clock.handle(), CLOCK_REALTIME);
        read.map_or(Time::default(), |reply| Time { seconds: reply.seconds as i64, nanoseconds: reply.nanoseconds as u32 })
    }

    /// The path of a file of our parent's, if a node is that file still, with all that it holds.
    pub fn path_below(&self, node: &Node) -> Option<Rc<[u8]>> {
        let is_same = match &node.body {
            NodeContent::File(content) => !content.is_kept(),
            NodeContent::Special(_) => true,
            NodeContent::Directory(_) | NodeContent::Link(_) => false,
        };
        self.paths.borrow().get(node.origin.filter(|_| is_same)?.id).ok()
    }

    /// The path of a device of our parent's that a node stands for.
    pub fn device(&self, node: &Node, number: u64) -> Option<Rc<[u8]>> {
        let known = || DEVICES.iter().find(|(_, known, _)| *known == number).map(|(path, ..)| Rc::from(*path));
        self.path_below(node).or_else(known)
    }

    /// Serves until nobody can ask any more.
    pub fn run(&mut self) -> Result<(), Status> {
        let mut endpoint = ServerEndpoint::new(MAX_BYTES as usize).map_err(|_| Status::new(nacre_abi::Code::NoMemory))?;
        loop {
            let event = endpoint.next(self.objects.set().address(), FOREVER)?;
            self.handle(event);
            self.count_known();
            TAKEN.store(self.tree.store().taken(), Ordering::Relaxed);
            KNOWN.store(self.tree.len() as u64, Ordering::Relaxed);
        }
    }

    /// Lets what is known of files below take memory, and no more of them be looked for than there
    /// is memory for. None is forgotten: each has its number, which programs know.
    fn count_known(&mut self) {
        let (store, mut paths) = (self.tree.store_mut(), self.paths.borrow_mut());
        store.set_known(paths.known());
        paths.room = store.names();
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Request(mut request) => self.dispatch(&mut request),
            Event::Notification { word, bits } if bits & NO_REFERENCES != 0 => self.close(Key::from_word(word)),
            Event::Notification { .. } => {}
            Event::Exception(mut request) | Event::Fault(mut request) => request.answer(fault::REFUSE, [0; 6]),
        }
    }

    fn dispatch(&mut self, request: &mut Request<'_>) {
        let is_file = matches!(self.objects.kind(Key::from_word(request.word())), Some(Kind::File(_)));
        match request.protocol() {
            directory::NUMBER if is_file => directory::dispatch(self, request),
            file::NUMBER if is_file => file::dispatch(self, request),
            terminal::NUMBER if is_file => request.refuse(Errno::ENOTTY),
            _ => request.refuse(Errno::ENOSYS),
        }
    }

    /// Takes an object down that nobody refers to any more.
    fn close(&mut self, key: Key) {
        match self.objects.remove(key) {
            Some(Kind::File(file)) => {
                self.unlock_all(Holder::File(key), Some(file.node));
                if file.is_writer {
                    self.tree.stop_writing(file.node);
                }
                self.tree.closed(file.node);
            }
            Some(Kind::Owner(_)) => self.unlock_all(Holder::Process(key), None),
            Some(Kind::Running(node)) => {
                self.tree.stop_running(node);
                self.tree.closed(node);
            }
            None => {}
        }
    }

    /// `ENFILE` if there is no memory for another record.
    pub fn check_room(&self) -> Result<(), Errno> {
        if self.tree.store().has_room() { Ok(()) } else { Err(Errno::ENFILE) }
    }
}
