//! Ends the driver of a disk again and again, while a program reads and writes there: another one
//! takes its place, and what was synced is there.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Drivers that end.
const ENDS: u32 = 8;
/// Files that are synced between two of them, at least.
const FILES: u64 = 3;
/// A shell that syncs one file after the other and says their numbers; what fails is done again.
/// In the end it reads them all, and what it has had open since before.
const SCRIPT: &str = "cd /data; mkdir a; echo first >a/open; sync a/open; exec 3<a/open; i=1; \
    while [ ! -e /tmp/end ]; do \
        until mkdir -p d$i && echo $i >d$i/n && sync d$i/n && read there <d$i/n && [ \"$there\" = $i ]; do echo again; sleep 0.02; done 2>/dev/null; \
        echo $i; i=$((i+1)); done; \
    n=1; while [ $n -lt $i ]; do [ \"$(cat d$n/n)\" = $n ] || echo lost $n; n=$((n+1)); done; cat <&3; cd a && cat open; echo all $i";

fn nacre(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    command.args(words).stdin(Stdio::null());
    command
}

fn volume(image: &Path) {
    fs::File::create(image).and_then(|file| file.set_len(32 << 20)).unwrap();
    assert!(Command::new("mke2fs").args(["-q", "-F", "-t", "ext4"]).arg(image).status().unwrap().success());
}

#[test]
fn a_driver_that_ends_has_a_successor() {
    assert!(nacre(&["run", "true"]).status().unwrap().success());
    let name = format!("drivers-{}", std::process::id());
    let image = std::env::temp_dir().join(&name);
    volume(&image);
    let disk = format!("{}:/data", image.display());
    let mut running = nacre(&["run", "--timeout", "600", "--name", &name, "--disk", &disk, "process", "sh", "-c", SCRIPT]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let mut synced = 0;
    for number in 0..ENDS {
        let before = synced;
        while synced < before + FILES {
            let line = lines.next().expect("the program goes on").unwrap();
            synced = line.parse().unwrap_or(synced);
        }
        // At some moment of its work.
        std::thread::sleep(Duration::from_millis(u64::from(number * number * 7 % 40)));
        assert!(nacre(&["kill", &name, "--driver", "0"]).status().unwrap().success());
    }
    let refused = nacre(&["kill", &name, "--driver", "1"]).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("has no driver of a disk 1"));
    assert!(nacre(&["exec", &name, "touch", "/tmp/end"]).status().unwrap().success());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let output = running.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = rest.iter().map(String::as_str).filter(|line| line.parse::<u64>().is_err() && *line != "again").collect();
    assert!(last.len() == 3 && last[..2] == ["first", "first"] && last[2].starts_with("all "), "{rest:?}\n{told}");
    assert_eq!(told.matches("another one starts").count(), ENDS as usize, "{told}");
    let checked = Command::new("e2fsck").arg("-fn").arg(&image).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    fs::remove_file(&image).unwrap();
}
