//! Calls and subjects that a request must be allowed. Paths are resolved here, and the request then
//! names the resolved path.

use crate::paths::{self, End, beyond_parent, marked, plain};
use crate::peer::Peer;
use crate::policy::Policy;
use crate::reach;
use crate::subject::{Kind, Subject, Tag, of_parent};
use alloc::vec;
use alloc::vec::Vec;
use nacre_proto::describe::{Kind as Field, Operation};
use nacre_proto::flags::{AT_SYMLINK_FOLLOW, AT_SYMLINK_NOFOLLOW, FILE_KINDS, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_PATH, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY};
use nacre_proto::flags::{RENAME_EXCHANGE, RENAME_NO_DIRECTORY, S_IFBLK, S_IFCHR, SHARE_WRITE};
use nacre_proto::path::without_mark;
use nacre_proto::{Errno, directory, file, parent};
use nacre_sys::Reference;

/// Bits of `open`'s flags that say what the file is opened for.
pub const ACCESS: u64 = O_WRONLY | O_RDWR;

/// A call, and what it is on.
pub type Need = (u32, Vec<u8>);

/// Permission that a request needs.
pub struct AccessRequest {
    /// Subject, for people.
    pub subject: Vec<u8>,
    /// All that must be allowed.
    pub needs: Vec<Need>,
    /// Set if no rule can allow the request.
    pub forbidden: bool,
}

/// Returns true for errors of paths that lead nowhere: nothing was decided about those.
pub fn leads_nowhere(errno: Errno) -> bool {
    matches!(errno, Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::ENAMETOOLONG)
}

/// A request, as far as it matters here.
pub struct Asking<'a> {
    /// The operation.
    pub operation: &'static Operation,
    /// The words; flags may change.
    pub words: &'a mut [u64; 6],
    /// The bytes; paths may change.
    pub bytes: Vec<u8>,
    /// Object that the request is sent to.
    pub subject: &'a Subject,
    /// Subject, if the request is about more than its object.
    pub reached: Option<Vec<u8>>,
    /// Another name of that subject, which must be allowed as well.
    pub alias: Option<Vec<u8>>,
    /// The object itself.
    pub original: Reference,
    /// Reference that came with the request, and its tag.
    pub given: Option<(Reference, &'a Tag)>,
}

/// Returns the subject of a path, by a policy that decides alike on all paths. It begins with a
/// slash: a file may have the name of an object that is none, as `unnamed` or `stream:1`.
fn any_path(path: &[u8]) -> Vec<u8> {
    let path = without_mark(path).0;
    let slash: &[u8] = if path.starts_with(b"/") { b"" } else { b"/" };
    [slash, path].concat()
}

/// The path that is meant by `path`, used from a directory.
fn resolve(original: Reference, subject: &Subject, path: &[u8], end: End) -> Result<Vec<u8>, Errno> {
    if subject.kind != Kind::Directory {
        return Err(Errno::ENOTDIR);
    }
    let mut server = Peer::new(original, subject.is_strange);
    match found(&mut server, path, end) {
        // The server does not know this question, or a guard in between does not allow it.
        Err(Errno::ENOSYS | Errno::EACCES) => resolve_by_names(&mut server, path, end),
        found => found,
    }
}

/// Asks the server where a path leads, in one question.
fn found(server: &mut Peer, path: &[u8], end: End) -> Result<Vec<u8>, Errno> {
    paths::check(without_mark(path).0)?;
    let (found, is_directory) = server.find(paths::asked(path, end), end == End::Followed)?;
    paths::of_answer(path, found, is_directory)
}

/// Finds where a path leads by a question for each name that may be a link.
fn resolve_by_names(server: &mut Peer, path: &[u8], end: End) -> Result<Vec<u8>, Errno> {
    let (unmarked, no_links) = without_mark(path);
    if unmarked.starts_with(b"/") {
        return paths::resolve(&[], path, end, server);
    }
    match (server.path(), beyond_parent(unmarked)) {
        // A directory that was removed has no path any more, and still knows where it was.
        (Err(Errno::ENOENT), Some(rest)) => {
            let rest = if no_links { marked(rest)? } else { rest.to_vec() };
            paths::resolve(&server.path_of_parent()?, &rest, end, server)
        }
        (start, _) => paths::resolve(&start?, path, end, server),
    }
}

impl Asking<'_> {
    /// The server of the object.
    fn server(&self) -> Peer {
        Peer::new(self.original, self.subject.is_strange)
    }

    /// The number of the word of this name.
    fn word(&self, name: &str) -> Option<usize> {
        self.operation.words_in.iter().position(|(one, _)| *one == name)
    }

    fn flags(&self) -> u64 {
        self.word("flags").map_or(0, |index| self.words[index])
    }

    fn set_flags(&mut self, set: u64, clear: u64) {
        if let Some(index) = self.word("flags") {
            self.words[index] = self.words[index] & !clear | set;
        }
    }

    /// Returns true if a link at the end of the first path is followed.
    fn follows(&self) -> bool {
        let flags = self.flags();
        match self.operation.label {
            directory::open::LABEL => flags & O_NOFOLLOW == 0 && flags & (O_CREAT | O_EXCL) != O_CREAT | O_EXCL,
            directory::link::LABEL => flags & AT_SYMLINK_FOLLOW != 0,
            directory::root::LABEL => true,
            directory::status_at::LABEL
            | directory::find::LABEL
            | directory::set_mode_at::LABEL
            | directory::set_owner_at::LABEL
            | directory::set_times_at::LABEL
            | directory::watch::LABEL => flags & AT_SYMLINK_NOFOLLOW == 0,
            _ => false,
        }
    }

    /// Returns the treatment of a link at the end of the first path.
    fn end(&self) -> End {
        use directory::{make_directory, make_node, open, remove, rename};
        match self.operation.label {
            open::LABEL if self.flags() & O_CREAT != 0 && self.bytes.ends_with(b"/") => End::Name,
            make_directory::LABEL | make_node::LABEL | remove::LABEL | rename::LABEL => End::Name,
            _ if self.follows() => End::Followed,
            _ => End::Kept,
        }
    }

    /// Changes flags so that the server follows no link: the path already names the target.
    fn follow_nothing(&mut self) {
        match self.operation.label {
            directory::open::LABEL => self.set_flags(O_NOFOLLOW, 0),
            directory::link::LABEL => self.set_flags(0, AT_SYMLINK_FOLLOW),
            _ if self.follows() => self.set_flags(AT_SYMLINK_NOFOLLOW, 0),
            _ => {}
        }
    }

    /// Returns the permission that the request needs.
    pub fn case(&mut self, policy: &Policy) -> Result<AccessRequest, Errno> {
        let label = self.operation.label;
        let subject = match self.operation.bytes_in {
            _ if label >> 16 == parent::NUMBER => of_parent(self.operation, self.words),
            _ if self.reached.is_some() => self.reached.clone().unwrap_or_default(),
            // Without a path, a call is about the object itself.
            _ if self.bytes.is_empty() || label >> 16 != directory::NUMBER => self.subject.name.clone(),
            Field::Paths(word) => return self.two_paths(word, policy),
            _ => self.path(policy)?,
        };
        let needs = self.needs(&subject);
        Ok(AccessRequest { forbidden: self.makes_device(), subject, needs })
    }

    /// A device of one's own making leads past all paths.
    fn makes_device(&self) -> bool {
        let kind = self.words[0] & FILE_KINDS[0].mask;
        self.operation.label == directory::make_node::LABEL && (kind == S_IFCHR || kind == S_IFBLK)
    }

    fn path(&mut self, policy: &Policy) -> Result<Vec<u8>, Errno> {
        if !policy.depends_on_paths() {
            return if self.subject.kind == Kind::Directory { Ok(any_path(&self.bytes)) } else { Err(Errno::ENOTDIR) };
        }
        let resolved = match resolve(self.original, self.subject, &self.bytes, self.end()) {
            // A directory that was removed has no path any more, and is still there for those who
            // have it.
            Err(Errno::ENOENT) if self.bytes == b"." && self.server().path() == Err(Errno::ENOENT) => return Ok(self.subject.name.clone()),
            resolved => resolved?,
        };
        self.follow_nothing();
        self.bytes = marked(&resolved)?;
        Ok(plain(&resolved).to_vec())
    }

    /// The call itself, and what opening a file or mapping it comes to.
    fn needs(&self, subject: &[u8]) -> Vec<Need> {
        let flags = self.flags();
        let mut needs = vec![(self.operation.label, subject.to_vec())];
        let is_read_whole = [file::map::LABEL, file::execute::LABEL, file::hand_out::LABEL].contains(&self.operation.label);
        needs.extend(self.alias.clone().map(|alias| (self.operation.label, alias)));
        let also = reach::needs(self.subject, self.operation.label, self.words, !self.bytes.is_empty());
        needs.extend(also.iter().map(|need| (need.label.unwrap_or(self.operation.label), need.subject.unwrap_or(&self.subject.name).to_vec())));
        let (mut reads, mut writes) = (is_read_whole, false);
        if self.operation.label == file::share::LABEL {
            (reads, writes) = (true, self.words[1] & SHARE_WRITE != 0);
        }
        if self.operation.label == directory::open::LABEL && flags & O_PATH == 0 {
            // Opened as a directory it can only be listed, which is another call.
            reads = flags & ACCESS != O_WRONLY && flags & O_DIRECTORY == 0;
            writes = flags & ACCESS != O_RDONLY || flags & (O_CREAT | O_TRUNC) != 0;
        }
        needs.extend(reads.then(|| (file::read::LABEL, subject.to_vec())));
        needs.extend(writes.then(|| (file::write::LABEL, subject.to_vec())));
        needs
    }

    /// Returns true if what gets another name may be a directory. An exchange moves what has the
    /// new name as well.
    fn may_move_directory(&self, old: &[u8], new: &[u8]) -> bool {
        let exchanges = self.operation.label == directory::rename::LABEL && self.flags() & RENAME_EXCHANGE != 0;
        let mut server = self.server();
        server.may_be_directory(old) || exchanges && server.may_be_directory(new)
    }

    /// Calls with two paths: a link's target is only text; a new name must be one that nothing
    /// changes by.
    fn two_paths(&mut self, word: usize, policy: &Policy) -> Result<AccessRequest, Errno> {
        let label = self.operation.label;
        let first_size = usize::try_from(self.words[word]).map_err(|_| Errno::EINVAL)?;
        let (first, second) = self.bytes.split_at_checked(first_size).ok_or(Errno::EINVAL)?;
        let (first, second) = (first.to_vec(), second.to_vec());
        if self.subject.kind != Kind::Directory {
            return Err(Errno::ENOTDIR);
        }
        if !policy.depends_on_paths() {
            let subject = any_path(&first);
            return Ok(AccessRequest { needs: vec![(label, subject.clone())], subject, forbidden: false });
        }
        if label == directory::symbolic_link::LABEL {
            let name = resolve(self.original, self.subject, &second, End::Name)?;
            self.bytes = [&first[..], &marked(&name)?].concat();
            return Ok(AccessRequest { needs: vec![(label, plain(&name).to_vec())], subject: plain(&name).to_vec(), forbidden: false });
        }
        let (other, tag) = self.given.ok_or(Errno::EXDEV)?;
        let other_subject = tag.as_deref().ok_or(Errno::EXDEV)?;
        let old = resolve(self.original, self.subject, &first, self.end())?;
        let new = resolve(other, other_subject, &second, End::Name)?;
        self.follow_nothing();
        let marked_old = marked(&old)?;
        self.words[word] = marked_old.len() as u64;
        self.bytes = [&marked_old[..], &marked(&new)?].concat();
        let (old, new) = (plain(&old).to_vec(), plain(&new).to_vec());
        let may_move_directory = self.may_move_directory(&old, &new);
        if label == directory::rename::LABEL && !may_move_directory {
            // By the time the server gets it, somebody else may have put a directory there.
            self.set_flags(RENAME_NO_DIRECTORY, 0);
        }
        let forbidden = !policy.treats_alike(&old, &new, may_move_directory);
        Ok(AccessRequest { needs: vec![(label, old.clone()), (label, new)], subject: old, forbidden })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::client::words;
    use nacre_proto::describe;

    /// Returns the permission for a path at a directory, by rules that name no path.
    fn asked(rules: &str, label: u32, some: [u64; 2], bytes: &[u8]) -> (AccessRequest, bool) {
        let mut policy = Policy::default();
        policy.add_file(rules).unwrap();
        let directory = Subject { name: b"/".to_vec(), kind: Kind::Directory, is_strange: false };
        let mut words = words(some);
        let operation = describe(label).unwrap();
        let mut asking = Asking { operation, words: &mut words, bytes: bytes.to_vec(), subject: &directory, reached: None, alias: None, original: Reference::NONE, given: None };
        let request = asking.case(&policy).unwrap();
        let allowed = request.needs.iter().all(|(label, subject)| policy.decide(*label, subject).allowed);
        (request, allowed)
    }

    #[test]
    fn links_are_followed_as_the_server_would() {
        let directory = Subject { name: b"/".to_vec(), kind: Kind::Directory, is_strange: false };
        let end = |label| Asking { operation: describe(label).unwrap(), words: &mut [0; 6], bytes: b"x".to_vec(), subject: &directory, reached: None, alias: None, original: Reference::NONE, given: None }.end();
        assert_eq!([directory::open::LABEL, directory::root::LABEL, directory::find::LABEL].map(end), [End::Followed; 3]);
        assert_eq!([directory::read_link::LABEL, directory::link::LABEL].map(end), [End::Kept; 2]);
        assert_eq!([directory::remove::LABEL, directory::make_node::LABEL].map(end), [End::Name; 2]);
    }

    #[test]
    fn a_file_is_not_the_object_that_has_its_name() {
        let rules = "allow console\nallow memory\nallow read\nallow channel:outside\nallow listen";
        for name in [&b"stream:x.sh"[..], b"\0stream:x.sh", b"unnamed", b"channels", b"channels:outside", b"network", b"process:own"] {
            let (request, allowed) = asked(rules, directory::open::LABEL, [O_WRONLY | O_CREAT, 0o644], name);
            assert!(!allowed && request.subject.starts_with(b"/"), "{:?}", request.needs);
            assert!(asked(rules, directory::open::LABEL, [O_RDONLY, 0], name).1, "{name:?}");
        }
        let (request, allowed) = asked("allow console\nallow file.*\nallow directory.rename stream:*", directory::rename::LABEL, [0, 8], b"stream:1/x");
        assert!(!allowed && request.subject == b"/stream:1");
    }
}
