//! Addresses and networks as the reference engine reads them.

use super::*;

#[test]
fn addresses_from_text() {
    let check = |text: &str, expect: &str| assert_eq!(Ip::parse(text).unwrap().to_string(), expect);
    check("127.0.0.1", "127.0.0.1");
    check("::", "::");
    check("::1", "::1");
    check("0:0:0:0:0:0:0:1", "::1");
    check("2001:DB8::BEEF", "2001:db8::beef");
    check("2001:db8::0:0:0:beef", "2001:db8::beef");
    check("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1");
    check("::1.2.3.4", "::102:304");
    check("64:ff9b::1.2.3.4", "64:ff9b::102:304");
    check("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0");
    check("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8");
    check("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304");
}

#[test]
fn texts_that_are_no_addresses() {
    let check = |text: &str, reason: &str| {
        let expect = format!(
            "IP Address {0:?} parse error during conversion from string: ParseAddr({0:?}): {reason}",
            text
        );
        assert_eq!(Ip::parse(text), Err(expect));
    };
    check("", "unable to parse IP");
    check("2130706433", "unable to parse IP");
    check("%eth0", "missing IPv6 address");
    check("1.2.3", "IPv4 address too short");
    check("1.2.3.4.5", "IPv4 address too long");
    check("1.2.3.256", "IPv4 field has value >255");
    check("01.2.3.4", "IPv4 field has octet with leading zero");
    check("1..2.3", "IPv4 field must have at least one digit (at \".2.3\")");
    check("1.2.3.", "IPv4 field must have at least one digit (at \".\")");
    check("1.2.3.-4", "unexpected character (at \"-4\")");
    check("1.2.3.4\n", "unexpected character (at \"\\n\")");
    check("١.٢.٣.٤", "unexpected character (at \"١.٢.٣.٤\")");
    check(":::1", "each colon-separated field must have at least one digit (at \":1\")");
    check("g::1", "each colon-separated field must have at least one digit (at \"g::1\")");
    check("1::2::3", "multiple :: in address (at \":3\")");
    check("1:2:3:4:5:6:7", "address string too short");
    check("1:2:3:4:5:6:7:8:9", "trailing garbage after address (at \"9\")");
    check("1:2:3:4:5:6:7:", "colon must be followed by more characters (at \":\")");
    check("1:2:3:4::5:6:7:8", "the :: must expand to at least one field of zeros");
    check("12345::", "each group must have 4 or fewer digits (at \"12345::\")");
    check("::1/128", "unexpected character, want colon (at \"/128\")");
    check(
        "1:2.3.4.5",
        "embedded IPv4 address must replace the final 2 fields of the address (at \"2.3.4.5\")",
    );
    check("::%", "zone must be a non-empty string");
}

#[test]
fn addresses_that_are_refused() {
    let check = |text: &str, expect: &str| assert_eq!(Ip::parse(text).unwrap_err(), expect);
    check("fe80::1%eth0", "IP address \"fe80::1%eth0\" with zone value is not allowed");
    check("::ffff:1.2.3.4", "IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed");
    check("::ffff:102:304", "IPv4-mapped IPv6 address \"::ffff:102:304\" is not allowed");
}

#[test]
fn kinds_of_addresses() {
    let check = |text: &str, expect: [bool; 5]| {
        let ip = Ip::parse(text).unwrap();
        let kinds = [
            ip.is_unspecified(),
            ip.is_loopback(),
            ip.is_link_local_multicast(),
            ip.is_link_local_unicast(),
            ip.is_global_unicast(),
        ];
        assert_eq!(kinds, expect, "{text}");
    };
    check("0.0.0.0", [true, false, false, false, false]);
    check("127.0.0.1", [false, true, false, false, false]);
    check("255.255.255.255", [false; 5]);
    check("192.168.0.1", [false, false, false, false, true]);
    check("169.254.1.1", [false, false, false, true, false]);
    check("224.0.0.1", [false, false, true, false, false]);
    check("224.0.1.1", [false; 5]);
    check("::", [true, false, false, false, false]);
    check("::1", [false, true, false, false, false]);
    check("fe80::1", [false, false, false, true, false]);
    check("fd00::1", [false, false, false, false, true]);
    check("ff01::1", [false; 5]);
    check("ff02::1", [false, false, true, false, false]);
    check("ff05::2", [false; 5]);
}

#[test]
fn networks_from_text() {
    let check = |text: &str, printed: &str, masked: &str| {
        let cidr = Cidr::parse(text).unwrap();
        assert_eq!(
            (cidr.to_string(), cidr.masked().to_string()),
            (printed.to_owned(), masked.to_owned())
        );
    };
    check("192.168.0.1/24", "192.168.0.1/24", "192.168.0.0/24");
    check("1.2.3.4/0", "1.2.3.4/0", "0.0.0.0/0");
    check("1.2.3.4/32", "1.2.3.4/32", "1.2.3.4/32");
    check("2001:DB8::1/32", "2001:db8::1/32", "2001:db8::/32");
    check("::1/0", "::1/0", "::/0");
    check("::1/128", "::1/128", "::1/128");
}

#[test]
fn texts_that_are_no_networks() {
    let check = |text: &str, reason: &str| {
        let prefix = "network address parse error during conversion from string: ";
        assert_eq!(
            Cidr::parse(text),
            Err(format!("{prefix}{prefix}netip.ParsePrefix({text:?}): {reason}"))
        );
    };
    check("", "no '/'");
    check("1.2.3/24", "ParseAddr(\"1.2.3\"): IPv4 address too short");
    check("1.2.3.4/33", "prefix length out of range");
    check("::/129", "prefix length out of range");
    check("1.2.3.4/", "bad bits after slash: \"\"");
    check("1.2.3.4/024", "bad bits after slash: \"024\"");
    check("1.2.3.4/+8", "bad bits after slash: \"+8\"");
    check("1.2.3.4/8a", "bad bits after slash: \"8a\"");
    check("1.2.3.4/99999999999999999999", "bad bits after slash: \"99999999999999999999\"");
    check("fe80::1%eth0/64", "IPv6 zones cannot be present in a prefix");
    check("1.2.3.4/24/8", "ParseAddr(\"1.2.3.4/24\"): unexpected character (at \"/24\")");
    assert_eq!(
        Cidr::parse("::ffff:1.2.3.4/96").unwrap_err(),
        "network address parse error during conversion from string: IPv4-mapped IPv6 address \"::ffff:1.2.3.4/96\" is not \
         allowed"
    );
}

#[test]
fn networks_that_contain() {
    let check = |outer: &str, inner: &str, expect: bool| {
        let (outer, inner) = (Cidr::parse(outer).unwrap(), Cidr::parse(inner).unwrap());
        assert_eq!(outer.contains_cidr(inner), expect, "{outer} {inner}");
    };
    check("10.0.0.0/8", "10.1.0.0/16", true);
    check("10.1.0.0/16", "10.0.0.0/8", false);
    check("10.0.0.0/9", "10.200.0.0/9", false);
    check("0.0.0.0/0", "::/0", false);
    check("::/0", "::1/128", true);
    assert!(Cidr::parse("10.1.2.3/8").unwrap().contains_ip(Ip::parse("10.9.9.9").unwrap()));
    assert!(!Cidr::parse("0.0.0.0/0").unwrap().contains_ip(Ip::parse("::1").unwrap()));
    assert_eq!(Cidr::parse("10.0.0.0/9").unwrap().prefix_bytes(), 2);
}
