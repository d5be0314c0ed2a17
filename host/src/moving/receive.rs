//! The subcommand `receive`: takes an environment that is moved, and goes on with it.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nacre_control::record::HELD;
use nacre_proto::Errno;
use nacre_proto::flags::{COMMAND_LIST, COMMAND_RELEASE};

use super::address::{Address, Door, Link};
use super::rounds::Rounds;
use super::wire::{Broken, Message, expect, take_round};
use crate::builds;
use crate::cli::ReceiveArguments;
use crate::control::client::{Collected, ask};
use crate::control::desk::END;
use crate::control::names;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::run;
use crate::scratch::Folder;
use crate::tree::Tree;

/// Time for which a sender may be silent: its environment may be large.
const PATIENCE: Duration = Duration::from_secs(600);
/// Pause between two looks at a machine that starts.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two lines to a sender that waits.
const SIGN: Duration = Duration::from_secs(1);

/// Waits for an environment, and runs it; its status.
pub fn receive(tree: &Tree, arguments: &ReceiveArguments) -> Outcome<i32> {
    let address = Address::read(&arguments.address).map_err(|why| Failure::new(Class::Usage, why))?;
    let folder = Folder::new("receive")?;
    let path = folder.path().join("image");
    let name = arguments.new.name.clone().unwrap_or_else(|| names::made_up("received"));
    if names::is_there(&name) {
        return Err(Failure::new(Class::Usage, format!("a machine with the name {name} is running")).remedy("give another --name"));
    }
    let run = arguments.as_run(&path, &name);
    // What is stale is built before anything stands still.
    let products = builds::ensure_for(tree, &run.guest.command)?;
    let door = Door::open(&address)?;
    if door.is_open_to_others() {
        eprintln!("nacre: whoever reaches {} can send an environment, which is neither encrypted nor authenticated", door.shown());
    }
    eprintln!("nacre: waits for an environment at {}", door.shown());
    let link = wait(&door, &path, arguments.new.machine.memory)?;
    drop(door);
    let (is_over, over) = channel::<()>();
    let talk = thread::spawn(move || Talk { link, name, over, image: path }.conclude());
    let status = run::run_products(&products, &run);
    drop(is_over);
    let talked = talk.join().map_err(|_| Failure::new(Class::Internal, "what talks to the sender has panicked"))?;
    drop(folder);
    // How the machine failed says more than that it did not go on.
    let status = status?;
    talked.map(|()| status)
}

/// Waits for a sender with a whole image. Others are refused.
fn wait(door: &Door, path: &Path, limit: u64) -> Outcome<Link> {
    loop {
        let mut link = door.accept()?;
        match take(&mut link, path, limit) {
            Ok(size) => {
                eprintln!("nacre: an environment has come: {} KiB", size.div_ceil(1024));
                return Ok(link);
            }
            Err(why) => {
                // Who has gone does not hear it.
                let _ = link.say(&Message::Refused(why.clone()));
                eprintln!("nacre: what has come was refused: {why}");
            }
        }
    }
}

/// Takes all rounds, checks them, and makes an image of them at `path`. An error says what is
/// wrong. Its size is that of what has come.
fn take(link: &mut Link, path: &Path, limit: u64) -> Result<u64, String> {
    let said = |broken: Broken| broken.to_string();
    link.set_patience(PATIENCE).map_err(|error| error.to_string())?;
    expect(&mut link.from, &Message::Hello).and_then(|()| link.say(&Message::Hello)).map_err(said)?;
    let unwritten = |error: std::io::Error| format!("cannot write beside {}: {error}", path.display());
    let (pages, round) = (path.with_extension("pages"), path.with_extension("round"));
    let contents = File::options().read(true).write(true).create(true).truncate(true).open(pages).map_err(unwritten)?;
    let (mut rounds, mut total) = (Rounds::new(contents, limit), 0);
    loop {
        let mut file = File::create(&round).map_err(unwritten)?;
        let (size, is_last) = take_round(&mut link.from, limit, |part| file.write_all(part)).map_err(said)?;
        total += size;
        rounds.take(&round).map_err(|fault| fault.to_string())?;
        if is_last {
            rounds.write(path).map_err(|fault| fault.to_string())?;
            return Ok(total);
        }
    }
}

/// The talk with the sender while the machine runs.
struct Talk {
    link: Link,
    /// Name of our machine.
    name: String,
    /// Channel that is closed when the machine has ended.
    over: Receiver<()>,
    image: PathBuf,
}

impl Talk {
    /// Lets the environment go on when the sender has ended its own. The failure if it did not.
    fn conclude(mut self) -> Outcome<()> {
        if let Err(why) = self.until_thawed() {
            let _ = self.link.say(&Message::Refused(why.clone()));
            return self.give_up(&why);
        }
        let gone = |broken: Broken| broken.to_string();
        if let Err(why) = self.link.say(&Message::Ready).and_then(|()| expect(&mut self.link.from, &Message::Go)).map_err(gone) {
            let kept = self.keep()?;
            let kept = kept.display();
            return self.give_up(&format!("the sender did not say that its environment has ended ({why}); if it has, `nacre thaw {kept}` goes on with it"));
        }
        match ask(&self.name, (COMMAND_RELEASE, 0, b"0"), None, |_| Ok(())) {
            // One that does not hear it has ended its environment all the same.
            Ok((_, Some(Errno(0)))) => drop(self.link.say(&Message::Running)),
            _ => {
                let why = format!("the machine did not go on; the image is {}", self.keep()?.display());
                let _ = self.link.say(&Message::Refused(why.clone()));
                return self.give_up(&why);
            }
        }
        Ok(())
    }

    /// Waits until the environment stands still in our machine.
    fn until_thawed(&mut self) -> Result<(), String> {
        let mut told = Instant::now();
        while !self.is_thawed() {
            if self.over.recv_timeout(LOOK) == Err(RecvTimeoutError::Disconnected) {
                return Err("the machine could not go on with the image".to_string());
            }
            if told.elapsed() > SIGN {
                // One that has gone is noticed here, too.
                self.link.say(&Message::Wait).map_err(|broken| broken.to_string())?;
                told = Instant::now();
            }
        }
        Ok(())
    }

    fn is_thawed(&self) -> bool {
        let mut text = Collected::new(Some(SIGN));
        let is_there = names::is_there(&self.name);
        let listed = is_there && ask(&self.name, (COMMAND_LIST, 0, b""), Some(SIGN), |part| text.take(part)).is_ok();
        let text = String::from_utf8_lossy(&text.bytes);
        listed && text.lines().any(|line| line.split('\t').nth(3) == Some(HELD))
    }

    /// Keeps the image, which may be all that is left of the environment; its path.
    fn keep(&self) -> Outcome<PathBuf> {
        keep(&self.image, &self.name).context(Class::File, || format!("cannot write {}.image", self.name))
    }

    /// Ends our machine.
    fn give_up(&self, why: &str) -> Outcome<()> {
        // It may have ended by itself, and its name may be that of another machine.
        if self.over.try_recv() == Err(TryRecvError::Empty) {
            let _ = ask(&self.name, (END, 0, b""), None, |_| Ok(()));
        }
        Err(Failure::new(Class::Guest, why.to_string()))
    }
}

/// Copies an image to `NAME.image`, or to `NAME.2.image` and so on: what is there may be all that
/// is left of another environment. Returns the path.
fn keep(image: &Path, name: &str) -> io::Result<PathBuf> {
    let mut from = File::open(image)?;
    for number in 1u32.. {
        let path = PathBuf::from(if number == 1 { format!("{name}.image") } else { format!("{name}.{number}.image") });
        match File::options().write(true).create_new(true).open(&path) {
            Ok(mut into) => return io::copy(&mut from, &mut into).and_then(|_| into.sync_all()).map(|()| path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_image_that_was_kept_is_not_written_over() {
        let folder = Folder::new("keep").unwrap();
        let (image, name) = (folder.path().join("image"), folder.path().join("web"));
        let name = name.to_str().unwrap();
        for text in ["one", "two"] {
            fs::write(&image, text).unwrap();
            let kept = keep(&image, name).unwrap();
            assert_eq!(fs::read_to_string(kept).unwrap(), text);
        }
        assert_eq!(fs::read_to_string(format!("{name}.image")).unwrap(), "one");
    }
}
