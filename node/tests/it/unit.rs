//! The systemd unit of `deploy/quorate.service`, as systemd judges it.

use std::path::Path;
use std::process::{Command, Stdio};

/// Exposure at most, in tenths, of 100: 13 is what a service has that listens on any address.
const EXPOSURE: &str = "--threshold=14";

#[test]
fn the_unit_exposes_little() {
    let unit =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("deploy/quorate.service");
    let mut command = Command::new("systemd-analyze");
    command.args(["security", "--offline=true", "--no-pager", EXPOSURE]).arg(unit);
    let Ok(output) = command.stdin(Stdio::null()).output() else {
        return println!("skipped: no systemd-analyze");
    };
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}{errors}");
}
