//! The guest's network: a thread that carries frames of its card over to sockets, and back. The
//! card's device and the thread meet at two queues of frames, behind a lock that is taken last.

use crate::board::BOARD;
use crate::entropy::FileRandom;
use crate::shortage;
use crate::sockets::{self, Sockets};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::rights::REFERENCE_NOTIFY;
use nacre_machine_network::{CARD, Gateway};
use nacre_machine_virtio::{Random, Wire};
use nacre_nest::clock::Clock;
use nacre_nest::{Services, attending};
use nacre_rt::thread;
use nacre_sys::ipc::{self, Buffers};
use nacre_sys::lock::Lock;
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, PortSet};

/// Number of frames that wait, at most, in each direction.
const MAX_FRAMES: usize = 256;
/// Bit by which the card calls the thread. The sockets have those below it, the kernel those above.
const FRAMES: u64 = 1 << sockets::BITS;
/// Queues of the card.
const ARRIVALS: usize = 0;
const DEPARTURES: usize = 1;
/// Free memory below which there are no new connections.
const ROOM: usize = 1 << 20;

/// Frames between the card and the thread.
struct Cable {
    arriving: VecDeque<Vec<u8>>,
    departing: VecDeque<Vec<u8>>,
    /// The thread's port, once there is one.
    caller: Option<OwnedReference>,
}

static CABLE: Lock<Cable> = Lock::new(Cable { arriving: VecDeque::new(), departing: VecDeque::new(), caller: None });
/// The network, until its thread takes it.
static NETWORK: Lock<Option<Network>> = Lock::new(None);

/// Frames that the guest has sent and was sent, and its connections.
pub static FRAMES_OUT: AtomicU64 = AtomicU64::new(0);
/// Frames that the guest was sent.
pub static FRAMES_IN: AtomicU64 = AtomicU64::new(0);
/// Connections of the guest's.
pub static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

impl Cable {
    fn call(&self) {
        if let Some(caller) = &self.caller {
            // The thread stays as long as the program.
            let _ = ipc::notify(caller.handle(), FRAMES);
        }
    }
}

/// The card's end of the cable.
pub struct Plug;

impl Wire for Plug {
    fn address(&self) -> [u8; 6] {
        CARD
    }

    fn has_room(&mut self) -> bool {
        CABLE.lock().departing.len() < MAX_FRAMES
    }

    fn send(&mut self, frame: Vec<u8>) {
        let mut cable = CABLE.lock();
        if cable.departing.is_empty() {
            cable.call();
        }
        cable.departing.push_back(frame);
    }

    fn has_frame(&mut self) -> bool {
        !CABLE.lock().arriving.is_empty()
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut cable = CABLE.lock();
        if cable.arriving.len() == MAX_FRAMES {
            cable.call();
        }
        cable.arriving.pop_front()
    }
}

/// The network behind the cable.
struct Network {
    gateway: Gateway,
    sockets: Sockets,
    port: OwnedPort,
    clock: Clock,
    /// Number of the card among the devices of the bus.
    card: usize,
}

impl Network {
    /// Does what is due. Returns the nanoseconds for which there is nothing to do, if nobody calls.
    fn turn(&mut self) -> u64 {
        let frames = core::mem::take(&mut CABLE.lock().departing);
        let now = self.clock.now();
        self.gateway.set_room(nacre_rt::heap::has_room(ROOM));
        FRAMES_OUT.fetch_add(frames.len() as u64, Ordering::Relaxed);
        frames.iter().for_each(|frame| self.gateway.arrive(frame, &mut self.sockets, now));
        let changed = self.sockets.take_changed();
        self.gateway.turn(&mut self.sockets, &changed, now);
        self.sockets.expect();
        CONNECTIONS.store(self.gateway.connections() as u64, Ordering::Relaxed);
        if self.send() {
            BOARD.serve(self.card, ARRIVALS);
        }
        if frames.len() >= MAX_FRAMES {
            BOARD.serve(self.card, DEPARTURES);
        }
        if self.sockets.has_changed() { 1 } else { self.gateway.patience(now).map_or(FOREVER, |patience| patience.max(1)) }
    }

    /// Gives the card the frames that are for the guest, as far as there is room. Returns true if
    /// there were any.
    fn send(&mut self) -> bool {
        let mut cable = CABLE.lock();
        let leaving = self.gateway.leaving();
        let count = leaving.len().min(MAX_FRAMES - cable.arriving.len().min(MAX_FRAMES));
        cable.arriving.extend(leaving.drain(..count));
        FRAMES_IN.fetch_add(count as u64, Ordering::Relaxed);
        count != 0
    }

    /// Waits for frames of the guest's and for sockets, at most for so long.
    fn wait(&mut self, patience: u64) {
        if let Ok(received) = ipc::receive(self.port.handle().address(), Buffers::NONE, patience)
            && let Some(bits) = received.notification()
        {
            self.sockets.notified(bits & !FRAMES);
        }
    }
}

/// Starts the network of the device with this number on the bus. Returns the card's end of it.
pub fn begin(services: &Services, card: usize) -> Result<Plug, String> {
    let failed = |status| format!("cannot make a network: {status:?}");
    let port = OwnedPort::new(0, PortSet::NONE).map_err(failed)?;
    let mut random = [0; 10];
    if let Some(mut source) = FileRandom::open(services) {
        source.fill(&mut random);
    }
    let [low, high, seed @ ..] = random;
    let called = || port.new_reference(REFERENCE_NOTIFY).map_err(failed);
    let sockets = Sockets::find(called()?, u16::from_le_bytes([low, high]));
    let sockets = sockets.ok_or_else(|| "there is no network to carry the guest's over; `nacre run --net user` gives the environment one".to_string())?;
    let clock = Clock::find().map_err(|errno| format!("cannot find the clock: {errno}"))?;
    let gateway = Gateway::new(u64::from_le_bytes(seed), clock.now());
    CABLE.lock().caller = Some(called()?);
    *NETWORK.lock() = Some(Network { gateway, sockets, port, clock, card });
    let handle = thread::spawn(serve, 0).map_err(|errno| format!("cannot start a thread for the network: {}", shortage::because(errno)))?;
    attending::count(&handle);
    core::mem::forget(handle);
    Ok(Plug)
}

fn serve(_: usize) {
    let Some(mut network) = NETWORK.lock().take() else { return };
    loop {
        let patience = network.turn();
        network.wait(patience);
    }
}
