//! Decoding of arguments: from registers and addresses to objects. Nothing here changes anything
//! but the caller's own tables.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Kernel};
use crate::list;
use crate::machine::{LeafKind, Machine, PageSize, Physical, thread_page::register};
use crate::object::{self, Region, Space, Thread};
use nacre_abi::arguments::{Arguments, Word};
use nacre_abi::object::{TargetType, UNIT};
use nacre_abi::rights::{REFERENCE_CONTROL, REFERENCE_USE};
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Rights, USER_END};

/// Number of the descriptor, as an argument.
pub(crate) const DESCRIPTOR: u8 = 9;

impl Thread<'_> {
    /// Argument `number` (1 is the first) of the call that the thread makes.
    #[inline(always)]
    pub(crate) fn argument(self, number: u8) -> Word {
        Word { number, value: self.register(register::ARGUMENTS[number as usize - 1]) }
    }

    /// The arguments of the call that the thread makes, as the manual names them.
    #[inline(always)]
    pub(crate) fn arguments<A: Arguments>(self) -> A {
        A::read(|number| self.argument(number).value)
    }
}

impl<M: Machine> Kernel<M> {
    /// The live object that the thread names: at this address of its space.
    #[inline(always)]
    pub(crate) fn object(&self, thread: Thread<'_>, named: Word) -> Attempt<(ObjectType, Physical)> {
        let address = named.value;
        if address % UNIT != 0 {
            return wrong(Code::BadAddress, named);
        }
        let seen = if address < USER_END { self.machine.object_lookup(self.space(thread.space()).root(), address) } else { None };
        let at = match seen {
            Some(at) => at,
            None => self.object_page(thread, named)?,
        };
        self.object_in_frame(at).map_or_else(|| wrong(Code::NotAnObject, named), Ok)
    }

    /// Returns the physical place of an address if it is in an object page that the tables do not
    /// show yet.
    #[cold]
    fn object_page(&self, thread: Thread<'_>, named: Word) -> Attempt<Physical> {
        let leaf = self.leaf(thread, named.number, named.value, Rights::NONE)?;
        if leaf.kind != LeafKind::Objects || leaf.size != PageSize::Small {
            return wrong(Code::NotAnObject, named);
        }
        Ok(leaf.physical)
    }

    /// The live object that starts at `at`, an address in an object frame. A thread fills its
    /// frame, and what stands inside it is the user's: no object starts there.
    #[inline(always)]
    pub(crate) fn object_in_frame(&self, at: Physical) -> Option<(ObjectType, Physical)> {
        let object = object::type_at(&self.machine, at)?;
        let inside_thread = at.0 % PAGE_SIZE != 0 && object::type_at(&self.machine, at.frame()) == Some(ObjectType::Thread);
        (!inside_thread).then_some((object, at))
    }

    /// The object of type `wanted` that the thread names, or that a reference there leads to which
    /// carries `right`.
    #[inline(always)]
    pub(crate) fn target(&self, thread: Thread<'_>, named: Word, wanted: ObjectType, right: u64) -> Attempt<Physical> {
        let found = self.object(thread, named)?;
        self.target_of(named, found, wanted, right)
    }

    /// Returns the target of an object that was looked up, as `target` does.
    #[inline(always)]
    pub(crate) fn target_of(&self, argument: Word, (found, at): (ObjectType, Physical), wanted: ObjectType, right: u64) -> Attempt<Physical> {
        if found == wanted {
            return Ok(at);
        }
        if found != ObjectType::Reference {
            return wrong(Code::WrongType, argument);
        }
        let reference = self.reference(at);
        match reference.object(&self.machine, wanted) {
            Some(_) if reference.rights() & right != right => wrong(Code::Denied, argument),
            Some(target) => Ok(target),
            None if reference.is_null(&self.machine) => wrong(Code::NullReference, argument),
            None => wrong(Code::WrongType, argument),
        }
    }

    /// An argument as an object that the caller controls.
    pub(crate) fn controlled(&self, caller: Thread<'_>, argument: Word, wanted: ObjectType) -> Attempt<Physical> {
        self.target(caller, argument, wanted, REFERENCE_CONTROL)
    }

    /// An argument as a space that the caller controls; 0 is its own.
    pub(crate) fn space_argument(&self, caller: Thread<'_>, argument: Word) -> Attempt<Space<'_>> {
        if argument.value == 0 {
            return Ok(self.space(caller.space()));
        }
        Ok(self.space(self.controlled(caller, argument, ObjectType::Space)?))
    }

    /// Decodes a port to which the kernel itself is to send messages, or `None` for 0. A reference
    /// that only lets its holder send is not enough: a server takes such a message for the kernel's
    /// word.
    pub(crate) fn keeper_argument(&self, caller: Thread<'_>, argument: Word) -> Attempt<Option<Physical>> {
        match argument.value {
            0 => Ok(None),
            _ => Ok(Some(self.target(caller, argument, ObjectType::Port, REFERENCE_CONTROL)?)),
        }
    }

    /// The reference object (not what it leads to) that an argument names.
    pub(crate) fn reference_argument(&self, caller: Thread<'_>, argument: Word) -> Attempt<Physical> {
        match self.object(caller, argument)? {
            (ObjectType::Reference, at) => Ok(at),
            _ => wrong(Code::WrongType, argument),
        }
    }

    /// An argument as a reference to a resource of the machine that its holder may use.
    pub(crate) fn resource_argument(&self, caller: Thread<'_>, argument: Word, wanted: TargetType) -> Attempt<object::Reference<'_>> {
        let reference = self.reference(self.reference_argument(caller, argument)?);
        if reference.kind() == wanted as u64 {
            if reference.rights() & REFERENCE_USE == 0 { wrong(Code::Denied, argument) } else { Ok(reference) }
        } else if reference.is_null(&self.machine) {
            wrong(Code::NullReference, argument)
        } else {
            wrong(Code::WrongType, argument)
        }
    }

    /// A range: page-aligned, not empty, below `end`.
    pub(crate) fn page_range(&self, start: Word, size: Word, end: u64) -> Attempt<()> {
        if !start.value.is_multiple_of(PAGE_SIZE) || start.value >= end {
            return wrong(Code::BadRange, start);
        }
        if !size.value.is_multiple_of(PAGE_SIZE) || size.value == 0 || size.value > end - start.value {
            return wrong(Code::BadRange, size);
        }
        Ok(())
    }

    /// Rights given by an argument.
    pub(crate) fn rights_argument(&self, argument: Word) -> Attempt<Rights> {
        Rights::from_bits(argument.value).map_or_else(|| wrong(Code::BadRights, argument), Ok)
    }

    /// Rights of a mapping from `region`, given by an argument.
    pub(crate) fn mapping_rights(&self, argument: Word, region: Region<'_>) -> Attempt<Rights> {
        let kind = if Rights(argument.value).is_view() { Rights::VIEW } else { Rights::OVER };
        let rights = self.rights_argument(Word { value: argument.value & !kind.0, ..argument })?;
        if region.rights().contains(rights) { Ok(Rights(argument.value)) } else { wrong(Code::BadRights, argument) }
    }

    /// Lets the link at `link` lead to a port, or nowhere.
    pub(crate) fn link_to_port(&self, link: Physical, port: Option<Physical>) {
        let old = list::link_target(&self.machine, link);
        if old.is_some() {
            list::link_clear(&self.machine, link);
        }
        if let Some(port) = port {
            list::link_set(&self.machine, link, port, object::links_of(ObjectType::Port, port));
        }
        if let Some(old) = old {
            self.references_check(old);
        }
    }
}
