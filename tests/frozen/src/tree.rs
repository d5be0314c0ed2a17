//! A tree of processes with their manager: runs, is taken, destroyed and made anew in the other
//! window, and goes on.

use crate::loss::Losses;
use crate::memory::{self, BUFFER, POOLS, WINDOWS};
use crate::server::{Entry, Server, What};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::{Call, Code, ObjectType, PAGE_SIZE, Status};
use nacre_nest::{Ports, search};
use nacre_proto::{Event, ServerEndpoint};
use nacre_rt::Arguments;
use nacre_snapshot::{Access, Frame};
use nacre_sys::OwnedPortSet;

/// Nanoseconds between two freezes: the first may fall into the manager's start.
const PAUSES: [u64; 5] = [1_000_000, 300_000, 2_300_000, 700_000, 4_100_000];
/// Number of freezes after which a tree is left alone. A tree that loses a part is frozen until it
/// must have needed the part.
const MOST: u32 = 7;
const MAX_LOSSES: u32 = 40;
/// Nanoseconds after which a tree that is left alone hangs.
const PATIENCE: u64 = 4_000_000_000;

/// Calls of the system.
struct System;

impl Access for System {
    fn call(&mut self, call: Call, arguments: [u64; 8]) -> (Status, u64, u64) {
        nacre_raw::call(call, arguments)
    }

    fn read(&mut self, address: u64) -> u64 {
        nacre_raw::read(address)
    }

    fn write(&mut self, address: u64, value: u64) {
        nacre_raw::write(address, value);
    }
}

pub struct Tree {
    set: OwnedPortSet,
    server: Server,
    endpoint: ServerEndpoint,
    /// References of ours for the taking.
    slots: u64,
    rebuilt: u32,
    objects: usize,
}

fn said<E: core::fmt::Debug>(what: &'static str) -> impl Fn(E) -> String {
    move |trouble| format!("{what}: {trouble:?}")
}

impl Tree {
    pub fn new() -> Result<Tree, String> {
        nacre_sys::memory::reclaim(WINDOWS[0], BUFFER + 2 * PAGE_SIZE - WINDOWS[0]).map_err(said("reclaim"))?;
        let set = OwnedPortSet::new().map_err(said("a set"))?;
        let mut server = Server::new(set.handle()).map_err(said("services"))?;
        server.add(What::Parent).map_err(said("its parent"))?.leak();
        let slots = BUFFER + 2 * PAGE_SIZE;
        for number in 0..3 {
            // Objects of the last tree may still be there.
            let _ = nacre_sys::Reference::create(slots + 64 * number);
        }
        Ok(Tree { set, server, endpoint: ServerEndpoint::new(nacre_abi::message::MAX_BYTES as usize).map_err(said("an endpoint"))?, slots, rebuilt: 0, objects: 0 })
    }

    /// Starts the command: its first part is to be the manager.
    pub fn start(&mut self, command: &[&[u8]], number: u64, arguments: &Arguments) -> Result<(), String> {
        let Some(Entry { port, .. }) = &self.server.entries[0] else { return Err(String::from("no parent")) };
        let parent = port.new_reference(nacre_abi::rights::REFERENCE_USE).map_err(said("its parent"))?;
        let ports = Ports { parent: parent.handle(), keeper: port.handle().as_keeper() };
        let child = search::spawn(&mut self.server, command, number, arguments, ports).map_err(|refusal| format!("{refusal}"))?;
        child.start().map_err(|refusal| format!("{refusal}"))?;
        // Its objects are known by their places, which change.
        core::mem::forget(child);
        Ok(())
    }

    /// The most objects of a freeze.
    pub fn most_objects(&self) -> usize {
        self.objects
    }

    /// Serves it to its end, and rebuilds it on the way, without what is to be lost: its status,
    /// and how often that was.
    pub fn run(&mut self, losses: &Losses) -> Result<(u64, u32), String> {
        let most = if losses.is_empty() { MOST } else { MAX_LOSSES };
        loop {
            if let Some(status) = self.server.ended {
                return Ok((status, self.rebuilt));
            }
            let is_alone = self.rebuilt == most;
            let pause = if is_alone { PATIENCE } else { PAUSES[self.rebuilt as usize % PAUSES.len()] };
            let end = nacre_sys::clock::ticks() + pause;
            if self.serve_until(end)? && is_alone {
                return Err(format!("hangs after {} rebuilds", self.rebuilt));
            }
            if !is_alone && self.server.ended.is_none() {
                self.rebuild(losses)?;
                self.rebuilt += 1;
            }
        }
    }

    /// Serves until that time, or the end; whether the time came.
    fn serve_until(&mut self, end: u64) -> Result<bool, String> {
        while self.server.ended.is_none() {
            let left = end.saturating_sub(nacre_sys::clock::ticks()).max(1);
            if !self.serve(left)? && left <= end.saturating_sub(nacre_sys::clock::ticks()).max(1) {
                return Ok(true);
            }
            if nacre_sys::clock::ticks() >= end {
                // A client that was served has its answer before the freeze.
                while self.server.ended.is_none() && self.serve(1)? {}
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Serves one event, if there is one within so many nanoseconds.
    fn serve(&mut self, nanoseconds: u64) -> Result<bool, String> {
        match self.endpoint.next(self.set.handle().0, nanoseconds) {
            Ok(Event::Request(mut request)) => self.server.handle(&mut request),
            Ok(Event::Notification { word, bits }) => self.server.notified(word, bits),
            Ok(Event::Exception(request)) => return Err(format!("an exception: {:x?}", request.words())),
            Ok(Event::Fault(request)) => return Err(format!("a fault: {:x?}", request.words())),
            Err(status) if status.code() == Some(Code::TimedOut) => return Ok(false),
            Err(status) => return Err(format!("receiving: {status:?}")),
        }
        Ok(true)
    }

    /// The tree where it is now.
    fn frame(&self) -> Frame {
        let outside = self.server.entries.iter().flatten().flat_map(|Entry { port, what }| {
            let mut all = Vec::from([port.handle().0]);
            if let What::Segment(piece, conditions) = what {
                all.push(piece.region.handle().0);
                all.extend(conditions.iter().map(|(_, condition)| condition.handle().0));
            }
            all
        });
        let size = self.server.pieces().map(|piece| piece.offset + piece.size).max().unwrap_or(0);
        let window = self.server.window;
        Frame { start: WINDOWS[window], size, outside: outside.collect(), buffer: BUFFER, slots: self.slots, pool: POOLS[window] }
    }

    /// All regions over the other window, in place of those over this one, which go.
    fn turn(&mut self) -> Result<(), String> {
        self.server.window ^= 1;
        let window = self.server.window;
        for entry in self.server.entries.iter_mut().flatten() {
            if let What::Segment(piece, _) = &mut entry.what {
                piece.region = memory::region(window, piece.offset, piece.size).map_err(said("a region"))?;
            }
        }
        Ok(())
    }

    fn rebuild(&mut self, losses: &Losses) -> Result<(), String> {
        let frame = self.frame();
        let mut running = Vec::new();
        loop {
            // A thread that was not stopped yet may have made others.
            let before = running.len();
            frame.stop(&mut System, &mut running).map_err(said("stop"))?;
            if running.len() == before {
                break;
            }
        }
        while self.serve(1)? {}
        let frame = self.frame();
        let mut snapshot = frame.take(&mut System).map_err(said("take"))?;
        // Memory that was given back meanwhile took its threads along.
        running.retain(|thread| snapshot.objects.iter().any(|object| object.kind == ObjectType::Thread && object.offset == *thread));
        snapshot.running = running;
        losses.take(&mut snapshot);
        self.objects = self.objects.max(snapshot.objects.len());
        frame.destroy(&mut System).map_err(said("destroy"))?;
        (0..frame.size).step_by(8).for_each(|byte| nacre_raw::write(frame.start + byte, 0xdead_dead_dead_dead));
        // The news that all references have gone needs no answer here.
        while self.endpoint.next(self.set.handle().0, 1).is_ok() {}
        self.turn()?;
        let frame = self.frame();
        frame.restore(&mut System, &snapshot).map_err(said("restore"))?;
        frame.start(&mut System, &snapshot.running).map_err(said("start"))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // The contents go before the ports and regions that they know.
        let frame = self.frame();
        let _ = frame.destroy(&mut System);
    }
}
