//! The kernel objects of proxies: for each, in one quarter of a kilobyte of windows of our own, a
//! port, the reference that it stands for (its *original*), and for a moment the reference to the
//! port that is handed on. That all ports lie in few windows is what lets `reference_reveal` tell a
//! proxy of ours that comes back.

use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::{ObjectType, Status};
use nacre_sys::{Port, PortSet, Reference, Window};

/// Bytes of object memory for one proxy.
pub const SIZE: u64 = 256;
const ORIGINAL: u64 = 128;
const HANDLE: u64 = 192;

const _: () = assert!(ORIGINAL >= ObjectType::Port.size() && HANDLE - ORIGINAL >= ObjectType::Reference.size());

/// Proxies of the first window; each has twice as many as the one before.
const FIRST: usize = 512;
/// Maximum number of windows. With them there are nearly as many proxies as a port's word can tell
/// apart.
const WINDOWS: usize = 7;

/// Proxies of a window.
const fn proxies_of(window: usize) -> usize {
    FIRST << window
}

/// Number of the first proxy of a window.
const fn first_of(window: usize) -> usize {
    FIRST * ((1 << window) - 1)
}

/// Number of the window that a proxy lies in.
#[inline]
const fn window_of(index: usize) -> usize {
    (index / FIRST + 1).ilog2() as usize
}

/// Memory of proxies' objects: windows, of which each is taken when those before it are full.
pub struct Objects {
    /// First addresses; 0 if the window was not taken yet.
    starts: [AtomicU64; WINDOWS],
    set: PortSet,
}

impl Objects {
    /// Returns memory without windows. Workers will receive from ports of `set`.
    pub fn new(set: PortSet) -> Objects {
        Objects { starts: [const { AtomicU64::new(0) }; WINDOWS], set }
    }

    /// Adds a window, which may hold objects. False if there are enough.
    pub fn add(&self, window: Window) -> bool {
        let free = self.starts.iter().find(|start| start.load(Ordering::Relaxed) == 0);
        if let Some(start) = free {
            start.store(window.start(), Ordering::Release);
        }
        free.is_some()
    }

    /// Returns how many proxies the next window has; none if there are as many windows as there may
    /// be.
    pub fn next_window(&self) -> Option<usize> {
        self.starts.iter().position(|start| start.load(Ordering::Relaxed) == 0).map(proxies_of)
    }

    #[inline]
    fn at(&self, index: usize) -> u64 {
        let window = window_of(index);
        let start = self.starts.get(window).map_or(0, |start| start.load(Ordering::Acquire));
        start + (index - first_of(window)) as u64 * SIZE
    }

    /// The port of the proxy at `index`.
    pub fn port(&self, index: usize) -> Port {
        Port(self.at(index))
    }

    /// Returns the object that the proxy at `index` stands for.
    pub fn original(&self, index: usize) -> Reference {
        Reference(self.at(index) + ORIGINAL)
    }

    fn handle(&self, index: usize) -> Reference {
        Reference(self.at(index) + HANDLE)
    }

    /// Returns the index of the proxy that `reference` leads to, if it is one of this monitor's.
    pub fn index_of(&self, reference: Reference) -> Option<usize> {
        let starts = self.starts.iter().map(|start| start.load(Ordering::Acquire)).take_while(|start| *start != 0);
        starts.enumerate().find_map(|(window, start)| {
            let revealed = reference.reveal(start, proxies_of(window) as u64 * SIZE).ok()??;
            let index = ((revealed.address - start) / SIZE) as usize;
            (revealed.kind == ObjectType::Port as u64).then_some(first_of(window) + index)
        })
    }

    /// Makes the objects of proxy `index`: a port with `word`, for `original`, which is moved out
    /// of its slot. Returns the reference to hand on, which is withdrawn as soon as it has been
    /// copied. It can be called and notified only if a reference with `rights` can.
    pub fn build(&self, index: usize, word: u64, (original, rights): (Reference, u64)) -> Result<Reference, Status> {
        original.move_to(self.original(index).address())?;
        let made = Port::create(self.port(index).address(), word, self.set).and_then(|_| self.lend(index, rights & (REFERENCE_USE | REFERENCE_NOTIFY)));
        made.inspect_err(|_| self.dismantle(index))
    }

    fn lend(&self, index: usize, rights: u64) -> Result<Reference, Status> {
        let handle = Reference::create(self.handle(index).address())?;
        self.port(index).reference(handle, rights)?;
        Ok(handle)
    }

    /// The reference that `build` made was copied, or could not be. If nobody has a copy, the
    /// kernel tells the port so.
    pub fn withdraw(&self, index: usize) {
        // It is there: only `dismantle` destroys it too, and proxies that are being built are not
        // dismantled.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_each_other_without_a_gap() {
        for window in 0..WINDOWS {
            let (first, next) = (first_of(window), first_of(window + 1));
            assert_eq!(next - first, proxies_of(window));
            assert_eq!((window_of(first), window_of(next - 1)), (window, window));
        }
        assert!(first_of(WINDOWS) <= 1 << 16);
    }
}
