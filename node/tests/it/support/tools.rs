//! Programs that tests need and not every machine has.

/// Whether every tool has to be there: `.ci/run` sets it once it has them.
const REQUIRED: &str = "QUORATE_REQUIRE_TOOLS";

/// Prints that a test is skipped because it lacks a tool that `.ci/tools` fetches or `.ci/run`
/// installs. Where all of them have to be there ([`REQUIRED`] is 1), the test fails instead: the
/// output of a test that passes is not shown.
#[track_caller]
pub(crate) fn skip(missing: &str) {
    let is_required = std::env::var(REQUIRED).is_ok_and(|value| value == "1");
    assert!(!is_required, "{missing}, and {REQUIRED}=1 wants every tool");
    println!("skipped: {missing}");
}
