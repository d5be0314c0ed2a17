//! Passes the linker script of the architecture.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let architecture = std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let bare = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "none");
    let script = format!("{folder}/src/{architecture}/kernel.ld");
    println!("cargo:rerun-if-changed={script}");
    println!("cargo:rerun-if-changed=build.rs");
    if bare {
        println!("cargo:rustc-link-arg-bins=-T{script}");
        println!("cargo:rustc-link-arg-bins=-no-pie");
        println!("cargo:rustc-link-arg-bins=-zmax-page-size=4096");
        println!("cargo:rustc-link-arg-bins=--gc-sections");
    }
}
