//! IP addresses and CIDRs in fields of objects.
//!
//! Leading zeros of decimal parts (`010.0.0.1`) are accepted and ignored, as in older objects; the
//! server itself writes the canonical form.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The message about text that is no address.
pub const NOT_AN_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
/// The message about text that is no CIDR.
pub const NOT_A_RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// The message about text that is no interface address: an address with the prefix length of its
/// network.
pub const NOT_AN_INTERFACE_ADDRESS: &str =
    "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";

/// The canonical form of an interface address: an address with the prefix length of its network.
pub fn interface_address(text: &str) -> Option<String> {
    let range = Range::parse(text)?;
    let own = address(text.split_once('/')?.0)?;
    Some(format!("{own}/{}", range.prefix))
}

/// An address; an IPv4-mapped IPv6 address is the IPv4 address.
pub fn address(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        let address: Ipv6Addr = text.parse().ok()?;
        return Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4));
    }
    let part = |part: &str| -> Option<u8> {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let short = part.trim_start_matches('0');
        digits.then(|| if short.is_empty() { Some(0) } else { short.parse().ok() }).flatten()
    };
    let parts: Vec<u8> = text.split('.').map(part).collect::<Option<_>>()?;
    let parts: [u8; 4] = parts.try_into().ok()?;
    Some(IpAddr::V4(Ipv4Addr::from(parts)))
}

/// Why an endpoint cannot have this address: it is unspecified, loopback or link-local.
pub fn not_of_an_endpoint(address: IpAddr) -> Vec<String> {
    let (link_local, local_multicast) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => {
            (address.is_unicast_link_local(), address.segments()[0] & 0xff0f == 0xff02)
        }
    };
    let checks = [
        (address.is_unspecified(), "may not be unspecified (0.0.0.0 or ::)"),
        (address.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ];
    checks.into_iter().filter(|(wrong, _)| *wrong).map(|(_, why)| why.to_owned()).collect()
}

/// A CIDR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    base: IpAddr,
    prefix: u8,
}

impl Range {
    /// Reads `ADDRESS/PREFIX`; bits of the address beyond the prefix are dropped.
    pub fn parse(text: &str) -> Option<Self> {
        let (base, prefix) = text.split_once('/')?;
        let base = address(base)?;
        let digits = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix: u8 = prefix.parse().ok().filter(|prefix| digits && *prefix <= width(base))?;
        let range = Self { base, prefix };
        Some(Self { base: at(base.is_ipv4(), bits(base) & range.mask()), prefix })
    }

    /// Its first address.
    pub fn first(&self) -> IpAddr {
        self.base
    }

    /// Whether its addresses are IPv4.
    pub fn is_v4(&self) -> bool {
        self.base.is_ipv4()
    }

    /// Whether the address lies in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.is_v4() == address.is_ipv4() && bits(address) & self.mask() == bits(self.base)
    }

    /// Whether every address of the other one lies in it.
    pub fn covers(&self, other: &Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.base)
    }

    /// The number of host addresses: without the first one, and in IPv4 without the last one.
    pub fn usable(&self) -> u128 {
        let all = (!self.mask() & low_bits(width(self.base))).saturating_add(1);
        all.saturating_sub(if self.is_v4() { 2 } else { 1 })
    }

    /// The host address at an index, counted from zero.
    pub fn usable_at(&self, index: u128) -> Option<IpAddr> {
        (index < self.usable()).then(|| at(self.is_v4(), bits(self.base) + 1 + index))
    }

    fn mask(&self) -> u128 {
        let width = width(self.base);
        low_bits(width) & !low_bits(width - self.prefix)
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn low_bits(count: u8) -> u128 {
    if count >= 128 { u128::MAX } else { (1 << count) - 1 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

fn at(v4: bool, bits: u128) -> IpAddr {
    match u32::try_from(bits) {
        Ok(bits) if v4 => IpAddr::V4(bits.into()),
        _ => IpAddr::V6(bits.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(
                address(text).map(|address| address.to_string()).as_deref(),
                expect,
                "{text}"
            );
        };
        check("10.1.2.3", Some("10.1.2.3"));
        check("010.001.2.000", Some("10.1.2.0"));
        check("FD00::1", Some("fd00::1"));
        check("::ffff:1.2.3.4", Some("1.2.3.4"));
        for bad in
            ["", "x", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.+4", "fd00::1%eth0", "1..2.3"]
        {
            check(bad, None);
        }
    }

    #[test]
    fn addresses_of_interfaces() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(interface_address(text).as_deref(), expect, "{text}")
        };
        check("10.1.2.3/24", Some("10.1.2.3/24"));
        check("010.1.2.3/24", Some("10.1.2.3/24"));
        check("FD00::1/64", Some("fd00::1/64"));
        check("10.1.2.3", None);
    }

    #[test]
    fn ranges() {
        let check = |text: &str, expect: Option<(&str, u128, Option<&str>)>| {
            let range = Range::parse(text);
            let first = range.and_then(|range| range.usable_at(0)).map(|first| first.to_string());
            let found = range.map(|range| (range.to_string(), range.usable(), first));
            let expect = expect
                .map(|(text, usable, first)| (text.to_owned(), usable, first.map(str::to_owned)));
            assert_eq!(found, expect, "{text}");
        };
        check("10.0.0.7/24", Some(("10.0.0.0/24", 254, Some("10.0.0.1"))));
        check("10.0.0.4/31", Some(("10.0.0.4/31", 0, None)));
        check("0.0.0.0/0", Some(("0.0.0.0/0", (1 << 32) - 2, Some("0.0.0.1"))));
        check("fd00::/120", Some(("fd00::/120", 255, Some("fd00::1"))));
        check("::/0", Some(("::/0", u128::MAX - 1, Some("::1"))));
        for bad in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "x/8", "fd00::/129"] {
            check(bad, None);
        }
    }

    #[test]
    fn a_range_knows_what_lies_in_it() {
        let check = |range: &str, other: &str, expect: bool| {
            let (range, other) = (Range::parse(range).unwrap(), Range::parse(other).unwrap());
            assert_eq!(range.covers(&other), expect, "{range} {other}");
        };
        check("10.0.0.0/8", "10.1.0.0/16", true);
        check("10.0.0.0/8", "10.0.0.0/8", true);
        check("10.1.0.0/16", "10.0.0.0/8", false);
        check("10.0.0.0/8", "11.0.0.0/16", false);
        check("::/0", "10.0.0.0/8", false);
        let range = Range::parse("10.0.0.0/30").unwrap();
        assert_eq!(range.usable_at(1), address("10.0.0.2"));
        assert_eq!(range.usable_at(2), None);
    }
}
