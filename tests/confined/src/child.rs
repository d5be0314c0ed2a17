//! The child: what it can name, and what it can do with that.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::environment::{OBJECTS, OBJECTS_PAGES, PARENT, SPACE, THREAD};
use nacre_abi::manual::{CHAPTERS, Kind};
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_USE};
use nacre_abi::state::ObjectEntry;
use nacre_abi::{Call, Code, ObjectType, PAGE_SIZE, USER_END};
use nacre_proto::flags::REPORT_MESSAGE;
use nacre_proto::parent;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{FOREVER, OwnedReference, Reference, Space, Thread, memory};

/// A test: its id, its sentence, and what it does.
type Test = (&'static str, &'static str, fn() -> Result<(), String>);

/// Attempts of the child.
pub const TESTS: [Test; 7] = [
    ("CNF0001", "the objects in a child's memory are the references it was born with", objects),
    ("CNF0002", "they lead to its parent, its space and its thread, with the rights that it was given", rights),
    ("CNF0003", "none of them leads into its own memory", hidden),
    ("CNF0004", "no other address names an object", addresses),
    ("CNF0005", "no call takes for an object what is another, or none", calls),
    ("CNF0006", "what its objects are linked to can be told apart and not used", links),
    ("CNF0007", "its keeper cannot be changed from inside", keeper),
];

/// The references that it was born with: where, to what, and with which rights.
const GIVEN: [(u64, TargetType, u64); 3] = [
    (PARENT, TargetType::Port, REFERENCE_USE),
    (SPACE, TargetType::Space, REFERENCE_ALL),
    (THREAD, TargetType::Thread, REFERENCE_ALL),
];

/// Tells the parent what came of each test.
pub fn run() -> i32 {
    let mut failed = 0;
    for (id, sentence, function) in TESTS {
        let line = match function() {
            Ok(()) => format!("ok {id} {sentence}"),
            Err(why) => {
                failed = 1;
                format!("not ok {id} {sentence}: {why}")
            }
        };
        // A line that does not arrive is missing, and so noticed.
        let _ = parent::report(Reference::PARENT, REPORT_MESSAGE, line.as_bytes());
    }
    failed
}

fn given() -> Vec<u64> {
    GIVEN.iter().map(|(address, _, _)| *address).collect()
}

fn objects() -> Result<(), String> {
    let mut entries = [ObjectEntry::default(); 16];
    let (mut at, mut found) = (0, Vec::new());
    loop {
        let (count, next) = memory::objects(at, USER_END - at, &mut entries).map_err(|status| format!("cannot list: {status:?}"))?;
        found.extend(entries[..count].iter().map(|entry| (entry.address, entry.kind)));
        if next == 0 {
            break;
        }
        at = next;
    }
    let expected: Vec<(u64, u64)> = given().into_iter().map(|address| (address, ObjectType::Reference as u64)).collect();
    if found == expected { Ok(()) } else { Err(format!("{found:x?}")) }
}

fn rights() -> Result<(), String> {
    for (address, target, rights) in GIVEN {
        let state = Reference(address).get_state().map_err(|status| format!("{address:#x}: {status:?}"))?;
        if (state.target, state.rights) != (target as u64, rights) {
            return Err(format!("{address:#x} leads to {} with {}", state.target, state.rights));
        }
    }
    Ok(())
}

fn hidden() -> Result<(), String> {
    for address in given() {
        match Reference(address).reveal(0, USER_END) {
            Ok(None) => {}
            other => return Err(format!("{address:#x}: {other:?}")),
        }
    }
    Ok(())
}

/// Addresses from which nothing should be had: every slot of the object area, each page of the
/// parts of a space where something is, a page of each gigabyte, the kernel's half, and some at
/// random.
fn strange_addresses() -> impl Iterator<Item = u64> {
    let area = (OBJECTS..OBJECTS + (OBJECTS_PAGES + 2) * PAGE_SIZE).step_by(64);
    let image = (0x0fff_0000..0x1010_0000u64).step_by(256);
    let low = (0..0x40_0000u64).step_by(PAGE_SIZE as usize);
    let stack = (OBJECTS + (1 << 20)..OBJECTS + (3 << 20)).step_by(PAGE_SIZE as usize);
    let gigabytes = (0..USER_END).step_by(1 << 30);
    let kernel = (0..48).map(|bit| 0xffff_8000_0000_0000 | 1u64 << bit).chain([u64::MAX, u64::MAX - 63, 1 << 63]);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let random = (0..20_000).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state & (USER_END - 1) & !63
    });
    area.chain(image).chain(low).chain(stack).chain(gigabytes).chain(kernel).chain(random)
}

fn addresses() -> Result<(), String> {
    let given = given();
    for address in strange_addresses().filter(|address| !given.contains(address)) {
        let status = Reference(address).get_state();
        let refused = status.is_err_and(|status| matches!(status.code(), Some(Code::BadAddress | Code::NotAnObject)));
        if !refused {
            return Err(format!("{address:#x}: {status:?}"));
        }
    }
    Ok(())
}

/// Returns the object and rights that an argument of this kind must name; `None` if it names no
/// object.
fn wanted(kind: Kind) -> Option<(Option<ObjectType>, u64)> {
    match kind {
        Kind::Object(of) => Some((Some(of), REFERENCE_ALL)),
        Kind::Use(of) => Some((Some(of), REFERENCE_USE)),
        Kind::Resource => Some((None, REFERENCE_USE)),
        _ => None,
    }
}

/// Returns true if a reference that the child was born with may serve as such an argument. A
/// reference names itself, too.
fn may_serve(target: TargetType, rights: u64, (of, needed): (Option<ObjectType>, u64)) -> bool {
    of == Some(ObjectType::Reference) || of.is_some_and(|of| of as u64 == target as u64) && rights & needed == needed
}

fn calls() -> Result<(), String> {
    let entries = CHAPTERS.iter().flat_map(|(_, entries)| entries.iter());
    let mut tried = 0;
    for entry in entries {
        for (number, argument) in entry.arguments.iter().enumerate() {
            let Some(wanted) = wanted(argument.kind) else { continue };
            let unfit = GIVEN.iter().filter(|(_, target, rights)| !may_serve(*target, *rights, wanted));
            let nothing = [OBJECTS + 0x1c0, OBJECTS + 15 * PAGE_SIZE, 64, 0x1000_0000, u64::MAX & !63];
            for address in unfit.map(|(address, _, _)| *address).chain(nothing) {
                let mut arguments = [0; 8];
                arguments[number] = address;
                let (status, _, _) = nacre_raw::call(entry.call, arguments);
                tried += 1;
                if status.is_ok() {
                    return Err(format!("{}, argument {}: {address:#x} was taken", entry.call.name(), number + 1));
                }
            }
        }
    }
    // The table of calls is what is tried: it must not have become empty.
    if tried > 400 { Ok(()) } else { Err(format!("only {tried} were tried")) }
}

fn links() -> Result<(), String> {
    let fresh = || OwnedReference::null().map_err(|status| format!("no slot: {status:?}"));
    let (keeper, space, client) = (fresh()?, fresh()?, fresh()?);
    Space(SPACE).get_state_and_links(&[keeper.handle()]).map_err(|status| format!("its space: {status:?}"))?;
    Thread(THREAD).get_state_and_links(&[space.handle(), client.handle(), Reference(0)]).map_err(|status| format!("its thread: {status:?}"))?;
    let target = |reference: &OwnedReference| reference.handle().get_state().map(|state| (state.target, state.rights)).map_err(|status| format!("{status:?}"));
    let found = [target(&keeper)?, target(&space)?, target(&client)?];
    let expected = [(TargetType::Port as u64, 0), (TargetType::Space as u64, REFERENCE_ALL), (TargetType::Null as u64, 0)];
    if found != expected {
        return Err(format!("{found:?}"));
    }
    unusable(keeper.handle())
}

/// Tries everything that a program does with a port on a reference to its keeper.
fn unusable(keeper: Reference) -> Result<(), String> {
    let copy = OwnedReference::null().map_err(|status| format!("no slot: {status:?}"))?;
    let raised = (1..=REFERENCE_ALL).map(|rights| keeper.reference(copy.handle(), rights));
    let message = Message::new(parent::report::LABEL, [0; 6]);
    let tries = [ipc::send(keeper, &message, FOREVER), ipc::call(keeper, &message, Buffers::NONE, FOREVER).map(drop), ipc::notify(keeper, 1)];
    for (number, result) in raised.chain(tries).enumerate() {
        if result.map_err(|status| status.code()) != Err(Some(Code::Denied)) {
            return Err(format!("try {number}: {result:?}"));
        }
    }
    Ok(())
}

fn keeper() -> Result<(), String> {
    let state = Space(SPACE).get_state().map_err(|status| format!("{status:?}"))?;
    match Space(SPACE).set_state_and_links(&state, &[Reference(PARENT)]) {
        Err(status) if status.code() == Some(Code::Busy) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

const _: () = assert!(Call::ALL.len() > 80);
