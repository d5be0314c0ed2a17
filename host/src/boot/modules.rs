//! Modules of a Linux kernel that a guest machine needs for its devices, with those that they
//! depend on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::Files;

/// Drivers and file systems by the PCI device that they are for. What a kernel has built in, or
/// does not have, is left out.
const WANTED: &[(&str, &[&str])] = &[
    ("0x1041", &["virtio_pci", "virtio_net", "af_packet"]),
    ("0x1042", &["virtio_pci", "virtio_blk", "crc32c_generic", "ext4"]),
    ("0x1043", &["virtio_pci", "virtio_console"]),
    ("0x1044", &["virtio_pci", "virtio_rng"]),
    ("0x1045", &["virtio_pci", "virtio_balloon"]),
    ("0x1049", &["virtio_pci", "9pnet_virtio", "9p"]),
];

/// Drivers by which a guest's programs hear of the power button.
const POWER: &(&str, &[&str]) = &("power", &["button", "evdev"]);

/// Folder of the guest where the modules lie, and lists of them: a file for each device.
const FOLDER: &str = "/nacre/modules";

/// Modules of a kernel by their names.
struct Modules(BTreeMap<String, PathBuf>);

/// Name of a module by which others depend on it.
fn name(path: &Path) -> Option<String> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".ko")?;
    Some(stem.replace('-', "_"))
}

impl Modules {
    /// Finds all modules below a folder.
    fn find(folder: &Path) -> Modules {
        let (mut modules, mut folders) = (BTreeMap::new(), vec![folder.to_path_buf()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
                let path = entry.path();
                match name(&path) {
                    _ if path.is_dir() && !path.is_symlink() => folders.push(path),
                    Some(name) => drop(modules.insert(name, path)),
                    None => {}
                }
            }
        }
        Modules(modules)
    }

    /// Appends a module to `list`, behind those that it depends on.
    fn add(&self, name: &str, list: &mut Vec<String>) {
        let Some(path) = self.0.get(name).filter(|_| !list.iter().any(|other| other == name)) else { return };
        let Ok(bytes) = fs::read(path) else { return };
        for needed in dependencies(&bytes) {
            self.add(&needed, list);
        }
        list.push(name.to_string());
    }
}

/// Names that a module says it depends on.
fn dependencies(module: &[u8]) -> Vec<String> {
    const FIELD: &[u8] = b"\0depends=";
    let Some(at) = module.windows(FIELD.len()).position(|bytes| bytes == FIELD) else { return Vec::new() };
    let text = module[at + FIELD.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).split(',').filter(|name| !name.is_empty()).map(str::to_string).collect()
}

/// Adds the modules of the kernel whose package was extracted to `folder`.
pub fn add(files: &mut Files, folder: &Path) {
    let modules = Modules::find(&folder.join("lib/modules"));
    files.add_directory(Path::new(FOLDER), 0o755);
    for (device, wanted) in WANTED.iter().chain([POWER]) {
        let mut list = Vec::new();
        wanted.iter().for_each(|name| modules.add(name, &mut list));
        for name in &list {
            if let Some(bytes) = modules.0.get(name).and_then(|path| fs::read(path).ok()) {
                files.add_file(&Path::new(FOLDER).join(format!("{name}.ko")), 0o644, bytes);
            }
        }
        files.add_file(&Path::new(FOLDER).join(device), 0o644, list.join("\n") + "\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn modules_come_behind_those_that_they_depend_on() {
        let scratch = Folder::new("modules").unwrap();
        let folder = scratch.path();
        fs::create_dir_all(folder.join("a/b")).unwrap();
        for (file, text) in [("one.ko", "\0depends=two,three-of-none\0x"), ("a/two.ko", "\0depends=the_third\0"), ("a/b/the-third.ko", "\0depends=\0")] {
            fs::write(folder.join(file), text).unwrap();
        }
        let modules = Modules::find(folder);
        let mut list = Vec::new();
        ["one", "the_third", "nonesuch"].iter().for_each(|name| modules.add(name, &mut list));
        assert_eq!(list, ["the_third", "two", "one"]);
    }
}
