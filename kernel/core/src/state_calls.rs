//! Export and import: every object as plain words. `get` writes all of a state or nothing; `set`
//! checks all of it before it takes any.

use crate::create::REGION_END;
use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel};
use crate::list;
use crate::machine::{Machine, Physical, thread_page};
use crate::object::FPU_USED;
use crate::object::{Mapping, Thread, links_of};
use crate::thread_state::TIME_WORD;
use nacre_abi::arguments::{GetState, SetState, Word};
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_CONTROL, REFERENCE_USE};
use nacre_abi::state::{
    ConditionState, FPU_SIZE, MappingState, MutexState, PortSetState, PortState, ReferenceState, RegionState, SpaceState, ThreadState,
};
use nacre_abi::{Code, ObjectType, Rights, USER_END};

/// Limit up to which waiters are counted.
const MAX_COUNTED: u64 = 1024;
/// Maximum number of words in a state.
const MAX_WORDS: usize = ThreadState::WORDS;

/// Maximum number of links of an object.
const MAX_LINKS: usize = 3;

/// A state as words, and how many.
type Words = ([u64; MAX_WORDS], usize);
/// Links of an object: type, place of the target if there is one now, and the rights that a reader
/// of the state gets to it.
type Links = [Option<(ObjectType, Option<Physical>, u64)>; MAX_LINKS];

fn words_of<const N: usize>(state: [u64; N]) -> Words {
    let mut words = [0; MAX_WORDS];
    words[..N].copy_from_slice(&state);
    (words, N)
}

/// Checks that a state of `count` words fits into the caller's buffer.
fn check_buffer(buffer: Word, size: Word, count: usize) -> Attempt<()> {
    if size.value < 8 * count as u64 {
        return wrong(Code::BufferTooSmall, size);
    }
    if !buffer.value.is_multiple_of(8) { wrong(Code::BadAddress, buffer) } else { Ok(()) }
}

impl<M: Machine> Kernel<M> {
    /// The object that a verb is about. For references: the reference itself.
    fn verb_object(&self, caller: Thread<'_>, named: Word, object: ObjectType) -> Attempt<Physical> {
        if object == ObjectType::Reference { self.reference_argument(caller, named) } else { self.controlled(caller, named, object) }
    }

    pub(crate) fn verb_get_state(&self, caller: Thread<'_>, object: ObjectType) -> Attempt<Done> {
        let call: GetState = caller.arguments();
        let at = self.verb_object(caller, call.object, object)?;
        if object == ObjectType::Thread {
            self.check_readable(caller, self.thread(at), call.object)?;
        }
        let (words, count) = self.state_words(caller, object, at);
        let fpu = if object == ObjectType::Thread && call.size.value >= ThreadState::SIZE + FPU_SIZE { self.fpu_size(self.thread(at)) } else { 0 };
        check_buffer(call.buffer, call.size, count)?;
        let span = self.span(caller, call.buffer.number, call.buffer.value, 8 * count as u64 + fpu, Rights::WRITE)?;
        let links = self.links_from(caller, object, at);
        let places = self.link_places(caller, call.links, links)?;
        let mut words = words;
        if fpu != 0 {
            words[2] = fpu;
            self.span_copy_frame(&span, ThreadState::SIZE, at.add(8 * thread_page::FPU as u64), fpu, true);
        }
        // Before any slot is filled: that may make an object page of a page of the buffer.
        self.span_write(&span, 0, &words[..count]);
        self.give_links(links, places);
        Ok(Done::Return)
    }

    fn fpu_size(&self, thread: Thread<'_>) -> u64 {
        if thread.machine_word() & FPU_USED == 0 {
            return 0;
        }
        self.machine.fpu_settle(thread.at, false);
        FPU_SIZE
    }

    /// The state of a thread can be read when it is stopped, or by itself.
    fn check_readable(&self, caller: Thread<'_>, thread: Thread<'_>, named: Word) -> Attempt<()> {
        if thread.at == caller.at {
            self.machine.bases_save(thread.at);
            return Ok(());
        }
        if thread.cpu() != 0 || !thread.has(Thread::STOPPED) { wrong(Code::NotStopped, named) } else { Ok(()) }
    }

    fn state_words(&self, caller: Thread<'_>, object: ObjectType, at: Physical) -> Words {
        match object {
            ObjectType::Space => {
                let space = self.space(at);
                words_of(SpaceState { pool_pages: space.pool_pages(), population: space.population(), flags: space.flags(), ..Default::default() }.to_words())
            }
            ObjectType::Region => {
                let region = self.region(at);
                words_of(RegionState { start: region.start(), size: region.size(), rights: region.rights().0, ..Default::default() }.to_words())
            }
            ObjectType::Mapping => {
                let mapping = self.mapping(at);
                let (start, size) = (mapping.start(), mapping.size());
                words_of(MappingState { start, size, offset: mapping.offset(), rights: mapping.rights().0, ..Default::default() }.to_words())
            }
            ObjectType::Thread => {
                let mut words = self.thread_words(caller, self.thread(at));
                words[TIME_WORD] = self.time_shown(caller, self.thread(at));
                (words, ThreadState::WORDS)
            }
            ObjectType::Port => {
                let port = self.port(at);
                let waiting = list::count(&self.machine, port.senders(), MAX_COUNTED);
                words_of(PortState { word: port.word(), pending: port.pending(), waiting, ..Default::default() }.to_words())
            }
            ObjectType::PortSet => {
                let ports = list::count(&self.machine, self.receivable(at).ports(), MAX_COUNTED);
                words_of(PortSetState { ports, ..Default::default() }.to_words())
            }
            ObjectType::Reference => words_of(self.reference_state(at).to_words()),
            ObjectType::Mutex => words_of(MutexState { waiting: self.count_waiters(at), ..Default::default() }.to_words()),
            ObjectType::Condition => words_of(ConditionState { waiting: self.count_waiters(at), ..Default::default() }.to_words()),
        }
    }

    fn count_waiters(&self, at: Physical) -> u64 {
        list::count(&self.machine, self.waiters(at).threads(), MAX_COUNTED)
    }

    fn reference_state(&self, at: Physical) -> ReferenceState {
        let reference = self.reference(at);
        if reference.is_null(&self.machine) {
            return ReferenceState::default();
        }
        let (mut first, mut count) = (reference.first(), reference.count());
        if let Some(region) = reference.object(&self.machine, ObjectType::Region) {
            (first, count) = (self.region(region).size(), self.region(region).rights().0);
        }
        ReferenceState { target: reference.kind(), rights: reference.rights(), first, count, ..Default::default() }
    }

    /// The references that the caller offers for what an object is linked to.
    fn link_places(&self, caller: Thread<'_>, array: Word, links: Links) -> Attempt<[Option<Physical>; MAX_LINKS]> {
        let mut places = [None; MAX_LINKS];
        if array.value == 0 {
            return Ok(places);
        }
        let slots = self.user_words(caller, array.number, array.value)?;
        for ((place, slot), link) in places.iter_mut().zip(slots).zip(links) {
            if link.is_some() && slot != 0 {
                *place = Some(self.reference_slot(caller, Word { value: slot, ..array })?);
            }
        }
        places.into_iter().flatten().try_for_each(|place| self.frame_prepare(place))?;
        Ok(places)
    }

    /// Fills the references that the caller offers with what the object is linked to.
    fn give_links(&self, links: Links, places: [Option<Physical>; MAX_LINKS]) {
        for (place, link) in places.into_iter().zip(links) {
            if let (Some(place), Some((object, target, rights))) = (place, link) {
                let reference = self.reference_fill(place, object as u64, rights);
                match target {
                    Some(target) => list::link_set(&self.machine, reference.target(), target, links_of(object, target)),
                    None => reference.set_kind(TargetType::Null as u64),
                }
            }
        }
    }

    /// Returns the links of an object in the order of its state's documentation, as far as the
    /// caller may know of them. The export grants nothing: the references lead to keepers, servers,
    /// clients, sets and foreign spaces without any right, so that only `reference_reveal` can tell
    /// where these are, to a caller who has their memory.
    fn links_from(&self, caller: Thread<'_>, object: ObjectType, at: Physical) -> Links {
        let link = |link| list::link_target(&self.machine, link);
        let known = |at: Physical| (at != Physical(0)).then_some(at);
        let told = |object, target| Some((object, target, 0));
        let space = |at: Physical| Some((ObjectType::Space, self.shown(at), if at == caller.space() { REFERENCE_ALL } else { 0 }));
        match object {
            ObjectType::Space => [told(ObjectType::Port, link(self.space(at).keeper())), told(ObjectType::Port, link(self.space(at).watcher())), None],
            ObjectType::Region => {
                let region = self.region(at);
                [told(ObjectType::Port, link(region.keeper())), space(self.space_at_home(region.home()).at), None]
            }
            ObjectType::Mapping => {
                let mapping = self.mapping(at);
                // Whoever changes the mapping can already show all of the region in it, with all of
                // the region's rights.
                [Some((ObjectType::Region, link(mapping.region()), REFERENCE_USE)), space(self.space_at_home(mapping.home()).at), None]
            }
            ObjectType::Thread => {
                let thread = self.thread(at);
                [space(thread.space()), told(ObjectType::Thread, known(thread.client())), told(ObjectType::Port, self.scheduler_shown(caller, thread))]
            }
            ObjectType::Port => [told(ObjectType::PortSet, link(self.port(at).set())), None, None],
            ObjectType::Reference if self.reference(at).kind() == TargetType::Reply as u64 => {
                [told(ObjectType::Thread, link(self.reference(at).target())), None, None]
            }
            _ => [None; MAX_LINKS],
        }
    }

    /// A space as a user may have a reference to it: the kernel's own is none.
    fn shown(&self, space: Physical) -> Option<Physical> {
        (space != Physical(0) && space != self.kernel_space().at).then_some(space)
    }

    pub(crate) fn verb_set_state(&self, caller: Thread<'_>, object: ObjectType) -> Attempt<Done> {
        let call: SetState = caller.arguments();
        let at = self.verb_object(caller, call.object, object)?;
        let count = state_size(object);
        check_buffer(call.buffer, call.size, count)?;
        let with_fpu = object == ObjectType::Thread && call.size.value >= ThreadState::SIZE + FPU_SIZE;
        let taken = 8 * count as u64 + if with_fpu { FPU_SIZE } else { 0 };
        let span = self.span(caller, call.buffer.number, call.buffer.value, taken, Rights::READ)?;
        let mut words = [0; MAX_WORDS];
        self.span_read(&span, 0, &mut words[..count]);
        if words[0] != nacre_abi::state::current_header(object) {
            return wrong(Code::BadVersion, call.buffer);
        }
        match object {
            ObjectType::Region => self.region_set(caller, &call, at, [words[1], words[2], words[3]])?,
            ObjectType::Mapping => self.mapping_set(caller, &call, at, [words[1], words[2], words[3], words[4]])?,
            ObjectType::Thread => {
                self.thread_set_whole(caller, &call, self.thread(at), &words)?;
                if with_fpu && ThreadState::from_words(words).fpu_size == FPU_SIZE {
                    self.machine.fpu_settle(at, true);
                    self.span_copy_frame(&span, ThreadState::SIZE, at.add(8 * thread_page::FPU as u64), FPU_SIZE, false);
                    self.machine.fpu_import(at);
                }
            }
            ObjectType::Port => self.port_set_words(caller, call.links, at, words[1], words[2])?,
            ObjectType::Space => self.space_set(caller, &call, at, words[3])?,
            ObjectType::Reference => self.reference_set(caller, &call, at, &ReferenceState::from_words([words[0], words[1], words[2], words[3], words[4]]))?,
            ObjectType::PortSet | ObjectType::Mutex | ObjectType::Condition => {}
        }
        Ok(Done::Return)
    }

    /// Link number `index` of those that the caller offers; `None` if it offers none at all,
    /// `Some(None)` if this one is to lead nowhere.
    pub(crate) fn offered(&self, caller: Thread<'_>, array: Word, index: usize, object: ObjectType, right: u64) -> Attempt<Option<Option<Physical>>> {
        if array.value == 0 {
            return Ok(None);
        }
        match self.user_words(caller, array.number, array.value)?[index] {
            0 => Ok(Some(None)),
            reference => Ok(Some(Some(self.target(caller, Word { value: reference, ..array }, object, right)?))),
        }
    }

    fn space_set(&self, caller: Thread<'_>, call: &SetState, at: Physical, flags: u64) -> Attempt<()> {
        if at == caller.space() {
            // Whoever made the space set its keeper, and it cannot be changed from inside.
            return wrong(Code::Busy, call.object);
        }
        let space = self.space(at);
        let kept_from_caller = self.space(caller.space()).flags();
        if flags & !SpaceState::FLAGS != 0 {
            return wrong(Code::BadArgument, call.buffer);
        }
        if kept_from_caller & !flags != 0 {
            // It could have another space read the time for it.
            return wrong(Code::Denied, call.buffer);
        }
        let keeper = self.offered(caller, call.links, 0, ObjectType::Port, REFERENCE_CONTROL)?;
        let watcher = self.offered(caller, call.links, 1, ObjectType::Port, REFERENCE_CONTROL)?;
        if flags != space.flags() {
            space.set_flags(flags);
            self.space_changed(space);
        }
        if let Some(keeper) = keeper {
            self.link_to_port(space.keeper(), keeper);
        }
        if let Some(watcher) = watcher {
            self.link_to_port(space.watcher(), watcher);
        }
        Ok(())
    }

    fn region_set(&self, caller: Thread<'_>, call: &SetState, at: Physical, [start, size, rights]: [u64; 3]) -> Attempt<()> {
        let region = self.region(at);
        let end = if region.home() == self.globals.get() { REGION_END } else { USER_END };
        let of_buffer = |value| Word { value, ..call.buffer };
        self.page_range(of_buffer(start), of_buffer(size), end)?;
        let rights = self.rights_argument(of_buffer(rights))?;
        let keeper = self.offered(caller, call.links, 0, ObjectType::Port, REFERENCE_CONTROL)?;
        // A call that was cut off finds the change made, and only waits until what was seen before
        // is gone.
        let (stays, old) = ((region.start(), region.size()) == (start, size), region.rights());
        if stays && region.revoked() == 0 && rights.contains(old) {
            region.set_rights(rights);
        } else if !stays || old != rights || region.revoked() == 0 {
            self.revoke_idle()?;
            let number = self.revoke_begin_region(region);
            let regions = self.regions(self.space_at_home(region.home()));
            regions.remove(at);
            region.set_start(start);
            region.set_size(size);
            region.set_rights(rights);
            region.set_revoked(number);
            regions.insert(at);
        }
        if let Some(keeper) = keeper {
            self.link_to_port(region.keeper(), keeper);
        }
        self.revoke_finish(region.revoked())?;
        region.set_revoked(0);
        Ok(())
    }

    fn mapping_set(&self, caller: Thread<'_>, call: &SetState, at: Physical, [start, size, offset, rights]: [u64; 4]) -> Attempt<()> {
        let mapping = self.mapping(at);
        if mapping.rights().is_view() {
            return wrong(Code::Denied, call.object);
        }
        let of_buffer = |value| Word { value, ..call.buffer };
        self.page_range(of_buffer(start), of_buffer(size), USER_END)?;
        self.rights_argument(of_buffer(rights & !Rights::OVER.0))?;
        let offered = self.offered(caller, call.links, 0, ObjectType::Region, REFERENCE_USE)?;
        let region = match offered {
            Some(region) => region,
            None => list::link_target(&self.machine, mapping.region()),
        };
        let Some(region) = region else { return wrong(Code::NullReference, call.links) };
        let space = self.space_at_home(mapping.home());
        self.mapping_check(space, Some(at), (of_buffer(start), of_buffer(size)), (self.region(region), of_buffer(offset)), Rights(rights))?;
        let rights = self.mapping_rights(of_buffer(rights), self.region(region))?;
        let linked = list::link_target(&self.machine, mapping.region());
        let old = mapping.rights();
        let begins_so = (mapping.start(), mapping.offset()) == (start, offset) && linked == Some(region);
        let (stays, widens) = (begins_so && mapping.size() == size, rights.contains(old.of_memory()));
        if stays && widens && mapping.revoked() == 0 {
            // What is given takes nothing away: whoever wants it faults, and finds it. Nor is there
            // another mapping in the range when this one goes to the other layer.
            self.layer_of(mapping).remove(at);
            mapping.set_rights(rights);
            self.layer_of(mapping).insert(at);
            return Ok(());
        }
        let same = stays && old == rights;
        if !same || mapping.revoked() == 0 {
            self.revoke_idle()?;
            let shrinks = begins_so && widens && size < mapping.size();
            let low = if shrinks { start + size } else { mapping.start() };
            mapping.set_revoked(self.revoke_begin(space, low, mapping.end()));
            if rights.is_over() && (mapping.start(), mapping.size()) != (start, size) {
                // What it comes to stand in front of goes, too.
                self.revoke_later(space, start, start + size);
            }
            if linked.is_some() {
                list::link_clear(&self.machine, mapping.region());
            }
            self.mapping_change(mapping, (start, size), (region, offset), rights);
        }
        // A call that was cut off finds the change made, and only waits until what was seen before
        // is gone.
        self.revoke_finish(mapping.revoked())?;
        mapping.set_revoked(0);
        Ok(())
    }

    /// Lets a mapping without a region show another window.
    fn mapping_change(&self, mapping: Mapping<'_>, (start, size): (u64, u64), (region, offset): (Physical, u64), rights: Rights) {
        self.layer_of(mapping).remove(mapping.at);
        mapping.set_start(start);
        mapping.set_size(size);
        mapping.set_offset(offset);
        mapping.set_rights(rights);
        self.layer_of(mapping).insert(mapping.at);
        list::link_set(&self.machine, mapping.region(), region, self.region(region).mappings());
    }

    fn port_set_words(&self, caller: Thread<'_>, links: Word, at: Physical, word: u64, pending: u64) -> Attempt<()> {
        let port = self.port(at);
        let set = self.offered(caller, links, 0, ObjectType::PortSet, REFERENCE_CONTROL)?;
        port.set_word(word);
        if let Some(set) = set {
            list::remove(&self.machine, port.ready());
            if list::link_target(&self.machine, port.set()).is_some() {
                list::link_clear(&self.machine, port.set());
            }
            if let Some(set) = set {
                list::link_set(&self.machine, port.set(), set, self.receivable(set).ports());
            }
        }
        port.set_pending(0);
        self.notify(port, pending);
        self.port_look_again(port);
        Ok(())
    }

}

/// Returns the number of words in the state of a type.
fn state_size(object: ObjectType) -> usize {
    match object {
        ObjectType::Space => SpaceState::WORDS,
        ObjectType::Region => RegionState::WORDS,
        ObjectType::Mapping => MappingState::WORDS,
        ObjectType::Thread => ThreadState::WORDS,
        ObjectType::Port => PortState::WORDS,
        ObjectType::PortSet => PortSetState::WORDS,
        ObjectType::Reference => ReferenceState::WORDS,
        ObjectType::Mutex => MutexState::WORDS,
        ObjectType::Condition => ConditionState::WORDS,
    }
}
