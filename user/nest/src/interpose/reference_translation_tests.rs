//! The membrane's rules over all declarations: each operation that stores a reference, against each
//! that returns one.

use super::*;
use alloc::vec::Vec;
use nacre_proto::PROTOCOLS;
use nacre_proto::describe::Operation;

fn operations() -> impl Iterator<Item = &'static Operation> {
    PROTOCOLS.iter().flat_map(|protocol| protocol.operations)
}

fn kinds_in() -> Vec<(&'static Operation, Ref)> {
    operations().flat_map(|one| one.references_in.iter().map(|(_, kind)| *kind).chain(one.more_in.iter().map(|more| more.1)).map(move |kind| (one, kind))).collect()
}

fn kinds_out() -> Vec<(&'static Operation, Ref)> {
    operations().flat_map(|one| one.references_out.iter().map(|(_, kind)| *kind).chain(one.more_out.iter().map(|more| more.1)).map(move |kind| (one, kind))).collect()
}

fn way(outward: bool, is_reply: bool) -> Way {
    Way { outward, is_reply, asked: 0, service: None, is_keeper: false }
}

fn state(target: TargetType, rights: u64) -> ReferenceState {
    ReferenceState { target: target as u64, count: rights, ..ReferenceState::default() }
}

#[test]
fn an_original_never_reaches_a_party_that_could_give_it_back() {
    let (stores, returns) = (kinds_in(), kinds_out());
    assert!(stores.len() >= 15 && returns.len() >= 30, "{} and {}", stores.len(), returns.len());
    for (store, kind_in) in &stores {
        for (fetch, kind_out) in &returns {
            for is_same_origin in [false, true] {
                let at = alloc::format!("{}.{} then {}.{}", store.protocol, store.name, fetch.protocol, fetch.name);
                let left = way(true, false).loan(Some(*kind_in), false, is_same_origin);
                let is_looked_at = matches!(kind_in, Ref::Peer(_)) && is_same_origin;
                assert_eq!(left == Loan::Original, is_looked_at, "{at}");
                let came_back = way(false, true).loan(Some(*kind_out), false, is_same_origin);
                assert_ne!(came_back, Loan::Original, "{at}: the child gets what is behind its proxy");
                let came_home = way(false, true).loan(Some(*kind_out), true, is_same_origin);
                assert_ne!(came_home, Loan::Proxy, "{at}: the child's own port goes home or nowhere");
            }
        }
    }
}

#[test]
fn only_six_operations_look_at_an_original() {
    let peers: Vec<_> = kinds_in().into_iter().filter(|(_, kind)| matches!(kind, Ref::Peer(_))).map(|(one, _)| (one.protocol, one.name)).collect();
    assert_eq!(peers, [("file", "lock_owned"), ("directory", "rename"), ("directory", "link"), ("directory", "watch"), ("directory", "charge"), ("clock", "follow")]);
}

#[test]
fn what_is_no_port_crosses_as_declared_and_one_way() {
    let all = [TargetType::Space, TargetType::Thread, TargetType::Region, TargetType::Condition, TargetType::Mapping, TargetType::IoPorts];
    for (one, kind) in kinds_in().into_iter().chain(kinds_out()) {
        for target in all {
            for (outward, is_reply) in [(false, false), (false, true), (true, false), (true, true)] {
                let takes = way(outward, is_reply).takes(Some(kind), &state(target, 0));
                let expected = match kind {
                    Ref::Space => target == TargetType::Space && outward && !is_reply,
                    Ref::Thread => target == TargetType::Thread && outward && !is_reply,
                    Ref::Region(_) => target == TargetType::Region && !outward && is_reply,
                    Ref::Condition => target == TargetType::Condition && !outward && is_reply,
                    _ => false,
                };
                assert_eq!(takes, expected, "{}.{}: {kind:?} {target:?} {outward} {is_reply}", one.protocol, one.name);
            }
        }
    }
}

#[test]
fn a_region_has_no_more_rights_than_declared() {
    for (_, kind) in kinds_out() {
        let Ref::Region(most) = kind else { continue };
        for rights in 0..16 {
            assert_eq!(way(false, true).takes(Some(kind), &state(TargetType::Region, rights)), rights & !most.0 == 0, "{rights:#x} of {:#x}", most.0);
        }
    }
}

#[test]
fn messages_have_as_many_references_as_declared() {
    for one in operations() {
        let (least_in, least_out) = (one.references_in.len(), one.references_out.len());
        let most_in = least_in + one.more_in.first().map_or(0, |more| more.2);
        let most_out = least_out + one.more_out.first().map_or(0, |more| more.2);
        for count in 0..=SLOTS {
            assert_eq!(one.kinds_in(count).is_some(), (least_in..=most_in).contains(&count), "{}.{}", one.protocol, one.name);
            assert_eq!(one.kinds_out(count).is_some(), (least_out..=most_out).contains(&count), "{}.{}", one.protocol, one.name);
        }
    }
}
