//! `nacre bench --outside`: what crosses the machine's boundary (a directory of the host's, a disk,
//! a network), and programs as Debian ships them, on both systems by the clock on the wall.

mod noise;
mod peer;
mod stage;

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::table::{Figures, grouped};
use super::linux;
use crate::boot::files::{BUSYBOX, Files};
use crate::boot::guest::Guest;
use crate::boot::initramfs::archive;
use crate::boot::kernel::{Kind, kernel, package_folder};
use crate::boot::{modules, port_program};
use crate::builds::Products;
use crate::cli::GuestArguments;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::rings::describe;
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::{Captured, capture};
use crate::session::machine::{Boot, Machine};
use crate::session::terminal::Facts;
use crate::tree::Tree;
use peer::Peer;
use stage::Stage;

/// A guard against hanging.
const LIMIT: Duration = Duration::from_secs(1800);
/// Memory of both machines: what is read once has to fit.
const MEMORY: u64 = 2 << 30;
/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Rows: the word of `bench/outside/rows.sh`, a name for people, and the aim: Nacre's rate, or
/// Linux's time, as a part of the other's.
const ROWS: [(&str, &str, Aim); 20] = [
    ("directory_read", "file of a directory read, cold", Aim::Rate(0.9)),
    ("directory_read_again", "the same again", Aim::Rate(0.9)),
    ("directory_write", "file of a directory written, and synced", Aim::Rate(0.9)),
    ("directory_files", "500 files of a directory made, asked for, removed", Aim::Time(1.1)),
    ("disk_read", "file of a disk read, cold", Aim::Rate(0.9)),
    ("disk_read_again", "the same again", Aim::Rate(0.9)),
    ("disk_write", "file of a disk written, and synced", Aim::Rate(0.9)),
    ("disk_files", "500 files of a disk made, asked for, removed", Aim::Time(1.1)),
    ("tcp_send", "bytes sent to the host", Aim::Rate(0.7)),
    ("tcp_receive", "bytes that the host sends", Aim::Rate(0.7)),
    ("tcp_round_trip", "a byte to the host and back", Aim::Time(1.3)),
    ("find", "find, python3's library, cold", Aim::Time(1.0)),
    ("find_again", "the same again", Aim::Time(1.0)),
    ("python", "python3 -c pass, cold", Aim::Time(1.1)),
    ("python_again", "the same again", Aim::Time(1.1)),
    ("gcc", "gcc -O2, 2,000 lines, cold", Aim::Time(1.1)),
    ("gcc_again", "the same again", Aim::Time(1.1)),
    ("tar", "tar and gzip of 50 MB", Aim::Time(1.1)),
    ("sqlite", "python3 and sqlite, 10,000 rows on a disk", Aim::Time(1.1)),
    ("forks", "500 programs of a shell", Aim::Time(1.1)),
];

/// Aim beside Linux.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Aim {
    /// Smallest part of Linux's rate.
    Rate(f64),
    /// Largest multiple of Linux's time.
    Time(f64),
}

/// Measures all rows, with files of so many MiB.
pub fn measure(tree: &Tree, products: &Products, mebibytes: u64, no_linux: bool) -> Outcome<Outside> {
    let peer = Peer::listen()?;
    let nacre = figures(&on_nacre(products, &Stage::set(tree, mebibytes, peer.port())?)?)?;
    let linux = match no_linux {
        true => Figures::default(),
        false => figures(&on_linux(tree, Stage::set(tree, mebibytes, peer.port())?)?)?,
    };
    Ok(Outside { mebibytes, nacre, linux })
}

fn on_nacre(products: &Products, stage: &Stage) -> Outcome<Captured> {
    let command = ["sh", "/mnt/rows.sh"].map(Into::into).to_vec();
    let guest = GuestArguments {
        command,
        root: Some(stage.root.clone()),
        volumes: vec![stage.volume.clone()],
        disks: vec![stage.disk.clone()],
        network: Some(stage.network.clone()),
        memory: Some(MEMORY),
        ..GuestArguments::default()
    };
    let guest = Guest::compose(products, &guest, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    capture(&machine(products, &image, stage.arguments()), Limits { timeout: Some(LIMIT), ..Limits::default() }, b"")
}

fn on_linux(tree: &Tree, stage: Stage) -> Outcome<Captured> {
    let kernel = kernel(tree, Kind::General)?;
    let mut files = Files::default();
    files.add_from_host(Path::new(BUSYBOX), Path::new(BUSYBOX))?;
    let init = tree.path("bench/outside/init.sh");
    files.add_file(Path::new("/init"), 0o755, fs::read(&init).context(Class::File, || format!("cannot read {}", init.display()))?);
    files.add_file(Path::new("/nacre/port"), 0o755, port_program::elf());
    package_folder(&kernel).iter().for_each(|folder| modules::add(&mut files, folder));
    let module = Scratch::write("initramfs", &archive(&files))?;
    let boot = Boot::Kernel { kernel, module: module.path().to_path_buf(), command_line: linux::COMMAND_LINE.to_string() };
    capture(&Machine { arguments: stage.arguments(), boot }, Limits { timeout: Some(LIMIT), ..Limits::default() }, b"")
}

/// The figures of a run; without any it failed.
fn figures(captured: &Captured) -> Outcome<Figures> {
    let figures = Figures::parse(&String::from_utf8_lossy(&captured.output));
    figures.unmeasured().for_each(|line| eprintln!("nacre: {line}"));
    if figures.is_empty() {
        eprintln!("{}", describe(captured));
        return Err(Failure::new(Class::Guest, "nothing was measured").remedy("what was said is above"));
    }
    Ok(figures)
}

/// The table.
pub struct Outside {
    mebibytes: u64,
    nacre: Figures,
    linux: Figures,
}

/// Time, and the rate of rows that move bytes.
fn shown(figures: &Figures, name: &str, aim: Aim) -> String {
    let Some(figure) = figures.find(name) else { return "-".to_string() };
    match aim {
        Aim::Rate(_) => format!("{:.0} MiB/s", figure.entries as f64 / MIB as f64 / (figure.instructions.max(1) as f64 / 1e9)),
        Aim::Time(_) => format!("{} µs", grouped(figure.instructions / 1000)),
    }
}

impl Outside {
    /// Nacre's rate or time as a part of Linux's.
    fn ratio(&self, name: &str, aim: Aim) -> Option<f64> {
        let [nacre, linux] = [&self.nacre, &self.linux].map(|figures| figures.find(name).map(|figure| figure.instructions.max(1) as f64));
        let times = nacre? / linux?;
        Some(if matches!(aim, Aim::Rate(_)) { 1.0 / times } else { times })
    }
}

impl Aim {
    fn cell(self, ratio: Option<f64>) -> String {
        let (text, is_missed) = match self {
            Aim::Rate(least) => (format!("at least {least}"), ratio.is_some_and(|ratio| ratio < least)),
            Aim::Time(most) => (format!("at most {most}"), ratio.is_some_and(|ratio| ratio > most)),
        };
        if is_missed { text + ", **not reached**" } else { text }
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "`./nacre bench --outside {} --write` measures this table alone, by the wall, one run of each", self.mebibytes)?;
        writeln!(to, "system in the same QEMU with the same devices: rates and times depend on the host and on what")?;
        writeln!(to, "else it does ([bench/outside](../bench/outside/README.md)). Files that are read have {} MiB.\n", self.mebibytes)?;
        writeln!(to, "| row | Nacre | Linux | ratio | aim |")?;
        writeln!(to, "| --- | ---: | ---: | ---: | --- |")?;
        for (name, what, aim) in ROWS {
            let ratio = self.ratio(name, aim);
            let shown_ratio = ratio.map_or("-".to_string(), |ratio| format!("{ratio:.2}"));
            writeln!(to, "| {what} | {} | {} | {shown_ratio} | {} |", shown(&self.nacre, name, aim), shown(&self.linux, name, aim), aim.cell(ratio))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_better_when_higher_and_times_when_lower() {
        let figures = |time| Figures::parse(&format!("measure disk_read {time} 1048576\nmeasure forks {time} 0\n"));
        let table = Outside { mebibytes: 1, nacre: figures(2_000_000), linux: figures(1_000_000) };
        let text = table.to_string();
        assert!(text.contains("| file of a disk read, cold | 500 MiB/s | 1000 MiB/s | 0.50 | at least 0.9, **not reached** |"), "{text}");
        assert!(text.contains("| 500 programs of a shell | 2,000 µs | 1,000 µs | 2.00 | at most 1.1, **not reached** |"), "{text}");
        assert!(text.contains("| bytes sent to the host | - | - | - | at least 0.7 |"), "{text}");
    }

    #[test]
    fn each_row_is_run() {
        let rows = include_str!("../../../bench/outside/rows.sh");
        ROWS.iter().for_each(|(name, ..)| assert!(rows.contains(&format!(" {name} ")), "{name}"));
    }
}
