//! The client against a server of one directory, which can be told to break the rules.

use crate::names::Listing;
use crate::{Client, Error, MAX_MESSAGE, ROOT, Wire, open};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::string::ToString;
use std::vec::Vec;

/// A server: files by name, numbers by fid, and what to do with the next answer.
#[derive(Default)]
struct Server {
    files: BTreeMap<Vec<u8>, Vec<u8>>,
    fids: BTreeMap<u32, Vec<u8>>,
    damage: Option<Box<dyn FnMut(&mut Vec<u8>)>>,
    takes_chains: bool,
    exchanges: usize,
}

fn word(request: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(request[at..at + 4].try_into().unwrap())
}

fn string(request: &[u8], at: usize) -> Vec<u8> {
    let size = usize::from(u16::from_le_bytes([request[at], request[at + 1]]));
    request[at + 2..at + 2 + size].to_vec()
}

fn with_size(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_le_bytes()[..], bytes].concat()
}

impl Server {
    fn serve(&mut self, request: &[u8]) -> Result<Vec<u8>, u32> {
        match request[4] {
            100 => Ok([&MAX_MESSAGE.to_le_bytes()[..], &with_size(b"9P2000.L")].concat()),
            104 => {
                self.fids.insert(word(request, 7), Vec::new());
                Ok(vec![0; 13])
            }
            110 => {
                let name = if request[15] == 0 { self.fids[&word(request, 7)].clone() } else { string(request, 17) };
                if request[15] == 1 && !self.files.contains_key(&name) {
                    return Err(2);
                }
                self.fids.insert(word(request, 11), name);
                Ok([&[request[15], 0][..], &vec![0; 13 * usize::from(request[15])]].concat())
            }
            12 => Ok(vec![0; 17]),
            14 => {
                let name = string(request, 11);
                if self.files.contains_key(&name) {
                    return Err(17);
                }
                self.files.insert(name.clone(), Vec::new());
                self.fids.insert(word(request, 7), name);
                Ok(vec![0; 17])
            }
            24 => Ok(self.status(self.fids.get(&word(request, 7)).ok_or(9u32)?)),
            40 => Ok(self.list(request)),
            116 => {
                let file = &self.files[&self.fids[&word(request, 7)]];
                let start = file.len().min(word(request, 11) as usize);
                let part = &file[start..file.len().min(start + word(request, 19) as usize)];
                Ok([&(part.len() as u32).to_le_bytes()[..], part].concat())
            }
            118 => {
                let name = self.fids[&word(request, 7)].clone();
                let (start, bytes) = (word(request, 11) as usize, &request[23..]);
                let file = self.files.get_mut(&name).unwrap();
                file.resize(file.len().max(start + bytes.len()), 0);
                file[start..start + bytes.len()].copy_from_slice(bytes);
                Ok((bytes.len() as u32).to_le_bytes().to_vec())
            }
            120 => self.fids.remove(&word(request, 7)).map(|_| Vec::new()).ok_or(9),
            76 => self.files.remove(&string(request, 11)).map(|_| Vec::new()).ok_or(2),
            _ => Err(95),
        }
    }

    fn status(&self, name: &[u8]) -> Vec<u8> {
        let size = self.files.get(name).map_or(0, Vec::len) as u64;
        let mut answer = [vec![0; 21], 0o100_644u32.to_le_bytes().to_vec(), vec![0; 8]].concat();
        for number in [1, 0, size].into_iter().chain([0; 12]) {
            answer.extend_from_slice(&u64::to_le_bytes(number));
        }
        answer
    }

    fn list(&self, request: &[u8]) -> Vec<u8> {
        let mut entries = Vec::new();
        for (number, name) in self.files.keys().enumerate().skip(word(request, 11) as usize).take(2) {
            entries.extend_from_slice(&[0; 13]);
            entries.extend_from_slice(&(number as u64 + 1).to_le_bytes());
            entries.push(8);
            entries.extend_from_slice(&with_size(name));
        }
        [&(entries.len() as u32).to_le_bytes()[..], &entries].concat()
    }
}

impl Server {
    fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        assert_eq!(word(request, 0) as usize, request.len());
        let (kind, rest) = match self.serve(request) {
            Ok(rest) => (request[4] + 1, rest),
            Err(number) => (7, number.to_le_bytes().to_vec()),
        };
        [&(7 + rest.len() as u32).to_le_bytes()[..], &[kind], &request[5..7], &rest].concat()
    }
}

impl Wire for Server {
    fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<(), Error> {
        let mut rest = request;
        self.exchanges += 1;
        loop {
            let size = if self.takes_chains { word(rest, 0) as usize } else { rest.len() };
            let (message, others) = rest.split_at(size);
            *answer = self.answer(message);
            if others.is_empty() || answer[4] == 7 && message[4] != 120 {
                break;
            }
            rest = others;
        }
        self.damage.iter_mut().for_each(|damage| damage(answer));
        Ok(())
    }

    fn takes_chains(&self) -> bool {
        self.takes_chains
    }
}

fn client() -> Client<Server> {
    let files = [(&b"a"[..], &b"first"[..]), (b"b", b""), (b"c", b"third"), (b"..", b""), (b"x/y", b"")];
    Client::start(Server { files: files.map(|(name, bytes)| (name.to_vec(), bytes.to_vec())).into(), ..Server::default() }).unwrap()
}

#[test]
fn files_are_found_read_and_written() {
    let mut client = client();
    let fid = client.walk(ROOT, b"a").unwrap();
    assert_eq!(client.status(fid).unwrap().size, 5);
    let file = client.open(fid, open::READ_WRITE).unwrap();
    let mut bytes = [0; 10];
    assert_eq!(client.read(file, 1, &mut bytes), Ok(4));
    assert_eq!(&bytes[..4], b"irst");
    assert_eq!(client.write(file, 5, b" of all"), Ok(7));
    assert_eq!(client.wire().files[&b"a"[..]], b"first of all");
    assert_eq!(client.walk(ROOT, b"nothing"), Err(Error::NOT_FOUND));
    assert_eq!(client.remove(ROOT, b"b", false), Ok(()));
}

#[test]
fn a_listing_has_names_alone() {
    let names: Vec<_> = client().list(ROOT).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, [b"a", b"b", b"c"]);
}

/// Answers listings with one entry each, which a function makes from the number of the question.
fn listing(entry: impl Fn(u64) -> (u64, Vec<u8>) + 'static) -> (Client<Server>, Rc<Cell<u64>>) {
    let (mut client, asked) = (client(), Rc::new(Cell::new(0)));
    let count = asked.clone();
    client.wire().damage = Some(Box::new(move |answer| {
        if answer[4] == 41 {
            let (offset, name) = entry(count.replace(count.get() + 1));
            let part = [&[0; 13][..], &offset.to_le_bytes(), &[8], &with_size(&name)].concat();
            answer.truncate(7);
            answer.extend_from_slice(&(part.len() as u32).to_le_bytes());
            answer.extend_from_slice(&part);
            let size = answer.len() as u32;
            answer[..4].copy_from_slice(&size.to_le_bytes());
        }
    }));
    (client, asked)
}

#[test]
fn a_listing_ends_whatever_the_server_says() {
    // Nothing but names that are left out, each at another offset.
    for name in [&b"."[..], b"", b"a/b"] {
        let (mut client, asked) = listing(move |number| (number + 1, name.to_vec()));
        assert_eq!(client.list(ROOT), Err(Error::BROKEN));
        assert!(asked.get() < 100);
    }
    // A circle of offsets.
    let (mut client, asked) = listing(|number| (number % 5 + 1, number.to_string().into_bytes()));
    assert_eq!(client.list(ROOT), Err(Error::BROKEN));
    assert!(asked.get() < 100);
    // Long names without end.
    let (mut client, asked) = listing(|number| (number + 1, std::format!("{number:0255}").into_bytes()));
    assert_eq!(client.list(ROOT), Err(Error::NO_MEMORY));
    assert!(asked.get() <= 1 << 18);
    assert_eq!(client.wire().fids.len(), 1, "what was opened is forgotten");
}

#[test]
fn a_listing_has_each_name_once() {
    let mut answer = Listing::default();
    let entry = |offset: u64, name: &[u8]| [&[0; 13][..], &offset.to_le_bytes(), &[8], &with_size(name)].concat();
    assert_eq!(answer.add(&[entry(1, b"b"), entry(2, b"a"), entry(3, b"b")].concat()), Ok(Some(3)));
    assert_eq!(answer.add(&entry(4, b"a")), Ok(Some(4)));
    assert_eq!(answer.add(&[]), Ok(None));
    let names: Vec<_> = answer.finish().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, [b"a", b"b"]);
}

#[test]
fn numbers_are_used_again() {
    let mut client = client();
    let first = client.walk(ROOT, b"a").unwrap();
    client.forget(first);
    assert_eq!(client.walk(ROOT, b"nothing"), Err(Error::NOT_FOUND));
    assert_eq!(client.walk(ROOT, b"c"), Ok(first));
    assert_eq!(client.wire().fids.len(), 2);
}

#[test]
fn a_new_file_is_open_by_the_number_that_made_it() {
    let mut client = client();
    let (file, ..) = client.create(ROOT, b"new", 0o444).unwrap();
    assert_eq!(client.write(file, 0, b"bytes"), Ok(5));
    assert_eq!(client.wire().files[&b"new"[..]], b"bytes");
    assert_eq!(client.wire().fids.len(), 3);
}

#[test]
fn what_is_no_name_is_not_asked_for() {
    let mut client = client();
    for name in [&b""[..], b".", b"..", b"a/b", b"a\0", &[b'n'; 256]] {
        assert_eq!(client.walk(ROOT, name), Err(Error::NO_NAME));
        assert_eq!(client.create(ROOT, name, 0o644).err(), Some(Error::NO_NAME));
    }
}

#[test]
fn damaged_answers_are_errors() {
    for at in 0..60 {
        for byte in [0, 1, 7, 0x7f, 0xff] {
            let mut client = client();
            let fid = client.walk(ROOT, b"a").unwrap();
            let file = client.open(fid, open::READ).unwrap();
            client.wire().damage = Some(Box::new(move |answer| {
                let size = answer.len();
                answer[at % size] = byte;
            }));
            let mut bytes = [0; 10];
            let _ = (client.status(fid), client.read(file, 0, &mut bytes), client.list(ROOT), client.read_link(fid));
        }
    }
    for cut in 0..30 {
        let mut client = client();
        let fid = client.walk(ROOT, b"a").unwrap();
        client.wire().damage = Some(Box::new(move |answer| answer.truncate(cut)));
        assert!(client.status(fid).is_err() && client.list(ROOT).is_err());
    }
}

#[test]
fn a_chain_is_one_exchange_and_fails_as_its_messages_do() {
    for takes_chains in [false, true] {
        let mut client = client();
        client.wire().takes_chains = takes_chains;
        let count = |client: &mut Client<Server>| client.wire().exchanges;
        let before = count(&mut client);
        let (file, known, status) = client.create(ROOT, b"new", 0o644).unwrap();
        assert_eq!((status.size, count(&mut client) - before), (0, if takes_chains { 1 } else { 4 }));
        assert_eq!(client.write(file, 0, b"text"), Ok(4));
        assert_eq!(client.create(ROOT, b"new", 0o644).err(), Some(Error(17)));
        assert_eq!(client.find(ROOT, b"nothing").err(), Some(Error::NOT_FOUND));
        let before = count(&mut client);
        [file, known].into_iter().for_each(|fid| client.forget(fid));
        let (found, status) = client.find(ROOT, b"new").unwrap();
        assert_eq!((status.size, count(&mut client) - before), (4, if takes_chains { 1 } else { 4 }));
        let open = client.open(found, open::READ).unwrap();
        let mut bytes = [0; 8];
        assert_eq!((client.read(open, 0, &mut bytes), &bytes[..4]), (Ok(4), &b"text"[..]));
        [open, found].into_iter().for_each(|fid| client.forget(fid));
        client.status(ROOT).unwrap();
        // Only the directory is left.
        assert_eq!(client.wire().fids.len(), 1);
    }
}

#[test]
fn many_files_are_forgotten_in_many_exchanges() {
    let mut client = client();
    client.wire().takes_chains = true;
    let fids: Vec<_> = (0..1000).map(|_| client.walk(ROOT, b"a").unwrap()).collect();
    let before = client.wire().exchanges;
    fids.into_iter().for_each(|fid| client.forget(fid));
    assert!((5..50).contains(&(client.wire().exchanges - before)));
    client.status(ROOT).unwrap();
    assert_eq!(client.wire().fids.len(), 1);
}

#[test]
fn answers_about_parts_of_a_file_lie_where_they_can() {
    let answered = |body: &'static [u8]| {
        let mut client = client();
        client.wire().damage = Some(Box::new(move |answer| {
            answer.truncate(7);
            answer.extend_from_slice(body);
            (answer[0], answer[4]) = (answer.len() as u8, if body.len() == 8 { 131 } else { 133 });
        }));
        client
    };
    let next = |body| answered(body).allocate(ROOT, 4..16, false);
    assert_eq!((next(&[16, 0, 0, 0, 0, 0, 0, 0]), next(&[5, 0, 0, 0, 0, 0, 0, 0])), (Ok(16), Ok(5)));
    assert_eq!((next(&[17, 0, 0, 0, 0, 0, 0, 0]), next(&[4, 0, 0, 0, 0, 0, 0, 0])), (Err(Error::BROKEN), Err(Error::BROKEN)));
    let found = |body| answered(body).seek(ROOT, 4, true);
    assert_eq!((found(&[1, 4, 0, 0, 0, 0, 0, 0, 0]), found(&[0, 5, 0, 0, 0, 0, 0, 0, 0])), (Ok((4, true)), Ok((5, false))));
    for broken in [&[1, 3, 0, 0, 0, 0, 0, 0, 0], &[0, 4, 0, 0, 0, 0, 0, 0, 0], &[1, 0, 0, 0, 0, 0, 0, 0, 0x80]] {
        assert_eq!(found(broken), Err(Error::BROKEN));
    }
}
