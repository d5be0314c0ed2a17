//! Tries copies of an environment that runs: what each of them writes, and where.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

fn nacre(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    command.args(words);
    command
}

fn output(words: &[&str]) -> (i32, String) {
    let Output { status, stdout, .. } = nacre(words).stdin(Stdio::null()).output().unwrap();
    (status.code().unwrap_or(-1), String::from_utf8_lossy(&stdout).into_owned())
}

#[test]
fn each_copy_has_files_and_output_of_its_own() {
    let name = format!("copies-{}", std::process::id());
    let script = "echo base > /tmp/x; echo up; read word; echo $word >> /tmp/x; cat /tmp/x; [ $word = last ] || sleep 1000";
    let words = ["run", "--timeout", "900", "--name", &name, "process", "checkpoint", "-m", "48M", "files", "process", "sh", "-c", script];
    let mut child = nacre(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    for (number, word) in [(1, "one"), (2, "two")] {
        assert_eq!(output(&["fork", &name, "--input", word]), (0, format!("{name}.{number}\n")));
        let copy = format!("{name}.{number}");
        let wanted = (0, format!("base\n{word}\n"));
        while output(&["logs", &copy]) != wanted {
            assert!(child.try_wait().unwrap().is_none(), "the machine ended");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
    // What has ended is told still, and nothing else has ended: not by the manager outside, either.
    assert_eq!(output(&["kill", &format!("{name}.1"), "--now"]).0, 0);
    assert_eq!(output(&["logs", &format!("{name}.1")]), (0, "base\none\n".to_string()));
    assert_eq!(output(&["kill", &format!("{name}.2"), "--now"]).0, 0);
    assert!(output(&["logs", &format!("{name}.7")]).0 != 0);
    child.stdin.take().unwrap().write_all(b"last\n").unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.ends_with("base\nlast\n"), child.wait().unwrap().code()), (true, Some(0)), "{rest}");
}
