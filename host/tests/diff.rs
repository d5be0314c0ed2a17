//! Tries `diff`: a machine that keeps its changes of a directory tells them, and the directory
//! stays as it is.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const SCRIPT: &str = "cd /mnt; cat same; echo more >>changed; rm deleted; mv moved elsewhere; mkdir new; echo x >new/file; chmod 700 mode; touch /tmp/own; echo up; read line";
const CHANGES: &str = "C /mnt/changed\nD /mnt/deleted\nA /mnt/elsewhere\nC /mnt/mode\nD /mnt/moved\nA /mnt/new\nA /mnt/new/file\n";

fn nacre(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    command.args(words);
    command
}

#[test]
fn changes_that_are_kept_are_listed() {
    assert!(nacre(&["run", "true"]).stdin(Stdio::null()).status().unwrap().success());
    let name = format!("diff-{}", std::process::id());
    let folder = std::env::temp_dir().join(&name);
    fs::create_dir(&folder).unwrap();
    for file in ["same", "changed", "deleted", "moved", "mode"] {
        fs::write(folder.join(file), "text\n").unwrap();
    }
    let volume = format!("{}:/mnt:overlay", folder.display());
    let mut running = nacre(&["run", "--timeout", "600", "--name", &name, "-v", &volume, "process", "sh", "-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "up"));
    let told = nacre(&["diff", &name]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&told.stdout), CHANGES, "{}", String::from_utf8_lossy(&told.stderr));
    drop(running.stdin.take());
    running.wait().unwrap();
    assert_eq!(fs::read_to_string(folder.join("changed")).unwrap(), "text\n");
    fs::remove_dir_all(&folder).unwrap();
}
