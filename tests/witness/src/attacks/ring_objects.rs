//! The manager reads and writes the ring of a shared pipe. A client made a kernel object there, so
//! the manager faulted; other clients write nonsense there.

use crate::tools::{PATIENCE, find, why};
use crate::outcome::{Outcome, Verdict};
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_proto::flags::SERVICE_CHANNELS;
use nacre_proto::{channel, file};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{OwnedMapping, Port, PortSet, Reference, Region, Space, Span, SpanMut, Window};

/// Rounds of nonsense.
const ROUNDS: u64 = 400;

/// Asks both ends for everything that looks into the ring. Any answer will do, and none after a
/// short while too.
fn use_ends(ends: [Reference; 2]) {
    let mut bytes = [0; 64];
    for end in ends {
        for (label, words) in [
            (file::write::LABEL, [u64::MAX, 0, 0, 0, 0, 0]),
            (file::read::LABEL, [u64::MAX, 64, 0, 0, 0, 0]),
            (file::poll::LABEL, [5, 0, 0, 0, 0, 0]),
            (channel::changed::LABEL, [0; 6]),
            (channel::capacity::LABEL, [0; 6]),
        ] {
            let message = Message { bytes: Span::from(&b"nacre"[..]), ..Message::new(label, words) };
            let _ = ipc::call(end, &message, Buffers::new(SpanMut::from(&mut bytes[..]), &[]), PATIENCE / 1000);
        }
    }
}

/// Writes nonsense into the words of the ring's first page, some of it near what is plausible.
fn scribble(window: Window, random: &mut u64) {
    for _ in 0..8 {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let offset = [0, 64, 72, 128, 136, 144, 152, 192, 256, 320, 512, 1024][(*random >> 8) as usize % 12] + (*random >> 20) % 4 * 8;
        let value = match *random % 4 {
            0 => *random,
            1 => *random % 0x30_0000,
            2 => u64::MAX,
            _ => (*random % 300) << 16 | *random >> 32 & 0x1fff,
        };
        let _ = window.write_word(offset, value);
    }
}

/// Tries objects, donations and nonsense in the ring of a pipe.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(channels) = find(SERVICE_CHANNELS) else { return Ok(Verdict::Absent("channels")) };
    let mut random = 0x2545_f491_4f6c_dd1d;
    for round in 0..4 {
        let ends = channel::pipe(channels.handle(), 0).map_err(why("a pipe"))?;
        let ports = [ends.reader.handle(), ends.writer.handle()];
        let shared = match channel::share(ports[1], 0) {
            Err(_) if round == 0 => return Ok(Verdict::Absent("shared pipes")),
            other => other.map_err(why("its ring"))?,
        };
        let place = Place::take(PAGE_SIZE).ok_or("no addresses are left")?;
        let window = place.window();
        let region = Region::through(shared.region.handle());
        let map = |rights| OwnedMapping::new(Space::OWN, window.start(), PAGE_SIZE, region, 0, rights);
        if map(Rights::ALL).is_ok() {
            return Err("the ring may hold objects".into());
        }
        let mapping = map(Rights::READ.union(Rights::WRITE)).map_err(why("a mapping of it"))?;
        if Port::create(window.start(), 0, PortSet::NONE).is_ok() || Space::OWN.donate(window.start(), 1).is_ok() {
            return Err("the ring took an object".into());
        }
        for _ in 0..ROUNDS / 4 {
            scribble(window, &mut random);
            use_ends(ports);
        }
        drop(mapping);
    }
    Ok(Verdict::Refused)
}
