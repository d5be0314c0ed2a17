//! Tests that what `nacre dist` writes runs by itself, without a source tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Runs the command that was installed below a folder, as somebody with this home directory who has
/// no compiler.
fn installed(below: &Path, home: &Path) -> Command {
    let mut command = Command::new(below.join("bin/nacre"));
    command.env_remove("NACRE_ROOT").env_remove("NACRE_CARGO").env_remove("NACRE_RUSTC").env_remove("XDG_CACHE_HOME").env("HOME", home).env("PATH", "/usr/bin:/bin");
    command
}

#[test]
fn packages_run_without_the_sources() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dist");
    let _ = fs::remove_dir_all(&folder);
    let written = output(Command::new(env!("CARGO_BIN_EXE_nacre")).arg("dist").arg(folder.join("packages")));
    let written = String::from_utf8_lossy(&written.stdout).into_owned();
    let files: Vec<&str> = written.lines().collect();
    let [tarball, package] = files[..] else { panic!("two files are written, not {files:?}") };
    output(Command::new("tar").args(["--extract", "--file", tarball, "--strip-components=1", "--directory"]).arg(&folder));
    let said = output(installed(&folder, &folder).args(["run", "sh", "-c", "echo one; ls /bin | grep -c pager; exit 0"]));
    assert_eq!(String::from_utf8_lossy(&said.stdout), "one\n1\n");
    let refused = installed(&folder, &folder).arg("bench").output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("needs Nacre's sources"), "{refused:?}");
    let unpacked = folder.join("unpacked");
    output(Command::new("dpkg-deb").args(["--extract", package]).arg(&unpacked));
    for path in ["bin/nacre", "lib/nacre/kernel", "lib/nacre/programs/monitors/trace", "share/man/man1/nacre-run.1", "share/bash-completion/completions/nacre", "share/doc/nacre/copyright"] {
        assert!(unpacked.join("usr").join(path).exists(), "{path}");
    }
    let fields = output(Command::new("dpkg-deb").args(["--field", package, "Package", "Depends"]));
    assert!(String::from_utf8_lossy(&fields.stdout).contains("qemu-system-x86"));
    fs::remove_dir_all(&folder).unwrap();
}
