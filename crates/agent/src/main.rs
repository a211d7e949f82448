//! The agent as a program; what it does is in the library.

fn main() -> std::process::ExitCode {
    tailback_agent::main()
}
