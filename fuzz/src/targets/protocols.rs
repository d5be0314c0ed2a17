//! The Common Protocols, as servers and tracers read them.

use crate::bytes::Bytes;
use nacre_proto::describe::{Kind, Word, structure};
use nacre_proto::server::{Output, rehearsal};
use nacre_proto::socket_records::SocketRecords;
use nacre_proto::structures::{Attributes, Entries, Entry, Status};
use nacre_proto::{HandlerResult, PROTOCOLS, Request};
use nacre_proto::{channel, clock, control, dataspace, directory, driver, file, keyed, mailbox, memory, nic, parent, process, segment, terminal};
use nacre_sys::Reference;

/// A server that believes what it is told of sizes.
struct Credulous;

impl file::Server for Credulous {
    fn read(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<file::read::Output> {
        let count = request.buffer(size as usize).len();
        request.truncate(offset as usize);
        file::read::Output { count: count as u64 }.now()
    }

    fn write(&mut self, request: &mut Request<'_>, offset: u64, data: &[u8]) -> HandlerResult<file::write::Output> {
        request.put(data);
        request.truncate(offset as usize);
        file::write::Output { count: offset }.now()
    }
}

impl directory::Server for Credulous {
    fn open(&mut self, request: &mut Request<'_>, flags: u64, mode: u64, _: &[u8]) -> HandlerResult<directory::open::Output> {
        let file = request.references().get(flags as usize).copied().unwrap_or(Reference(0x7000));
        directory::open::Output { mode, file: file.into() }.now()
    }

    fn read_link(&mut self, request: &mut Request<'_>, path: &[u8]) -> HandlerResult<directory::read_link::Output> {
        request.put(path);
        directory::read_link::Output::default().now()
    }
}

impl parent::Server for Credulous {}
impl memory::Server for Credulous {}
impl segment::Server for Credulous {}
impl terminal::Server for Credulous {}
impl process::Server for Credulous {}
impl clock::Server for Credulous {}
impl channel::Server for Credulous {}
impl keyed::Server for Credulous {}
impl mailbox::Server for Credulous {}
impl dataspace::Server for Credulous {}
impl control::Server for Credulous {}
impl nic::Server for Credulous {}
impl driver::Server for Credulous {}

/// Protocols that have a server here. The test asks that all have one.
pub const SERVED: &[u32] = &[
    parent::NUMBER,
    memory::NUMBER,
    segment::NUMBER,
    file::NUMBER,
    terminal::NUMBER,
    directory::NUMBER,
    process::NUMBER,
    clock::NUMBER,
    channel::NUMBER,
    keyed::NUMBER,
    mailbox::NUMBER,
    dataspace::NUMBER,
    control::NUMBER,
    nic::NUMBER,
    driver::NUMBER,
];

fn serve(number: u32, request: &mut Request<'_>) {
    match number {
        parent::NUMBER => parent::dispatch(&mut Credulous, request),
        memory::NUMBER => memory::dispatch(&mut Credulous, request),
        segment::NUMBER => segment::dispatch(&mut Credulous, request),
        file::NUMBER => file::dispatch(&mut Credulous, request),
        terminal::NUMBER => terminal::dispatch(&mut Credulous, request),
        directory::NUMBER => directory::dispatch(&mut Credulous, request),
        process::NUMBER => process::dispatch(&mut Credulous, request),
        channel::NUMBER => channel::dispatch(&mut Credulous, request),
        keyed::NUMBER => keyed::dispatch(&mut Credulous, request),
        mailbox::NUMBER => mailbox::dispatch(&mut Credulous, request),
        dataspace::NUMBER => dataspace::dispatch(&mut Credulous, request),
        control::NUMBER => control::dispatch(&mut Credulous, request),
        nic::NUMBER => nic::dispatch(&mut Credulous, request),
        driver::NUMBER => driver::dispatch(&mut Credulous, request),
        _ => clock::dispatch(&mut Credulous, request),
    }
}

/// A label: of an operation, or nearly, or any.
fn label(bytes: &mut Bytes<'_>) -> u32 {
    match bytes.below(8) {
        0 => bytes.word() as u32,
        1 => (bytes.below(12) << 16 | bytes.below(32)) as u32,
        _ => {
            let operations = PROTOCOLS[bytes.below(PROTOCOLS.len())].operations;
            let number = bytes.below(operations.len().max(1));
            operations.get(number).map_or(0, |operation| operation.label)
        }
    }
}

pub fn dispatch(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    while !bytes.is_over() {
        let (label, words) = (label(&mut bytes), bytes.words());
        let references: Vec<Reference> = (0..bytes.below(9)).map(|_| Reference(bytes.word())).collect();
        // Mostly the protocol's own server, now and then another's.
        let number = if bytes.below(8) == 0 { SERVED[bytes.below(SERVED.len())] } else { label >> 16 };
        let data = bytes.some();
        let sent = rehearsal::ask(label, words, data, &references, |request| serve(number, request));
        assert!(sent.2.len() <= 8 && sent.3.len() <= 65536);
        let refused = nacre_proto::describe(label).is_none();
        assert!(!refused || sent.0 != 0, "label {label:#x} is of no operation and succeeds");
    }
}

pub fn describe(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    while !bytes.is_over() {
        let (label, words) = (label(&mut bytes), bytes.words());
        let Some(operation) = nacre_proto::describe(label) else { continue };
        let data = bytes.some();
        for (word, (_, kind)) in words.into_iter().zip(operation.words_in.iter().chain(operation.words_out)) {
            assert!(!Word(*kind, word).to_string().is_empty());
        }
        for kind in [operation.bytes_in, operation.bytes_out] {
            if let Kind::Structure(name) = kind {
                structure(name, data).map(|structure| structure.to_string());
            }
        }
        structures(data);
    }
}

fn structures(data: &[u8]) {
    if let Some(status) = Status::from_bytes(data) {
        assert_eq!(status.to_bytes(), data[..Status::SIZE]);
    }
    if let Some(attributes) = Attributes::from_bytes(data) {
        assert_eq!(attributes.to_bytes(), data[..Attributes::SIZE]);
    }
    for Entry { inode, mode, name } in Entries(data) {
        let mut packed = [0; 512];
        let size = Entry { inode, mode, name }.pack(&mut packed).expect("an entry that came fits");
        assert_eq!(Entries(&packed[..size]).next(), Some(Entry { inode, mode, name }));
    }
    for record in SocketRecords(data) {
        let mut packed = Vec::new();
        record.pack(&mut packed);
        assert_eq!(SocketRecords(&packed).next(), Some(record));
    }
}
