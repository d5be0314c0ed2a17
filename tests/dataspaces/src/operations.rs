//! The nine operations at one manager, and between it and another one.

use crate::attached::Attached;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_proto::flags::{ATTACH_READ, DATASPACE_LASTS};
use nacre_proto::{Errno, dataspace};
use nacre_rt::memory::pool;
use nacre_rt::stream::print;
use nacre_sys::Reference;

/// Pages of the dataspaces.
const PAGES: u64 = 6;
const SIZE: u64 = PAGES * PAGE_SIZE;

type Done = Result<(), Errno>;
type Test = fn(Reference, &[u8], &[u8]) -> Done;

const TESTS: &[(&str, Test)] = &[
    ("create makes zeros, in whole pages", create),
    ("create refuses what it cannot make", create_refuses),
    ("identify finds a name, in its own manager alone", identify),
    ("attachments show the same memory, and detach ends one alone", attach_and_detach),
    ("a reference that only reads, reads", share_to_read),
    ("a shared reference changes nothing but contents", share),
    ("a copy in the other manager holds what was there", copy_across),
    ("a transfer keeps references and attachments", transfer),
    ("a manager goes below another and comes out again", below),
    ("an answer comes whole though its page was never touched, or went", answers),
    ("delete ends attachments, and no others", delete),
    ("interrogate tells of both managers", interrogate),
    ("operations at the wrong object are refused", wrong_objects),
];

/// Runs all of them: the status.
pub fn run(manager: &[u8], other: &[u8]) -> i32 {
    let Ok(pool) = pool() else { return 1 };
    let mut failed = 0;
    for (sentence, test) in TESTS {
        match test(pool, manager, other) {
            Ok(()) => print(1, format_args!("ok {sentence}\n")),
            Err(errno) => {
                failed = 1;
                print(1, format_args!("not ok {sentence}: {errno}\n"));
            }
        }
    }
    failed
}

/// `EPROTO`: something is not as it must be.
fn check(holds: bool) -> Done {
    if holds { Ok(()) } else { Err(Errno::EPROTO) }
}

fn refused<T>(result: Result<T, Errno>, wanted: Errno) -> Done {
    match result {
        Err(errno) if errno == wanted => Ok(()),
        Err(errno) => Err(errno),
        Ok(_) => Err(Errno::EPROTO),
    }
}

fn named(manager: &[u8], name: &[u8]) -> Vec<u8> {
    [manager, b":", name].concat()
}

/// A dataspace whose pages hold their numbers and `add`.
fn filled(pool: Reference, manager: &[u8], add: u64) -> Result<(dataspace::create::Reply, Attached), Errno> {
    let made = dataspace::create(pool, SIZE, manager)?;
    let attached = Attached::new(made.dataspace.handle(), 0)?;
    (0..PAGES).try_for_each(|page| attached.write(page, page + add))?;
    Ok((made, attached))
}

fn holds(attached: &Attached, add: u64) -> Done {
    (0..PAGES).try_for_each(|page| check(attached.read(page)? == page + add))
}

fn create(pool: Reference, manager: &[u8], _: &[u8]) -> Done {
    let made = dataspace::create(pool, 5000, manager)?;
    check(made.size == 2 * PAGE_SIZE)?;
    let attached = Attached::new(made.dataspace.handle(), 0)?;
    check(attached.size == 2 * PAGE_SIZE && attached.read(0)? == 0 && attached.read(1)? == 0)
}

fn create_refuses(pool: Reference, manager: &[u8], _: &[u8]) -> Done {
    refused(dataspace::create(pool, 0, manager), Errno::EINVAL)?;
    refused(dataspace::create(pool, u64::MAX, manager), Errno::ENOMEM)?;
    refused(dataspace::create(pool, 1 << 40, manager), Errno::ENOMEM)?;
    refused(dataspace::create(pool, SIZE, &b"nobody"[..]), Errno::ENOENT)?;
    refused(dataspace::create(pool, SIZE, &named(manager, &[b'n'; 256])[..]), Errno::ENAMETOOLONG)?;
    refused(dataspace::create(pool, SIZE, &[0xff; 300][..]), Errno::ENOENT)
}

fn identify(pool: Reference, manager: &[u8], other: &[u8]) -> Done {
    let (here, there) = (named(manager, b"a name"), named(other, b"a name"));
    refused(dataspace::identify(pool, &here[..]), Errno::ENOENT)?;
    refused(dataspace::identify(pool, manager), Errno::EINVAL)?;
    let made = dataspace::create(pool, SIZE, &here[..])?;
    refused(dataspace::create(pool, SIZE, &here[..]), Errno::EEXIST)?;
    let found = dataspace::identify(pool, &here[..])?;
    check(found.size == SIZE)?;
    check(manager == other || dataspace::identify(pool, &there[..]).is_err())?;
    let (first, second) = (Attached::new(made.dataspace.handle(), 0)?, Attached::new(found.dataspace.handle(), 0)?);
    first.write(3, 77)?;
    check(second.read(3)? == 77)?;
    dataspace::delete(made.dataspace.handle())?;
    refused(dataspace::identify(pool, &here[..]), Errno::ENOENT)
}

fn attach_and_detach(pool: Reference, manager: &[u8], _: &[u8]) -> Done {
    let (made, first) = filled(pool, manager, 5)?;
    let second = Attached::new(made.dataspace.handle(), 0)?;
    holds(&second, 5)?;
    refused(dataspace::attach(made.dataspace.handle(), 2), Errno::EINVAL)?;
    dataspace::detach(first.attachment.handle())?;
    check(second.is_there(pool, 1) && !first.is_there(pool, 1))?;
    check(dataspace::detach(first.attachment.handle()).is_err())?;
    holds(&second, 5)
}

fn share_to_read(pool: Reference, manager: &[u8], _: &[u8]) -> Done {
    let (made, own) = filled(pool, manager, 9)?;
    let reads = dataspace::share(made.dataspace.handle(), ATTACH_READ)?.dataspace;
    let attached = Attached::new(reads.handle(), ATTACH_READ)?;
    holds(&attached, 9)?;
    own.write(2, 11)?;
    check(attached.read(2)? == 11)?;
    check(own.takes_bytes(2, |own| own.write(2, 12)) && !attached.takes_bytes(3, |attached| attached.read(3).map(drop)))?;
    // Whoever only reads hands on no more than that, and attaches no more than that.
    let again = dataspace::share(reads.handle(), 0)?.dataspace;
    check(!Attached::new(again.handle(), ATTACH_READ)?.takes_bytes(3, |attached| attached.read(3).map(drop)) && own.read(3)? == 12)
}

/// The kernel drops bytes for pages that are missing; all other ways to receive lose none.
fn answers(pool: Reference, manager: &[u8], _: &[u8]) -> Done {
    for by_message in [true, false] {
        let made = dataspace::create(pool, SIZE, manager)?;
        let attached = Attached::new(made.dataspace.handle(), 0)?;
        check(attached.receive_in_place(0) == Some(false))?;
        // Below `--chaos` pages go between question and answer.
        for round in 0..4 * PAGES {
            check(attached.receive(round % PAGES, by_message) == Some(true))?;
        }
    }
    Ok(())
}

fn share(pool: Reference, manager: &[u8], other: &[u8]) -> Done {
    let (made, own) = filled(pool, manager, 20)?;
    let shared = dataspace::share(made.dataspace.handle(), 0)?.dataspace;
    refused(dataspace::share(made.dataspace.handle(), 8), Errno::EINVAL)?;
    refused(dataspace::delete(shared.handle()), Errno::EPERM)?;
    refused(dataspace::transfer(shared.handle(), other), Errno::EPERM)?;
    let attached = Attached::new(shared.handle(), 0)?;
    attached.write(0, 21)?;
    check(own.read(0)? == 21)?;
    drop(shared);
    check(own.read(1)? == 21)
}

fn copy_across(pool: Reference, manager: &[u8], other: &[u8]) -> Done {
    let (made, own) = filled(pool, manager, 30)?;
    for target in [other, manager, b""] {
        let copied = dataspace::copy(made.dataspace.handle(), target)?;
        check(copied.size == SIZE)?;
        let attached = Attached::new(copied.dataspace.handle(), 0)?;
        own.write(1, 99)?;
        attached.write(2, 88)?;
        check(attached.read(1)? == 31 && own.read(2)? == 32)?;
        own.write(1, 31)?;
        attached.write(2, 32)?;
        holds(&attached, 30)?;
    }
    refused(dataspace::copy(made.dataspace.handle(), &b"nobody"[..]), Errno::ENOENT)?;
    holds(&own, 30)
}

fn transfer(pool: Reference, manager: &[u8], other: &[u8]) -> Done {
    let here = named(manager, b"moves");
    let made = dataspace::create(pool, SIZE, &here[..])?;
    let attached = Attached::new(made.dataspace.handle(), 0)?;
    (0..PAGES).try_for_each(|page| attached.write(page, page + 40))?;
    for target in [other, manager, manager, other] {
        dataspace::transfer(made.dataspace.handle(), target)?;
        holds(&attached, 40)?;
        check(dataspace::identify(pool, &named(target, b"moves")[..])?.size == SIZE)?;
    }
    refused(dataspace::transfer(made.dataspace.handle(), &b"nobody"[..]), Errno::ENOENT)?;
    if manager != other {
        let _taken = dataspace::create(pool, SIZE, &here[..])?.dataspace;
        refused(dataspace::transfer(made.dataspace.handle(), manager), Errno::EEXIST)?;
        dataspace::delete(_taken.handle())?;
    }
    holds(&attached, 40)?;
    dataspace::delete(made.dataspace.handle()).map(drop)
}

/// Checks the name of a dataspace's manager.
fn is_at(dataspace: Reference, wanted: &[u8]) -> Done {
    let mut name = [0; dataspace::NAME_SIZE];
    let told = dataspace::interrogate(dataspace, &b""[..], &mut name[..])?;
    check(&name[..told.name] == wanted)
}

fn below(pool: Reference, manager: &[u8], other: &[u8]) -> Done {
    let (made, own) = filled(pool, manager, 50)?;
    let dataspace = made.dataspace.handle();
    is_at(dataspace, manager)?;
    refused(dataspace::transfer(dataspace, &[b"/", manager].concat()[..]), Errno::EINVAL)?;
    refused(dataspace::transfer(dataspace, &b"/nobody"[..]), Errno::ENOENT)?;
    if manager == other {
        return holds(&own, 50);
    }
    let stacked = [manager, b"/", other].concat();
    for round in 0..3 {
        dataspace::transfer(dataspace, &[b"/", other].concat()[..])?;
        is_at(dataspace, &stacked)?;
        holds(&own, 50)?;
        own.write(round, 7)?;
        // A copy holds what both have.
        let copied = dataspace::copy(dataspace, &b""[..])?;
        check(Attached::new(copied.dataspace.handle(), 0)?.read(round)? == 7)?;
        own.write(round, round + 50)?;
        let next = if round == 1 { [other, b"/", manager].concat() } else { b"/".to_vec() };
        dataspace::transfer(dataspace, &next[..])?;
        holds(&own, 50)?;
        dataspace::transfer(dataspace, manager)?;
        is_at(dataspace, manager)?;
    }
    holds(&own, 50)
}

fn delete(pool: Reference, manager: &[u8], _: &[u8]) -> Done {
    let ((first, lost), (_second, kept)) = (filled(pool, manager, 1)?, filled(pool, manager, 2)?);
    dataspace::delete(first.dataspace.handle())?;
    check(!lost.is_there(pool, 0) && kept.is_there(pool, 5))?;
    check(dataspace::attach(first.dataspace.handle(), 0).is_err() && dataspace::delete(first.dataspace.handle()).is_err())?;
    holds(&kept, 2)
}

fn interrogate(pool: Reference, manager: &[u8], other: &[u8]) -> Done {
    for name in [manager, other] {
        let before = dataspace::interrogate(pool, name, &mut [0; dataspace::NAME_SIZE][..])?;
        let made = dataspace::create(pool, SIZE, name)?;
        let after = dataspace::interrogate(made.dataspace.handle(), &b""[..], &mut [0; dataspace::NAME_SIZE][..])?;
        check(before.operations == after.operations && after.promised == before.promised + SIZE && after.limit >= after.promised)?;
        check((after.operations & DATASPACE_LASTS != 0) == (name == b"persistent"))?;
    }
    refused(dataspace::interrogate(pool, &b"nobody"[..], &mut [0; dataspace::NAME_SIZE][..]), Errno::ENOENT)
}

fn wrong_objects(pool: Reference, manager: &[u8], _: &[u8]) -> Done {
    let (made, attached) = filled(pool, manager, 3)?;
    check(dataspace::attach(pool, 0).is_err() && dataspace::delete(pool).is_err() && dataspace::detach(pool).is_err())?;
    check(dataspace::transfer(pool, manager).is_err() && dataspace::copy(pool, manager).is_err() && dataspace::share(pool, 0).is_err())?;
    check(dataspace::create(made.dataspace.handle(), SIZE, manager).is_err() && dataspace::identify(made.dataspace.handle(), manager).is_err())?;
    check(dataspace::detach(made.dataspace.handle()).is_err() && dataspace::delete(attached.attachment.handle()).is_err())?;
    holds(&attached, 3)
}
