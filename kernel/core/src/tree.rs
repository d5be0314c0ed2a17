//! Ordered sets of ranges: a treap through the objects, each node with the highest end below it, so
//! that all ranges that overlap another are found without looking at the rest. Mappings of a space
//! never overlap; regions may; threads that wait for a time are ranges of one tick.
//!
//! A node is nine words from its base: 2 start, 3 size, 5 left, 6 right, 7 parent, 8 highest end.
//! The words between are the object's own. Priorities are the logarithm of the range's size and,
//! below that, a hash of the node's address: the caller of a system call cannot choose physical
//! addresses freely, so depth stays logarithmic among ranges of about one size, of which there are
//! some forty kinds.

use crate::machine::{Machine, Physical};
use crate::view::view;
use core::cell::Cell;

view! {
    /// The words of an object that make it a node.
    Node, 9 words {
        /// First address.
        start, set_start: u64 = 2;
        /// Size in bytes.
        size, set_size: u64 = 3;
        left, set_left: Physical = 5;
        right, set_right: Physical = 6;
        parent, set_parent: Physical = 7;
        highest, set_highest: u64 = 8;
    } places {}
}

impl Node<'_> {
    /// First address behind the range.
    #[inline(always)]
    pub fn end(self) -> u64 {
        self.start().wrapping_add(self.size())
    }
}

const NULL: Physical = Physical(0);
/// Maximum number of nodes that [`Tree::outer`] looks at.
const MAX_LOOKED: u32 = 16;

/// Large ranges stand above small ones, so that those that come and go often are leaves; among
/// those of about one size, the hash decides.
fn priority(node: Node<'_>) -> u64 {
    // The upper bits of the product depend on all bits of the address.
    let hash = node.at.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    u64::from(u64::BITS - node.size().leading_zeros()) << 57 | hash >> 7
}

/// A tree: whose root word this is, and the machine that its nodes are in.
pub struct Tree<'k, M: Machine> {
    machine: &'k M,
    root: &'k Cell<u64>,
}

// Derived, these would ask that the machine be `Copy` too.
impl<M: Machine> Clone for Tree<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M: Machine> Copy for Tree<'_, M> {}

impl<'k, M: Machine> Tree<'k, M> {
    /// The tree whose root is in `root` (0 = empty).
    pub fn new(machine: &'k M, root: &'k Cell<u64>) -> Self {
        Tree { machine, root }
    }

    #[inline(always)]
    fn node(self, at: Physical) -> Node<'k> {
        Node::new(self.machine, at)
    }

    fn highest_of(self, at: Physical) -> u64 {
        if at == NULL { 0 } else { self.node(at).highest() }
    }

    fn refresh(self, node: Node<'k>) {
        node.set_highest(node.end().max(self.highest_of(node.left())).max(self.highest_of(node.right())));
    }

    fn refresh_upwards(self, mut at: Physical) {
        while at != NULL {
            let node = self.node(at);
            self.refresh(node);
            at = node.parent();
        }
    }

    /// Puts `child` where `old` hangs below `parent`.
    fn hang(self, parent: Physical, old: Physical, child: Physical) {
        if parent == NULL {
            self.root.set(child.0);
        } else if self.node(parent).left() == old {
            self.node(parent).set_left(child);
        } else {
            self.node(parent).set_right(child);
        }
        if child != NULL {
            self.node(child).set_parent(parent);
        }
    }

    /// Rotates `child` above its parent.
    fn rotate_up(self, child: Node<'k>) {
        let parent = self.node(child.parent());
        let grandparent = parent.parent();
        let inner = if parent.left() == child.at { child.right() } else { child.left() };
        if parent.left() == child.at {
            parent.set_left(inner);
            child.set_right(parent.at);
        } else {
            parent.set_right(inner);
            child.set_left(parent.at);
        }
        if inner != NULL {
            self.node(inner).set_parent(parent.at);
        }
        self.hang(grandparent, parent.at, child.at);
        parent.set_parent(child.at);
        self.refresh(parent);
        self.refresh(child);
    }

    /// Adds the node at `at`, whose start and size are set.
    pub fn insert(self, at: Physical) {
        let node = self.node(at);
        node.set_left(NULL);
        node.set_right(NULL);
        node.set_highest(node.end());
        let (mut parent, mut below) = (NULL, Physical(self.root.get()));
        let mut left = false;
        while below != NULL {
            parent = below;
            let other = self.node(below);
            left = node.start() < other.start();
            if other.highest() < node.end() {
                other.set_highest(node.end());
            }
            below = if left { other.left() } else { other.right() };
        }
        node.set_parent(parent);
        if parent == NULL {
            self.root.set(at.0);
            return;
        }
        if left {
            self.node(parent).set_left(at);
        } else {
            self.node(parent).set_right(at);
        }
        let own = priority(node);
        while node.parent() != NULL && priority(self.node(node.parent())) < own {
            self.rotate_up(node);
        }
    }

    /// Takes the node at `at` out.
    pub fn remove(self, at: Physical) {
        let node = self.node(at);
        while node.left() != NULL && node.right() != NULL {
            let (left, right) = (self.node(node.left()), self.node(node.right()));
            self.rotate_up(if priority(left) > priority(right) { left } else { right });
        }
        let child = if node.left() != NULL { node.left() } else { node.right() };
        let parent = node.parent();
        self.hang(parent, at, child);
        self.refresh_upwards(parent);
    }

    /// Returns true if a node whose words are a copy of another's may stand in its place.
    fn fits(self, node: Node<'k>) -> bool {
        let own = priority(node);
        let below = |at: Physical| at == NULL || priority(self.node(at)) <= own;
        (node.parent() == NULL || priority(self.node(node.parent())) >= own) && below(node.left()) && below(node.right())
    }

    /// Lets the node at `new` (whose words are already a copy) stand where the one at `old` did.
    pub fn replace(self, old: Physical, new: Physical) {
        let node = self.node(new);
        if self.fits(node) {
            self.hang(node.parent(), old, new);
            [node.left(), node.right()].into_iter().filter(|child| *child != NULL).for_each(|child| self.node(child).set_parent(new));
            return;
        }
        // The shape depends on priorities, which depend on addresses: out and in again keeps it
        // sound.
        let (start, size) = (node.start(), node.size());
        self.remove(old);
        node.set_start(start);
        node.set_size(size);
        self.insert(new);
    }

    /// The lowest range of the subtree at `at` that overlaps `low..high`.
    #[inline(always)]
    fn search(self, mut at: Physical, low: u64, high: u64) -> Option<Node<'k>> {
        loop {
            let node = self.node(at);
            if node.left() != NULL && self.highest_of(node.left()) > low {
                at = node.left();
                continue;
            }
            if node.start() >= high {
                return None;
            }
            if node.end() > low {
                return Some(node);
            }
            if node.right() == NULL || self.highest_of(node.right()) <= low {
                return None;
            }
            at = node.right();
        }
    }

    /// The lowest range that overlaps `low..high`.
    #[inline(always)]
    pub fn first(self, low: u64, high: u64) -> Option<Node<'k>> {
        let root = Physical(self.root.get());
        if root == NULL || self.node(root).highest() <= low {
            return None;
        }
        self.search(root, low, high)
    }

    /// The range that `address` lies in, in a tree whose ranges do not overlap; and how many were
    /// looked at.
    #[inline(always)]
    pub fn find(self, address: u64) -> (Option<Node<'k>>, u32) {
        let (mut at, mut looked) = (Physical(self.root.get()), 0);
        while at != NULL {
            let node = self.node(at);
            looked += 1;
            at = if address < node.start() {
                node.left()
            } else if address - node.start() < node.size() {
                return (Some(node), looked);
            } else {
                node.right()
            };
        }
        (None, looked)
    }

    /// The range that `address` lies in, in a tree whose ranges do not overlap, or the gap between
    /// two of them: the range, its or the gap's ends, and how many were looked at.
    pub fn find_or_gap(self, address: u64) -> (Option<Node<'k>>, (u64, u64), u32) {
        let (mut at, mut looked, mut low, mut high) = (Physical(self.root.get()), 0, 0, u64::MAX);
        while at != NULL {
            let node = self.node(at);
            looked += 1;
            if address < node.start() {
                (at, high) = (node.left(), node.start());
            } else if address < node.end() {
                return (Some(node), (node.start(), node.end()), looked);
            } else {
                (at, low) = (node.right(), node.end());
            }
        }
        (None, (low, high), looked)
    }

    /// The next range after `node` that overlaps `low..high`.
    pub fn next(self, node: Node<'k>, low: u64, high: u64) -> Option<Node<'k>> {
        let mut node = node;
        loop {
            let right = node.right();
            if right != NULL && self.highest_of(right) > low {
                return self.search(right, low, high);
            }
            loop {
                let child = node.at;
                if node.parent() == NULL {
                    return None;
                }
                node = self.node(node.parent());
                if node.left() == child {
                    break;
                }
            }
            if node.start() >= high {
                return None;
            }
            if node.end() > low {
                return Some(node);
            }
        }
    }

    /// True of a tree with no range in it.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.root.get() == NULL.0
    }

    /// The root.
    fn any(self) -> Option<Physical> {
        let root = Physical(self.root.get());
        (root != NULL).then_some(root)
    }

    /// Any node, one that is taken out with little work if there is one near the root.
    pub fn outer(self) -> Option<Physical> {
        let mut at = self.any()?;
        for _ in 0..MAX_LOOKED {
            match self.node(at).left() {
                NULL => break,
                left => at = left,
            }
        }
        Some(at)
    }

    /// The node with the lowest start.
    pub fn lowest(self) -> Option<Node<'k>> {
        let mut node = self.node(self.any()?);
        while node.left() != NULL {
            node = self.node(node.left());
        }
        Some(node)
    }
}
