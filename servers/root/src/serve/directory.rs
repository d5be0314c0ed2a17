//! Protocol `directory`.

use super::file::status_bytes;
use crate::accounts::Bounds;
use crate::chores::{AfterCut, Chore};
use crate::notices::event;
use crate::objects::Kind;
use crate::open_file::{FileOperations, OpenFile, is_host_port};
use crate::root::Root;
use crate::sources::{Counter, What};
use crate::table::Key;
use crate::tree::{Start, open};
use crate::{frames::FRAME, ram};
use nacre_9p::Capacity;
use nacre_proto::directory::{self, Server, file_system_status, link, list, make_directory, make_node, read_link, remove, rename};
use nacre_proto::directory::{set_mode_at, set_owner_at, set_times_at, status_at, symbolic_link};
use nacre_proto::flags::{IN_ONLYDIR, AT_EMPTY_PATH, AT_SYMLINK_FOLLOW, AT_SYMLINK_NOFOLLOW};
use nacre_proto::server::Output;
use nacre_proto::{Answer, Errno, Given, HandlerResult, Request};
use nacre_sys::Reference;

/// Bytes of entries of a directory in one answer: each entry costs some hundred instructions.
const LISTED: u64 = 4096;
/// Number of files that the file system claims to have room for.
const MAX_FILES: u64 = 1 << 20;

impl Root {
    /// Capacity of the memory for files.
    fn capacity(&self) -> Capacity {
        let (tree, files) = (&self.files.tree, self.files.tree.len() as u64);
        Capacity { block_size: FRAME, blocks: ram::most() / FRAME, free: tree.store().available() / FRAME, files: MAX_FILES.max(files), files_free: MAX_FILES.saturating_sub(files) }
    }

    /// The node that was opened.
    fn place(&self, request: &Request<'_>) -> Result<Key, Errno> {
        self.objects.file(request.word()).map(|file| file.node)
    }

    /// The node that paths start from. Who has only a file has no paths, not even absolute ones:
    /// they would lead to all other files.
    fn start(&self, request: &Request<'_>) -> Result<Start, Errno> {
        let file = self.objects.file(request.word())?;
        self.files.tree.directory(file.node).map(|_| Start { at: file.node, root: file.root })
    }

    fn resolve_at(&mut self, request: &Request<'_>, path: &[u8], flags: u64) -> Result<Key, Errno> {
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
            return self.place(request);
        }
        let (start, follow) = (self.start(request)?, flags & AT_SYMLINK_NOFOLLOW == 0);
        self.files.tree.prepare(start, path, follow)?;
        self.files.tree.resolve(start, path, follow)?.existing()
    }

    /// The node that paths start from, once all is there to which `path` leads without following a
    /// link at its end.
    fn start_of_name(&mut self, request: &Request<'_>, path: &[u8]) -> Result<Start, Errno> {
        let start = self.start(request)?;
        self.files.tree.prepare(start, path, false)?;
        Ok(start)
    }

    /// Finds the node of another directory that a client names by a reference. `ENOTDIR`: the
    /// reference leads to a file, from which no path starts.
    fn other_place(&self, reference: Reference) -> Result<Start, Errno> {
        let key = self.objects.find(reference).ok_or(Errno::EXDEV)?;
        let file = self.objects.file(key.to_word()).map_err(|_| Errno::EXDEV)?;
        self.files.tree.directory(file.node).map(|_| Start { at: file.node, root: file.root })
    }

    /// Returns true if a regular file is not empty, and can be.
    fn has_content(&self, node: Key) -> bool {
        self.files.tree.content(node).is_ok_and(|(content, _)| content.size() != 0 && !content.is_fixed())
    }

    fn stop_opening(&mut self, node: Key, is_writer: bool) {
        if is_writer {
            self.files.tree.stop_writing(node);
        }
        self.files.tree.closed(node);
    }

    /// Gives an open file out. One that is counted as a writer is so no more if that fails.
    pub(super) fn give_file(&mut self, account: Key, place: impl Into<Start>, flags: u64, is_writer: bool) -> Result<directory::open::Output, Errno> {
        let Start { at: node, root } = place.into();
        let has_terminal = self.console.input.terminal().is_some();
        let (mode, opens) = self.files.tree.node(node).map(|node| (node.mode, node.opens))?;
        let file = OpenFile { is_writer, root, ..OpenFile::new(node, self.files.tree.node(node)?, flags, has_terminal)? };
        // One at a time debugs by the line.
        if file.operations == FileOperations::Debugger && opens > 1 {
            return Err(Errno::EBUSY);
        }
        let given = self.objects.give(Kind::File(file), account);
        if is_writer && given.is_err() {
            self.files.tree.stop_writing(node);
        }
        let file = given?;
        Ok(directory::open::Output { mode: mode.into(), file: file.into() })
    }

    /// Gives a directory out, opened as the one that the request is for.
    fn give_again(&mut self, request: &Request<'_>, account: Key, place: Start) -> Result<Given, Errno> {
        let flags = self.objects.file(request.word())?.flags;
        self.files.tree.opened(place.at);
        let given = self.give_file(account, place, flags, false);
        if given.is_err() {
            self.files.tree.closed(place.at);
        }
        Ok(given?.file)
    }

    /// Gives a directory out with an account of its own.
    fn share_within(&mut self, request: &Request<'_>, bounds: Bounds) -> Result<Given, Errno> {
        let start = self.start(request)?;
        let account = self.objects.accounts.open_within(self.objects.account(request.word()), bounds)?;
        let given = self.give_again(request, account, start);
        if given.is_err() {
            self.objects.accounts.refund(account, 0);
        }
        given
    }
}

/// The two paths of a message.
pub fn two_paths(paths: &[u8], first_size: u64) -> Result<(&[u8], &[u8]), Errno> {
    usize::try_from(first_size).ok().and_then(|size| paths.split_at_checked(size)).ok_or(Errno::EINVAL)
}

impl Server for Root {
    fn open(&mut self, request: &mut Request<'_>, flags: u64, mode: u64, path: &[u8]) -> HandlerResult<directory::open::Output> {
        let start = self.start(request)?;
        if flags & open::ACCESS == open::ACCESS {
            return Err(Errno::EINVAL);
        }
        self.files.tree.prepare(start, path, flags & open::NOFOLLOW == 0)?;
        if flags & (open::CREATE | open::TRUNCATE) != 0 {
            self.pay(request);
        }
        let node = self.files.tree.open(start, path, flags, mode as u32, self.files.clock.now())?;
        let writes = flags & open::PATH == 0 && flags & open::ACCESS != 0;
        let given = match if writes { self.files.tree.start_writing(node) } else { Ok(false) } {
            Ok(is_writer) if flags & open::TRUNCATE != 0 && flags & open::PATH == 0 && self.has_content(node) => {
                return match self.wait_for(request, |reply| Chore::Cut(node, 0, AfterCut::Open(flags, is_writer), reply)) {
                    Ok(()) => Ok(Answer::Later),
                    Err(errno) => {
                        self.stop_opening(node, is_writer);
                        Err(errno)
                    }
                };
            }
            Ok(is_writer) => self.give_file(self.objects.account(request.word()), Start { at: node, root: start.root }, flags, is_writer),
            Err(errno) => Err(errno),
        };
        if given.is_err() {
            self.files.tree.closed(node);
        }
        given?.now()
    }

    fn status_at(&mut self, request: &mut Request<'_>, flags: u64, path: &[u8]) -> HandlerResult<status_at::Output> {
        let node = self.resolve_at(request, path, flags)?;
        request.put(&status_bytes(&self.files.tree.facts(node)?));
        status_at::Output::default().now()
    }

    fn make_directory(&mut self, request: &mut Request<'_>, mode: u64, path: &[u8]) -> HandlerResult<make_directory::Output> {
        let start = self.start_of_name(request, path)?;
        self.pay(request);
        self.files.tree.make_directory(start, path, mode as u32, self.files.clock.now())?;
        make_directory::Output::default().now()
    }

    fn remove(&mut self, request: &mut Request<'_>, is_directory: u64, path: &[u8]) -> HandlerResult<remove::Output> {
        let start = self.start_of_name(request, path)?;
        self.files.tree.remove(start, path, is_directory != 0, self.files.clock.now())?;
        remove::Output::default().now()
    }

    fn rename(&mut self, request: &mut Request<'_>, flags: u64, first_size: u64, paths: &[u8], new_directory: Reference) -> HandlerResult<rename::Output> {
        let (from, to) = two_paths(paths, first_size)?;
        let (start, other) = (self.start_of_name(request, from)?, self.other_place(new_directory)?);
        self.files.tree.prepare(other, to, false)?;
        self.pay(request);
        self.files.tree.rename((start, from), (other, to), flags, self.files.clock.now())?;
        rename::Output::default().now()
    }

    fn link(&mut self, request: &mut Request<'_>, flags: u64, first_size: u64, paths: &[u8], new_directory: Reference) -> HandlerResult<link::Output> {
        let (from, to) = two_paths(paths, first_size)?;
        let other = self.other_place(new_directory)?;
        self.files.tree.prepare(other, to, false)?;
        self.pay(request);
        if from.is_empty() && flags & AT_EMPTY_PATH != 0 {
            // Whoever has the file may give it a name where he may give names.
            self.files.tree.link_node(self.place(request)?, (other, to), self.files.clock.now())?;
            return link::Output::default().now();
        }
        let start = self.start(request)?;
        self.files.tree.prepare(start, from, flags & AT_SYMLINK_FOLLOW != 0)?;
        self.files.tree.link((start, from), (other, to), flags & AT_SYMLINK_FOLLOW != 0, self.files.clock.now())?;
        link::Output::default().now()
    }

    fn symbolic_link(&mut self, request: &mut Request<'_>, first_size: u64, paths: &[u8]) -> HandlerResult<symbolic_link::Output> {
        let (target, path) = two_paths(paths, first_size)?;
        let start = self.start_of_name(request, path)?;
        self.pay(request);
        self.files.tree.make_link(start, target, path, self.files.clock.now())?;
        symbolic_link::Output::default().now()
    }

    fn read_link(&mut self, request: &mut Request<'_>, path: &[u8]) -> HandlerResult<read_link::Output> {
        if !path.is_empty() {
            self.start_of_name(request, path)?;
        }
        let tree = &self.files.tree;
        // Linux's `readlinkat` takes an empty path for the link that was opened as a place.
        let target = match path {
            [] => tree.link_target(self.place(request)?).ok_or(Errno::ENOENT)?,
            _ => tree.read_link(self.start(request)?, path)?,
        };
        request.put(target);
        read_link::Output::default().now()
    }

    fn list(&mut self, request: &mut Request<'_>, cookie: u64, size: u64) -> HandlerResult<list::Output> {
        let start = self.place(request)?;
        if self.files.tree.node(start)?.links == 0 {
            // It was removed, and has not even its own name any more.
            return Err(Errno::ENOENT);
        }
        if cookie == 0 {
            self.files.tree.prepare_listing(start)?;
        }
        let mut entries = alloc::vec::Vec::new();
        let next = self.files.tree.list(start, cookie, &mut entries, size.min(LISTED) as usize)?;
        request.put(&entries);
        self.files.tree.note(start, event::ACCESS);
        list::Output { next }.now()
    }

    fn set_mode_at(&mut self, request: &mut Request<'_>, mode: u64, flags: u64, path: &[u8]) -> HandlerResult<set_mode_at::Output> {
        let node = self.resolve_at(request, path, flags)?;
        self.files.tree.set_mode(node, mode, self.files.clock.now())?;
        set_mode_at::Output::default().now()
    }

    fn set_owner_at(&mut self, request: &mut Request<'_>, uid: u64, gid: u64, flags: u64, path: &[u8]) -> HandlerResult<set_owner_at::Output> {
        let node = self.resolve_at(request, path, flags)?;
        self.files.tree.set_owner(node, uid, gid, self.files.clock.now())?;
        set_owner_at::Output::default().now()
    }

    fn set_times_at(
        &mut self,
        request: &mut Request<'_>,
        atime_sec: u64,
        atime_nsec: u64,
        mtime_sec: u64,
        mtime_nsec: u64,
        flags: u64,
        path: &[u8],
    ) -> HandlerResult<set_times_at::Output> {
        let node = self.resolve_at(request, path, flags)?;
        self.files.tree.set_times(node, [(atime_sec, atime_nsec), (mtime_sec, mtime_nsec)], self.files.clock.now())?;
        set_times_at::Output::default().now()
    }

    fn make_node(&mut self, request: &mut Request<'_>, mode: u64, device: u64, path: &[u8]) -> HandlerResult<make_node::Output> {
        let start = self.start_of_name(request, path)?;
        if is_host_port(device) {
            return Err(Errno::EPERM);
        }
        self.pay(request);
        self.files.tree.make_node(start, path, mode as u32, device, self.files.clock.now())?;
        make_node::Output::default().now()
    }

    fn file_system_status(&mut self, request: &mut Request<'_>, from: u64) -> HandlerResult<file_system_status::Output> {
        self.place(request)?;
        let found = self.files.tree.file_system(from).ok_or(Errno::ENODEV)?;
        let capacity = found.capacity.unwrap_or_else(|| self.capacity());
        let access: &[u8] = if found.is_read_only { b" ro " } else { b" rw " };
        request.put(&[found.kind, access, &found.path[..]].concat());
        let Capacity { block_size, blocks, free, files, files_free } = capacity;
        file_system_status::Output { device: found.device, block_size, blocks, free, files, files_free }.now()
    }

    fn path(&mut self, request: &mut Request<'_>) -> HandlerResult<directory::path::Output> {
        let start = self.place(request)?;
        request.put(&self.files.tree.path_of(start)?);
        directory::path::Output::default().now()
    }

    fn memory(&mut self, request: &mut Request<'_>, takes_seals: u64) -> HandlerResult<directory::memory::Output> {
        self.start(request)?;
        let node = self.files.tree.make_memory(takes_seals != 0, self.files.clock.now())?;
        let given = self.give_file(self.objects.account(request.word()), node, open::READ_WRITE, false);
        if given.is_err() {
            self.files.tree.closed(node);
        }
        directory::memory::Output { file: given?.file }.now()
    }

    fn counter(&mut self, request: &mut Request<'_>, value: u64, takes_one: u64) -> HandlerResult<directory::counter::Output> {
        self.start(request)?;
        let counter = What::Counter(Counter { value, takes_one: takes_one != 0 });
        directory::counter::Output { file: self.give_source(counter, self.objects.account(request.word()))?.into() }.now()
    }

    fn share(&mut self, request: &mut Request<'_>) -> HandlerResult<directory::share::Output> {
        directory::share::Output { directory: self.share_within(request, Bounds::NONE)? }.now()
    }

    fn limit(&mut self, request: &mut Request<'_>, objects: u64, storage: u64) -> HandlerResult<directory::limit::Output> {
        let accounts = &self.objects.accounts;
        self.files.tree.store_mut().payers.forget_spent(|account| accounts.is_open(account));
        directory::limit::Output { directory: self.share_within(request, Bounds { objects, storage })? }.now()
    }

    fn charge(&mut self, request: &mut Request<'_>, opened: Reference) -> HandlerResult<directory::charge::Output> {
        self.start(request)?;
        let (node, file) = self.objects.charge_file(opened, self.objects.account(request.word()))?;
        directory::charge::Output { mode: self.files.tree.node(node)?.mode.into(), file: file.into() }.now()
    }

    fn root(&mut self, request: &mut Request<'_>, path: &[u8]) -> HandlerResult<directory::root::Output> {
        let at = self.resolve_at(request, path, 0)?;
        self.files.tree.directory(at)?;
        let given = self.give_again(request, self.objects.account(request.word()), Start { at, root: Some(at) });
        directory::root::Output { directory: given? }.now()
    }

    fn find(&mut self, request: &mut Request<'_>, flags: u64, path: &[u8]) -> HandlerResult<directory::find::Output> {
        let (start, follow) = (self.start(request)?, flags & AT_SYMLINK_NOFOLLOW == 0);
        self.files.tree.prepare(start, path, follow)?;
        let (found, is_directory) = self.files.tree.find(start, path, follow)?;
        request.put(&found);
        directory::find::Output { is_directory: is_directory.into() }.now()
    }

    fn watcher(&mut self, request: &mut Request<'_>) -> HandlerResult<directory::watcher::Output> {
        self.start(request)?;
        directory::watcher::Output { file: self.give_source(What::Notices, self.objects.account(request.word()))?.into() }.now()
    }

    fn watch(&mut self, request: &mut Request<'_>, mask: u64, flags: u64, path: &[u8], watcher: Reference) -> HandlerResult<directory::watch::Output> {
        let watcher = self.watcher_of(watcher)?;
        let node = self.resolve_at(request, path, flags)?;
        if mask & IN_ONLYDIR != 0 {
            self.files.tree.directory(node)?;
        }
        directory::watch::Output { number: self.watch_node(watcher, node, mask)? }.now()
    }
}
