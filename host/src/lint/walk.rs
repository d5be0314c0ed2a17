//! Finds the crates of the tree, their Rust files, and folders without a README.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Class, Context, Outcome};
use crate::tree::Tree;

/// A crate of the tree.
#[derive(Clone, Debug)]
pub struct Crate {
    /// Folder, from the root.
    pub name: String,
    /// Rust files, without those of crates inside it.
    pub files: Vec<PathBuf>,
}

/// All crates, in the order of their folders.
pub fn crates(tree: &Tree) -> Outcome<Vec<Crate>> {
    let folders = folders(tree)?;
    let is_crate = |folder: &Path| folder.join("Cargo.toml").is_file() && folder != tree.root();
    let mut crates: Vec<Crate> = Vec::new();
    for folder in folders.iter().filter(|folder| is_crate(folder)) {
        let name = shown(tree, folder);
        let own = |other: &&PathBuf| other.ancestors().find(|ancestor| is_crate(ancestor)) == Some(folder);
        let mut files = Vec::new();
        for inside in folders.iter().filter(own) {
            files.extend(entries(inside)?.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")));
        }
        crates.push(Crate { name, files });
    }
    Ok(crates)
}

/// Returns true if a file, named from its crate's folder, holds nothing but tests.
pub fn is_test_file(inside: &Path) -> bool {
    let name = inside.file_name().and_then(|name| name.to_str()).unwrap_or("");
    name == "tests.rs" || name.ends_with("_tests.rs") || inside.components().any(|part| part.as_os_str() == "tests")
}

/// All Markdown files.
pub fn pages(tree: &Tree) -> Outcome<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for folder in folders(tree)? {
        pages.extend(entries(&folder)?.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    Ok(pages)
}

/// Folders that hold files but do not say what they are. Module folders are explained by the
/// headers of their modules.
pub fn folders_without_readme(tree: &Tree) -> Outcome<Vec<String>> {
    let mut without = Vec::new();
    for folder in folders(tree)? {
        let in_source = folder.strip_prefix(tree.root()).is_ok_and(|inside| inside.components().any(|part| part.as_os_str() == "src"));
        let has_files = entries(&folder)?.iter().any(|path| path.is_file());
        if !in_source && has_files && !folder.join("README.md").is_file() {
            without.push(shown(tree, &folder));
        }
    }
    Ok(without)
}

fn shown(tree: &Tree, folder: &Path) -> String {
    match folder.strip_prefix(tree.root()) {
        Ok(inside) if inside != Path::new("") => inside.display().to_string(),
        Ok(_) | Err(_) => "the root".to_string(),
    }
}

/// The root and every folder of sources below it, ordered.
fn folders(tree: &Tree) -> Outcome<Vec<PathBuf>> {
    let mut found = vec![tree.root().to_path_buf()];
    let mut next = 0;
    while let Some(folder) = found.get(next).cloned() {
        found.extend(entries(&folder)?.into_iter().filter(|path| path.is_dir() && !is_product(path)));
        next += 1;
    }
    found.sort();
    Ok(found)
}

/// Folders that tools make, and hidden ones.
fn is_product(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or("");
    name.starts_with('.') || name == "target" || name == "build"
}

fn entries(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let cannot = || format!("cannot read the directory {}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).context(Class::File, cannot)? {
        paths.push(entry.context(Class::File, cannot)?.path());
    }
    paths.sort();
    Ok(paths)
}
