//! Compiles the C++ files for parts of libtorch that tch does not cover, and gives the linker the path of libtorch, so that
//! the program finds it without `LD_LIBRARY_PATH`.

use std::path::Path;
use std::process::Command;

const C10D: &str = "src/distributed/c10d.cpp";
const OPERATIONS: &str = "src/tensors/operations.cpp";
const CUDA_GRAPH: &str = "src/tensors/cuda_graph.cpp";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|wrapper| wrapper.ends_with("clippy-driver")) {
        return; // lints link nothing
    }
    for source in [C10D, OPERATIONS, CUDA_GRAPH, "src/guarded.h", "src/distributed/gloo_shim"] {
        println!("cargo:rerun-if-changed={source}");
    }
    for variable in ["LIBTORCH", "LIBTORCH_USE_PYTORCH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let uses_pytorch = std::env::var_os("LIBTORCH_USE_PYTORCH").is_some();
    let libtorch = if uses_pytorch { pytorch() } else { std::env::var("LIBTORCH").ok() };
    let Some(libtorch) = libtorch else { fail("LIBTORCH is not set: set it to the folder of libtorch") };
    let libtorch = Path::new(&libtorch);
    let libraries = libtorch.join("lib");
    println!("cargo:rerun-if-changed={}", libraries.display());
    if !libraries.join("libtorch_cpu.so").exists() {
        fail(&format!("there is no libtorch in {}: run scripts/setup first", libtorch.display()));
    }
    let include = libtorch.join("include");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .warnings(false) // libtorch's headers have some
        .include("src")
        .include("src/distributed/gloo_shim")
        .include(include.join("torch/csrc/api/include"))
        .include(include)
        .files([C10D, OPERATIONS, CUDA_GRAPH])
        .compile("costar_libtorch");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", libraries.display());
    // A checkout that was moved still works: target/release/costar finds ../../libtorch.
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../../libtorch/torch/lib");
}

/// The folder of the PyTorch that `python3` imports.
fn pytorch() -> Option<String> {
    let output = Command::new("python3").args(["-c", "import torch; print(torch.__path__[0])"]).output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!folder.is_empty()).then_some(folder)
}

fn fail(why: &str) -> ! {
    println!("cargo:warning={why}");
    std::process::exit(1);
}
