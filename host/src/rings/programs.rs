//! Programs as Debian ships them: scripts of `tests/programs`, each run by Linux and here in the
//! same root directory, and compared.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::system::{LIMIT, describe};
use super::tally::TestCounts;
use crate::boot::directory::{Changes, Directory};
use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::debian::{self, DebianArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::run::{machine, with_directory};
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::capture;
use crate::session::terminal::Facts;
use crate::tree::Tree;

/// Scripts of the ordinary run, whose programs tests need anyway. They are run in this machine's
/// own files.
const SAMPLE: [&str; 7] = ["bash", "findutils", "grep", "sed", "make", "gcc", "perl"];
/// Memory of a machine that runs one, in bytes.
const MEMORY: u64 = 1 << 30;
/// First words of a script's line that names its packages.
const PACKAGES: &str = "# packages: ";
/// Lines that are shown of a difference.
const SHOWN: usize = 6;
/// Commands that run a script ($2) on Linux in a directory ($1) whose files stay as they are.
const ON_LINUX: &str = "mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w /mnt/m && mount -t overlay none -o lowerdir=\"$1\",upperdir=/mnt/u,workdir=/mnt/w /mnt/m && \
                        mount -t proc proc /mnt/m/proc && mount --rbind /dev /mnt/m/dev && mount -t tmpfs none /mnt/m/tmp && mount -t tmpfs none /mnt/m/run && ip link set lo up; \
                        exec chroot /mnt/m env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 bash -c \"$2\"";

/// A script.
struct Script {
    name: String,
    text: String,
    packages: Vec<String>,
}

/// Runs the sample in this machine's files.
pub fn sample(tree: &Tree, products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    let directory = Directory::open(Path::new("/"), Changes::Kept)?;
    for script in scripts(tree)?.iter().filter(|script| SAMPLE.contains(&script.name.as_str())) {
        let name = format!("programs of this machine: {}", script.name);
        if name.contains(filter) {
            let mut linux = Command::new("bash");
            linux.env_clear().env("PATH", crate::boot::directory::PATH).env("HOME", "/root").env("LANG", "C.UTF-8").arg("-c").arg(&script.text);
            tally.note(&name, compare(products, script, &directory, linux)?.as_deref());
        }
    }
    Ok(tally)
}

/// Runs all in a Debian of their own, which is made the first time. With `UPDATE` in the
/// environment, the rows of doc/programs.md of those that were run become what was found.
pub fn run(tree: &Tree, products: &Products, filter: &str) -> Outcome<TestCounts> {
    let scripts = scripts(tree)?;
    let root = debian(tree, &scripts)?;
    let directory = Directory::open(&root, Changes::Kept)?;
    let known = known(tree)?;
    let (mut tally, mut rows) = (TestCounts::default(), BTreeMap::new());
    for script in &scripts {
        let name = format!("programs of Debian's: {}", script.name);
        if !name.contains(filter) {
            continue;
        }
        let mut linux = Command::new("unshare");
        linux.args(["--mount", "--pid", "--fork", "--kill-child", "--net", "sh", "-c", ON_LINUX, "sh"]).arg(&root).arg(&script.text);
        let fault = compare(products, script, &directory, linux)?;
        let told = match (&fault, known.get(&script.name)) {
            (Some(_), Some(reason)) => (None, reason.clone()),
            (None, Some(reason)) => (Some(format!("it is listed as different, and is not: {reason}")), String::new()),
            (fault, None) => (fault.clone(), if fault.is_some() { "differs".to_string() } else { "as on Linux".to_string() }),
        };
        tally.note(&name, told.0.as_deref());
        rows.insert(script.name.clone(), format!("| {} | {} | {} |", script.name, versions(&root, &script.packages).join(", "), told.1));
    }
    if std::env::var_os("UPDATE").is_some() {
        renew(tree, &scripts, rows)?;
    }
    Ok(tally)
}

/// Puts rows into doc/programs.md. Those of scripts that were not run stay.
fn renew(tree: &Tree, scripts: &[Script], mut rows: BTreeMap<String, String>) -> Outcome<()> {
    let file = tree.path("doc/programs.md");
    let old = fs::read_to_string(&file).unwrap_or_default();
    for line in old.lines() {
        let name = line.strip_prefix("| ").and_then(|rest| rest.split(" | ").next()).unwrap_or_default();
        if scripts.iter().any(|script| script.name == name) {
            rows.entry(name.to_string()).or_insert(line.to_string());
        }
    }
    let rows: Vec<String> = rows.into_values().collect();
    let text = format!("{HEAD}\n| script | packages | what it prints |\n| --- | --- | --- |\n{}\n", rows.join("\n"));
    fs::write(&file, text).context(Class::File, || format!("cannot write {}", file.display()))
}

const HEAD: &str = "\
# Programs as Debian ships them

`./nacre test --programs` runs each script of [tests/programs](../tests/programs/README.md) twice in
one Debian 12: by Linux, in a `chroot`, and here, below `process` with `--root-overlay`. Output and
status are compared. `UPDATE=1 ./nacre test --programs` writes this page.
";

/// The scripts, by name.
fn scripts(tree: &Tree) -> Outcome<Vec<Script>> {
    let folder = tree.path("tests/programs");
    let cannot = || format!("cannot read {}", folder.display());
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder).context(Class::File, cannot)?.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sh"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).context(Class::File, cannot)?;
        let packages = text.lines().next().and_then(|line| line.strip_prefix(PACKAGES)).unwrap_or_default();
        let packages = packages.split(", ").filter(|name| !name.is_empty()).map(str::to_string).collect();
        Ok(Script { name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), text, packages })
    };
    paths.into_iter().map(read).collect()
}

/// Scripts that print something else here, with the reason.
fn known(tree: &Tree) -> Outcome<BTreeMap<String, String>> {
    let file = tree.path("tests/programs/differs.txt");
    let text = fs::read_to_string(&file).context(Class::File, || format!("cannot read {}", file.display()))?;
    Ok(text.lines().filter_map(|line| line.split_once(": ")).map(|(name, reason)| (name.to_string(), reason.to_string())).collect())
}

/// A Debian with all packages, made if it is not there.
fn debian(tree: &Tree, scripts: &[Script]) -> Outcome<PathBuf> {
    let folder = tree.target("debian-programs");
    let mut packages: Vec<String> = scripts.iter().flat_map(|script| script.packages.clone()).chain(["iproute2".into()]).collect();
    packages.sort();
    packages.dedup();
    let stamp = tree.target("debian-programs.list");
    let list = packages.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == list) {
        return Ok(folder);
    }
    let _ = fs::remove_dir_all(&folder);
    let arguments = DebianArguments { suite: "bookworm".into(), include: packages, mirror: None, folder: folder.clone() };
    if debian::debian(tree, &arguments)? != 0 {
        return Err(Failure::new(Class::Machine, "the Debian for the programs could not be made").remedy("its tools need to be run as root, and the archive"));
    }
    fs::write(&stamp, list).context(Class::File, || format!("cannot write {}", stamp.display()))?;
    Ok(folder)
}

/// The packages with their versions.
fn versions(root: &Path, packages: &[String]) -> Vec<String> {
    let status = fs::read_to_string(root.join("var/lib/dpkg/status")).unwrap_or_default();
    let version = |name: &String| {
        let entry = status.split("\n\n").find(|entry| entry.lines().next() == Some(&format!("Package: {name}")))?;
        entry.lines().find_map(|line| line.strip_prefix("Version: ")).map(|version| format!("{name} {version}"))
    };
    packages.iter().map(|name| version(name).unwrap_or_else(|| name.clone())).collect()
}

/// Runs a script by both; says what differs.
fn compare(products: &Products, script: &Script, directory: &Directory, mut linux: Command) -> Outcome<Option<String>> {
    let wanted = linux.stdin(Stdio::null()).stderr(Stdio::null()).output().context(Class::Machine, || "cannot start Linux's run".to_string())?;
    if wanted.stdout.is_empty() {
        return Ok(Some(format!("Linux prints nothing, and ends with {}", wanted.status)));
    }
    let command: Vec<OsString> = ["process", "bash", "-c", &script.text].map(Into::into).to_vec();
    let environment = vec!["HOME=/root".to_string(), "LANG=C.UTF-8".to_string(), format!("PATH={}", crate::boot::directory::PATH)];
    let guest = GuestArguments { bare: true, command, environment, root: Some(directory.clone()), ..GuestArguments::default() };
    let image = Scratch::write("boot-image", &Guest::compose(products, &guest, &Facts::PIPE)?.image)?;
    let arguments = with_directory(MachineArguments { memory: MEMORY, ..MachineArguments::default() }, Some(directory.clone()));
    let captured = capture(&machine(products, &image, arguments), Limits { timeout: Some(LIMIT), ..Limits::default() }, b"")?;
    let status = wanted.status.code().unwrap_or(-1);
    if !captured.status.as_ref().is_ok_and(|own| *own == status) {
        return Ok(Some(format!("Linux ends with {status}; {}", describe(&captured))));
    }
    Ok((captured.output != wanted.stdout).then(|| difference(&wanted.stdout, &captured.output)))
}

/// The first lines that differ.
fn difference(wanted: &[u8], found: &[u8]) -> String {
    let (wanted, found) = (String::from_utf8_lossy(wanted).into_owned(), String::from_utf8_lossy(found).into_owned());
    let (wanted, found): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), found.lines().collect());
    let same = wanted.iter().zip(&found).take_while(|(one, other)| one == other).count();
    let part = |lines: &[&str]| lines.iter().skip(same).take(SHOWN).map(|line| format!("    {line}\n")).collect::<String>();
    format!("line {} of {}: Linux prints\n{}and here comes\n{}", same + 1, wanted.len(), part(&wanted), part(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown() {
        let text = difference(b"a\nb\nc\n", b"a\nx\n");
        assert!(text.starts_with("line 2 of 3") && text.contains("    b\n") && text.contains("    x\n"), "{text}");
    }
}
