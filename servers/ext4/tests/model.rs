//! Random operations, compared with a file system in memory, and judged by e2fsck.
//! `SEED=7 SEEDS=100` looks further.

mod support;

use nacre_ext4::Tree;
use support::model::{Node, Pair};
use support::*;

const KINDS: [&str; 5] = [
    "-t ext4 -b 1024",
    "-t ext4 -b 4096",
    "-t ext2 -b 1024",
    "-t ext3 -b 4096",
    "-t ext4 -b 1024 -I 128 -O ^metadata_csum,^dir_index,uninit_bg",
];

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn random_operations_do_what_they_do_in_memory() {
    if !has_programs() {
        return;
    }
    let first = number("SEED", 1);
    for seed in first..first + number("SEEDS", 1) {
        for kind in KINDS {
            eprintln!("seed {seed}, {kind}");
            run(kind, seed);
        }
    }
}

fn run(kind: &str, seed: u64) {
    let mut disk = Memory::new(make(kind, 64 << 10));
    for round in 0..3 {
        let mut pair = Pair::new(mount(disk), seed * 10 + round, 200_000);
        // The files of the round before go.
        for _ in 0..400 {
            pair.step();
            if pair.seed.below(50) == 0 {
                pair.volume.tick().unwrap();
            }
        }
        pair.compare();
        pair.volume.commit().unwrap();
        let Pair { mut volume, mut model, open, .. } = pair;
        drop(open);
        disk = volume.close().unwrap();
        assert_clean(&disk.bytes);
        let image = Image::with(&disk.bytes);
        for (path, node) in model.names.iter().take(5) {
            if let Node::File(number) = node {
                assert!(debugfs(&image, &format!("cat \"/{path}\"")) == model.contents[number], "{path}");
            }
        }
        volume = mount(disk);
        model::compare(&mut volume, &model);
        for (path, node) in model.names.iter().rev() {
            volume.remove(path.as_bytes(), *node == Node::Directory).unwrap();
        }
        model.names.clear();
        disk = volume.close().unwrap();
        assert_clean(&disk.bytes);
    }
}
