//! temp
mod support;
use support::*;
#[test]
fn boots() {
    let world = World::new(1);
    check(&world);
    world.map_ram();
    check(&world);
    let space = world.make_space(8, 0);
    let thread = world.make_thread(space);
    check(&world);
    world.ok(nacre_abi::Call::ThreadDestroy, &[thread]);
    world.ok(nacre_abi::Call::SpaceDestroy, &[space]);
    check(&world);
}
