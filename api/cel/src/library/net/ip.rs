//! `net.IP`: an address without a zone.

use std::fmt;
use std::net::IpAddr;

use super::address;
use crate::library::quote::quoted;

/// An address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ip(pub(super) IpAddr);

impl Ip {
    /// Reads an address; the error is what the expression fails with.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parsed = address::parse(text).map_err(|error| {
            format!(
                "IP Address {} parse error during conversion from string: {error}",
                quoted(text)
            )
        })?;
        if parsed.has_zone {
            return Err(format!("IP address {} with zone value is not allowed", quoted(text)));
        }
        if is_mapped(parsed.address) {
            return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text)));
        }
        Ok(Self(parsed.address))
    }

    /// 4 or 6.
    #[must_use]
    pub const fn family(self) -> i64 {
        if self.0.is_ipv4() { 4 } else { 6 }
    }

    /// Whether it is all zeros.
    #[must_use]
    pub const fn is_unspecified(self) -> bool {
        self.0.is_unspecified()
    }

    /// Whether it is of the machine itself.
    #[must_use]
    pub const fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }

    /// Whether it is a multicast address of the link.
    #[must_use]
    pub const fn is_link_local_multicast(self) -> bool {
        match self.0 {
            IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
            IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
        }
    }

    /// Whether it is a unicast address of the link.
    #[must_use]
    pub const fn is_link_local_unicast(self) -> bool {
        match self.0 {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        }
    }

    /// Whether it is a unicast address that is neither the machine's nor the link's; private ones count.
    #[must_use]
    pub fn is_global_unicast(self) -> bool {
        let broadcast = matches!(self.0, IpAddr::V4(address) if address.is_broadcast());
        let special = self.is_unspecified() || self.is_loopback() || self.0.is_multicast();
        !broadcast && !special && !self.is_link_local_unicast()
    }
}

impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether an address is an IPv4 address mapped into IPv6.
pub(super) fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}
