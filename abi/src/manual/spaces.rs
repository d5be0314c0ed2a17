//! Spaces, regions and mappings: the entries of their calls.

use super::description::{Argument, Entry, Kind, failure};
use crate::arguments::{Destroy, GetState, Move, Reference, SetState};
use crate::{Call, Code, ObjectType};

arguments! {
    SpaceCreate {
        slot: Kind::Slot(ObjectType::Space), "";
        pool: Kind::Donation, "for its tables";
        pages: Kind::Number, "at least 5, at most 512";
        keeper: Kind::Keeper, "receives exceptions, and is told of ends";
    }
    SpaceDonate {
        space: Kind::SpaceOrOwn, "";
        pool: Kind::Donation, "";
        pages: Kind::Number, "at most 512";
    }
    RegionCreate {
        slot: Kind::Slot(ObjectType::Region), "";
        space: Kind::SpaceOrOwn, "whose window it is";
        start: Kind::Start, "";
        size: Kind::Size, "";
        rights: Kind::Rights, "";
        keeper: Kind::Keeper, "told of pages that the region lacks";
    }
    MappingCreate {
        slot: Kind::Slot(ObjectType::Mapping), "";
        space: Kind::SpaceOrOwn, "where the window is";
        start: Kind::Start, "";
        size: Kind::Size, "";
        region: Kind::Use(ObjectType::Region), "";
        offset: Kind::Number, "in the region, multiple of 4096";
        rights: Kind::Rights, "and `OVER` or `VIEW`";
    }
    ViewEnter {
        mapping: Kind::Object(ObjectType::Mapping), "a view";
        list: Kind::Buffer, "pairs of words";
        count: Kind::Number, "of pairs, at most 32";
    }
    ViewForget {
        mapping: Kind::Object(ObjectType::Mapping), "a view";
        start: Kind::Start, "";
        size: Kind::Size, "";
    }
}

/// The entries.
pub const ENTRIES: &[Entry] = &[
    Entry {
        call: Call::SpaceCreate,
        purpose: "Makes an empty address space.",
        arguments: SpaceCreate::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(3, Code::NoMemory, "fewer than 5 pages", "donate more"),
            failure(3, Code::BadArgument, "more than 512 pages in one call", "donate the rest with space_donate"),
            failure(2, Code::BadRange, "fewer than 5 different pages", "donate different pages"),
        ]],
        restarts: "from the start until the space is made; then the caller stands at `space_donate` for the pages behind the first 16",
    },
    Entry {
        call: Call::SpaceDestroy,
        purpose: "Destroys the space: its mappings and regions go, its threads stop for good, the pool becomes plain memory again. If it had threads, its watcher, or without one its keeper, is notified once with bit 62 (THREAD_ENDED), whether the space is destroyed by this call or with its memory.",
        arguments: &Destroy::of([Kind::Object(ObjectType::Space)], [""]),
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it is the space that you run in", "let the parent destroy it"),
        ]],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::SpaceMove,
        purpose: "Moves the space to another address. Everything that is linked to it stays linked.",
        arguments: &Move::of([Kind::Object(ObjectType::Space), Kind::Slot(ObjectType::Space)], ["the object itself, not a reference to it", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references or threads: they are told at once", "destroy some of them"),
            failure(1, Code::Busy, "it is running, or loaded on a CPU", "stop it first"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::SpaceReference,
        purpose: "Makes a reference lead to the space.",
        arguments: &Reference::of([Kind::Use(ObjectType::Space), Kind::ReferenceSlot, Kind::ReferenceRights], ["", "", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Denied, "a reply reference cannot be copied", "move it"),
            failure(3, Code::Denied, "more rights than the source has", "ask for fewer"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::SpaceGetState,
        purpose: "Writes `SpaceState` to the buffer; `links`, if given, are filled with references to [keeper, watcher]. The links of all states grant nothing: a reference to a keeper, a client, a set, a scheduler or a foreign space has no rights. `reference_reveal` tells a caller who has that object's memory where it is.",
        arguments: &GetState::of([Kind::Object(ObjectType::Space), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::SpaceSetState,
        purpose: "Changes the flags, and, if `links` is given, the keeper and the watcher: [keeper, watcher], 0 for none. The watcher hears of ends of threads and of the space in the keeper's place, so that a parent hears of them although its child keeps itself.",
        arguments: &SetState::of([Kind::Object(ObjectType::Space), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
            failure(1, Code::Busy, "it is the space that you run in", "ask who made it"),
            failure(2, Code::BadArgument, "the flags have a bit that is not known", "pass `TIME_HIDDEN`, `TIME_HELD`, both or 0"),
            failure(2, Code::Denied, "it would show or give the time to a space, and your own does not have it", "keep your own space's flags, or ask whoever keeps you"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::SpaceDonate,
        purpose: "Donates more pages for the tables of a space.",
        arguments: SpaceDonate::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(3, Code::BadArgument, "more than 512 pages in one call", "donate the rest with another call"),
        ]],
        restarts: "where it was: rsi and rdx say which pages are left; those before were donated, also when a later one is refused",
    },
    Entry {
        call: Call::RegionCreate,
        purpose: "Exports a window of a space, so that whoever has a reference to the region can map it.",
        arguments: RegionCreate::ARGUMENTS,
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::RegionDestroy,
        purpose: "Destroys the region: whatever was mapped from it shows nothing any more.",
        arguments: &Destroy::of([Kind::Object(ObjectType::Region)], [""]),
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::RegionMove,
        purpose: "Moves the region to another address. Everything that is linked to it stays linked.",
        arguments: &Move::of([Kind::Object(ObjectType::Region), Kind::Slot(ObjectType::Region)], ["the object itself, not a reference to it", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references or mappings made from it: they are told at once", "destroy some of them"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::RegionReference,
        purpose: "Makes a reference lead to the region.",
        arguments: &Reference::of([Kind::Use(ObjectType::Region), Kind::ReferenceSlot, Kind::ReferenceRights], ["", "", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Denied, "a reply reference cannot be copied", "move it"),
            failure(3, Code::Denied, "more rights than the source has", "ask for fewer"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::RegionGetState,
        purpose: "Writes `RegionState` to the buffer; `links`, if given, are filled with references to [keeper, space]. The first has no rights, nor has the second unless the space is the caller's own.",
        arguments: &GetState::of([Kind::Object(ObjectType::Region), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::RegionSetState,
        purpose: "Changes window, rights and, if `links` offers one, keeper. Everything derived is narrowed at once.",
        arguments: &SetState::of([Kind::Object(ObjectType::Region), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
            failure(2, Code::BadRange, "the window is not in whole pages below the end of user addresses", "round it"),
            failure(2, Code::BadRights, "bits without meaning", "pass known bits"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::MappingCreate,
        purpose: "Fills a window of a space from a region. With the right `OVER` (16) the mapping is an overlay: it stands in front of the mappings of the same range and is found before them, whatever its other rights, until it is destroyed. At one address lie at most an overlay and one other mapping. An overlay whose region is gone shows what is below. With the right `VIEW` (32) the mapping is a view: of whatever size, it shows nothing but the pages that `view_enter` enters.",
        arguments: MappingCreate::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(3, Code::Overlap, "another mapping is in the way; for an overlay, another overlay", "destroy it, or choose another place"),
            failure(6, Code::BadRange, "offset and size leave the region", "choose a smaller window"),
        ]],
        restarts: "from the start; nothing was made, but for an overlay: it stands there, and a call whose slot holds the very overlay that it asks for succeeds as soon as nobody sees what is below",
    },
    Entry {
        call: Call::MappingDestroy,
        purpose: "Unmaps. What an overlay stood in front of is found again.",
        arguments: &Destroy::of([Kind::Object(ObjectType::Mapping)], [""]),
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::MappingMove,
        purpose: "Moves the mapping to another address. Everything that is linked to it stays linked.",
        arguments: &Move::of([Kind::Object(ObjectType::Mapping), Kind::Slot(ObjectType::Mapping)], ["the object itself, not a reference to it", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references: they are told at once", "destroy some of them"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::MappingReference,
        purpose: "Makes a reference lead to the mapping.",
        arguments: &Reference::of([Kind::Use(ObjectType::Mapping), Kind::ReferenceSlot, Kind::ReferenceRights], ["", "", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Denied, "a reply reference cannot be copied", "move it"),
            failure(3, Code::Denied, "more rights than the source has", "ask for fewer"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::MappingGetState,
        purpose: "Writes `MappingState` to the buffer; `links`, if given, are filled with references to [region, space]. The first has `REFERENCE_USE`; the second has no rights unless the space is the caller's own.",
        arguments: &GetState::of([Kind::Object(ObjectType::Mapping), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::MappingSetState,
        purpose: "Changes window, offset and rights and, if `links` offers one, the region, all at once: nobody finds nothing meanwhile. `OVER` makes the mapping an overlay, or one no more. More rights and nothing else changed take nothing from anybody.",
        arguments: &SetState::of([Kind::Object(ObjectType::Mapping), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
            failure(2, Code::BadRange, "the window is not in whole pages below the end of user addresses", "round it"),
            failure(2, Code::BadRights, "more than the region has", "ask for fewer"),
            failure(2, Code::Overlap, "another mapping is in the way; for an overlay, another overlay", "destroy it, or choose another place"),
            failure(2, Code::BadRange, "the window leaves the region", "choose a smaller one"),
            failure(4, Code::NullReference, "its region is gone", "offer another"),
            failure(1, Code::Denied, "it is a view", "destroy it, and make another"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ViewEnter,
        purpose: "Enters pages into a view: of each pair, the first word is the page's address with its rights in the lower bits (READ, which it must have, WRITE, EXECUTE; `VIEW_PRIVILEGED`: only the kernel of a guest sees it; `VIEW_LARGE`: the same holds for all of the 2 MiB around it), and the second is the page's offset in the region, counted from the mapping's. What the address showed before is replaced. Nothing remembers a page but the tables of the space: it is lost when the space's pool is used up, and when anything is taken away from what the region shows, then with all of the view. Whoever misses it takes a fault, or is left as a guest. The call ends behind a page that is entered with the 2 MiB around it, and before one that cannot be entered; the errors below are those of the first one.",
        arguments: ViewEnter::ARGUMENTS,
        results: "`rdx`: number of pages that were entered; `r8`: 1 if the last one was with the 2 MiB around it",
        failures: &[&[
            failure(1, Code::WrongType, "the mapping is no view", "make one with `VIEW`"),
            failure(1, Code::NullReference, "its region is gone", "make another view"),
            failure(3, Code::BadArgument, "more than 32 pages", "enter the rest with another call"),
            failure(2, Code::BadRights, "no READ, bits without meaning, or more than the mapping and its region have", "ask for rights that they have"),
            failure(2, Code::BadRange, "an address outside of the view or behind an overlay, or an offset that is not in the region or no multiple of 4096", "pass pages of both"),
            failure(2, Code::BadAddress, "there is no plain memory at the offset, or not with these rights", "touch the page where you see it, so that its keeper brings it, and try again"),
        ]],
        restarts: "from the start; or it ends early, with what it has entered",
    },
    Entry {
        call: Call::ViewForget,
        purpose: "Takes the pages of a range out of a view. When it returns, no processor uses them any more. Pages beside the range can go with it, 2 MiB of them or, where the view is all of its space, all.",
        arguments: ViewForget::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(1, Code::WrongType, "the mapping is no view", "make one with `VIEW`"),
            failure(2, Code::BadRange, "the range leaves the view", "pass a part of it"),
        ]],
        restarts: "where it was: rsi and rdx say what is left",
    },
];
