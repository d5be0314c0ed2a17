//! Protocol `nic`: the way to the card's driver, at which all else is asked.

use crate::root::Root;
use nacre_proto::nic::{Server, driver};
use nacre_proto::server::Output;
use nacre_proto::{HandlerResult, Request};

impl Server for Root {
    fn driver(&mut self, _: &mut Request<'_>, failed: u64) -> HandlerResult<driver::Output> {
        let (number, card) = self.drives.card(failed)?;
        driver::Output { number, card: card.into() }.now()
    }
}
