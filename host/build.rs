//! Lists the manifests of all monitors, so that a folder of `monitors/` is all that a monitor
//! needs.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let monitors = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate's folder")).join("../monitors");
    // The workspace names each monitor, so its manifest changes when one comes or goes.
    println!("cargo:rerun-if-changed={}", monitors.join("../Cargo.toml").display());
    let entries = fs::read_dir(&monitors).expect("the folder of the monitors can be read");
    let mut manifests: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path().join("src/manifest.rs")).filter(|path| path.is_file()).collect();
    manifests.sort();
    let (mut modules, mut names) = (String::new(), String::new());
    for (number, path) in manifests.iter().enumerate() {
        println!("cargo:rerun-if-changed={}", path.display());
        // Writing to a string cannot fail.
        let _ = writeln!(modules, "#[path = {path:?}]\nmod monitor_{number};");
        let _ = write!(names, "&monitor_{number}::MANIFEST, ");
    }
    let table = format!("{modules}/// Manifests of all monitors.\npub const MONITORS: &[&nacre_manifest::Manifest] = &[{names}];\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo names a folder for what is made"));
    fs::write(out.join("monitors.rs"), table).expect("the table of manifests can be written");
}
