//! `net.CIDR`: an address and the number of its bits that name the network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Ip, address, ip};
use crate::library::number::parse_int;
use crate::library::quote::quoted;

/// A network address; the bits after the prefix are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Cidr {
    /// Reads `10.0.0.0/8`; the error is what the expression fails with.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read = Self::parse_prefix(text).map_err(|error| {
            format!(
                "network address parse error during conversion from string: netip.ParsePrefix({}): {error}",
                quoted(text)
            )
        });
        let mapped = || Err(format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text)));
        let checked =
            read.and_then(|cidr| if ip::is_mapped(cidr.address) { mapped() } else { Ok(cidr) });
        checked.map_err(|error| {
            format!("network address parse error during conversion from string: {error}")
        })
    }

    fn parse_prefix(text: &str) -> Result<Self, String> {
        let (head, tail) = text.rsplit_once('/').ok_or("no '/'")?;
        let parsed = address::parse(head)?;
        if parsed.has_zone {
            return Err("IPv6 zones cannot be present in a prefix".to_owned());
        }
        let bad_bits = || format!("bad bits after slash: {}", quoted(tail));
        if tail.len() > 1 && !tail.starts_with(|c: char| ('1'..='9').contains(&c)) {
            return Err(bad_bits());
        }
        let bits = parse_int("Atoi", tail).map_err(|_| bad_bits())?;
        let in_range = u8::try_from(bits).ok().filter(|bits| *bits <= width(parsed.address));
        let bits = in_range.ok_or("prefix length out of range")?;
        Ok(Self { address: parsed.address, bits })
    }

    /// The address as it was given.
    #[must_use]
    pub const fn ip(self) -> Ip {
        Ip(self.address)
    }

    /// Bits that name the network.
    #[must_use]
    pub fn prefix_length(self) -> i64 {
        i64::from(self.bits)
    }

    /// Bytes that the prefix touches.
    #[must_use]
    pub fn prefix_bytes(self) -> u64 {
        u64::from(self.bits.div_ceil(8))
    }

    /// The same network with zeros after the prefix.
    #[must_use]
    pub fn masked(self) -> Self {
        Self { address: mask(self.address, self.bits), ..self }
    }

    /// Whether an address is in the network.
    #[must_use]
    pub fn contains_ip(self, other: Ip) -> bool {
        width(self.address) == width(other.0) && self.masked().address == mask(other.0, self.bits)
    }

    /// Whether every address of another network is in this one.
    #[must_use]
    pub fn contains_cidr(self, other: Self) -> bool {
        self.bits <= other.bits && self.contains_ip(other.ip())
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// Bits of an address.
const fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn mask(address: IpAddr, bits: u8) -> IpAddr {
    let host = u32::from(width(address) - bits);
    match address {
        IpAddr::V4(address) => {
            Ipv4Addr::from_bits(cleared(address.to_bits().into(), host) as u32).into()
        }
        IpAddr::V6(address) => Ipv6Addr::from_bits(cleared(address.to_bits(), host)).into(),
    }
}

/// `bits` with the lowest `count` cleared.
fn cleared(bits: u128, count: u32) -> u128 {
    bits.checked_shr(count).and_then(|kept| kept.checked_shl(count)).unwrap_or(0)
}
