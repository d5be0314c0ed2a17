//! Manifests of the tree's monitors, which `build.rs` lists.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use nacre_manifest::{Given, Help, Manifest, Stop};

include!(concat!(env!("OUT_DIR"), "/monitors.rs"));

/// Returns the manifest of the monitor of this name.
pub fn find(name: &str) -> Option<&'static Manifest> {
    MONITORS.iter().find(|manifest| manifest.name == name).copied()
}

/// Reads the options of a monitor at the beginning of `words`. Returns them, the number of words
/// that they take, and what ended them early.
pub fn options<'a>(manifest: &Manifest, words: &'a [OsString]) -> (Vec<Given<'a>>, usize, Option<Stop<'a>>) {
    let words: Vec<&'a [u8]> = words.iter().map(|word| word.as_bytes()).collect();
    let (mut rest, mut given) = (&words[..], Vec::new());
    let stop = loop {
        match manifest.option(&mut rest) {
            Ok(Some(option)) => given.push(option),
            Ok(None) => break None,
            Err(stop) => break Some(stop),
        }
    };
    (given, words.len() - rest.len(), stop)
}

/// Returns the help that the words `help MONITOR` of a command line ask for.
pub fn help_of(words: impl Iterator<Item = OsString>) -> Option<Help> {
    let words: Vec<OsString> = words.take(3).collect();
    match &words[..] {
        [help, name] if help == "help" => name.to_str().and_then(find).map(Manifest::help),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_monitor_has_its_help() {
        let asked = |words: &[&str]| help_of(words.iter().map(OsString::from)).map(|help| help.to_string());
        for manifest in MONITORS {
            assert_eq!(asked(&["help", manifest.name]), Some(manifest.help().to_string()));
        }
        for words in [&["help"][..], &["help", "run"], &["run", "machine"], &["help", "machine", "run"]] {
            assert_eq!(asked(words), None);
        }
    }
    use std::fs;
    use std::path::{Path, PathBuf};

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
    }

    #[test]
    fn each_folder_of_monitors_has_a_manifest() {
        let folders = fs::read_dir(root().join("monitors")).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.join("Cargo.toml").is_file());
        let mut names: Vec<String> = folders.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        let known: Vec<&str> = MONITORS.iter().map(|manifest| manifest.name).collect();
        assert_eq!(names, known);
    }

    #[test]
    fn the_manual_shows_each_monitor_and_option() {
        let read = |path: &str| fs::read_to_string(root().join(path)).unwrap_or_default();
        let readme = read("README.md");
        for manifest in MONITORS {
            let name = manifest.name;
            let pages = read("doc/manual/monitors.md") + &read(&format!("doc/manual/{name}.md"));
            let mut usage = String::new();
            manifest.help().usage(&mut usage).unwrap();
            assert!(pages.contains(&format!("## {name}\n")), "doc/manual/monitors.md has no section {name}");
            assert!(pages.contains(&format!("\n    {name} {usage}\n")), "the manual does not show: {name} {usage}");
            assert!(readme.contains(&format!("\n- `{name} ")), "README.md has no line about {name}");
            for option in manifest.options {
                assert!(pages.contains(&format!("`{}", option.name)), "the manual of {name} says nothing of {}", option.name);
            }
        }
    }
}
