//! Puts the image above the addresses that Linux programs use.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        for argument in ["--image-base=0x10000000", "-no-pie", "-zmax-page-size=4096"] {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}
