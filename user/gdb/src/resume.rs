//! Packets by which threads go on, and processes are left or ended.

use crate::session::{Reply, Session};
use crate::signals;
use crate::target::{Action, Target, ThreadId};
use crate::text::{self, Named, split};
use alloc::vec::Vec;

/// Maximum number of actions of one packet.
const MAX_ACTIONS: usize = 256;

/// Decodes `c`, `s`, `Cxx` and `Sxx`; `None` in the result: the threads stop.
fn action(text: &[u8]) -> Option<Option<Action>> {
    let (kind, signal) = text.split_first()?;
    let is_step = matches!(kind, b's' | b'S');
    let signal = match kind {
        b'c' | b's' if signal.is_empty() => 0,
        b'C' | b'S' => signals::from_gdb(text::number(signal)?)?,
        b't' => return Some(None),
        _ => return None,
    };
    Some(Some(Action { is_step, signal }))
}

/// Decodes actions, each with the threads that it is for.
fn actions(text: &[u8]) -> Option<Vec<(Option<Action>, Named)>> {
    let each = text.split(|byte| *byte == b';').take(MAX_ACTIONS).map(|one| {
        let (kind, threads) = split(one, b':');
        let named = if threads.is_empty() { Named::ALL } else { text::threads(threads)? };
        Some((action(kind)?, named))
    });
    each.collect()
}

impl Session {
    pub(crate) fn go_on(&mut self, text: &[u8], target: &mut impl Target) -> Reply {
        let Some(actions) = actions(text) else { return Reply::error() };
        if let Some(end) = self.late_end() {
            return Reply::Body(end);
        }
        let chosen = |thread: &ThreadId| actions.iter().find(|(_, named)| named.has(*thread)).and_then(|(action, _)| *action);
        let threads: Vec<_> = target.threads().into_iter().filter_map(|thread| Some((thread, chosen(&thread)?))).collect();
        if threads.is_empty() {
            return Reply::error();
        }
        self.is_running = true;
        target.resume(&threads);
        Reply::Nothing
    }

    /// Lets the process that packets are about go back.
    pub(crate) fn go_back(&mut self, is_step: bool, target: &mut impl Target) -> Reply {
        if !target.can_go_back() {
            return Reply::unknown();
        }
        let Some(thread) = self.thread(target) else { return Reply::error() };
        if let Some(end) = self.late_end() {
            return Reply::Body(end);
        }
        self.is_running = target.go_back(thread, is_step);
        if self.is_running { Reply::Nothing } else { Reply::error() }
    }

    /// Detaches the process that is named, or all.
    pub(crate) fn detach(&mut self, rest: &[u8], target: &mut impl Target) -> Reply {
        let (_, named) = split(rest, b';');
        let Some(one) = (if named.is_empty() { Some(None) } else { text::number(named).map(Some) }) else { return Reply::error() };
        let mut found: Vec<u32> = target.threads().into_iter().map(|thread| thread.process).collect();
        found.dedup();
        found.retain(|process| one.is_none_or(|one| one == u64::from(*process)));
        found.iter().for_each(|process| target.detach(*process));
        Reply::of(!found.is_empty())
    }

    pub(crate) fn kill(&mut self, process: &[u8], target: &mut impl Target) -> Reply {
        let number = text::number(process).and_then(|number| u32::try_from(number).ok());
        let found = number.filter(|number| target.threads().iter().any(|thread| thread.process == *number));
        found.inspect(|process| target.kill(*process));
        Reply::of(found.is_some())
    }

    pub(crate) fn kill_all(&mut self, target: &mut impl Target) -> Reply {
        let mut processes: Vec<u32> = target.threads().into_iter().map(|thread| thread.process).collect();
        processes.dedup();
        processes.into_iter().for_each(|process| target.kill(process));
        Reply::Nothing
    }
}
