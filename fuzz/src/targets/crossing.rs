//! Proxies of a relay that attenuates: whatever crosses in whatever order, an original goes home or
//! to its own server, and nowhere else.

use crate::bytes::Bytes;
use nacre_nest::interpose::reference_translation::Way;
use nacre_nest::interpose::proxies::{Loan, Origin, Proxies};
use nacre_proto::reference::{Ref, Type};

/// Maximum of proxies.
const CAPACITY: usize = 6;
/// Servers outside.
const SERVERS: usize = 3;

/// The model's view of one proxy.
struct Known {
    index: usize,
    word: u64,
    is_childs: bool,
    /// The server that received the original, by all that is known.
    server: usize,
    is_retired: bool,
    /// Messages that are carried through it, and loans of its original.
    carried: u32,
}

fn declared(bytes: &mut Bytes<'_>) -> Option<Ref> {
    bytes.of(&[None, Some(Ref::Peer(Type::Directory)), Some(Ref::Kept(Type::Any)), Some(Ref::Own(Type::End)), Some(Ref::Found(Type::Any)), Some(Ref::Space), Some(Ref::Condition)])
}

/// Makes a proxy: the child's parent first, then one of the child's own, of a service, of the
/// server that was asked, or of a stranger.
fn make(proxies: &mut Proxies<()>, all: &mut Vec<Known>, bytes: &mut Bytes<'_>) {
    let asked = if all.is_empty() { None } else { Some(bytes.below(all.len())) };
    let stranger = SERVERS + all.iter().map(|known| known.index).max().map_or(0, |most| most + 1) + usize::from(bytes.byte()) * CAPACITY;
    let (origin, server, is_childs) = match (bytes.below(4), asked) {
        (0, _) => (Origin::Unknown, stranger, true),
        (1, _) => {
            let service = bytes.below(SERVERS);
            (Origin::Service(service as u64), service, false)
        }
        (2, Some(asked)) if !all[asked].is_retired => (Origin::Of(all[asked].index), all[asked].server, false),
        _ => (Origin::Unknown, stranger, false),
    };
    if let Some(taken) = proxies.take(is_childs && !all.is_empty(), origin, ()) {
        assert!(all.iter().all(|known| known.word != taken.word && (known.is_retired && known.carried == 0 || known.index != taken.index)), "a proxy is taken twice");
        all.retain(|known| known.index != taken.index);
        all.push(Known { index: taken.index, word: taken.word, is_childs: is_childs && taken.index != 0, server, is_retired: false, carried: 0 });
    }
}

/// Sends a reference to a proxy across, and judges what crosses in its place.
fn cross(proxies: &mut Proxies<()>, all: &mut [Known], bytes: &mut Bytes<'_>) {
    let (one, asked) = (bytes.below(all.len()), bytes.below(all.len()));
    let declared = declared(bytes);
    let way = Way { outward: bytes.below(2) == 0, is_reply: bytes.below(2) == 0, asked: all[asked].index, service: None, is_keeper: false };
    let lent = proxies.lend(all[one].index, way.asked, |is_childs, is_same| way.loan(declared, is_childs, is_same));
    let Some((seen, loan)) = lent else { return assert!(all[one].is_retired, "a live proxy is not known") };
    assert!(!all[one].is_retired && seen.outward == all[one].is_childs);
    if loan == Loan::Original {
        let goes_home = all[one].is_childs && !way.outward;
        let is_looked_at = matches!(declared, Some(Ref::Peer(_))) && way.outward && !all[one].is_childs && all[one].server == all[asked].server;
        assert!(goes_home || is_looked_at, "an original goes to a stranger: {declared:?} {way:?}");
        all[one].carried += 1;
    }
}

pub fn crossing(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let (mut proxies, mut all) = (Proxies::<()>::new(CAPACITY), Vec::new());
    make(&mut proxies, &mut all, &mut bytes);
    while !bytes.is_over() {
        let choice = bytes.below(6);
        let one = bytes.below(all.len());
        match choice {
            0 => make(&mut proxies, &mut all, &mut bytes),
            1 | 2 => cross(&mut proxies, &mut all, &mut bytes),
            3 => {
                let entered = proxies.enter(all[one].word).is_some();
                assert_eq!(entered, !all[one].is_retired, "messages reach live proxies alone");
                all[one].carried += u32::from(entered);
            }
            4 if all[one].carried > 0 => {
                all[one].carried -= 1;
                let is_last = proxies.leave(all[one].index);
                assert_eq!(is_last, all[one].is_retired && all[one].carried == 0, "a proxy goes with its last message");
                if is_last {
                    proxies.free(all[one].index);
                }
            }
            5 if !all[one].is_retired => {
                let is_free = proxies.retire(all[one].word);
                all[one].is_retired = all[one].index != 0;
                assert_eq!(is_free, all[one].is_retired && all[one].carried == 0);
                if is_free {
                    proxies.free(all[one].index);
                }
            }
            _ => {}
        }
    }
}
