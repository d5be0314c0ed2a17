//! Random bytes for a guest, from the environment's `/dev/urandom`.

use crate::files::{self, File};
use nacre_machine_virtio::Random;
use nacre_nest::Services;
use nacre_proto::file;
use nacre_proto::flags::{O_RDONLY, OWN_POSITION};

/// Place of random bytes in the environment.
const SOURCE: &[u8] = b"/dev/urandom";

/// Random bytes of the environment.
pub struct FileRandom(File);

impl FileRandom {
    /// Opens the source. `None`: the environment has none, or keeps it from this machine.
    pub fn open(services: &Services) -> Option<FileRandom> {
        files::open(services, SOURCE, O_RDONLY).ok().map(FileRandom)
    }
}

impl Random for FileRandom {
    fn fill(&mut self, into: &mut [u8]) -> usize {
        let size = into.len() as u64;
        file::read(self.0.port(), OWN_POSITION, size, into).map_or(0, |reply| reply.count.min(size) as usize)
    }
}
