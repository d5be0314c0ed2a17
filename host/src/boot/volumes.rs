//! Directories of this machine that lie in the guest's tree: `-v DIR:PATH`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::directory::{Changes, Directory};
use crate::absolute::absolute;
use crate::failure::{Class, Failure, Outcome};

/// Largest number of them: each takes a place on the machine's bus.
const MAX_VOLUMES: usize = 12;
/// Folders that the guest fills itself: nothing is put over or into them.
const OWN: [&str; 7] = ["/dev", "/proc", "/sys", "/etc/nacre", "/lib/nacre", "/bin", "/usr/bin"];

/// Options that name directories.
#[derive(Args, Clone, Debug, Default)]
pub struct VolumeArguments {
    /// Put the directory DIR of this machine at PATH of the guest (default: the same path), as it
    /// is: what the guest changes there is changed here. Behind :ro changes are refused, behind
    /// :overlay they are kept in the guest's memory. May be given several times
    #[arg(short = 'v', long = "volume", value_name = "DIR[:PATH][:ro|:overlay]", value_parser = parse)]
    pub volumes: Vec<Named>,
}

/// A directory as the option names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    directory: PathBuf,
    path: Option<PathBuf>,
    changes: Changes,
}

/// Reads the option's value.
pub fn parse(text: &str) -> Result<Named, String> {
    let (rest, changes) = match text.rsplit_once(':') {
        Some((rest, "ro")) => (rest, Changes::Refused),
        Some((rest, "overlay")) => (rest, Changes::Kept),
        Some((rest, "rw")) => (rest, Changes::Passed),
        _ => (text, Changes::Passed),
    };
    let (directory, path) = match rest.rsplit_once(':') {
        Some((directory, path)) if path.starts_with('/') => (directory, Some(PathBuf::from(path))),
        Some((_, path)) => return Err(format!("{path} is no absolute path of the guest's, nor ro, rw or overlay: write DIR:/PATH or DIR:/PATH:ro")),
        None => (rest, None),
    };
    if directory.is_empty() {
        return Err("write DIR:/PATH or DIR:/PATH:ro".to_string());
    }
    Ok(Named { directory: directory.into(), path, changes })
}

/// A directory of this machine at a path of the guest's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    directory: Directory,
    path: PathBuf,
}

impl VolumeArguments {
    /// The directories. Paths of this machine start from `here`.
    pub fn open(&self, here: &Path) -> Outcome<Vec<Volume>> {
        let volumes = self.volumes.iter().map(|named| open(named, here)).collect::<Outcome<Vec<_>>>()?;
        if volumes.len() > MAX_VOLUMES {
            return Err(Failure::new(Class::Usage, format!("a guest has places for {MAX_VOLUMES} directories of this machine, and {} are named", volumes.len())).remedy("name one that has them in it"));
        }
        for (number, volume) in volumes.iter().enumerate() {
            if volumes[..number].iter().any(|other| other.path.starts_with(&volume.path)) {
                return Err(Failure::new(Class::Usage, format!("-v puts two directories at {}, or one over another", volume.path.display())).remedy("name the outer one first, and each path once"));
            }
        }
        Ok(volumes)
    }
}

/// Refuses to put something at a path that the guest fills itself.
pub fn check_place(what: &str, path: &Path) -> Outcome<()> {
    let refused = |why: &str, remedy: &str| Err(Failure::new(Class::Usage, format!("cannot put {what} at {}: {why}", path.display())).remedy(remedy));
    if path == Path::new("/") {
        return refused("it is the guest's root", "take --root, --root-ro or --root-overlay for a directory, and another PATH for a disk");
    }
    match OWN.iter().find(|own| path.starts_with(own) || Path::new(own).starts_with(path)) {
        Some(own) => refused(&format!("the guest fills {own} itself"), "name another PATH"),
        None => Ok(()),
    }
}

fn open(named: &Named, here: &Path) -> Outcome<Volume> {
    let path = absolute(here, named.path.as_ref().unwrap_or(&named.directory));
    check_place("a directory", &path)?;
    let host = here.join(&named.directory);
    if fs::metadata(&host).is_ok_and(|metadata| !metadata.is_dir()) {
        let remedy = format!("put a file there with --file {}:{}", named.directory.display(), path.display());
        return Err(Failure::new(Class::File, format!("{} is no directory", named.directory.display())).remedy(remedy));
    }
    Ok(Volume { directory: Directory::open(&host, named.changes)?, path })
}

impl Volume {
    /// The place in the guest of a directory of this machine, if this one has it in it.
    pub fn place_of(&self, here: &Path) -> Option<PathBuf> {
        Some(self.path.join(self.directory.inside(here)?))
    }

    /// The path of this machine behind a path of the guest's, links not followed.
    fn there(&self, path: &Path) -> Option<PathBuf> {
        Some(self.directory.path().join(path.strip_prefix(&self.path).ok()?))
    }

    /// Returns the file of this machine to which a path of the guest's leads, links followed as the
    /// guest does within the directory. `None`: the path leads elsewhere, or nowhere.
    pub fn find(&self, path: &Path) -> Option<PathBuf> {
        self.directory.find(path.strip_prefix(&self.path).ok()?)
    }
}

/// The boot file by which root knows of them.
pub fn list(volumes: &[Volume]) -> Vec<u8> {
    let words = |volume: &Volume| [volume.path.as_os_str().as_bytes(), b"\0", volume.directory.fate().as_bytes(), b"\0"].concat();
    volumes.iter().flat_map(words).collect()
}

/// QEMU's words for their devices, in the order of the list.
pub fn words(volumes: &[Volume]) -> Vec<OsString> {
    volumes.iter().enumerate().flat_map(|(number, volume)| volume.directory.words(&format!("volume{number}"))).collect()
}

/// The innermost one that has a path of the guest's.
fn innermost<'a>(volumes: &'a [Volume], path: &Path) -> Option<&'a Volume> {
    volumes.iter().filter(|volume| path.starts_with(&volume.path)).max_by_key(|volume| volume.path.as_os_str().len())
}

/// The place in the guest of a directory of this machine: that which is nearest, and that no other
/// one hides.
pub fn place_of(volumes: &[Volume], here: &Path) -> Option<PathBuf> {
    let places = volumes.iter().filter_map(|volume| volume.place_of(here).map(|place| (volume, place)));
    let seen = places.filter(|(volume, place)| innermost(volumes, place) == Some(*volume));
    seen.max_by_key(|(volume, _)| volume.directory.path().as_os_str().len()).map(|(_, place)| place)
}

/// Program of this machine's behind a path of the guest's.
#[derive(Debug, PartialEq, Eq)]
pub enum Program {
    /// A file of one of the directories.
    Inside(PathBuf),
    /// A file elsewhere, to which a link leads.
    Outside(PathBuf),
}

/// The program behind a path of the guest's, in the innermost directory that has the path.
pub fn find(volumes: &[Volume], path: &Path) -> Option<Program> {
    let volume = innermost(volumes, path)?;
    let inside = volume.find(path).filter(|host| host.exists()).map(Program::Inside);
    inside.or_else(|| fs::canonicalize(volume.there(path)?).ok().map(Program::Outside))
}

/// Returns true if a path of the guest's leads into one.
pub fn have(volumes: &[Volume], path: &Path) -> bool {
    volumes.iter().any(|volume| path.starts_with(&volume.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn options_name_directory_place_and_fate() {
        let of = |text: &str| parse(text).map(|named| (named.directory.display().to_string(), named.path.map(|path| path.display().to_string()), named.changes));
        let some = |text: &str| Some(text.to_string());
        assert_eq!(of("a:/b"), Ok(("a".into(), some("/b"), Changes::Passed)));
        assert_eq!(of("/a:/b/c:ro"), Ok(("/a".into(), some("/b/c"), Changes::Refused)));
        assert_eq!(of("a:overlay"), Ok(("a".into(), None, Changes::Kept)));
        assert_eq!(of("a:b:/c:rw"), Ok(("a:b".into(), some("/c"), Changes::Passed)));
        assert_eq!(of("."), Ok((".".into(), None, Changes::Passed)));
        for wrong in ["", ":", ":/x", "a:b", "a:/b:rx", ":ro"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    fn volumes(here: &Path, texts: &[&str]) -> Outcome<Vec<Volume>> {
        VolumeArguments { volumes: texts.iter().map(|text| parse(text).unwrap()).collect() }.open(here)
    }

    #[test]
    fn places_are_checked_and_found() {
        let folder = Folder::new("volumes").unwrap();
        let here = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(here.join("a/sub")).unwrap();
        fs::write(here.join("a/sub/file"), "").unwrap();
        fs::write(here.join("text"), "").unwrap();
        let found = volumes(&here, &["a:/mnt", "a/sub:/mnt/inner:ro", "a"]).unwrap();
        assert_eq!(list(&found), [b"/mnt\x003\x00/mnt/inner\x002\x00", here.join("a").as_os_str().as_bytes(), b"\x003\x00"].concat());
        assert_eq!(found[0].place_of(&here.join("a/sub")), Some("/mnt/sub".into()));
        assert_eq!(found[0].place_of(&here), None);
        assert_eq!(find(&found, Path::new("/mnt/inner/file")), Some(Program::Inside(here.join("a/sub/file"))));
        assert_eq!(find(&found, Path::new("/mnt/none")), None);
        std::os::unix::fs::symlink("/etc/passwd", here.join("a/away")).unwrap();
        assert_eq!(find(&found, Path::new("/mnt/away")), Some(Program::Outside("/etc/passwd".into())));
        assert_eq!(place_of(&found[..2], &here.join("a/sub")), Some("/mnt/inner".into()));
        assert_eq!(place_of(&found[..2], &here.join("a")), Some("/mnt".into()));
        assert_eq!(place_of(&found[..1], &here), None);
        assert!(have(&found, Path::new("/mnt/none")) && !have(&found, Path::new("/mn")));
        assert_eq!(words(&found).len(), 12);
        for wrong in [&["none:/mnt"][..], &["text:/mnt"], &["a:/"], &["a:/proc/x"], &["a:/etc"], &["a:/usr"], &["a:/mnt", "a:/mnt"], &["a:/mnt/x", "a:/mnt"], &["a:/m"; 13]] {
            assert!(volumes(&here, wrong).is_err(), "{wrong:?}");
        }
    }
}
