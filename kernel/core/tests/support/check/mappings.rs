//! Mappings: the layers of a space, and what an address means through them.

use super::{Checker, DEPTH, KERNEL_SPACE, NULL};
use super::super::machine::RAM_START;
use nacre_abi::{PAGE_SIZE, Rights, USER_END};
use nacre_core::list;
use nacre_core::machine::{Machine, Physical};
use nacre_core::object::{Mapping, Region, Space};
use nacre_core::tree::Node;

impl Checker<'_> {
    /// The mappings of one layer of a space, in order.
    pub(super) fn layer(&self, layer: &[Physical], over: bool) {
        let layer: Vec<Mapping<'_>> = layer.iter().map(|at| Mapping::new(self.machine, *at)).collect();
        assert!(layer.iter().all(|it| it.rights().is_over() == over), "a mapping is in the wrong layer");
        assert!(layer.windows(2).all(|two| two[0].end() <= two[1].start()), "mappings overlap");
    }

    /// Translates an address by looking at every object there is.
    pub fn meaning(&self, space: Physical, address: u64, depth: usize) -> Option<(Physical, Rights)> {
        if space.0 == RAM_START + KERNEL_SPACE {
            return Some((Physical(address), Rights::ALL));
        }
        if depth == DEPTH {
            return None;
        }
        let found = Space::new(self.machine, space);
        let inside = |root: Physical| {
            let mut nodes = Vec::new();
            self.flat(Physical(self.machine.peek(root.0)), &mut nodes);
            nodes.into_iter().map(|at| Mapping::new(self.machine, at)).find(|it| it.start() <= address && address < it.end())
        };
        let over = inside(found.overlay_root()).filter(|it| list::link_target(self.machine, it.region()).is_some());
        let mapping = over.or_else(|| inside(found.mapping_root()))?;
        if mapping.rights().is_view() {
            return None;
        }
        let region = Region::new(self.machine, list::link_target(self.machine, mapping.region())?);
        let offset = mapping.offset() + address - mapping.start();
        if offset >= region.size() {
            return None;
        }
        let (physical, rights) = self.meaning(self.machine.home_of(region.home()), region.start() + offset, depth + 1)?;
        Some((physical, rights.intersect(mapping.rights()).intersect(region.rights())))
    }

    /// Checks that a view around `address`, if there is one, may show this page: that its region
    /// has it somewhere, with these rights. Those of a view that is all of its space, and of no
    /// other, are marked.
    pub(super) fn may_view(&self, space: Physical, address: u64, physical: Physical, rights: Rights) -> bool {
        let (is_whole, rights) = (rights.is_view(), Rights(rights.0 & !Rights::VIEW.0));
        let mut nodes = Vec::new();
        self.flat(Physical(self.machine.peek(Space::new(self.machine, space).mapping_root().0)), &mut nodes);
        let views = nodes.into_iter().map(|at| Mapping::new(self.machine, at)).filter(|it| it.rights().is_view() && it.start() <= address && address < it.end());
        let views = views.filter(|view| is_whole == (view.start() == 0 && view.end() == USER_END));
        views.filter(|view| view.rights().contains(rights)).any(|view| {
            let Some(region) = list::link_target(self.machine, view.region()) else { return false };
            let region = Region::new(self.machine, region);
            let space = self.machine.home_of(region.home());
            let has = |offset: u64| self.meaning(space, region.start() + offset, 0).is_some_and(|(at, has)| at == physical && has.contains(rights));
            region.rights().contains(rights) && (view.offset()..region.size()).step_by(PAGE_SIZE as usize).any(has)
        })
    }

    fn flat(&self, at: Physical, nodes: &mut Vec<Physical>) {
        if at != NULL {
            let node = Node::new(self.machine, at);
            self.flat(node.left(), nodes);
            nodes.push(at);
            self.flat(node.right(), nodes);
        }
    }
}
