//! Views: mappings whose pages their owner enters one by one, as a processor's own cache of
//! translations is filled. The tables of the view's space are all that knows of a page, so:
//!
//! - Composition finds nothing in a view (`compose.rs`), and never fills the tables for one.
//! - A page is entered as composition has it at that moment, with rights that all layers allow.
//!   Whatever is taken away afterwards below the region clears the view whole (`revoke.rs`), since
//!   nobody knows which pages showed it. A revocation makes composition narrower before it begins,
//!   so what is entered meanwhile is not what is to go.
//! - What is replaced or forgotten is flushed before the call returns: a later revocation would not
//!   find it in the tables, and flush nothing.

use crate::call_result::wrong;
use crate::compose::{Translation, TranslationError};
use crate::kernel::{Attempt, Done, Kernel, Stop};
use crate::list;
use crate::machine::{Frame, Leaf, LeafKind, Machine, PageSize, thread_page::register};
use crate::object::{Mapping, Region, Space, Thread};
use nacre_abi::arguments::{self, Word};
use nacre_abi::rights::{VIEW_ENTRIES, VIEW_LARGE, VIEW_PRIVILEGED};
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Rights, USER_END};

/// Cost of entering a page without following mappings, and of a sweep through tables, in
/// instructions.
const ENTRY_WORK: u32 = 300;
const SWEEP_WORK: u32 = 3000;
/// Bytes of an entry of the list.
const ENTRY: u64 = 16;

/// A page to be entered.
struct Entry {
    address: u64,
    offset: u64,
    rights: Rights,
    is_large: bool,
    is_privileged: bool,
}

impl Entry {
    /// Decodes one; `None`: its lower bits mean nothing.
    fn of([address, offset]: [u64; 2]) -> Option<Entry> {
        let flags = address % PAGE_SIZE;
        let rights = Rights(flags & !(VIEW_PRIVILEGED | VIEW_LARGE));
        let is_known = rights.0 & !7 == 0 && rights.contains(Rights::READ);
        let (is_large, is_privileged) = (flags & VIEW_LARGE != 0, flags & VIEW_PRIVILEGED != 0);
        is_known.then_some(Entry { address: address - flags, offset, rights, is_large, is_privileged })
    }
}

impl<M: Machine> Kernel<M> {
    /// An argument as a view that the caller controls.
    fn view(&self, caller: Thread<'_>, argument: Word) -> Attempt<Mapping<'_>> {
        let mapping = self.mapping(self.controlled(caller, argument, ObjectType::Mapping)?);
        if mapping.rights().is_view() { Ok(mapping) } else { wrong(Code::WrongType, argument) }
    }

    pub(crate) fn view_enter(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ViewEnter = caller.arguments();
        let mapping = self.view(caller, call.mapping)?;
        let Some(region) = list::link_target(&self.machine, mapping.region()) else { return wrong(Code::NullReference, call.mapping) };
        let count = call.count.value;
        if count > VIEW_ENTRIES {
            return wrong(Code::BadArgument, call.count);
        }
        if !call.list.value.is_multiple_of(8) {
            return wrong(Code::BadAddress, call.list);
        }
        let span = self.span(caller, call.list.number, call.list.value, count * ENTRY, Rights::READ)?;
        let (mut entered, mut large) = (0, 0);
        while entered < count {
            let mut words = [0; 2];
            self.span_read(&span, entered * ENTRY, &mut words);
            match self.view_enter_page(mapping, self.region(region), words, call.list) {
                Ok(size) => large += u64::from(size == PageSize::Large),
                Err(stop) if entered == 0 => return Err(stop),
                // It is the first of the next call, and that tells what is wrong.
                Err(_) => break,
            }
            entered += 1;
            // What follows is likely to lie in it.
            if large != 0 || self.work(ENTRY_WORK).is_err() {
                break;
            }
        }
        caller.set_register(register::RESULT_1, entered);
        caller.set_register(register::RESULT_2, large);
        Ok(Done::Return)
    }

    /// Enters one page; the size in which it was.
    fn view_enter_page(&self, mapping: Mapping<'_>, region: Region<'_>, words: [u64; 2], list: Word) -> Attempt<PageSize> {
        let Some(entry) = Entry::of(words) else { return wrong(Code::BadRights, list) };
        let offset = mapping.offset().checked_add(entry.offset).filter(|offset| *offset < region.size() && offset.is_multiple_of(PAGE_SIZE));
        let Some(offset) = offset.filter(|_| entry.address >= mapping.start() && entry.address < mapping.end()) else {
            return wrong(Code::BadRange, list);
        };
        if !mapping.rights().contains(entry.rights) || !region.rights().contains(entry.rights) {
            return wrong(Code::BadRights, list);
        }
        let (space, mut ends) = (self.space_at_home(mapping.home()), (mapping.start(), mapping.end()));
        // Most spaces have no overlays.
        if !self.overlays(space).is_empty() {
            let (shown, shown_ends, _) = self.mapping_at(space, entry.address);
            if shown.is_none_or(|shown| shown.at != mapping.at) {
                return wrong(Code::BadRange, list);
            }
            ends = shown_ends;
        }
        self.work_check(list.number)?;
        let meaning = match self.view_resolve(region, offset, entry.rights) {
            Ok(meaning) => meaning,
            Err(TranslationError::Again) => return Err(Stop::Again),
            Err(TranslationError::Deep) => return wrong(Code::TooDeep, list),
            Err(_) => return wrong(Code::BadAddress, list),
        };
        let size = if entry.is_large { self.view_page(ends, entry.address, &meaning) } else { PageSize::Small };
        let is_whole = mapping.start() == 0 && mapping.end() == USER_END;
        self.view_enter_leaf(space, &entry, &meaning, size, is_whole);
        Ok(size)
    }

    /// Finds the plain memory at an offset of a region.
    fn view_resolve(&self, region: Region<'_>, offset: u64, needed: Rights) -> Result<Translation, TranslationError> {
        let found = self.resolve(self.space_at_home(region.home()), region.start() + offset, needed)?;
        let frame = self.machine.frame(found.physical).ok_or(TranslationError::Own)?;
        let kind = self.kind_shown(found.physical.frame(), frame, needed)?;
        if kind != LeafKind::Memory || frame.kind.get() != Frame::PLAIN {
            return Err(TranslationError::Own);
        }
        Ok(Translation { below: found.below.min(offset), above: found.above.min(region.size() - offset), ..found })
    }

    /// The largest page, up to 2 MiB, that can be entered around an address of a view, which is
    /// found between these ends.
    fn view_page(&self, (low, high): (u64, u64), address: u64, meaning: &Translation) -> PageSize {
        let first = address & !(PageSize::Large.bytes() - 1);
        let is_inside = first >= low && first + PageSize::Large.bytes() <= high;
        if is_inside { self.largest_page(address, meaning, LeafKind::Memory).min(PageSize::Large) } else { PageSize::Small }
    }

    /// Enters a page. `is_whole`: the view is all of its space, which only guests can use then.
    /// Some of them want bits above the address to be 0, so the entry keeps no rights there.
    fn view_enter_leaf(&self, space: Space<'_>, entry: &Entry, meaning: &Translation, size: PageSize, is_whole: bool) {
        let mask = size.bytes() - 1;
        let kind = if entry.is_privileged { LeafKind::Privileged } else { LeafKind::Memory };
        let rights = if is_whole { entry.rights.union(Rights::VIEW) } else { entry.rights };
        let leaf = Leaf { physical: crate::machine::Physical(meaning.physical.0 & !mask), kind, rights, size };
        let replaced = self.machine.table_lookup(space.root(), entry.address);
        self.table_enter(space, entry.address & !mask, leaf);
        if let Some(old) = replaced {
            let bytes = size.max(old.size).bytes();
            self.view_flush(space, entry.address & !(bytes - 1), bytes);
        }
    }

    /// Flushes what was taken out of a range of the tables.
    fn view_flush(&self, space: Space<'_>, low: u64, size: u64) {
        space.set_generation(space.generation() + 1);
        if space.is_in_use() {
            self.machine.translations_flush(space.active(), space.root(), low, (low + size).min(USER_END));
        }
    }

    pub(crate) fn view_forget(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ViewForget = caller.arguments();
        let mapping = self.view(caller, call.mapping)?;
        self.page_range(call.start, call.size, USER_END)?;
        let (start, end) = (call.start.value, call.start.value + call.size.value);
        if start < mapping.start() || end > mapping.end() {
            return wrong(Code::BadRange, call.start);
        }
        let space = self.space_at_home(mapping.home());
        if start == 0 && end == USER_END {
            self.pool_reset(space);
            return Ok(Done::Return);
        }
        let mut low = start;
        while low < end {
            let cleared = self.machine.table_clear(space.root(), low, end);
            if cleared.found {
                self.view_flush(space, low, cleared.next - low);
            }
            low = cleared.next;
            if low < end {
                caller.set_register(register::ARGUMENT_2, low);
                caller.set_register(register::ARGUMENT_3, end - low);
                self.work(SWEEP_WORK)?;
            }
        }
        Ok(Done::Return)
    }
}
