//! Creation of objects: everything is checked, then the object stands there whole.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel, Stop};
use crate::list;
use crate::machine::{Frame, Machine, Physical, thread_page::register};
use crate::object::{Mapping, Region, Space, Thread, links_of};
use nacre_abi::arguments::{self, MappingCreate, Word};
use nacre_abi::object::UNIT;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Call, Code, ObjectType, PAGE_SIZE, Rights, USER_END};

/// Fewest pages of a space's pool: a root and one table of each lower level, and one to spare.
const MIN_POOL: u64 = 5;
/// Maximum number of pages that one call donates.
const MAX_POOL: u64 = 512;
/// Pages that are donated without a look at interrupts. The caller then stands at `space_donate`
/// for the rest.
const PIECE: usize = 16;
/// Instructions, roughly, of following mappings after which a piece has no more pages.
const SCATTERED: u32 = 2500;
/// End of a space's offsets. Regions of the machine reach higher than user addresses.
pub(crate) const REGION_END: u64 = 1 << 52;

impl<M: Machine> Kernel<M> {
    /// The frames of the first [`PIECE`] of `pages` pages of the caller's memory, if all of these
    /// can be donated; fewer if they are scattered.
    fn donation<'a>(&self, caller: Thread<'_>, pool: Word, pages: Word, frames: &'a mut [Physical; PIECE]) -> Attempt<&'a [Physical]> {
        if pages.value > MAX_POOL {
            return wrong(Code::BadArgument, pages);
        }
        self.page_range(pool, Word { value: pages.value * PAGE_SIZE, ..pool }, USER_END)?;
        self.work_check(pool.number)?;
        let begun = self.followed.get();
        let (count, mut found) = ((pages.value as usize).min(PIECE), 0);
        // What is scattered over many mappings is donated in smaller pieces.
        while found < count && self.followed.get() - begun < SCATTERED {
            let (at, row) = self.donated_at(caller, Word { value: pool.value + found as u64 * PAGE_SIZE, ..pool })?;
            let row = row.min((count - found) as u64);
            for (page, place) in frames[found..].iter_mut().take(row as usize).enumerate() {
                *place = at.add(page as u64 * PAGE_SIZE);
                self.check_donation(*place, pool.number)?;
            }
            found += row as usize;
        }
        Ok(&frames[..found])
    }

    /// The frame of a page of the caller's memory, if objects may be made there, and how many in a
    /// row are mapped from there on.
    fn donated_at(&self, caller: Thread<'_>, page: Word) -> Attempt<(Physical, u64)> {
        match self.resolve(self.space(caller.space()), page.value, Rights::WRITE.union(Rights::OBJECTS)) {
            Ok(meaning) => Ok((meaning.physical.frame(), meaning.above / PAGE_SIZE)),
            Err(_) => Ok((self.object_memory(caller, page)?.frame(), 1)),
        }
    }

    /// Adds frames that were seized to a pool; the caller then donates the rest. A frame that was
    /// named twice counts once.
    fn donate(&self, caller: Thread<'_>, space: Space<'_>, frames: &[Physical], [pool, pages]: [Word; 2]) -> Attempt<Done> {
        frames.iter().for_each(|frame| self.pool_add(space, *frame));
        let done = frames.len() as u64;
        if done == pages.value {
            return Ok(Done::Return);
        }
        caller.set_register(register::ARGUMENT_2, pool.value + done * PAGE_SIZE);
        caller.set_register(register::ARGUMENT_3, pages.value - done);
        self.set_call(caller, Call::SpaceDonate);
        Err(Stop::Again)
    }

    pub(crate) fn space_create(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::SpaceCreate = caller.arguments();
        let slot = self.free_slot(caller, call.slot, ObjectType::Space)?;
        if call.pages.value < MIN_POOL {
            return wrong(Code::NoMemory, call.pages);
        }
        let mut frames = [Physical(0); PIECE];
        let frames = self.donation(caller, call.pool, call.pages, &mut frames)?;
        let keeper = self.keeper_argument(caller, call.keeper)?;
        if distinct(frames, slot.frame()) < MIN_POOL {
            return wrong(if (frames.len() as u64) < MIN_POOL { Code::TooDeep } else { Code::BadRange }, call.pool);
        }
        self.donation_seize(frames)?;
        self.object_place(slot, ObjectType::Space)?;
        let space = self.space(slot);
        self.space_init(space);
        // What hides the time from the maker hides it from what it makes.
        space.set_flags(self.space(caller.space()).flags());
        self.link_to_port(space.keeper(), keeper);
        self.donate(caller, space, frames, [call.pool, call.pages])
    }

    /// Makes the words of a new space, but for its pool.
    pub(crate) fn space_init(&self, space: Space<'_>) {
        list::link_init(&self.machine, space.keeper());
        list::link_init(&self.machine, space.watcher());
        list::init(&self.machine, space.threads());
        list::init(&self.machine, space.links());
    }

    pub(crate) fn space_donate(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::SpaceDonate = caller.arguments();
        let space = self.space_argument(caller, call.space)?;
        let mut frames = [Physical(0); PIECE];
        let frames = self.donation(caller, call.pool, call.pages, &mut frames)?;
        self.donation_seize(frames)?;
        self.donate(caller, space, frames, [call.pool, call.pages])
    }

    pub(crate) fn region_create(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::RegionCreate = caller.arguments();
        let slot = self.free_slot(caller, call.slot, ObjectType::Region)?;
        let space = self.space_argument(caller, call.space)?;
        self.page_range(call.start, call.size, USER_END)?;
        let rights = self.rights_argument(call.rights)?;
        let keeper = self.keeper_argument(caller, call.keeper)?;
        self.object_place(slot, ObjectType::Region)?;
        let region = self.region(slot);
        self.region_init(region, space, (call.start.value, call.size.value), rights);
        self.link_to_port(region.keeper(), keeper);
        Ok(Done::Return)
    }

    /// Makes the words of a new region, and puts it among those of its space.
    pub(crate) fn region_init(&self, region: Region<'_>, space: Space<'_>, (start, size): (u64, u64), rights: Rights) {
        region.set_home(self.home_of(space));
        region.set_start(start);
        region.set_size(size);
        region.set_rights(rights);
        list::init(&self.machine, region.mappings());
        list::link_init(&self.machine, region.keeper());
        list::init(&self.machine, region.links());
        self.regions(space).insert(region.at);
        space.set_population(space.population() + 1);
    }

    pub(crate) fn mapping_create(&self, caller: Thread<'_>) -> Attempt<Done> {
        self.mapping_make(caller, caller.arguments())?;
        Ok(Done::Return)
    }

    /// Makes the mapping that the words of a reply to a fault describe. See `nacre_abi::fault`.
    pub(crate) fn mapping_of_reply(&self, caller: Thread<'_>) -> Attempt<()> {
        let [start, size, region, word, space, slot] = [3, 4, 5, 6, 7, 8].map(|number| caller.argument(number));
        let offset = Word { value: word.value & !(PAGE_SIZE - 1), ..word };
        let rights = Word { value: word.value % PAGE_SIZE, ..word };
        self.mapping_make(caller, MappingCreate { slot, space, start, size, region, offset, rights })
    }

    #[inline(always)]
    fn mapping_make(&self, caller: Thread<'_>, call: MappingCreate) -> Attempt<()> {
        let found = self.slot_memory(caller, call.slot, ObjectType::Mapping)?;
        let begun = self.overlay_at(found);
        let slot = if begun.is_some() { found.0 } else { self.slot_checked(call.slot, found, ObjectType::Mapping)? };
        let space = self.space_argument(caller, call.space)?;
        self.page_range(call.start, call.size, USER_END)?;
        let region = self.region(self.target(caller, call.region, ObjectType::Region, REFERENCE_USE)?);
        if let Some(overlay) = begun {
            // A call that was cut off finds the overlay made, and only waits until nobody sees what
            // is below.
            let state = [overlay.home().0, overlay.start(), overlay.size(), overlay.offset(), overlay.rights().0];
            let same = state == [self.home_of(space).0, call.start.value, call.size.value, call.offset.value, call.rights.value] && list::link_target(&self.machine, overlay.region()) == Some(region.at);
            return if same { self.overlay_finish(overlay) } else { wrong(Code::SlotOccupied, call.slot) };
        }
        self.mapping_check(space, None, (call.start, call.size), (region, call.offset), Rights(call.rights.value))?;
        let rights = self.mapping_rights(call.rights, region)?;
        self.frame_prepare(slot)?;
        // What was there before may still be going.
        self.revoke_idle()?;
        self.object_place(slot, ObjectType::Mapping)?;
        let mapping = self.mapping(slot);
        self.mapping_init(mapping, space, (call.start.value, call.size.value), (region, call.offset.value), rights);
        if !rights.is_over() {
            return Ok(());
        }
        mapping.set_revoked(self.revoke_begin_mapping(mapping));
        self.overlay_finish(mapping)
    }

    /// The overlay at an object's place, if one is there.
    fn overlay_at(&self, (at, frame): (Physical, &Frame)) -> Option<Mapping<'_>> {
        if frame.kind.get() != Frame::OBJECTS || self.object_in_frame(at)?.0 != ObjectType::Mapping {
            return None;
        }
        Some(self.mapping(at)).filter(|mapping| mapping.rights().is_over())
    }

    fn overlay_finish(&self, overlay: Mapping<'_>) -> Attempt<()> {
        self.revoke_finish(overlay.revoked())?;
        overlay.set_revoked(0);
        Ok(())
    }

    /// Checks that a window of `space` can be filled from a region by a mapping with these rights;
    /// `except` is the mapping that is being changed.
    pub(crate) fn mapping_check(
        &self,
        space: Space<'_>,
        except: Option<Physical>,
        (place, size): (Word, Word),
        (region, offset): (Region<'_>, Word),
        rights: Rights,
    ) -> Attempt<()> {
        let (start, size) = (place.value, size.value);
        if !offset.value.is_multiple_of(PAGE_SIZE) || offset.value > region.size() || size > region.size() - offset.value && !rights.is_view() {
            return wrong(Code::BadRange, offset);
        }
        let mappings = self.layer(space, rights);
        let mut next = mappings.first(start, start + size);
        while let Some(node) = next {
            if Some(node.at) != except {
                return wrong(Code::Overlap, place);
            }
            next = mappings.next(node, start, start + size);
        }
        Ok(())
    }

    /// Makes the words of a new mapping, and puts it into its space.
    pub(crate) fn mapping_init(&self, mapping: Mapping<'_>, space: Space<'_>, (start, size): (u64, u64), (region, offset): (Region<'_>, u64), rights: Rights) {
        mapping.set_home(self.home_of(space));
        mapping.set_start(start);
        mapping.set_size(size);
        mapping.set_offset(offset);
        mapping.set_rights(rights);
        list::link_init(&self.machine, mapping.region());
        list::link_set(&self.machine, mapping.region(), region.at, region.mappings());
        list::init(&self.machine, mapping.links());
        self.layer(space, rights).insert(mapping.at);
        space.set_population(space.population() + 1);
    }

    pub(crate) fn thread_create(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ThreadCreate = caller.arguments();
        let slot = self.free_slot(caller, call.slot, ObjectType::Thread)?;
        let space = self.space_argument(caller, call.space)?;
        self.object_place(slot, ObjectType::Thread)?;
        let thread = self.thread(slot);
        self.thread_init(thread, space);
        self.scheduler_inherit(caller, thread);
        Ok(Done::Return)
    }

    /// Makes the words of a new, stopped thread, and puts it among those of its space.
    pub(crate) fn thread_init(&self, thread: Thread<'_>, space: Space<'_>) {
        thread.init(&self.machine, space.at);
        thread.set_register(register::PROCESSOR_FLAGS, crate::thread_calls::FLAGS_ALWAYS);
        list::push_back(&self.machine, space.threads(), thread.peers());
        space.set_population(space.population() + 1);
    }

    pub(crate) fn port_create(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::PortCreate = caller.arguments();
        let slot = self.free_slot(caller, call.slot, ObjectType::Port)?;
        let set = match call.set.value {
            0 => None,
            _ => Some(self.controlled(caller, call.set, ObjectType::PortSet)?),
        };
        self.object_place(slot, ObjectType::Port)?;
        let port = self.port(slot);
        port.init(&self.machine, call.word.value);
        if let Some(set) = set {
            list::link_set(&self.machine, port.set(), set, self.receivable(set).ports());
        }
        Ok(Done::Return)
    }

    pub(crate) fn port_set_create(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::PortSetCreate = caller.arguments();
        let slot = self.free_slot(caller, call.slot, ObjectType::PortSet)?;
        self.object_place(slot, ObjectType::PortSet)?;
        self.receivable(slot).init_set(&self.machine);
        Ok(Done::Return)
    }

    pub(crate) fn reference_create(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ReferenceCreate = caller.arguments();
        let slot = self.free_slot(caller, call.slot, ObjectType::Reference)?;
        self.object_place(slot, ObjectType::Reference)?;
        self.reference(slot).init(&self.machine);
        Ok(Done::Return)
    }

    pub(crate) fn waiters_create(&self, caller: Thread<'_>, object: ObjectType) -> Attempt<Done> {
        // A condition's are the same.
        let call: arguments::MutexCreate = caller.arguments();
        let slot = self.free_slot(caller, call.slot, object)?;
        self.object_place(slot, object)?;
        self.waiters(slot).init(&self.machine);
        Ok(Done::Return)
    }

    /// `(object, reference, rights)`: makes a reference lead to an object; where there is none yet,
    /// it is made.
    pub(crate) fn verb_reference(&self, caller: Thread<'_>, object: ObjectType) -> Attempt<Done> {
        let call: arguments::Reference = caller.arguments();
        let to = self.reference_place(caller, call.reference)?;
        if call.rights.value & !nacre_abi::rights::REFERENCE_ALL != 0 {
            return wrong(Code::BadRights, call.rights);
        }
        let (found, at) = self.object(caller, call.object)?;
        match (found, found == object) {
            (ObjectType::Reference, _) => self.reference_of_reference(&call, (at, to), object)?,
            (_, true) => {
                let reference = self.reference_fill(to, object as u64, call.rights.value);
                list::link_set(&self.machine, reference.target(), at, links_of(object, at));
            }
            _ => return wrong(Code::WrongType, call.object),
        }
        Ok(Done::Return)
    }

    /// Returns the place of the reference that an argument names, or of the slot for one. The
    /// tables nearly always show it already.
    fn reference_place(&self, caller: Thread<'_>, argument: Word) -> Attempt<Physical> {
        let address = argument.value;
        let seen = if address < USER_END { self.machine.object_lookup(self.space(caller.space()).root(), address) } else { None };
        let is_reference = |at: &Physical| at.0.is_multiple_of(UNIT) && matches!(self.object_in_frame(*at), Some((ObjectType::Reference, _)));
        if let Some(at) = seen.filter(is_reference) {
            return Ok(at);
        }
        match self.reference_slot(caller, argument) {
            Ok(at) => self.frame_prepare(at).map(|()| at),
            // One that may only be read is a reference all the same.
            Err(Stop::Status(status)) => self.reference_argument(caller, argument).map_err(|_| status.into()),
            Err(stop) => Err(stop),
        }
    }

    /// Copies a reference; `object` is what it must lead to, unless that is any.
    fn reference_of_reference(&self, call: &arguments::Reference, (from, to): (Physical, Physical), object: ObjectType) -> Attempt<()> {
        let (source, rights) = (self.reference(from), call.rights.value);
        if source.kind() == nacre_abi::object::TargetType::Reply as u64 {
            return wrong(Code::Denied, call.object);
        }
        if object != ObjectType::Reference && source.object(&self.machine, object).is_none() {
            return wrong(if source.is_null(&self.machine) { Code::NullReference } else { Code::WrongType }, call.object);
        }
        if source.rights() & rights != rights {
            return wrong(Code::Denied, call.rights);
        }
        if from == to {
            source.set_rights(rights);
        } else {
            self.reference_copy(source, to, rights);
        }
        Ok(())
    }
}

/// Counts the distinct frames other than `slot`.
fn distinct(frames: &[Physical], slot: Physical) -> u64 {
    let different = frames.iter().enumerate().filter(|(number, frame)| **frame != slot && !frames[..*number].contains(frame));
    different.count() as u64
}
