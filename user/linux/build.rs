//! Where the library is linked, if it is built for the system and not for tests.

/// `nacre_abi::environment::FOREIGN_LIBRARY`.
const ADDRESS: &str = "0x7e0000000000";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        for argument in [&format!("--image-base={ADDRESS}"), "-no-pie", "-zmax-page-size=4096", "--gc-sections", "--no-rosegment"] {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}
