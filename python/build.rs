//! Tells the linker where libtorch lies, so that the built program finds it without `LD_LIBRARY_PATH`.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    let Ok(libtorch) = std::env::var("LIBTORCH") else { return };
    let libraries = Path::new(&libtorch).join("lib");
    println!("cargo:rerun-if-changed={}", libraries.display());
    if !libraries.join("libtorch_cpu.so").exists() {
        println!("cargo:warning=there is no libtorch in {libtorch}: run scripts/setup first");
        std::process::exit(1);
    }
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", libraries.display());
    // A checkout that was moved as a whole still works: target/release/costar finds ../../libtorch.
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../../libtorch/torch/lib");
}
