//! The tree against Linux's rules, and against a model.

use super::*;
use crate::store::fake::Fake;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_proto::flags;

const NOW: Time = Time { seconds: 1000, nanoseconds: 5 };

fn tree() -> Tree<Fake> {
    let mut tree = Tree::new(Fake::new(1 << 20), NOW);
    let root = tree.root();
    tree.make_directory(root, b"/a", 0o755, NOW).unwrap();
    tree.make_directory(root, b"/a/b", 0o755, NOW).unwrap();
    file(&mut tree, b"/a/f", b"content");
    tree.make_link(root, b"a/b", b"/l", NOW).unwrap();
    tree.make_link(root, b"self", b"/self", NOW).unwrap();
    tree.make_link(root, b"new", b"/dangling", NOW).unwrap();
    tree
}

fn file(tree: &mut Tree<Fake>, path: &[u8], bytes: &[u8]) -> Key {
    let key = tree.open(tree.root(), path, open::CREATE | open::WRITE_ONLY, 0o644, NOW).unwrap();
    assert_eq!(tree.write(key, 0, bytes, NOW), Ok(bytes.len()));
    tree.closed(key);
    key
}

fn find(tree: &Tree<Fake>, path: &[u8]) -> Result<Key, Errno> {
    tree.resolve(tree.root(), path, true)?.existing()
}

fn names(tree: &Tree<Fake>, path: &[u8]) -> Vec<Vec<u8>> {
    let (mut bytes, mut cookie, mut found) = (Vec::new(), 0, Vec::new());
    let directory = find(tree, path).unwrap();
    loop {
        bytes.clear();
        cookie = tree.list(directory, cookie, &mut bytes, 64).unwrap();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let size = u32::from_le_bytes(rest[12..16].try_into().unwrap()) as usize;
            found.push(rest[16..16 + size].to_vec());
            rest = &rest[(16 + size).next_multiple_of(8)..];
        }
        if cookie == 0 {
            return found;
        }
    }
}

#[test]
fn a_path_is_found_without_links() {
    let mut tree = tree();
    let (root, inner) = (tree.root(), find(&tree, b"/a/b").unwrap());
    let at = |tree: &Tree<Fake>, start, path: &[u8], follow| tree.find(start, path, follow).map(|(found, is_directory)| (String::from_utf8(found).unwrap(), is_directory));
    let is = |text: &str, is_directory| Ok((String::from(text), is_directory));
    for path in [&b"/a/b/../../l"[..], b"l", b"//a/b"] {
        assert_eq!(at(&tree, root, path, true), is("/a/b", false), "{path:?}");
    }
    assert_eq!(at(&tree, root, b"l", false), is("/l", false));
    assert_eq!((at(&tree, root, b"l/", false), at(&tree, inner, b".", true)), (is("/a/b", true), is("/a/b", true)));
    assert_eq!((at(&tree, inner, b"../..", true), at(&tree, inner, b"../../..", true)), (is("/", false), is("/", false)));
    assert_eq!((at(&tree, root, b"dangling", true), at(&tree, root, b"l/new", true)), (is("/new", false), is("/a/b/new", false)));
    assert_eq!((at(&tree, root, b"self", true), at(&tree, root, b"\0l", true)), (Err(Errno::ELOOP), Err(Errno::ELOOP)));
    assert_eq!((at(&tree, root, b"none/x", true), at(&tree, root, b"a/f/..", true)), (Err(Errno::ENOENT), Err(Errno::ENOTDIR)));
    tree.opened(inner);
    tree.remove(root, b"/a/b", true, NOW).unwrap();
    assert_eq!((at(&tree, inner, b"x", true), at(&tree, inner, b"..", true)), (Err(Errno::ENOENT), is("/a", false)), "a directory that is gone");
}

#[test]
fn paths_lead_where_linux_leads_them() {
    let tree = tree();
    let inner = find(&tree, b"/a/b").unwrap();
    for path in [&b"a/b"[..], b"/l", b"/l/", b"//a///b/.", b"a/b/../b", b"../../a/b", b"/a/./b/../../l"] {
        assert_eq!(find(&tree, path), Ok(inner), "{path:?}");
    }
    assert_eq!(tree.path_of(inner).unwrap(), b"/a/b");
    assert_eq!(tree.path_of(tree.root()).unwrap(), b"/");
    for (path, errno) in [
        (&b""[..], Errno::ENOENT),
        (b"/none", Errno::ENOENT),
        (b"/none/x", Errno::ENOENT),
        (b"/a/f/x", Errno::ENOTDIR),
        (b"/a/f/", Errno::ENOTDIR),
        (b"/a/f/..", Errno::ENOTDIR),
        (b"/self", Errno::ELOOP),
        (b"/self/x", Errno::ELOOP),
        (b"/dangling", Errno::ENOENT),
        (b"/x\0", Errno::EINVAL),
        (&[b'n'; 256], Errno::ENAMETOOLONG),
        (&[b'/'; 4096], Errno::ENAMETOOLONG),
    ] {
        assert_eq!(find(&tree, path), Err(errno), "{path:?}");
    }
}

#[test]
fn opening_creates_truncates_and_refuses() {
    let mut tree = tree();
    let root = tree.root();
    let mut try_open = |path: &[u8], flags| {
        tree.open(root, path, flags, 0o600, NOW).map(|key| {
            let size = tree.node(key).unwrap().size();
            tree.closed(key);
            size
        })
    };
    assert_eq!(try_open(b"/a/f", 0), Ok(7));
    assert_eq!(try_open(b"/a", open::WRITE_ONLY), Err(Errno::EISDIR));
    assert_eq!(try_open(b"/a", open::CREATE), Err(Errno::EISDIR));
    assert_eq!(try_open(b"/a", open::CREATE | open::DIRECTORY), Err(Errno::EINVAL));
    assert_eq!(try_open(b"/a/f", open::DIRECTORY), Err(Errno::ENOTDIR));
    assert_eq!(try_open(b"/a/f", open::CREATE | open::EXCLUSIVE), Err(Errno::EEXIST));
    assert_eq!(try_open(b"/dangling", open::CREATE | open::EXCLUSIVE), Err(Errno::EEXIST));
    assert_eq!(try_open(b"/l", open::NOFOLLOW), Err(Errno::ELOOP));
    assert_eq!(try_open(b"/l", open::NOFOLLOW | open::PATH), Ok(3));
    assert_eq!(try_open(b"/l", open::NOFOLLOW | open::DIRECTORY), Err(Errno::ENOTDIR));
    assert_eq!(try_open(b"/x/", open::CREATE), Err(Errno::EISDIR));
    assert_eq!(try_open(b"/dangling", open::CREATE | open::WRITE_ONLY), Ok(0));
    assert_eq!(try_open(b"/new", 0), Ok(0));
    assert_eq!(try_open(b"/a/f", open::TRUNCATE | open::WRITE_ONLY), Ok(0));
}

#[test]
fn removing_and_links() {
    let mut tree = tree();
    let root = tree.root();
    for (path, is_directory, errno) in [
        (&b"/a"[..], false, Errno::EISDIR),
        (b"/a", true, Errno::ENOTEMPTY),
        (b"/a/f", true, Errno::ENOTDIR),
        (b"/a/b/.", true, Errno::EINVAL),
        (b"/a/b/..", true, Errno::ENOTEMPTY),
        (b"/l/", false, Errno::ENOTDIR),
        (b"/none", false, Errno::ENOENT),
    ] {
        assert_eq!(tree.remove(root, path, is_directory, NOW), Err(errno), "{path:?}");
    }
    assert_eq!(tree.link((root, b"/a"), (root, b"/z"), false, NOW), Err(Errno::EPERM));
    assert_eq!(tree.link((root, b"/a/f"), (root, b"/l"), false, NOW), Err(Errno::EEXIST));
    tree.link((root, b"/a/f"), (root, b"/g"), false, NOW).unwrap();
    let key = find(&tree, b"/g").unwrap();
    assert_eq!(tree.facts(key).unwrap().links, 2);
    tree.opened(key);
    tree.remove(root, b"/g", false, NOW).unwrap();
    tree.remove(root, b"/a/f", false, NOW).unwrap();
    assert_eq!(tree.facts(key).unwrap().links, 0);
    assert_eq!(tree.write(key, 0, b"still here", NOW), Ok(10));
    tree.closed(key);
    assert!(tree.get(key).is_none());
    assert_eq!(tree.store().free_bytes(), 1 << 20);
    let inner = find(&tree, b"/a/b").unwrap();
    tree.opened(inner);
    tree.remove(root, b"/a/b", true, NOW).unwrap();
    assert_eq!(tree.make_directory(inner, b"x", 0o755, NOW), Err(Errno::ENOENT));
    assert_eq!(tree.facts(find(&tree, b"/a").unwrap()).unwrap().links, 2);
}

#[test]
fn a_marked_path_follows_no_link() {
    let mut tree = tree();
    let root = tree.root();
    let find = |path: &[u8], follow| tree.resolve(root, path, follow)?.existing();
    let (link, file) = (find(b"/l", false), find(b"/a/f", true));
    assert_eq!((find(b"\0/l", false), find(b"\0/a/f", true), find(b"\0a/b/../f", true)), (link, file, file));
    for path in [&b"\0/l"[..], b"\0/l/", b"\0/l/.", b"\0/l/../f"] {
        assert_eq!(find(path, true), Err(Errno::ELOOP), "{path:?}");
    }
    assert_eq!(find(b"\0/l/", false), Err(Errno::ELOOP), "a slash would follow it");
    assert_eq!((find(b"\0", true), find(b"\0\0/a", true), find(b"/a\0", true)), (Err(Errno::ENOENT), Err(Errno::EINVAL), Err(Errno::EINVAL)));
    assert_eq!(tree.make_directory(root, b"\0/l/new", 0o755, NOW), Err(Errno::ELOOP));
    assert_eq!(tree.make_link(root, b"\0/a", b"/marked", NOW), Err(Errno::EINVAL), "a link's target has no mark");
}

#[test]
fn whoever_gives_names_pays_for_them_until_they_go() {
    let mut tree = tree();
    let root = tree.root();
    tree.store_mut().payers.0.now.set([(7, u64::MAX)].into_iter());
    let make = |tree: &mut Tree<Fake>, path: &[u8]| tree.make_node(root, path, 0o600, 0, NOW);
    make(&mut tree, b"/one").unwrap();
    tree.link((root, b"/one"), (root, b"/two"), false, NOW).unwrap();
    tree.make_directory(root, b"/three", 0o700, NOW).unwrap();
    assert_eq!(make(&mut tree, b"/one"), Err(Errno::EEXIST));
    let three = tree.store().payers.0.names();
    // Another one gives one of them a longer name, over another one.
    tree.store_mut().payers.0.now.set([(8, u64::MAX)].into_iter());
    tree.rename((root, b"/one"), (root, b"/three/longer"), 0, NOW).unwrap();
    assert!(tree.store().payers.0.names() > three);
    tree.make_link(root, b"/one", b"/four", NOW).unwrap();
    tree.rename((root, b"/two"), (root, b"/four"), 0, NOW).unwrap();
    // There is no room for one more.
    tree.store_mut().payers.1 = tree.store().payers.0.names() + 100;
    assert_eq!(make(&mut tree, b"/five"), Err(Errno::ENOSPC));
    for (path, is_directory) in [(&b"/four"[..], false), (b"/three/longer", false), (b"/three", true)] {
        tree.remove(root, path, is_directory, NOW).unwrap();
    }
    assert_eq!(tree.store().payers.0.names(), 0);
}

#[test]
fn renaming_follows_linux() {
    let mut tree = tree();
    let root = tree.root();
    let mut rename = |from: &[u8], to: &[u8], flags| tree.rename((root, from), (root, to), flags, NOW);
    assert_eq!(rename(b"/a", b"/a/b/c", 0), Err(Errno::EINVAL));
    assert_eq!(rename(b"/a/b", b"/a", 0), Err(Errno::ENOTEMPTY));
    assert_eq!(rename(b"/a/f", b"/a/b", 0), Err(Errno::EISDIR));
    assert_eq!(rename(b"/a/b", b"/a/f", 0), Err(Errno::ENOTDIR));
    assert_eq!(rename(b"/a/f", b"/g/", 0), Err(Errno::ENOTDIR));
    assert_eq!(rename(b"/a/f", b"/l", flags::RENAME_NOREPLACE), Err(Errno::EEXIST));
    assert_eq!(rename(b"/a/.", b"/q", 0), Err(Errno::EBUSY));
    assert_eq!(rename(b"/none", b"/q", 0), Err(Errno::ENOENT));
    for flags in [flags::RENAME_EXCHANGE | flags::RENAME_NOREPLACE, 8] {
        assert_eq!(rename(b"/a/f", b"/q", flags), Err(Errno::EINVAL));
    }
    assert_eq!(rename(b"/a/f", b"/q", flags::RENAME_EXCHANGE), Err(Errno::ENOENT));
    assert_eq!(rename(b"/a/b", b"/q", flags::RENAME_NO_DIRECTORY), Err(Errno::EISDIR));
    for (from, to) in [(b"/a/f", b"/a/b"), (b"/a/b", b"/a/f")] {
        assert_eq!(rename(from, to, flags::RENAME_NO_DIRECTORY | flags::RENAME_EXCHANGE), Err(Errno::EISDIR));
    }
    assert_eq!(rename(b"/a", b"/a/b", flags::RENAME_EXCHANGE), Err(Errno::EINVAL));
    assert_eq!(rename(b"/a/f", b"/a/b", flags::RENAME_EXCHANGE), Ok(()));
    assert_eq!(rename(b"/a/f/x", b"/q", 0), Err(Errno::ENOENT));
    assert_eq!(rename(b"/a/f", b"/a/b", flags::RENAME_EXCHANGE), Ok(()));
    assert_eq!(rename(b"/a/f", b"/l", 0), Ok(()));
    assert_eq!(rename(b"/a/b", b"/b", 0), Ok(()));
    assert_eq!(rename(b"/a", b"/b/", 0), Ok(()));
    assert_eq!(names(&tree, b"/"), [&b"."[..], b"..", b"self", b"dangling", b"l", b"b"]);
    assert_eq!(tree.facts(root).unwrap().links, 3);
    assert_eq!(find(&tree, b"/b/../b/.."), Ok(root));
}

#[test]
fn listing_survives_removal_between_pieces() {
    let mut tree = tree();
    let root = tree.root();
    for number in 0..50u8 {
        file(&mut tree, &[b'/', b'a', b'/', b'n', 65 + number], b"");
    }
    let directory = find(&tree, b"/a").unwrap();
    let (mut bytes, mut seen, mut cookie) = (Vec::new(), 0, 0);
    loop {
        bytes.clear();
        cookie = tree.list(directory, cookie, &mut bytes, 100).unwrap();
        seen += bytes.len() / 24;
        for entry in bytes.chunks(24).filter(|entry| entry[16] == b'n') {
            let name = [b'/', b'a', b'/', entry[16], entry[17]];
            tree.remove(root, &name, false, NOW).unwrap();
        }
        if cookie == 0 {
            break;
        }
    }
    assert_eq!(seen, 54);
    assert_eq!(tree.population(directory), 2);
    assert_eq!(tree.list(directory, 0, &mut Vec::new(), 20), Err(Errno::EINVAL));
}

#[test]
fn a_file_is_known_by_its_last_names() {
    let mut tree = tree();
    let root = tree.root();
    let key = find(&tree, b"/a/f").unwrap();
    let name = |tree: &Tree<Fake>| tree.name_of(key, |_| true).map(|(_, name)| name);
    for path in [&b"/a/g"[..], b"/h", b"/i"] {
        tree.link((root, b"/a/f"), (root, path), false, NOW).unwrap();
    }
    assert_eq!(name(&tree).unwrap(), b"i");
    tree.remove(root, b"/i", false, NOW).unwrap();
    assert_eq!(name(&tree).unwrap(), b"h");
    tree.rename((root, b"/h"), (root, b"/a/k"), 0, NOW).unwrap();
    assert_eq!(name(&tree).unwrap(), b"k");
    // Older names are not searched for.
    tree.remove(root, b"/a/k", false, NOW).unwrap();
    assert_eq!((name(&tree), tree.facts(key).unwrap().links), (None, 2));
    tree.rename((root, b"/a/g"), (root, b"/a/m"), 0, NOW).unwrap();
    assert_eq!(name(&tree).unwrap(), b"m");
}

#[test]
fn links_lead_a_bounded_way() {
    let mut tree = tree();
    let root = tree.root();
    let target = |end: &[u8]| [&b"./".repeat(2000)[..], end].concat();
    tree.make_link(root, &target(b"a"), b"/first", NOW).unwrap();
    tree.make_link(root, &target(b"first"), b"/second", NOW).unwrap();
    tree.make_link(root, &target(b"second"), b"/third", NOW).unwrap();
    let directory = find(&tree, b"/a");
    assert_eq!((find(&tree, b"/first"), find(&tree, b"/second")), (directory, directory));
    assert_eq!(find(&tree, b"/third"), Err(Errno::ELOOP), "longer than two paths");
    assert_eq!(find(&tree, &b"/".repeat(4095)), Ok(root));
}

#[test]
fn a_directory_gives_its_group_on() {
    let mut tree = tree();
    let (root, outer) = (tree.root(), find(&tree, b"/a").unwrap());
    tree.set_owner(outer, 5, 7, NOW).unwrap();
    tree.make_directory(root, b"/a/before", 0o755, NOW).unwrap();
    tree.set_mode(outer, 0o2775, NOW).unwrap();
    tree.make_directory(root, b"/a/inner", 0o755, NOW).unwrap();
    tree.make_link(root, b"x", b"/a/inner/link", NOW).unwrap();
    file(&mut tree, b"/a/inner/file", b"");
    let unnamed = tree.open(root, b"/a", open::TEMPORARY | open::DIRECTORY | open::WRITE_ONLY, 0o600, NOW).unwrap();
    let facts = |tree: &Tree<Fake>, key| tree.facts(key).map(|facts| (facts.mode & 0o7777, facts.owner)).unwrap();
    let at = |tree: &Tree<Fake>, path: &[u8]| facts(tree, tree.resolve(root, path, false).unwrap().node.unwrap());
    assert_eq!((at(&tree, b"/a/before"), at(&tree, b"/a/inner")), ((0o755, (0, 0)), (0o2755, (0, 7))));
    assert_eq!((at(&tree, b"/a/inner/link"), at(&tree, b"/a/inner/file"), facts(&tree, unnamed)), ((0o777, (0, 7)), (0o644, (0, 7)), (0o600, (0, 7))));
}

#[test]
fn times_and_owners() {
    let mut tree = tree();
    let key = find(&tree, b"/a/f").unwrap();
    tree.set_mode(key, 0o6755, NOW).unwrap();
    tree.set_owner(key, 5, u64::MAX, NOW).unwrap();
    let later = Time { seconds: 2000, nanoseconds: 0 };
    tree.set_times(key, [(1, 2), (0, TIME_NOW)], later).unwrap();
    let facts = tree.facts(key).unwrap();
    assert_eq!((facts.mode, facts.owner), (0o100755, (5, 0)));
    assert_eq!(facts.times, [Time { seconds: 1, nanoseconds: 2 }, later, later]);
    assert_eq!(tree.set_times(key, [(0, TIME_OMIT), (0, 1_000_000_000)], later), Err(Errno::EINVAL));
}

#[test]
fn random_operations_keep_the_books() {
    let mut tree = Tree::new(Fake::new(1 << 20), NOW);
    let root = tree.root();
    let mut random = 3u64;
    let mut opened = Vec::new();
    for _ in 0..20_000 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let pick = |shift: u32| (random >> shift) as usize % 4;
        let path = |a: usize, b: usize| [b'/', b'a' + a as u8, b'/', b'a' + b as u8];
        let (long, other) = (path(pick(40), pick(42)), path(pick(44), pick(46)));
        let (one, two) = (if pick(48) == 0 { &long[..2] } else { &long }, if pick(50) == 0 { &other[..2] } else { &other });
        match (random >> 56) % 7 {
            0 => drop(tree.make_directory(root, one, 0o755, NOW)),
            1 => opened.extend(tree.open(root, one, open::CREATE | open::READ_WRITE, 0o644, NOW)),
            2 => drop(tree.rename((root, one), (root, two), 0, NOW)),
            3 => drop(tree.link((root, one), (root, two), false, NOW)),
            4 => drop(tree.remove(root, one, pick(54) == 0, NOW)),
            5 => drop(tree.make_link(root, two, one, NOW)),
            _ if opened.is_empty() => {}
            _ => tree.closed(opened.swap_remove(pick(54) % opened.len())),
        }
    }
    opened.into_iter().for_each(|key| tree.closed(key));
    check_links(&tree);
}

/// Every node has as many names as it counts.
fn check_links(tree: &Tree<Fake>) {
    let mut counted = BTreeMap::new();
    for (key, node) in tree.nodes.iter() {
        let NodeContent::Directory(body) = &node.body else { continue };
        *counted.entry(key).or_insert(0) += 1;
        *counted.entry(body.parent).or_insert(0) += u32::from(key != tree.root());
        for entry in body.entries().values() {
            *counted.entry(entry.node).or_insert(0) += 1;
        }
    }
    // The root has no name but its own.
    *counted.entry(tree.root()).or_insert(0) += 1;
    for (key, node) in tree.nodes.iter() {
        assert_eq!((node.links, node.opens), (counted[&key], 0), "{node:?}");
    }
}

/// A boot image with these files (path, mode, content); where its names end, and all of it.
fn image(files: &[(&[u8], u32, &[u8])]) -> (usize, Vec<u8>) {
    let names_start = 64 + 48 * files.len();
    let names: Vec<u8> = files.iter().flat_map(|file| file.0).copied().collect();
    let names_end = names_start + names.len();
    let (mut entries, mut contents) = (Vec::new(), Vec::new());
    let (mut name_at, first) = (names_start, names_end.next_multiple_of(4096));
    for (path, mode, content) in files {
        for word in [name_at as u64, path.len() as u64 | u64::from(*mode) << 32, (first + contents.len()) as u64, content.len() as u64, 77, 0] {
            entries.extend_from_slice(&word.to_le_bytes());
        }
        name_at += path.len();
        contents.extend_from_slice(content);
        contents.resize(contents.len().next_multiple_of(4096), 0);
    }
    let mut bytes = b"NACREIMG\x01\0\0\0\0\0\0\0".to_vec();
    for word in [0x40_0000, files.len() as u64, 64, (first + contents.len()) as u64] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.resize(64, 0);
    bytes.extend_from_slice(&entries);
    bytes.extend_from_slice(&names);
    bytes.resize(first, 0);
    bytes.extend_from_slice(&contents);
    (names_end, bytes)
}

#[test]
fn boot_files_are_found_and_wild_ones_left_out() {
    let (names_end, bytes) = image(&[
        (b"/", 0o40755, b""),
        (b"/bin", 0o40755, b""),
        (b"/bin/tool", 0o100755, b"machine code"),
        (b"/bin/t", 0o120777, b"tool"),
        (b"/bin/tool", 0o100644, b"again"),
        (b"/bin/..", 0o100644, b""),
        (b"/none/file", 0o100644, b""),
        (b"/odd", 0o010644, b""),
        (b"/empty", 0o100600, b""),
    ]);
    let mut tree = Tree::new(Fake::new(1 << 16), NOW);
    let start = tree.store_mut().allocate(bytes.len() as u64).unwrap();
    tree.store_mut().write(start, &bytes);
    let header = nacre_abi::boot_image::header(&bytes).unwrap();
    let head: &'static [u8] = bytes[..names_end].to_vec().leak();
    let refused = tree.add_boot_files(head, &header, start);
    assert_eq!(refused, boot::Refused { count: 4, first: Some((b"/bin/tool", Errno::EEXIST)) });
    let text = String::from_utf8(refused.text().unwrap()).unwrap();
    assert_eq!(text, "/bin/tool is not in the guest, because another boot file has its name (3 more were left out); give it another path with --file HOST:PATH");
    let key = find(&tree, b"/bin/t").unwrap();
    let facts = tree.facts(key).unwrap();
    assert_eq!((facts.mode, facts.size, facts.times[1].seconds), (0o100755, 12, 77));
    let (content, store) = tree.content(key).unwrap();
    let mut read = [0; 20];
    assert_eq!(content.read(store, 0, &mut read), 12);
    assert_eq!(&read[..12], b"machine code");
    assert_eq!(names(&tree, b"/"), [&b"."[..], b"..", b"bin", b"empty"]);
    let cut_off = tree.add_boot_files(&head[..100], &header, start);
    assert_eq!((cut_off.count, cut_off.first), (9, None));
    assert!(cut_off.text().unwrap().starts_with(b"9 boot files lie outside"));
    assert_eq!(boot::Refused::default().text(), None);
}

#[test]
fn a_file_has_no_name_of_others() {
    let mut tree = tree();
    let (root, own) = (tree.root(), find(&tree, b"/a/f").unwrap());
    file(&mut tree, b"/other", b"");
    tree.make_link(root, b"/a/b", b"/a/deep", NOW).unwrap();
    for name in [&b"/a/f"[..], b"/a//./b/../f", b"a/f", b"/l/../a/f", b"/../a/f"] {
        assert_eq!(tree.own_path(own, name), Ok(b"/a/f".to_vec()));
    }
    // The last one leads to the file, if links are followed before `..` is.
    for name in [&b"/other"[..], b"/none", b"", b"/", b"/a", b"/a/deep/../../f", b"/a/deep/../f/x"] {
        assert_eq!(tree.own_path(own, name), Err(Errno::EACCES), "{name:?}");
    }
    let memory = tree.make_memory(false, NOW).unwrap();
    assert_eq!(tree.own_path(memory, b"/other"), Err(Errno::EACCES));
}

#[test]
fn another_root_is_not_left_by_paths() {
    let mut tree = tree();
    let root = tree.root();
    tree.make_link(root, b"/a/f", b"/a/absolute", NOW).unwrap();
    tree.make_link(root, b"/f", b"/a/inside", NOW).unwrap();
    tree.make_link(root, b"../../../f", b"/a/up", NOW).unwrap();
    let (jail, file) = (find(&tree, b"/a").unwrap(), find(&tree, b"/a/f").unwrap());
    let start = Start { at: jail, root: Some(jail) };
    let found = |path: &[u8]| tree.resolve(start, path, true).and_then(|place| place.existing());
    for path in [&b"/f"[..], b"f", b"/../f", b"../../f", b"/inside", b"up", b"/./inside"] {
        assert_eq!(found(path), Ok(file), "{path:?}");
    }
    assert_eq!(found(b"/a/f"), Err(Errno::ENOENT));
    assert_eq!(found(b"absolute"), Err(Errno::ENOENT));
    assert_eq!(found(b"/.."), Ok(jail));
    // A path that tells where something is has a mark, and is of the tree's root.
    assert_eq!(found(b"\0/a/f"), Ok(file));
    assert_eq!(found(b"\0/f"), Err(Errno::ENOENT));
    assert_eq!(tree.find(start, b"/inside", true), Ok((b"/a/f".to_vec(), false)));
    // Who is outside of it already is not kept in.
    let outside = Start { at: root, root: Some(jail) };
    assert_eq!(tree.resolve(outside, b"a/f", true).and_then(|place| place.existing()), Ok(file));
    assert_eq!(tree.resolve(outside, b"a/../..", true).and_then(|place| place.existing()), Ok(jail));
}
