//! Commands: those of the engine, and those of `deploy/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file of `deploy/`.
pub(super) fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("deploy").join(name)
}

/// `deploy/image` for an image that is not optimized. Other tests run meanwhile and measure time:
/// they go first.
pub(crate) fn deploy_image() -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "10"]).arg(deploy("image")).args(["--profile", "dev"]);
    // What cargo tells the tests of this package would make it build dependencies anew that look at
    // it.
    for (name, _) in std::env::vars_os() {
        let cargo = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "LD_LIBRARY_PATH"];
        if name.to_str().is_some_and(|name| cargo.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether a program is there and succeeds.
pub(super) fn answers(command: &[&str]) -> bool {
    let output = Command::new(command[0]).args(&command[1..]).stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

/// What a command of the engine prints that must succeed.
#[track_caller]
pub(super) fn docker(arguments: &[&str]) -> String {
    output(Command::new("docker").args(arguments))
}

/// What a command prints that must succeed.
#[track_caller]
pub(super) fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}
