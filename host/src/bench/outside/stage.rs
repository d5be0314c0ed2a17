//! What both systems have from this machine: a directory, a disk, a root, a network.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use clap::Parser;

use super::super::calls::compile_from;
use super::super::source::long_source;
use super::noise::Noise;
use super::{MEMORY, MIB};
use crate::boot::directory::{Directory, RootArguments};
use crate::boot::disks::{Disk, DiskArguments};
use crate::boot::port_program;
use crate::boot::volumes::{Volume, VolumeArguments};
use crate::builds::run_quietly;
use crate::cli::MachineArguments;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::network::{Network, NetworkArguments};
use crate::run::{with_directory, with_network};
use crate::scratch::Folder;
use crate::tree::Tree;

/// Files of the tree that is packed, and bytes of each.
const TREE: (usize, usize) = (500, 100_000);

/// Belongings of this machine that both systems get.
pub struct Stage {
    /// Directory at `/mnt`.
    pub volume: Volume,
    /// Disk at `/media`.
    pub disk: Disk,
    /// The root, read only.
    pub root: Directory,
    /// Network with this machine in it.
    pub network: Network,
    /// Folder that the options above point to.
    _folder: Folder,
}

/// The options that `nacre run` would be given.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    root: RootArguments,
    #[command(flatten)]
    volumes: VolumeArguments,
    #[command(flatten)]
    disks: DiskArguments,
    #[command(flatten)]
    network: NetworkArguments,
}

impl Stage {
    /// Makes the directory and the disk anew: the systems leave files in them.
    pub fn set(tree: &Tree, mebibytes: u64, port: u16) -> Outcome<Stage> {
        let folder = Folder::new("bench-outside")?;
        let share = folder.path().join("share");
        let disk = folder.path().join("disk");
        fill(tree, &share, mebibytes, port).context(Class::File, || format!("cannot fill {}", share.display()))?;
        fs::copy(compile_from(tree, "bench/outside", "outside.c", &["-static"], "/bench/outside")?, share.join("outside")).context(Class::File, || "cannot copy the program".to_string())?;
        make_disk(&disk, &share.join("big"), mebibytes)?;
        let words = ["bench", "--root-ro", "/", "-v", &format!("{}:/mnt", share.display()), "--disk", &format!("{}:/media", disk.display()), "--net", "user"];
        let options = Options::try_parse_from(words).map_err(|error| Failure::new(Class::Internal, error.to_string()))?;
        let missing = |what: &str| Failure::new(Class::Internal, format!("there is no {what}"));
        let here = Path::new("/");
        Ok(Stage {
            volume: options.volumes.open(here)?.pop().ok_or_else(|| missing("directory"))?,
            disk: options.disks.open(here)?.pop().ok_or_else(|| missing("disk"))?,
            root: options.root.open()?.ok_or_else(|| missing("root"))?,
            network: options.network.open()?.ok_or_else(|| missing("network"))?,
            _folder: folder,
        })
    }

    /// The machine's part of the options.
    pub fn arguments(&self) -> MachineArguments {
        let arguments = MachineArguments { memory: MEMORY, volumes: vec![self.volume.clone()], disks: vec![self.disk.clone()], ..MachineArguments::default() };
        with_network(with_directory(arguments, Some(self.root.clone())), Some(self.network.clone()))
    }
}

/// Lays out the directory.
fn fill(tree: &Tree, share: &Path, mebibytes: u64, port: u16) -> io::Result<()> {
    fs::create_dir_all(share.join("tree"))?;
    for name in ["rows.sh", "inserts.py"] {
        fs::copy(tree.path("bench/outside").join(name), share.join(name))?;
    }
    fs::write(share.join("port"), port.to_string())?;
    fs::write(share.join("long.c"), long_source())?;
    fs::write(share.join("port-program"), port_program::elf())?;
    fs::set_permissions(share.join("port-program"), Permissions::from_mode(0o755))?;
    let mut noise = Noise(1);
    fs::write(share.join("big"), noise.bytes(mebibytes * MIB))?;
    (0..TREE.0).try_for_each(|number| fs::write(share.join(format!("tree/{number}")), noise.text(TREE.1)))
}

/// An ext4 volume with one file in it.
fn make_disk(disk: &Path, big: &Path, mebibytes: u64) -> Outcome<()> {
    let content = disk.with_extension("content");
    let cannot = || format!("cannot make {}", disk.display());
    fs::create_dir(&content).context(Class::File, cannot)?;
    fs::hard_link(big, content.join("big")).context(Class::File, cannot)?;
    let mut command = Command::new("mkfs.ext4");
    command.args(["-q", "-F", "-d"]).arg(&content).arg(disk).arg(format!("{}M", mebibytes + 256));
    run_quietly(command, "mkfs.ext4")
}
