//! Doubly linked rings through objects: a node and an anchor are each two words, `next` and
//! `previous`; an empty anchor and an unlinked node point to themselves. So linking and unlinking
//! know no special case, and a node that moves is replaced in place.
//!
//! A *link* is three words: a target, then a node in the ring of all links to that target. When the
//! target goes, its ring is emptied and every link becomes null without anybody knowing what kind
//! of object holds it.

use crate::machine::{Machine, Physical};

fn pair<M: Machine>(machine: &M, node: Physical) -> &[core::cell::Cell<u64>; 2] {
    machine.words(node)
}

/// Makes `node` a ring of one.
pub fn init<M: Machine>(machine: &M, node: Physical) {
    let words = pair(machine, node);
    words[0].set(node.0);
    words[1].set(node.0);
}

/// The node after `node`.
#[inline(always)]
pub fn next<M: Machine>(machine: &M, node: Physical) -> Physical {
    Physical(pair(machine, node)[0].get())
}

/// The first node of the ring behind `anchor`.
#[inline(always)]
pub fn first<M: Machine>(machine: &M, anchor: Physical) -> Option<Physical> {
    let node = next(machine, anchor);
    (node != anchor).then_some(node)
}

/// Returns true if the ring of an anchor is empty, or if a node is in no ring.
#[inline(always)]
pub fn is_empty<M: Machine>(machine: &M, anchor: Physical) -> bool {
    next(machine, anchor) == anchor
}

/// Puts `node`, which is in no ring, last.
#[inline(always)]
pub fn push_back<M: Machine>(machine: &M, anchor: Physical, node: Physical) {
    let ring = pair(machine, anchor);
    let last = Physical(ring[1].get());
    let words = pair(machine, node);
    words[0].set(anchor.0);
    words[1].set(last.0);
    pair(machine, last)[0].set(node.0);
    ring[1].set(node.0);
}

/// Takes `node` out of its ring, if it is in one.
#[inline(always)]
pub fn remove<M: Machine>(machine: &M, node: Physical) {
    let words = pair(machine, node);
    let (next, previous) = (words[0].get(), words[1].get());
    pair(machine, Physical(previous))[0].set(next);
    pair(machine, Physical(next))[1].set(previous);
    words[0].set(node.0);
    words[1].set(node.0);
}

/// Lets `new` stand in the ring where `old` did; `new` need not be initialised. Works for anchors
/// and nodes.
pub fn replace<M: Machine>(machine: &M, old: Physical, new: Physical) {
    if is_empty(machine, old) {
        return init(machine, new);
    }
    let (next, previous) = (pair(machine, old)[0].get(), pair(machine, old)[1].get());
    let words = pair(machine, new);
    words[0].set(next);
    words[1].set(previous);
    pair(machine, Physical(next))[1].set(new.0);
    pair(machine, Physical(previous))[0].set(new.0);
}

/// Puts all nodes of the ring at `from` last on the ring at `to`.
pub fn splice<M: Machine>(machine: &M, from: Physical, to: Physical) {
    let Some(first) = first(machine, from) else { return };
    let last = Physical(pair(machine, from)[1].get());
    let end = Physical(pair(machine, to)[1].get());
    pair(machine, end)[0].set(first.0);
    pair(machine, first)[1].set(end.0);
    pair(machine, last)[0].set(to.0);
    pair(machine, to)[1].set(last.0);
    init(machine, from);
}

/// Counts the nodes of the ring, up to `limit`.
pub fn count<M: Machine>(machine: &M, anchor: Physical, limit: u64) -> u64 {
    let mut node = next(machine, anchor);
    let mut count = 0;
    while node != anchor && count < limit {
        node = next(machine, node);
        count += 1;
    }
    count
}

/// Makes the three words at `link` a null link.
pub fn link_init<M: Machine>(machine: &M, link: Physical) {
    machine.words::<1>(link)[0].set(0);
    init(machine, link.add(8));
}

/// Returns the target of a link.
#[inline(always)]
pub fn link_target<M: Machine>(machine: &M, link: Physical) -> Option<Physical> {
    let target = machine.words::<1>(link)[0].get();
    (target != 0).then_some(Physical(target))
}

/// Lets the null `link` lead to `target`, whose links hang on `anchor`.
pub fn link_set<M: Machine>(machine: &M, link: Physical, target: Physical, anchor: Physical) {
    machine.words::<1>(link)[0].set(target.0);
    push_back(machine, anchor, link.add(8));
}

/// Makes a link null.
pub fn link_clear<M: Machine>(machine: &M, link: Physical) {
    machine.words::<1>(link)[0].set(0);
    remove(machine, link.add(8));
}

/// Lets the link at `new` take over from the one at `old`, which becomes null.
pub fn link_move<M: Machine>(machine: &M, old: Physical, new: Physical) {
    machine.words::<1>(new)[0].set(machine.words::<1>(old)[0].get());
    replace(machine, old.add(8), new.add(8));
    link_forget(machine, old);
}

/// Makes the words of a link null without looking at its neighbours.
fn link_forget<M: Machine>(machine: &M, link: Physical) {
    link_init(machine, link);
}

/// Lets every link on `anchor` lead to `target`, which has moved; at most `limit` of them.
pub fn links_redirect<M: Machine>(machine: &M, anchor: Physical, target: Physical) {
    let mut node = next(machine, anchor);
    while node != anchor {
        machine.words::<1>(Physical(node.0 - 8))[0].set(target.0);
        node = next(machine, node);
    }
}
