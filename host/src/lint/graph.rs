//! Circles in a graph.

use std::collections::{BTreeSet, VecDeque};

/// Edges from each node to others.
pub type Edges = [BTreeSet<usize>];

/// Returns the sets of more than one node that reach each other (Tarjan), each in order.
pub fn circles(edges: &Edges) -> Vec<Vec<usize>> {
    let mut search = Search { edges, order: vec![None; edges.len()], low: vec![0; edges.len()], stack: Vec::new(), next: 0, found: Vec::new() };
    for node in 0..edges.len() {
        if search.order[node].is_none() {
            search.enter(node);
        }
    }
    search.found.sort();
    search.found
}

/// State of Tarjan's algorithm.
struct Search<'a> {
    edges: &'a Edges,
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn enter(&mut self, node: usize) {
        let own = self.next;
        self.next += 1;
        (self.order[node], self.low[node]) = (Some(own), own);
        self.stack.push(node);
        for other in &self.edges[node] {
            match self.order[*other] {
                None => {
                    self.enter(*other);
                    self.low[node] = self.low[node].min(self.low[*other]);
                }
                Some(order) if self.stack.contains(other) => self.low[node] = self.low[node].min(order),
                Some(_) => {}
            }
        }
        if self.low[node] == own {
            let start = self.stack.iter().position(|waiting| *waiting == node).unwrap_or(0);
            let mut circle = self.stack.split_off(start);
            circle.sort_unstable();
            if circle.len() > 1 {
                self.found.push(circle);
            }
        }
    }
}

/// Returns a shortest ring inside `circle`; its first node is not repeated at the end.
pub fn shortest_ring(edges: &Edges, circle: &[usize]) -> Vec<usize> {
    circle.iter().filter_map(|start| ring_from(edges, circle, *start)).min_by_key(Vec::len).unwrap_or_default()
}

fn ring_from(edges: &Edges, circle: &[usize], start: usize) -> Option<Vec<usize>> {
    let mut reached_from = vec![None; edges.len()];
    let mut waiting = VecDeque::from([start]);
    while let Some(node) = waiting.pop_front() {
        if edges[node].contains(&start) {
            let mut ring = vec![node];
            while let Some(before) = reached_from[*ring.last()?] {
                ring.push(before);
            }
            ring.reverse();
            return Some(ring);
        }
        for other in edges[node].iter().filter(|other| circle.contains(other) && **other != start) {
            if reached_from[*other].is_none() {
                reached_from[*other] = Some(node);
                waiting.push_back(*other);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_and_their_shortest_rings() {
        let edges: Vec<BTreeSet<usize>> = [vec![1], vec![2, 3], vec![0], vec![4], vec![3], vec![0, 5]].into_iter().map(BTreeSet::from_iter).collect();
        assert_eq!(circles(&edges), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(shortest_ring(&edges, &[0, 1, 2]), [0, 1, 2]);
        assert_eq!(shortest_ring(&edges, &[3, 4]), [3, 4]);
    }
}
