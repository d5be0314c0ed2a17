//! Disks: files of this machine with a volume in them, which the guest has in its tree: `--disk
//! FILE:PATH`.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::contents;
use super::volumes::check_place;
use crate::absolute::absolute;
use crate::failure::{Class, Context, Failure, Outcome};

/// Largest number of them.
const MAX_DISKS: usize = 4;
/// Place of a volume if nobody says.
const PLACE: &str = "/mnt";

/// Options that name disks.
#[derive(Args, Clone, Debug, Default)]
pub struct DiskArguments {
    /// Put the ext2, ext3 or ext4 volume in FILE at PATH of the guest (default: /mnt). What fsync
    /// has returned for is there after any end of the machine. Behind :ro nothing is written. May
    /// be given several times
    #[arg(long = "disk", value_name = "FILE[:PATH][:ro]", value_parser = parse)]
    pub disks: Vec<Named>,
}

/// A disk as the option names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    file: PathBuf,
    path: PathBuf,
    is_read_only: bool,
}

/// Reads the option's value.
pub fn parse(text: &str) -> Result<Named, String> {
    let (rest, is_read_only) = match text.rsplit_once(':') {
        Some((rest, "ro")) => (rest, true),
        Some((rest, "rw")) => (rest, false),
        _ => (text, false),
    };
    let (file, path) = match rest.rsplit_once(':') {
        Some((file, path)) if path.starts_with('/') => (file, path),
        Some((_, path)) => return Err(format!("{path} is no absolute path of the guest's, nor ro or rw: write FILE:/PATH or FILE:/PATH:ro")),
        None => (rest, PLACE),
    };
    if file.is_empty() {
        return Err("write FILE:/PATH or FILE:/PATH:ro".to_string());
    }
    Ok(Named { file: file.into(), path: path.into(), is_read_only })
}

/// A disk at a path of the guest's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    file: PathBuf,
    /// The file as it was named, for people.
    shown: String,
    path: PathBuf,
    is_read_only: bool,
}

impl DiskArguments {
    /// The disks. Paths of this machine start from `here`.
    pub fn open(&self, here: &Path) -> Outcome<Vec<Disk>> {
        let disks = self.disks.iter().map(|named| open(named, here)).collect::<Outcome<Vec<_>>>()?;
        if disks.len() > MAX_DISKS {
            return Err(Failure::new(Class::Usage, format!("a guest has places for {MAX_DISKS} disks, and {} are named", disks.len())).remedy("name fewer"));
        }
        for (number, disk) in disks.iter().enumerate() {
            if let Some(other) = disks[..number].iter().find(|other| other.path.starts_with(&disk.path) || other.file == disk.file) {
                let failure = Failure::new(Class::Usage, format!("--disk names {} twice, or puts it over {}", disk.shown, other.path.display()));
                return Err(failure.remedy("name each file and each path once, and the outer path first"));
            }
        }
        Ok(disks)
    }
}

fn open(named: &Named, here: &Path) -> Outcome<Disk> {
    let (file, shown) = (absolute(here, &named.file), named.file.display().to_string());
    let path = absolute(Path::new("/"), &named.path);
    check_place("a disk", &path)?;
    if file.is_dir() {
        let remedy = format!("put a directory there with -v {shown}:{}", path.display());
        return Err(Failure::new(Class::File, format!("cannot use {shown} as a disk: it is a directory")).remedy(remedy));
    }
    let opened = OpenOptions::new().read(true).write(!named.is_read_only).open(&file);
    let opened = opened.context(Class::File, || format!("cannot use {shown} as a disk"))?;
    if let Some(contents) = contents::foreign(&opened) {
        let failure = Failure::new(Class::File, format!("cannot use {shown} as a disk: {contents} is there, which a guest does not know"));
        return Err(failure.remedy("name a file, or a partition, with an ext2, ext3 or ext4 volume"));
    }
    Ok(Disk { file, shown, path, is_read_only: named.is_read_only })
}

/// The boot file by which root knows of them.
pub fn list(disks: &[Disk]) -> Vec<u8> {
    let words = |disk: &Disk| {
        let fate: &[u8] = if disk.is_read_only { b"2" } else { b"3" };
        [disk.path.as_os_str().as_bytes(), b"\0", fate, b"\0", disk.shown.as_bytes(), b"\0"].concat()
    };
    disks.iter().flat_map(words).collect()
}

/// QEMU's words for them, in the order of the list.
pub fn words(disks: &[Disk]) -> Vec<OsString> {
    disks.iter().enumerate().flat_map(|(number, disk)| disk.words(number)).collect()
}

impl Disk {
    /// Returns true if a path of the guest's is on the disk.
    pub fn has(&self, path: &Path) -> bool {
        path.starts_with(&self.path)
    }

    fn words(&self, number: usize) -> [OsString; 4] {
        let readonly = if self.is_read_only { "on" } else { "off" };
        let mut drive = OsString::from(format!("if=none,id=disk{number},format=raw,readonly={readonly},file="));
        // QEMU has a comma twice where it is part of a name.
        drive.push(self.file.to_string_lossy().replace(',', ",,"));
        ["-drive".into(), drive, "-device".into(), format!("virtio-blk-pci,drive=disk{number},disable-legacy=on").into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_file_place_and_access() {
        let of = |text: &str| parse(text).map(|named| (named.file.display().to_string(), named.path.display().to_string(), named.is_read_only));
        assert_eq!(of("a"), Ok(("a".into(), "/mnt".into(), false)));
        assert_eq!(of("a:ro"), Ok(("a".into(), "/mnt".into(), true)));
        assert_eq!(of("/a:b:/c:rw"), Ok(("/a:b".into(), "/c".into(), false)));
        assert!(of("a:b").is_err());
        assert!(of(":/b").is_err());
    }

    #[test]
    fn a_file_is_a_disk_once() {
        let folder = crate::scratch::Folder::new("disks").unwrap();
        let file = folder.path().join("x,y");
        std::fs::write(&file, b"").unwrap();
        let open = |texts: &[&str]| DiskArguments { disks: texts.iter().map(|text| parse(text).unwrap()).collect() }.open(folder.path());
        let disks = open(&["x,y:/a"]).unwrap();
        assert_eq!(list(&disks), b"/a\x003\0x,y\0");
        assert!(words(&disks)[1].to_string_lossy().ends_with("x,,y"));
        assert!(open(&["x,y:/a", "x,y:/b"]).is_err());
        assert!(open(&["x,y:/"]).is_err());
        assert!(open(&["x,y:/proc/x"]).is_err());
        assert!(open(&["absent:/a"]).is_err());
        assert!(open(&[".:/a"]).is_err());
    }
}
