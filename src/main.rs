//! The program `costar`.

fn main() -> std::process::ExitCode {
    costar::cli::main()
}
