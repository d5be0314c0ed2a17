//! Requests through dispatch, without a kernel: what a handler sees, and what would be answered.

use alloc::vec::Vec;

use super::rehearsal::ask;
use super::*;
use crate::{clock, directory, file, parent};

/// A server of which each operation does something that can be seen.
#[derive(Default)]
struct Example {
    seen: Vec<Vec<u8>>,
}

impl file::Server for Example {
    fn read(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<file::read::Output> {
        request.buffer(size as usize).fill(offset as u8);
        request.truncate(size as usize - 1);
        file::read::Output { count: size - 1 }.now()
    }

    fn write(&mut self, request: &mut Request<'_>, _offset: u64, data: &[u8]) -> HandlerResult<file::write::Output> {
        request.put(b"left over");
        self.seen.push(data.to_vec());
        Err(Errno::ENOSPC)
    }
}

impl directory::Server for Example {
    fn link(&mut self, _: &mut Request<'_>, flags: u64, first_size: u64, paths: &[u8], to: Reference) -> HandlerResult<directory::link::Output> {
        assert_eq!((flags, first_size, to), (0x400, 3, Reference(0x7000)));
        self.seen.push(paths.to_vec());
        directory::link::Output {}.now()
    }

    fn open(&mut self, _: &mut Request<'_>, _: u64, mode: u64, _: &[u8]) -> HandlerResult<directory::open::Output> {
        directory::open::Output { mode, file: Reference(0x7040).into() }.now()
    }
}

impl clock::Server for Example {}

#[test]
fn words_and_bytes_go_both_ways() {
    let mut server = Example::default();
    let sent = ask(file::read::LABEL, [7, 4, 0, 0, 0, 0], b"", &[], |request| file::dispatch(&mut server, request));
    assert_eq!(sent, (0, [3, 0, 0, 0, 0, 0], Vec::new(), Vec::from([7, 7, 7])));
}

#[test]
fn an_error_carries_nothing_else() {
    let mut server = Example::default();
    let sent = ask(file::write::LABEL, [0; 6], b"abc", &[], |request| file::dispatch(&mut server, request));
    assert_eq!(sent, (Errno::ENOSPC.0, [0; 6], Vec::new(), Vec::new()));
    assert_eq!(server.seen, [b"abc"]);
}

#[test]
fn references_go_both_ways() {
    let mut server = Example::default();
    let words = [0x400, 3, 0, 0, 0, 0];
    let sent = ask(directory::link::LABEL, words, b"oldnew", &[Reference(0x7000)], |request| directory::dispatch(&mut server, request));
    assert_eq!((sent.0, &server.seen[0][..]), (0, &b"oldnew"[..]));
    let sent = ask(directory::open::LABEL, [0, 0o644, 0, 0, 0, 0], b"x", &[], |request| directory::dispatch(&mut server, request));
    assert_eq!(sent, (0, [0o644, 0, 0, 0, 0, 0], Vec::from([Reference(0x7040)]), Vec::new()));
}

#[test]
fn a_request_that_lacks_a_reference_never_reaches_the_handler() {
    let mut server = Example::default();
    let sent = ask(directory::link::LABEL, [0; 6], b"oldnew", &[], |request| directory::dispatch(&mut server, request));
    assert_eq!((sent.0, server.seen.len()), (Errno::EPROTO.0, 0));
}

#[test]
fn what_nobody_wrote_is_refused() {
    let mut server = Example::default();
    for label in [clock::read::LABEL, file::sync::LABEL, file::NUMBER << 16 | 99, parent::find::LABEL, 0, u32::MAX] {
        let sent = ask(label, [1; 6], b"bytes", &[], |request| match request.protocol() {
            clock::NUMBER => clock::dispatch(&mut server, request),
            _ => file::dispatch(&mut server, request),
        });
        assert_eq!(sent.0, Errno::ENOSYS.0, "{label:#x}");
    }
}

#[test]
fn an_answer_has_at_most_eight_references() {
    let parts = Parts::new([1], [const { Given::Lent(Reference(64)) }; 10]);
    assert_eq!((parts.count, parts.words[0]), (8, 1));
    assert_eq!(Parts::new([], [Given::Nothing]).count, 0);
}
