//! Protocol `directory`.

use crate::layer::Layer;
use crate::objects::Kind;
use alloc::vec::Vec;
use nacre_proto::directory::{self, Server, file_system_status, link, list, make_directory, make_node, read_link, remove, rename};
use nacre_proto::directory::{set_mode_at, set_owner_at, set_times_at, status_at, symbolic_link};
use nacre_proto::flags::{AT_EMPTY_PATH, AT_SYMLINK_FOLLOW, AT_SYMLINK_NOFOLLOW};
use nacre_proto::server::Output;
use nacre_proto::{Errno, Given, HandlerResult, Request};
use nacre_root::frames::FRAME;
use nacre_root::open_file::{OpenFile, is_host_port};
use nacre_root::serve::{status_bytes, two_paths};
use nacre_root::table::Key;
use nacre_root::tree::{NodeContent, Start, format, open};
use nacre_sys::Reference;

/// Bytes of entries of a directory in one answer.
const LISTED: u64 = 4096;
/// Number of files that the file system claims to have room for.
const FILES: u64 = 1 << 20;

impl Layer {
    fn place(&self, request: &Request<'_>) -> Result<Key, Errno> {
        self.objects.file(request.word()).map(|file| file.node)
    }

    /// The directory that paths start from.
    fn start(&self, request: &Request<'_>) -> Result<Start, Errno> {
        self.start_at(request.word())
    }

    fn start_at(&self, word: u64) -> Result<Start, Errno> {
        let file = self.objects.file(word)?;
        self.tree.directory(file.node).map(|_| Start { at: file.node, root: file.root })
    }

    /// The directory that a client names by a reference.
    fn other_place(&self, reference: Reference) -> Result<Start, Errno> {
        let key = self.objects.find(reference).ok_or(Errno::EXDEV)?;
        self.objects.file(key.to_word()).map_err(|_| Errno::EXDEV)?;
        self.start_at(key.to_word())
    }

    fn resolve_at(&mut self, request: &Request<'_>, path: &[u8], flags: u64) -> Result<Key, Errno> {
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
            return self.place(request);
        }
        let (start, follow) = (self.start(request)?, flags & AT_SYMLINK_NOFOLLOW == 0);
        self.tree.prepare(start, path, follow)?;
        self.tree.resolve(start, path, follow)?.existing()
    }

    /// The directory that paths start from, once all is there to which `path` leads without
    /// following a link at its end.
    fn start_of_name(&mut self, request: &Request<'_>, path: &[u8]) -> Result<Start, Errno> {
        let start = self.start(request)?;
        self.tree.prepare(start, path, false)?;
        Ok(start)
    }

    /// Gives an open file out, which the node counts already.
    fn give(&mut self, place: Start, flags: u64, is_writer: bool) -> Result<directory::open::Output, Errno> {
        let given = self.try_give(place, flags, is_writer);
        if given.is_err() {
            if is_writer {
                self.tree.stop_writing(place.at);
            }
            self.tree.closed(place.at);
        }
        given
    }

    fn try_give(&mut self, Start { at, root }: Start, flags: u64, is_writer: bool) -> Result<directory::open::Output, Errno> {
        let node = self.tree.node(at)?;
        let mode = node.mode.into();
        let file = match node.body {
            NodeContent::Special(number) if flags & open::PATH == 0 => {
                // Devices are our parent's. What stands for pipes and sockets is opened as a place.
                let path = self.device(node, number).ok_or(Errno::ENXIO)?;
                let opened = directory::open(self.below.handle(), flags & !(open::CREATE | open::EXCLUSIVE | open::TRUNCATE), 0, &path[..])?;
                if ![format::CHARACTER, format::BLOCK].contains(&(opened.mode as u32 & format::MASK)) {
                    // Somebody outside has put something else there, which is not to change.
                    return Err(Errno::ENXIO);
                }
                self.tree.closed(at);
                return Ok(directory::open::Output { mode, file: opened.file.into() });
            }
            _ => OpenFile { is_writer, root, ..OpenFile::new(at, node, flags, false)? },
        };
        self.check_room()?;
        Ok(directory::open::Output { mode, file: self.objects.give(Kind::File(file))?.into() })
    }

    /// Gives a directory out, opened as the one that the request is for.
    fn give_again(&mut self, request: &Request<'_>, place: Start) -> Result<Given, Errno> {
        let flags = self.objects.file(request.word())?.flags;
        self.tree.opened(place.at);
        self.give(place, flags, false).map(|output| output.file)
    }
}

impl Server for Layer {
    fn open(&mut self, request: &mut Request<'_>, flags: u64, mode: u64, path: &[u8]) -> HandlerResult<directory::open::Output> {
        let start = self.start(request)?;
        if flags & open::ACCESS == open::ACCESS {
            return Err(Errno::EINVAL);
        }
        self.tree.prepare(start, path, flags & open::NOFOLLOW == 0)?;
        let changes = flags & (open::CREATE | open::TRUNCATE | open::TEMPORARY) != 0;
        let now = if changes { self.now() } else { Default::default() };
        let node = self.tree.open(start, path, flags, mode as u32, now)?;
        let writes = flags & open::PATH == 0 && flags & open::ACCESS != 0;
        let is_writer = match if writes { self.tree.start_writing(node) } else { Ok(false) } {
            Ok(is_writer) => is_writer,
            Err(errno) => {
                self.tree.closed(node);
                return Err(errno);
            }
        };
        let is_cut = flags & open::TRUNCATE != 0 && flags & open::PATH == 0 && self.tree.content(node).is_ok_and(|(content, _)| content.size() != 0);
        if is_cut && let Err(errno) = self.tree.set_size(node, 0, now) {
            if is_writer {
                self.tree.stop_writing(node);
            }
            self.tree.closed(node);
            return Err(errno);
        }
        self.give(Start { at: node, root: start.root }, flags, is_writer)?.now()
    }

    fn status_at(&mut self, request: &mut Request<'_>, flags: u64, path: &[u8]) -> HandlerResult<status_at::Output> {
        let node = self.resolve_at(request, path, flags)?;
        request.put(&status_bytes(&self.tree.facts(node)?));
        status_at::Output::default().now()
    }

    fn make_directory(&mut self, request: &mut Request<'_>, mode: u64, path: &[u8]) -> HandlerResult<make_directory::Output> {
        let (start, now) = (self.start_of_name(request, path)?, self.now());
        self.tree.make_directory(start, path, mode as u32, now)?;
        make_directory::Output::default().now()
    }

    fn remove(&mut self, request: &mut Request<'_>, is_directory: u64, path: &[u8]) -> HandlerResult<remove::Output> {
        let (start, now) = (self.start_of_name(request, path)?, self.now());
        self.tree.remove(start, path, is_directory != 0, now)?;
        remove::Output::default().now()
    }

    fn rename(&mut self, request: &mut Request<'_>, flags: u64, first_size: u64, paths: &[u8], new_directory: Reference) -> HandlerResult<rename::Output> {
        let (from, to) = two_paths(paths, first_size)?;
        let (start, other, now) = (self.start_of_name(request, from)?, self.other_place(new_directory)?, self.now());
        self.tree.prepare(other, to, false)?;
        self.tree.rename((start, from), (other, to), flags, now)?;
        rename::Output::default().now()
    }

    fn link(&mut self, request: &mut Request<'_>, flags: u64, first_size: u64, paths: &[u8], new_directory: Reference) -> HandlerResult<link::Output> {
        let (from, to) = two_paths(paths, first_size)?;
        let (other, now) = (self.other_place(new_directory)?, self.now());
        self.tree.prepare(other, to, false)?;
        if from.is_empty() && flags & AT_EMPTY_PATH != 0 {
            self.tree.link_node(self.place(request)?, (other, to), now)?;
            return link::Output::default().now();
        }
        let (start, follow) = (self.start(request)?, flags & AT_SYMLINK_FOLLOW != 0);
        self.tree.prepare(start, from, follow)?;
        self.tree.link((start, from), (other, to), follow, now)?;
        link::Output::default().now()
    }

    fn symbolic_link(&mut self, request: &mut Request<'_>, first_size: u64, paths: &[u8]) -> HandlerResult<symbolic_link::Output> {
        let (target, path) = two_paths(paths, first_size)?;
        let (start, now) = (self.start_of_name(request, path)?, self.now());
        self.tree.make_link(start, target, path, now)?;
        symbolic_link::Output::default().now()
    }

    fn read_link(&mut self, request: &mut Request<'_>, path: &[u8]) -> HandlerResult<read_link::Output> {
        if !path.is_empty() {
            self.start_of_name(request, path)?;
        }
        let target = match path {
            [] => self.tree.link_target(self.place(request)?).ok_or(Errno::ENOENT)?,
            _ => self.tree.read_link(self.start(request)?, path)?,
        };
        request.put(target);
        read_link::Output::default().now()
    }

    fn list(&mut self, request: &mut Request<'_>, cookie: u64, size: u64) -> HandlerResult<list::Output> {
        let place = self.place(request)?;
        if self.tree.node(place)?.links == 0 {
            return Err(Errno::ENOENT);
        }
        if cookie == 0 {
            self.tree.prepare_listing(place)?;
        }
        let mut entries = Vec::new();
        let next = self.tree.list(place, cookie, &mut entries, size.min(LISTED) as usize)?;
        request.put(&entries);
        list::Output { next }.now()
    }

    fn set_mode_at(&mut self, request: &mut Request<'_>, mode: u64, flags: u64, path: &[u8]) -> HandlerResult<set_mode_at::Output> {
        let (node, now) = (self.resolve_at(request, path, flags)?, self.now());
        self.tree.set_mode(node, mode, now)?;
        set_mode_at::Output::default().now()
    }

    fn set_owner_at(&mut self, request: &mut Request<'_>, uid: u64, gid: u64, flags: u64, path: &[u8]) -> HandlerResult<set_owner_at::Output> {
        let (node, now) = (self.resolve_at(request, path, flags)?, self.now());
        self.tree.set_owner(node, uid, gid, now)?;
        set_owner_at::Output::default().now()
    }

    fn set_times_at(&mut self, request: &mut Request<'_>, atime_sec: u64, atime_nsec: u64, mtime_sec: u64, mtime_nsec: u64, flags: u64, path: &[u8]) -> HandlerResult<set_times_at::Output> {
        let (node, now) = (self.resolve_at(request, path, flags)?, self.now());
        self.tree.set_times(node, [(atime_sec, atime_nsec), (mtime_sec, mtime_nsec)], now)?;
        set_times_at::Output::default().now()
    }

    fn make_node(&mut self, request: &mut Request<'_>, mode: u64, device: u64, path: &[u8]) -> HandlerResult<make_node::Output> {
        let (start, now) = (self.start_of_name(request, path)?, self.now());
        if is_host_port(device) {
            return Err(Errno::EPERM);
        }
        self.tree.make_node(start, path, mode as u32, device, now)?;
        make_node::Output::default().now()
    }

    fn file_system_status(&mut self, request: &mut Request<'_>, from: u64) -> HandlerResult<file_system_status::Output> {
        self.place(request)?;
        let found = self.tree.file_system(from).ok_or(Errno::ENODEV)?;
        let (blocks, known) = ((self.tree.store().available() + self.tree.store().taken()) / FRAME, self.tree.len() as u64);
        request.put(&[b"overlay rw ", &found.path[..]].concat());
        let free = self.tree.store().available() / FRAME;
        file_system_status::Output { device: found.device, block_size: FRAME, blocks, free, files: FILES.max(known), files_free: FILES.saturating_sub(known) }.now()
    }

    fn path(&mut self, request: &mut Request<'_>) -> HandlerResult<directory::path::Output> {
        let place = self.place(request)?;
        request.put(&self.tree.path_of(place)?);
        directory::path::Output::default().now()
    }

    /// Memory without a name is our parent's: it can be mapped.
    fn memory(&mut self, request: &mut Request<'_>, takes_seals: u64) -> HandlerResult<directory::memory::Output> {
        self.start(request)?;
        directory::memory::Output { file: directory::memory(self.below.handle(), takes_seals)?.file.into() }.now()
    }

    fn counter(&mut self, request: &mut Request<'_>, value: u64, takes_one: u64) -> HandlerResult<directory::counter::Output> {
        self.start(request)?;
        directory::counter::Output { file: directory::counter(self.below.handle(), value, takes_one)?.file.into() }.now()
    }

    fn share(&mut self, request: &mut Request<'_>) -> HandlerResult<directory::share::Output> {
        let start = self.start(request)?;
        directory::share::Output { directory: self.give_again(request, start)? }.now()
    }

    fn charge(&mut self, request: &mut Request<'_>, _: Reference) -> HandlerResult<directory::charge::Output> {
        self.start(request)?;
        // There are no accounts here.
        Err(Errno::EXDEV)
    }

    fn root(&mut self, request: &mut Request<'_>, path: &[u8]) -> HandlerResult<directory::root::Output> {
        let at = self.resolve_at(request, path, 0)?;
        self.tree.directory(at)?;
        directory::root::Output { directory: self.give_again(request, Start { at, root: Some(at) })? }.now()
    }

    fn find(&mut self, request: &mut Request<'_>, flags: u64, path: &[u8]) -> HandlerResult<directory::find::Output> {
        let (start, follow) = (self.start(request)?, flags & AT_SYMLINK_NOFOLLOW == 0);
        self.tree.prepare(start, path, follow)?;
        let (found, is_directory) = self.tree.find(start, path, follow)?;
        request.put(&found);
        directory::find::Output { is_directory: is_directory.into() }.now()
    }
}
