//! Composition: what an address of a space means, through mappings and regions down to the kernel's
//! own space, which is the machine.
//!
//! The result is entered into the space's hardware tables in the largest page that everything on
//! the way allows.

use crate::kernel::{Kernel, ZERO_WORK};
use crate::list;
use crate::machine::{Frame, Leaf, LeafKind, Machine, PageSize, Physical, TablePool};
use crate::object::{Mapping, Region, Space};
use crate::tree::Tree;
use core::sync::atomic::Ordering;
use nacre_abi::{PAGE_SIZE, Rights};

/// Maximum number of layers that composition follows.
pub(crate) const MAX_DEPTH: usize = 64;

/// Cost of following one layer, and of looking at one mapping on the way to the right one, in
/// instructions.
const LAYER_WORK: u32 = 68;
const LOOK_WORK: u32 = 8;
/// Instructions, roughly, after which composition gives up: what lies deep and among very many
/// mappings takes so many.
const MAX_WORK: u32 = 4500;

/// Instructions, roughly, that a short fault follows mappings for: where they lead farther, all of
/// it is done again under all locks, in the same stretch without interrupts.
const BESIDE_WORK: u32 = 1100;

/// Cost of finding and entering the pages around one, in instructions.
const AROUND_WORK: u32 = 1100;
/// Pages that are entered together are those of one such part of the addresses: of programs and
/// files, which are there, more than of memory that is being written.
const AROUND_READ: u64 = 128 * PAGE_SIZE;
const AROUND_WRITTEN: u64 = 16 * PAGE_SIZE;
/// Blank pages behind one that is written are cleared with it as far as such a part of the
/// addresses goes: memory is mostly written upward.
const CLEARED: u64 = 4 * PAGE_SIZE;

/// Result of translating an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Translation {
    /// Physical address that it leads to.
    pub physical: Physical,
    /// Rights that all layers on the way allow.
    pub rights: Rights,
    /// Bytes below the address for which the same translation holds.
    pub below: u64,
    /// Bytes from the address on for which the same translation holds.
    pub above: u64,
}

/// Reason why an address cannot be translated, or not with the needed rights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TranslationError {
    /// The space itself has no mapping there, or one with too few rights.
    Own,
    /// The space that this region exports lacks the page (or the region lacks the right) at this
    /// offset.
    Region { region: Physical, offset: u64 },
    /// Too many layers.
    Deep,
    /// Something stands in the way that has begun to go; it is to be tried again.
    Again,
}

/// Pool of frames for a space's tables.
struct Pool<'k, M: Machine> {
    kernel: &'k Kernel<M>,
    space: Space<'k>,
}

impl<M: Machine> TablePool for Pool<'_, M> {
    fn take(&self) -> Option<Physical> {
        self.kernel.pool_take(self.space)
    }
}

impl<M: Machine> Kernel<M> {
    /// The mappings of a space that are no overlays.
    pub(crate) fn mappings(&self, space: Space<'_>) -> Tree<'_, M> {
        Tree::new(&self.machine, &self.machine.words::<1>(space.mapping_root())[0])
    }

    /// The overlays of a space.
    pub(crate) fn overlays(&self, space: Space<'_>) -> Tree<'_, M> {
        Tree::new(&self.machine, &self.machine.words::<1>(space.overlay_root())[0])
    }

    /// The tree that mappings of a space with these rights are in.
    pub(crate) fn layer(&self, space: Space<'_>, rights: Rights) -> Tree<'_, M> {
        if rights.is_over() { self.overlays(space) } else { self.mappings(space) }
    }

    /// The tree that a mapping is in.
    pub(crate) fn layer_of(&self, mapping: Mapping<'_>) -> Tree<'_, M> {
        self.layer(self.space_at_home(mapping.home()), mapping.rights())
    }

    /// Returns where the first mapping that touches `page..end` of a space starts, but for the page
    /// itself.
    pub(crate) fn next_mapped(&self, space: Space<'_>, page: u64, end: u64) -> u64 {
        let starts = [self.mappings(space), self.overlays(space)].map(|layer| layer.first(page, end).map_or(end, |node| node.start().max(page + PAGE_SIZE)));
        starts[0].min(starts[1])
    }

    /// The mapping that `address` of a space is found in, the ends of what it shows around there,
    /// and how many were looked at.
    #[inline(always)]
    pub(crate) fn mapping_at(&self, space: Space<'_>, address: u64) -> (Option<Mapping<'_>>, (u64, u64), u32) {
        let overlays = self.overlays(space);
        // Most spaces have none.
        if overlays.is_empty() {
            let (node, looked) = self.mappings(space).find(address);
            return node.map_or((None, (0, 0), looked), |node| (Some(self.mapping(node.at)), (node.start(), node.end()), looked));
        }
        let (over, (low, high), looked) = overlays.find_or_gap(address);
        // One without a region has nothing to show.
        let shown = over.map(|node| self.mapping(node.at)).filter(|mapping| list::link_target(&self.machine, mapping.region()).is_some());
        if shown.is_some() {
            return (shown, (low, high), looked);
        }
        let (node, below) = self.mappings(space).find(address);
        let ends = node.map_or((0, 0), |node| (node.start().max(low), node.end().min(high)));
        (node.map(|node| self.mapping(node.at)), ends, looked + below)
    }

    /// The regions that a space exports.
    pub(crate) fn regions(&self, space: Space<'_>) -> Tree<'_, M> {
        Tree::new(&self.machine, &self.machine.words::<1>(space.region_root())[0])
    }

    /// Translates `address` of `space` for an access that needs `needed`.
    pub(crate) fn resolve(&self, space: Space<'_>, address: u64, needed: Rights) -> Result<Translation, TranslationError> {
        let mut work = 0;
        let meaning = self.follow(space, address, needed, &mut work);
        self.work_followed(work);
        meaning
    }

    fn follow(&self, space: Space<'_>, address: u64, needed: Rights, work: &mut u32) -> Result<Translation, TranslationError> {
        let mut meaning = Translation { physical: Physical(address), rights: Rights::ALL, below: u64::MAX, above: u64::MAX };
        let mut space = space;
        let mut lack = TranslationError::Own;
        for _ in 0..MAX_DEPTH {
            if space.at == self.kernel_space().at {
                return Ok(meaning);
            }
            let at = meaning.physical.0;
            let (mapping, (shown_from, shown_to), looked) = self.mapping_at(space, at);
            *work += LAYER_WORK + looked * LOOK_WORK;
            if *work > MAX_WORK {
                break;
            }
            let Some(mapping) = mapping else { return Err(lack) };
            let Some(region) = list::link_target(&self.machine, mapping.region()) else { return Err(lack) };
            let region = self.region(region);
            let offset = mapping.offset() + (at - mapping.start());
            if !mapping.rights().contains(needed) || mapping.rights().is_view() || offset >= region.size() {
                return Err(lack);
            }
            lack = TranslationError::Region { region: region.at, offset };
            if !region.rights().contains(needed) {
                return Err(lack);
            }
            meaning.rights = meaning.rights.intersect(mapping.rights()).intersect(region.rights());
            meaning.below = meaning.below.min(at - shown_from).min(offset);
            meaning.above = meaning.above.min(shown_to - at).min(region.size() - offset);
            meaning.physical = Physical(region.start() + offset);
            space = self.space_at_home(region.home());
        }
        Err(TranslationError::Deep)
    }

    /// Finds what `address` means and enters it into the tables. The leaf's `physical` is that of
    /// `address` itself.
    pub(crate) fn fill(&self, space: Space<'_>, address: u64, needed: Rights) -> Result<Leaf, TranslationError> {
        let meaning = self.resolve(space, address, needed)?;
        let kind = match self.machine.frame(meaning.physical) {
            None => LeafKind::Device,
            Some(frame) => {
                let kind = self.kind_shown(meaning.physical.frame(), frame, needed)?;
                if matches!(frame.kind.get(), Frame::SEIZED | Frame::BLANK) {
                    // For whoever would make objects there; no table shows it.
                    return Ok(Leaf { physical: meaning.physical, kind, rights: meaning.rights, size: PageSize::Small });
                }
                kind
            }
        };
        let size = self.largest_page(address, &meaning, kind);
        let mask = size.bytes() - 1;
        let leaf = Leaf { physical: Physical(meaning.physical.0 & !mask), kind, rights: meaning.rights, size };
        let had_room = self.table_enter(space, address & !mask, leaf);
        // Not after a long way: all of it is one stretch without interrupts. Nor where tables
        // are so few that the next page of the same call takes these away: it would never end.
        if had_room && size == PageSize::Small && kind == LeafKind::Memory && self.followed.get() < MAX_WORK && meaning.below.saturating_add(meaning.above) > PAGE_SIZE {
            let cleared = self.fill_around(space, address, &meaning, needed);
            self.work_followed(AROUND_WORK + cleared * ZERO_WORK);
        }
        Ok(Leaf { physical: meaning.physical, ..leaf })
    }

    /// `fill` of a page of plain memory that is there, under this CPU's own lock. All that is
    /// followed is written under all locks only; the space's tables and pool are claimed, and a
    /// blank frame is
    /// this CPU's once it is `CLEARING`. None: nothing has changed but that a blank frame may have
    /// become plain; the fault is one for `fill`.
    pub(crate) fn fill_beside(&self, space: Space<'_>, address: u64, needed: Rights) -> Option<()> {
        let meaning = self.follow(space, address, needed, &mut (MAX_WORK - BESIDE_WORK)).ok()?;
        let (at, frame) = (meaning.physical.frame(), self.machine.frame(meaning.physical)?);
        let is_there = frame.kind.get() == Frame::PLAIN || self.blank_open(at, frame);
        if !is_there || self.largest_page(address, &meaning, LeafKind::Memory) != PageSize::Small || !self.machine.claim(space.claim()) {
            return None;
        }
        let leaf = Leaf { physical: at, kind: LeafKind::Memory, rights: meaning.rights, size: PageSize::Small };
        let entered = self.machine.table_enter(space.root(), address & !(PAGE_SIZE - 1), leaf, &Pool { kernel: self, space });
        if entered.is_ok() {
            self.fill_around(space, address, &meaning, needed);
        }
        self.machine.claim_end(space.claim());
        entered.is_ok().then_some(())
    }

    /// Enters the pages around one, too, as far as the same translation holds for them and they are
    /// plain memory: some are touched next, and looking at all costs less than one fault. Returns
    /// how many
    /// were cleared.
    fn fill_around(&self, space: Space<'_>, address: u64, meaning: &Translation, needed: Rights) -> u32 {
        let around = if needed.contains(Rights::WRITE) { AROUND_WRITTEN } else { AROUND_READ };
        let first = address & !(around - 1);
        let start = first.max(address - meaning.below);
        let end = first.saturating_add(around).min(address.saturating_add(meaning.above));
        let physical = Physical(meaning.physical.0 - (address - start));
        let number_of = |page: u64| ((page - start) / PAGE_SIZE) as usize;
        let frames = self.machine.frames(physical, number_of(end));
        let mut cleared = 0;
        if needed.contains(Rights::WRITE) {
            let clear_end = number_of(((address & !(CLEARED - 1)) + CLEARED).min(end));
            for (number, frame) in frames.iter().enumerate().take(clear_end).skip(number_of(address) + 1) {
                cleared += u32::from(self.blank_open(physical.add(number as u64 * PAGE_SIZE), frame));
            }
        }
        let leaf = Leaf { physical, kind: LeafKind::Memory, rights: meaning.rights, size: PageSize::Small };
        self.machine.table_enter_row(space.root(), start, leaf, frames);
        cleared
    }

    /// Returns the kind of a frame for an access that needs `needed`. A frame whose objects have
    /// all gone becomes plain memory if the access uses it as that.
    #[inline(always)]
    pub(crate) fn kind_shown(&self, at: Physical, frame: &Frame, needed: Rights) -> Result<LeafKind, TranslationError> {
        let uses = needed != Rights::NONE && !needed.contains(Rights::OBJECTS);
        match frame.kind.get() & (PAGE_SIZE - 1) {
            Frame::PLAIN => Ok(LeafKind::Memory),
            kind @ (Frame::OBJECTS | Frame::SEIZED | Frame::BLANK) if self.is_vacant(frame) && (uses || kind == Frame::BLANK && needed == Rights::NONE) => {
                self.frame_open(at, frame).map_err(|_| TranslationError::Again)?;
                Ok(LeafKind::Memory)
            }
            Frame::OBJECTS => Ok(LeafKind::Objects),
            Frame::SEIZED | Frame::BLANK if needed.contains(Rights::OBJECTS) => Ok(LeafKind::Objects),
            _ => Err(TranslationError::Own),
        }
    }

    /// Enters a page into the tables of a space, all of which go first if no table is left for it.
    /// Returns true if one was left.
    #[inline(always)]
    pub(crate) fn table_enter(&self, space: Space<'_>, address: u64, leaf: Leaf) -> bool {
        let pool = Pool { kernel: self, space };
        let entered = self.machine.table_enter(space.root(), address, leaf, &pool);
        let had_room = entered.is_ok();
        let over_table = entered.unwrap_or_else(|_| {
            self.pool_reset(space);
            // A pool has at least a root and one table of each lower level, so this succeeds.
            self.machine.table_enter(space.root(), address, leaf, &pool).unwrap_or(false)
        });
        // CPUs may hold translations of the smaller pages that the leaf took the place of: a later
        // revocation would flush what it revokes, and not those.
        if over_table && space.is_in_use() {
            self.machine.translations_flush(space.active(), space.root(), address, address + leaf.size.bytes());
        }
        had_room
    }

    pub(crate) fn largest_page(&self, address: u64, meaning: &Translation, kind: LeafKind) -> PageSize {
        let fits = |size: PageSize| {
            let offset = address & (size.bytes() - 1);
            meaning.physical.0 & (size.bytes() - 1) == offset
                && meaning.below >= offset
                && meaning.above >= size.bytes() - offset
                && self.is_uniform(Physical(meaning.physical.0 - offset), size, kind)
        };
        if kind == LeafKind::Objects {
            PageSize::Small
        } else if fits(PageSize::Huge) {
            PageSize::Huge
        } else if fits(PageSize::Large) {
            PageSize::Large
        } else {
            PageSize::Small
        }
    }

    /// Returns true if all of a large page is plain memory, or all of it a device.
    fn is_uniform(&self, start: Physical, size: PageSize, kind: LeafKind) -> bool {
        let large = PageSize::Large.bytes();
        (0..size.bytes() / large).all(|part| {
            let at = start.add(part * large);
            match self.machine.special_count(at) {
                Some(count) => kind == LeafKind::Memory && count.load(Ordering::Acquire) == 0 && self.machine.frame(at.add(large - PAGE_SIZE)).is_some(),
                None => kind == LeafKind::Device && self.machine.frame(at).is_none() && self.machine.frame(at.add(large - PAGE_SIZE)).is_none(),
            }
        })
    }

    /// The region's keeper, if it has one.
    pub(crate) fn keeper_of(&self, region: Region<'_>) -> Option<Physical> {
        list::link_target(&self.machine, region.keeper())
    }
}
