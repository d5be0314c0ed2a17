//! Ends the drivers of directories, of a disk and of the source of random bytes again and again,
//! while a program reads and writes there: others take their places, and what was synced is there.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Times that each driver ends.
const ENDS: u32 = 5;
/// Files that are synced between two of them, at least.
const FILES: u64 = 3;
/// A shell that syncs one file after the other, on a disk and in a directory of the host's, and
/// says their numbers; what fails is done again. In the end it reads them all, and what it has had
/// open since before, and what it has changed of a directory whose changes are kept in memory.
const SCRIPT: &str = "cd /data; mkdir a; echo first >a/open; sync a/open; exec 3<a/open; echo host >/host/open; exec 4</host/open; \
    echo mine >/kept/file; mv /kept/there/deep /kept/moved; mkdir /kept/new; i=1; \
    step() { until mkdir -p $1/d$i && echo $i >$1/d$i/n && sync $1/d$i/n && read there <$1/d$i/n && [ \"$there\" = $i ]; do echo again; sleep 0.02; done 2>/dev/null; }; \
    while [ ! -e /tmp/end ]; do step /data; step /host; cat /kept/moved/within >/dev/null 2>&1; echo $i; i=$((i+1)); done; \
    step /data; step /host; until cat /kept/moved/within >/dev/null 2>&1; do sleep 0.02; done; \
    for at in /data /host; do n=1; while [ $n -lt $i ]; do [ \"$(cat $at/d$n/n)\" = $n ] || echo lost $at $n; n=$((n+1)); done; done; \
    cat <&3; cat <&4; cd a && cat open; cat /kept/file /kept/moved/within; ls /kept | tr '\\n' ' '; echo; echo all $i";

fn nacre(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    command.args(words).stdin(Stdio::null());
    command
}

fn volume(image: &Path) {
    fs::File::create(image).and_then(|file| file.set_len(32 << 20)).unwrap();
    assert!(Command::new("mke2fs").args(["-q", "-F", "-t", "ext4"]).arg(image).status().unwrap().success());
}

/// Directories of this machine for the machine, and the image of its disk.
struct Place {
    folder: PathBuf,
    image: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("kept/there/deep")).and_then(|()| fs::create_dir(folder.join("host"))).unwrap();
        fs::write(folder.join("kept/file"), "theirs\n").and_then(|()| fs::write(folder.join("kept/there/deep/within"), "within\n")).unwrap();
        let image = folder.join("image");
        volume(&image);
        Place { folder, image }
    }

    /// Checks that what the machine was to bring here is here, and nothing else has changed.
    fn check(&self, files: u64) {
        for number in 1..=files {
            assert_eq!(fs::read_to_string(self.folder.join(format!("host/d{number}/n"))).unwrap(), format!("{number}\n"));
        }
        assert_eq!(fs::read_to_string(self.folder.join("kept/file")).unwrap(), "theirs\n");
        assert!(self.folder.join("kept/there/deep/within").exists() && !self.folder.join("kept/new").exists());
        let checked = Command::new("e2fsck").arg("-fn").arg(&self.image).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
        fs::remove_dir_all(&self.folder).unwrap();
    }
}

#[test]
fn a_driver_that_ends_has_a_successor() {
    assert!(nacre(&["run", "true"]).status().unwrap().success());
    let name = format!("drivers-{}", std::process::id());
    let place = Place::new(&name);
    let [disk, host, kept] = [("image:/data", ""), ("host:/host", ""), ("kept:/kept", ":overlay")].map(|(what, how)| format!("{}/{what}{how}", place.folder.display()));
    let options = ["run", "--timeout", "600", "--name", &name, "--disk", &disk, "-v", &host, "-v", &kept, "process", "sh", "-c", SCRIPT];
    let mut running = nacre(&options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let mut synced = 0;
    for number in 0..3 * ENDS {
        let before = synced;
        while synced < before + FILES {
            let line = lines.next().expect("the program goes on").unwrap();
            synced = line.parse().unwrap_or(synced);
        }
        // At some moment of its work.
        std::thread::sleep(Duration::from_millis(u64::from(number * number * 7 % 40)));
        assert!(nacre(&["kill", &name, "--driver", &(number % 3).to_string()]).status().unwrap().success());
    }
    let refused = nacre(&["kill", &name, "--driver", "3"]).output().unwrap();
    let refused = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.contains("has no driver 3") && refused.contains("there are 0 /host, 1 /kept, 2 "), "{refused}");
    assert!(nacre(&["exec", &name, "touch", "/tmp/end"]).status().unwrap().success());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let output = running.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = rest.iter().map(String::as_str).filter(|line| line.parse::<u64>().is_err() && *line != "again").collect();
    assert_eq!(last[..last.len().min(6)], ["first", "host", "first", "mine", "within", "file moved new there "], "{rest:?}\n{told}");
    assert!(last.len() == 7 && last[6].starts_with("all "), "{rest:?}\n{told}");
    assert_eq!(told.matches("another one starts").count(), 3 * ENDS as usize, "{told}");
    assert_eq!(told.matches("may be lost").count(), ENDS as usize, "{told}");
    place.check(synced);
}

/// A shell of the directory around the whole tree reads files of it, and starts programs from it.
const AROUND: &str = "echo changed >/etc/hostname; echo mine >/usr/mine; cd /usr/bin; n=0; while [ ! -e /tmp/end ]; do \
    if [ \"$(/bin/echo $n)\" = $n ] && [ \"$(cat /etc/hostname)\" = changed ]; then n=$((n+1)); echo $n; else sleep 0.02; fi 2>/dev/null; done; \
    cat /usr/mine /etc/hostname; pwd";

#[test]
fn the_directory_around_the_tree_comes_back() {
    assert!(nacre(&["run", "true"]).status().unwrap().success());
    let name = format!("around-{}", std::process::id());
    let options = ["run", "--timeout", "600", "--name", &name, "--root-overlay", "/", "process", "sh", "-c", AROUND];
    let mut running = nacre(&options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let mut count = 0;
    for _ in 0..ENDS {
        let before = count;
        while count < before + 3 {
            count = lines.next().expect("the program goes on").unwrap().parse().unwrap_or(count);
        }
        assert!(nacre(&["kill", &name, "--driver", "0"]).status().unwrap().success());
    }
    while !nacre(&["exec", &name, "touch", "/tmp/end"]).status().unwrap().success() {
        assert!(running.try_wait().unwrap().is_none(), "the machine ended");
    }
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let told = String::from_utf8_lossy(&running.wait_with_output().unwrap().stderr).into_owned();
    assert!(rest.ends_with(&["mine", "changed", "/usr/bin"].map(String::from)), "{rest:?}\n{told}");
    assert_eq!(told.matches("/: its driver was ended; another one starts").count(), ENDS as usize, "{told}");
}

/// A shell that reads random bytes, two of which are never the same, and says how often.
const DRAWS: &str = "before=; n=0; while [ ! -e /tmp/end ]; do now=$(head -c 16 /dev/urandom | od -An -tx1); \
    [ ${#now} -gt 40 ] && [ \"$now\" != \"$before\" ] || echo same; before=$now; n=$((n+1)); echo $n; done; echo over";

#[test]
fn the_source_of_random_bytes_comes_back() {
    assert!(nacre(&["run", "true"]).status().unwrap().success());
    let name = format!("random-{}", std::process::id());
    let mut running = nacre(&["run", "--timeout", "600", "--name", &name, "--rng", "sh", "-c", DRAWS]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    for _ in 0..ENDS {
        let drawn: Vec<String> = (0..3).map(|_| lines.next().expect("the program goes on").unwrap()).collect();
        assert!(drawn.iter().all(|line| line.parse::<u64>().is_ok()), "{drawn:?}");
        assert!(nacre(&["kill", &name, "--driver", "0"]).status().unwrap().success());
    }
    assert!(nacre(&["exec", &name, "touch", "/tmp/end"]).status().unwrap().success());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let told = String::from_utf8_lossy(&running.wait_with_output().unwrap().stderr).into_owned();
    assert!(rest.last().is_some_and(|line| line == "over") && !rest.contains(&"same".to_string()), "{rest:?}\n{told}");
    assert_eq!(told.matches("the source of random bytes: its driver was ended; another one starts").count(), ENDS as usize, "{told}");
}
