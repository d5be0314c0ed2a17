//! The kernel objects of proxies: for each, in one quarter of a kilobyte of a window of our own, a port, the reference that it stands for (its
//! *original*), and for a moment the reference to the port that is handed on. That all ports lie in one window is what lets
//! `reference_reveal` tell a proxy of ours that comes back.

use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{ObjectType, Status};
use nacre_sys::{Port, PortSet, Reference, Window};

/// Bytes of object memory for one proxy.
pub const SIZE: u64 = 256;
const ORIGINAL: u64 = 128;
const HANDLE: u64 = 192;

const _: () = assert!(ORIGINAL >= ObjectType::Port.size() && HANDLE - ORIGINAL >= ObjectType::Reference.size());

/// Where the objects are.
#[derive(Clone, Copy)]
pub struct Objects {
    start: u64,
    size: u64,
    set: PortSet,
}

impl Objects {
    /// Objects in `window`, which may hold them; their ports are received from at `set`.
    pub fn new(window: Window, set: PortSet) -> Objects {
        Objects { start: window.start(), size: window.size(), set }
    }

    fn at(&self, index: usize) -> u64 {
        self.start + index as u64 * SIZE
    }

    fn port(&self, index: usize) -> Port {
        Port(self.at(index))
    }

    /// What the proxy at `index` stands for.
    pub fn original(&self, index: usize) -> Reference {
        Reference(self.at(index) + ORIGINAL)
    }

    fn handle(&self, index: usize) -> Reference {
        Reference(self.at(index) + HANDLE)
    }

    /// Which proxy `reference` leads to, if it is one of ours.
    pub fn index_of(&self, reference: Reference) -> Option<usize> {
        let revealed = reference.reveal(self.start, self.size).ok()??;
        (revealed.kind == ObjectType::Port as u64).then(|| ((revealed.address - self.start) / SIZE) as usize)
    }

    /// Makes the objects of proxy `index`: a port with `word`, for `original`, which is moved out of its slot. Returns the reference to hand on, which
    /// is withdrawn as soon as it has been copied.
    pub fn build(&self, index: usize, word: u64, original: Reference) -> Result<Reference, Status> {
        original.move_to(self.original(index).address())?;
        let made = Port::create(self.port(index).address(), word, self.set).and_then(|_| self.lend(index));
        made.inspect_err(|_| self.dismantle(index))
    }

    fn lend(&self, index: usize) -> Result<Reference, Status> {
        let handle = Reference::create(self.handle(index).address())?;
        self.port(index).reference(handle, REFERENCE_USE)?;
        Ok(handle)
    }

    /// The reference that `build` made was copied, or could not be. If nobody has a copy, the kernel tells the port so.
    pub fn withdraw(&self, index: usize) {
        // It is there: only `dismantle` destroys it too, and proxies that are being built are not dismantled.
        let _ = self.handle(index).destroy();
    }

    /// Destroys what there is of a proxy. Clients that wait get what they get when a server goes.
    pub fn dismantle(&self, index: usize) {
        // Objects that are not there need no destruction.
        let _ = self.handle(index).destroy();
        let _ = self.port(index).destroy();
        let _ = self.original(index).destroy();
    }
}
