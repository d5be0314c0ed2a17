//! What the queues of messages tell the process.

use crate::abi::signal_info::Info;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::queue_notifications::{COOKIE, Effect, Expected};
use nacre_proto::{channel, mailbox};
use nacre_proto::flags::MSG_DONTWAIT;

/// `si_code`: a message has come.
const SI_MESGQ: i32 = -3;
const WOKEN: u8 = 1;
const REMOVED: u8 = 2;

/// Tells the process of messages of which it is to be told.
pub fn fetch_mail(process: &mut Process) {
    let mut index = 0;
    while let Some(expected) = process.mail.get(index) {
        let (file, pid) = (expected.file.clone(), process.pid());
        let told = file.reference().and_then(|target| mailbox::told(target, pid));
        match told {
            Ok(told) if told.is_told != 0 => {
                let Expected { effect, .. } = process.mail.remove(index);
                tell_of_mail(process, effect, [told.sender, told.user]);
            }
            _ => index += 1,
        }
    }
}

fn tell_of_mail(process: &mut Process, effect: Effect, [sender, user]: [u64; 2]) {
    match effect {
        Effect::Nothing | Effect::Signal(0, _) => {}
        Effect::Signal(signal, value) => {
            let info = Info::from(signal, SI_MESGQ, sender, user);
            // A signal that cannot queue is lost.
            let _ = process.post(Info { fields: [info.fields[0], value, 0, 0], ..info });
        }
        Effect::Cookie(socket, cookie) => send_cookie(&socket, cookie, WOKEN),
    }
}

fn send_cookie(socket: &OpenFile, mut cookie: [u8; COOKIE], what: u8) {
    cookie[COOKIE - 1] = what;
    let outgoing = channel::Outgoing { flags: MSG_DONTWAIT, pid: 0, ..channel::Outgoing::default() };
    if let Ok(target) = socket.reference() {
        // There is room for many more than there are queues.
        let _ = channel::send_with(target, outgoing, &cookie[..], &[]);
    }
}

/// The process has closed one of its descriptors of a queue, and is not told of its messages any
/// more.
pub fn leave_mailbox(process: &mut Process, file: &OpenFile) {
    if process.mail.is_empty() {
        return;
    }
    fetch_mail(process);
    let pid = process.pid();
    let Ok(left) = file.reference().and_then(|target| mailbox::forget(target, pid)) else {
        return;
    };
    while let Some(index) = process.mail.iter().position(|expected| expected.number == left.number) {
        if let Expected { effect: Effect::Cookie(socket, cookie), .. } = process.mail.remove(index) {
            send_cookie(&socket, cookie, REMOVED);
        }
    }
}
