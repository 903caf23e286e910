//! Makes `cargo test --workspace` build the module.

/// Python imports `_costar`, and calls this function.
#[test]
fn the_module_has_the_function_that_python_calls() {
    let program = std::env::current_exe().expect("the path of this program");
    let library = std::fs::read(program.with_file_name("lib_costar.so")).expect("the module lies beside this program");
    let name = b"PyInit__costar";
    assert!(library.windows(name.len()).any(|window| window == name));
}
