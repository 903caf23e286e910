//! The program `costar`.

fn main() {
    costar::cli::main()
}
