//! The fuzzer's program: the engine calls the target that `NACRE_FUZZ_TARGET` names. Without the
//! engine it tells what targets there are.
#![cfg_attr(feature = "engine", no_main)]

#[cfg(feature = "engine")]
mod engine {
    use nacre_fuzz::Target;
    use std::sync::OnceLock;

    static TARGET: OnceLock<&Target> = OnceLock::new();

    fn target() -> &'static Target {
        TARGET.get_or_init(|| {
            let name = std::env::var("NACRE_FUZZ_TARGET").unwrap_or_default();
            nacre_fuzz::targets::find(&name).unwrap_or_else(|| panic!("NACRE_FUZZ_TARGET={name:?} is no target"))
        })
    }

    libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (target().run)(bytes));
}

#[cfg(not(feature = "engine"))]
fn main() {
    nacre_fuzz::TARGETS.iter().for_each(|target| println!("{}: {}", target.name, target.about));
}
