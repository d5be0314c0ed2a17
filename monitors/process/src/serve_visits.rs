//! Questions that libraries of processes answer: the manager puts them into the queue of the
//! process.

use crate::manager::{ProcessEntry, Manager};
use crate::visits::Visit;
use nacre_proto::process::ask_file;
use nacre_proto::server::Output;
use nacre_proto::{Answer, Errno, HandlerResult, Request};

impl ProcessEntry {
    /// Somebody looks after what was asked.
    pub(crate) fn visit(&mut self) {
        let (Some(space), Some(model)) = (self.life.space(), self.life.thread()) else { return };
        if self.visits.set_off(space, model).is_err() {
            self.visits.refuse_all(Errno::ENOMEM);
        }
    }
}

impl Manager {
    /// A request that the library of another process answers.
    pub(crate) fn ask_later<T: Output>(&mut self, request: &mut Request<'_>, pid: u64, data: &[u8]) -> HandlerResult<T> {
        let asker = request.word();
        let pid = self.world.owner_of(asker, pid)?;
        let [_, question, first, second, third, _] = request.words();
        let (question, owner) = self.world.claims(asker, question)?;
        let words = [question, first, second, third, owner];
        let wants_file = request.label() == ask_file::LABEL;
        let body = self.bodies.get_mut(&pid).ok_or(Errno::ESRCH)?;
        body.visits.check(asker)?;
        body.visits.push(Visit { asker, words, data: data.to_vec(), asked: Some(request.detach()?), wants_file });
        body.visit();
        Ok(Answer::Later)
    }
}
