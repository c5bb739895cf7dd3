//! Tells the program which compiler made it, for `/version`.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler)
        .arg("--version")
        .output()
        .expect("what compiles this says its version");
    println!(
        "cargo::rustc-env=QUORATE_COMPILER={}",
        String::from_utf8_lossy(&output.stdout).trim()
    );
}
