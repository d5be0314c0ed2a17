//! Tests of how a command is read as a stack.

use super::*;

fn monitors() -> BTreeSet<String> {
    BTreeSet::from(["process", "trace", "pager", "guard", "share-cpu"].map(str::to_string))
}

fn resolve_words(words: &[&str]) -> Outcome<(Stack, Files)> {
    let monitors = monitors();
    let natives = BTreeSet::from(["measure".to_string()]);
    let scope = Scope { monitors: &monitors, natives: &natives, directory: Path::new("/"), path: OsStr::new("/usr/bin:/bin"), root: None, volumes: &[] };
    let mut files = Files::with_data(64 << 20);
    for name in ["process", "trace", "pager", "guard", "share-cpu", "measure", "busybox", "ls", "sh"] {
        files.add_file(&Path::new("/bin").join(name), 0o755, *b"");
    }
    let command: Vec<OsString> = words.iter().map(OsString::from).collect();
    Ok((resolve(&command, &scope, &mut files)?, files))
}

fn outputs(words: &[&str]) -> Vec<String> {
    let (stack, _) = resolve_words(words).unwrap();
    stack.outputs.keys().map(|path| path.display().to_string().trim_start_matches('/').to_string()).collect()
}

#[test]
fn options_of_monitors_are_skipped() {
    assert_eq!(outputs(&["trace", "-o", "a.json", "ls", "-o"]), ["a.json"]);
    assert_eq!(outputs(&["trace", "-ob.json", "pager", "-m", "16M", "trace", "-c", "-oc", "--", "sh"]), ["b.json", "c"]);
    assert_eq!(outputs(&["trace", "-s", "64", "-oe.json", "trace", "-s64", "-o", "f", "ls"]), ["e.json", "f"]);
    assert_eq!(outputs(&["trace", "-so", "trace", "-o", "g", "ls"]), ["g"]);
    assert_eq!(outputs(&["pager", "--stats", "--policy", "fifo", "--backing=parent", "trace", "-o", "h", "ls"]), ["h"]);
    assert_eq!(outputs(&["trace", "-c", "--", "ls"]), [""; 0]);
    assert_eq!(outputs(&["ls", "-o", "x"]), [""; 0]);
}

#[test]
fn programs_between_colons_are_found() {
    let several = ["share-cpu", "--weight", "3", "ls", "-o", "x", ":", "--priority=2", "share-cpu", "sh", "::", "trace", "-o", "a", "ls"];
    assert_eq!(outputs(&several), ["a"]);
    for words in [&["share-cpu", "ls", ":", "nonesuch"][..], &["share-cpu", "sh", ":", "--weight", "2", "nonesuch"]] {
        assert!(resolve_words(words).is_err(), "{words:?}");
    }
    // Colons are words like others elsewhere.
    assert!(resolve_words(&["ls", ":", "nonesuch"]).is_ok());
}

#[test]
fn long_options_have_values_too() {
    assert_eq!(outputs(&["guard", "--allow", "x y", "--audit", "a.json", "trace", "-o", "b", "ls", "--audit", "c"]), ["a.json", "b"]);
    assert_eq!(outputs(&["guard", "--audit=d", "--deny=trace", "--audit", "-", "trace", "-oe", "ls"]), ["d", "e"]);
}

#[test]
fn words_that_were_mistyped_find_what_was_meant() {
    let said = |words: &[&str]| resolve_words(words).unwrap_err().to_string();
    assert!(said(&["guard", "--alow", "x", "ls"]).contains("guard has no option --alow; did you mean --allow?"));
    assert!(said(&["busibox"]).contains("there is no program called busibox; did you mean busybox?"));
    assert!(!said(&["xyzzy"]).contains("did you mean"));
    assert!(resolve_words(&["guard", "--help"]).is_ok());
}

#[test]
fn words_behind_a_machine_are_for_its_guest() {
    let monitors = BTreeSet::from(["machine", "trace"].map(str::to_string));
    let scope = Scope { monitors: &monitors, natives: &BTreeSet::new(), directory: Path::new("/"), path: OsStr::new(""), root: None, volumes: &[] };
    let mut files = Files::with_data(0);
    ["machine", "trace"].iter().for_each(|name| files.add_file(&Path::new("/bin").join(name), 0o755, *b""));
    let mut guest = |words: &[&str]| resolve(&words.iter().map(OsString::from).collect::<Vec<_>>(), &scope, &mut files).unwrap().guest;
    assert_eq!(guest(&["trace", "-q", "machine", "--kernel", "k", "--cpus=2", "cat", "f"]), Some(6));
    assert_eq!((guest(&["machine"]), guest(&["trace", "-q"])), (Some(1), None));
}

#[test]
fn every_program_of_a_stack_is_looked_up() {
    for words in [&["nonesuch"][..], &["trace", "nonesuch"], &["trace", "-o", "f", "trace", "nonesuch"], &["/nonesuch"]] {
        assert_eq!(resolve_words(words).unwrap_err().class, Class::NotFound, "{words:?}");
    }
    assert!(resolve_words(&["ls", "nonesuch"]).is_ok());
}

#[test]
fn what_cannot_run_is_refused_with_a_remedy() {
    for path in ["/etc/passwd", "/etc"] {
        let failure = resolve_words(&[path]).unwrap_err();
        assert_eq!(failure.class, Class::NotRunnable, "{path}");
    }
}

#[test]
fn a_dynamic_program_brings_its_libraries() {
    let (_, files) = resolve_words(&["/proc/self/exe"]).unwrap();
    assert!(files.contains(Path::new("/lib64/ld-linux-x86-64.so.2")));
    assert!(files.iter().any(|(path, _)| path.ends_with("libc.so.6")));
}

#[test]
fn a_program_behind_a_link_lies_where_the_link_leads() {
    let folder = crate::scratch::Folder::new("linked").unwrap();
    let (link, real) = (folder.path().join("link"), fs::canonicalize(folder.path()).unwrap().join("real"));
    fs::copy("/bin/busybox", &real).unwrap();
    std::os::unix::fs::symlink("real", &link).unwrap();
    let (stack, files) = resolve_words(&[link.to_str().unwrap()]).unwrap();
    let content = |wanted: &Path| files.iter().find(|(path, _)| *path == wanted).map(|(_, entry)| entry.content.clone());
    assert_eq!(stack.words, [link.as_os_str()]);
    assert_eq!(content(&link).as_deref(), Some(&b"real"[..]));
    assert_eq!(content(&real), fs::read("/bin/busybox").ok());
}

#[test]
fn a_script_brings_the_files_of_its_package() {
    let (_, files) = resolve_words(&["/usr/bin/debconf"]).unwrap();
    assert!(files.iter().any(|(path, _)| path.starts_with("/usr/share/debconf")));
}

#[test]
fn what_the_c_library_opens_itself_comes_along() {
    let (_, files) = resolve_words(&["/bin/bash"]).unwrap();
    assert!(files.iter().any(|(path, _)| path.ends_with("libgcc_s.so.1")));
}

#[test]
fn a_program_gets_a_world_of_processes_once() {
    let (monitors, natives) = (monitors(), BTreeSet::new());
    let scope = Scope { monitors: &monitors, natives: &natives, directory: Path::new("/"), path: OsStr::new(""), root: None, volumes: &[] };
    for words in [&["sh"][..], &["trace", "sh"], &["guard", "--allow", "process", "sh"], &["share-cpu", "ls", ":", "sh"], &["trace"]] {
        let stack = resolve_words(words).unwrap().0.in_world(&scope);
        assert_eq!(stack.words[0], "process", "{words:?}");
        assert_eq!(stack.words[1..], *words);
    }
    for words in [&["process", "sh"][..], &["trace", "-q", "process", "sh"], &["share-cpu", "ls", ":", "process", "sh"], &["measure"], &["trace", "measure"]] {
        assert_eq!(resolve_words(words).unwrap().0.in_world(&scope).words, *words);
    }
}

#[test]
fn a_path_becomes_absolute_and_comes_along() {
    let (stack, files) = resolve_words(&["usr/../bin/busybox", "x/y"]).unwrap();
    assert_eq!(stack.words, ["/bin/busybox", "x/y"]);
    assert!(files.contains(Path::new("/bin/busybox")));
}
