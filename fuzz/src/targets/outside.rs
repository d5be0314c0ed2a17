//! A host that serves a directory by 9P, and says what it likes.

use crate::bytes::Bytes;
use nacre_9p::{Changes, Client, Error, Fid, ROOT, Wire, open};

/// A server of nothing but the bytes of an input: it answers with the right kind and size, at
/// times.
struct Liar<'a>(Bytes<'a>);

impl Wire for Liar<'_> {
    fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<(), Error> {
        let (kind, tag) = (request[4] + 1, &request[5..7]);
        *answer = vec![0, 0, 0, 0, if self.0.byte() % 16 == 0 { 7 } else { kind }];
        answer.extend_from_slice(tag);
        // The greeting is believed more often than not, so that there is more than that.
        if request[4] == 100 {
            answer.extend_from_slice(&[0, 16, 2, 0, 8, 0]);
            answer.extend_from_slice(b"9P2000.L");
        }
        for _ in 0..self.0.byte() % 24 {
            match self.0.below(4) {
                0 => answer.push(self.0.byte()),
                1 => answer.extend(u32::from(self.0.byte() % 8).to_le_bytes()),
                2 => answer.extend(self.0.word().to_le_bytes()),
                _ => {
                    let name = self.0.some();
                    answer.extend((name.len() as u16).to_le_bytes());
                    answer.extend(name);
                }
            }
        }
        let size = answer.len() as u32 + u32::from(self.0.byte() == 0xff);
        answer[..4].copy_from_slice(&size.to_le_bytes());
        if self.0.byte() % 32 == 1 {
            answer.truncate(usize::from(self.0.byte()));
        }
        Ok(())
    }
}

/// A client's questions to it.
pub fn outside(bytes: &[u8]) {
    let mut choices = Bytes(bytes);
    let Ok(mut client) = Client::start(Liar(Bytes(bytes))) else { return };
    let mut fids = vec![ROOT];
    let mut buffer = [0; 300];
    while !choices.is_over() {
        let fid: Fid = fids[choices.below(fids.len())];
        let name = choices.some();
        match choices.below(10) {
            0 => fids.extend(client.walk(fid, name)),
            1 => fids.extend(client.open(fid, open::READ)),
            2 => drop(client.list(fid).map(|entries| entries.iter().for_each(|entry| assert!(!entry.name.contains(&b'/') && !entry.name.is_empty())))),
            3 if name.len() % 4 == 1 => {
                let (start, end) = (u64::from(choices.byte()), 256 + choices.word() % (1 << 40));
                let _ = client.allocate(fid, start..end, name.is_empty()).map(|next| assert!(start < next && next <= end));
                let _ = client.punch(fid, start..end).map(|next| assert!(start < next && next <= end));
                let _ = client.seek(fid, start, name.is_empty()).map(|(at, _)| assert!(at >= start));
            }
            3 => drop(client.read(fid, choices.word(), &mut buffer).map(|count| assert!(count <= buffer.len()))),
            4 => drop(client.write(fid, choices.word(), name).map(|count| assert!(count <= name.len()))),
            5 => drop(client.status(fid).map(|status| assert!(status.size <= i64::MAX as u64))),
            6 => drop(client.read_link(fid)),
            7 => drop((client.create(fid, name, 0o644), client.rename((fid, name), (ROOT, name)), client.remove(fid, name, false))),
            8 => drop((client.change(fid, &Changes::default()), client.sync(fid), client.link(fid, ROOT, name))),
            _ if name.len() % 4 == 3 => {
                let _ = client.attribute(fid, name).map(|value| assert!(value.len() <= 1 << 16));
                let _ = (client.set_attribute(fid, name, name, 0), client.remove_attribute(fid, name));
            }
            _ => drop((client.make_directory(fid, name, 0o755), client.make_link(fid, name, name))),
        }
    }
    fids.into_iter().for_each(|fid| client.forget(fid));
}
