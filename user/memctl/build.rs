//! Links the program at the address that static Linux programs usually have.

const ADDRESS: &str = "0x400000";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        for argument in [&format!("--image-base={ADDRESS}"), "-no-pie", "-zmax-page-size=4096", "--gc-sections"] {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}
