//! Links root where nothing else is: a fixed address, whole pages a segment.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        for argument in ["--image-base=0x400000", "-no-pie", "-zmax-page-size=4096", "-zseparate-loadable-segments"] {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}
