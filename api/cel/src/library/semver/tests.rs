//! Versions as the reference engine reads and orders them.

use super::*;

#[test]
fn versions_that_are_read() {
    let check = |text: &str| assert_eq!(Semver::parse(text).unwrap().to_string(), text);
    for text in [
        "0.0.0",
        "10.20.30",
        "1.0.0-alpha.1",
        "1.0.0-0.2.9",
        "1.0.0+20240102030405",
        "1.0.0-alpha+007",
        "1.0.0-beta+exp.sha.9abc123",
        "18446744073709551615.0.0",
        "1.0.0--",
        "1.0.0---",
    ] {
        check(text);
    }
}

#[test]
fn texts_that_are_no_versions() {
    let check =
        |text: &str, expect: &str| assert_eq!(Semver::parse(text).unwrap_err(), expect, "{text:?}");
    check("", "Version string empty");
    check("1.0", "No Major.Minor.Patch elements found");
    check("1,0,0", "No Major.Minor.Patch elements found");
    check("1.0.0.0", "Invalid character(s) found in patch number \"0.0\"");
    check("v1.0.0", "Invalid character(s) found in major number \"v1\"");
    check("1.x.0", "Invalid character(s) found in minor number \"x\"");
    check("01.0.0", "Major number must not contain leading zeroes \"01\"");
    check("1.00.0", "Minor number must not contain leading zeroes \"00\"");
    check("1.0.01", "Patch number must not contain leading zeroes \"01\"");
    check("1.0.0-01", "Numeric PreRelease version must not contain leading zeroes \"01\"");
    check("1.0.0-", "Prerelease is empty");
    check("1.0.0-a..b", "Prerelease is empty");
    check("1.0.0+", "Build meta data is empty");
    check("1.0.0-+", "Prerelease is empty");
    check("1.0.0-é", "Invalid character(s) found in prerelease \"é\"");
    check("1.0.0+a_b", "Invalid character(s) found in build meta data \"a_b\"");
    check("1..0", "strconv.ParseUint: parsing \"\": invalid syntax");
    check(
        "18446744073709551616.0.0",
        "strconv.ParseUint: parsing \"18446744073709551616\": value out of range",
    );
}

#[test]
fn lenient_versions() {
    let check = |text: &str, expect: Result<&str, &str>| {
        let read = Semver::parse_lenient(text).map(|version| version.to_string());
        assert_eq!(read.as_deref().map_err(|error| &**error), expect, "{text:?}");
    };
    check("v1.2", Ok("1.2.0"));
    check("1", Ok("1.0.0"));
    check("001.002.003", Ok("1.2.3"));
    check("00", Ok("0.0.0"));
    check("1.0-alpha", Err("short version cannot contain PreRelease/Build meta data"));
    check("V1.0.0", Err("Invalid character(s) found in major number \"0V1\""));
    check("-1.0.0", Err("Invalid character(s) found in major number \"0-1\""));
    check(" ", Err("Invalid character(s) found in major number \" \""));
    check("1.0.0 ", Err("Invalid character(s) found in patch number \"0 \""));
    check("v", Err("strconv.ParseUint: parsing \"\": invalid syntax"));
    check("1.0.0-00", Err("Numeric PreRelease version must not contain leading zeroes \"00\""));
}

#[test]
fn order() {
    let ascending = [
        "1.0.0-1",
        "1.0.0-2",
        "1.0.0-10",
        "1.0.0-dev",
        "1.0.0-dev.1",
        "1.0.0-pre",
        "1.0.0",
        "1.0.1",
        "2.0.0",
    ];
    for pair in ascending.windows(2) {
        assert!(Semver::parse(pair[0]).unwrap() < Semver::parse(pair[1]).unwrap(), "{pair:?}");
    }
    assert_eq!(Semver::parse("1.0.0+a").unwrap(), Semver::parse("1.0.0+b").unwrap());
    assert_eq!(Semver::parse("18446744073709551615.1.2").unwrap().major(), -1);
}
