//! IP addresses in text: what is refused, and in which words.
//!
//! Invariants: no zone, no IPv4 address mapped into IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::library::quote::quoted;

/// Bytes of an IPv6 address.
const LENGTH: usize = 16;
/// Digits of a group.
const MAX_GROUP_DIGITS: usize = 4;

/// An address as read, before zones and mapped addresses are refused.
pub(super) struct ParsedAddress {
    pub(super) address: IpAddr,
    pub(super) has_zone: bool,
}

/// What is wrong with a text, and the rest from there on, empty where the place says nothing.
struct Fault<'t> {
    message: &'static str,
    at: &'t str,
}

impl Fault<'_> {
    const fn new(message: &'static str) -> Self {
        Fault { message, at: "" }
    }
}

/// Reads an address.
pub(super) fn parse(text: &str) -> Result<ParsedAddress, String> {
    let read = match text.find(['.', ':', '%']).map(|at| text.as_bytes()[at]) {
        Some(b'.') => v4(text).map(|octets| ParsedAddress {
            address: Ipv4Addr::from(octets).into(),
            has_zone: false,
        }),
        Some(b':') => v6(text),
        Some(_) => Err(Fault::new("missing IPv6 address")),
        None => Err(Fault::new("unable to parse IP")),
    };
    read.map_err(|Fault { message, at }| match at {
        "" => format!("ParseAddr({}): {message}", quoted(text)),
        _ => format!("ParseAddr({}): {message} (at {})", quoted(text), quoted(at)),
    })
}

/// Whether text may stand in the brackets of a URL's host.
pub(crate) fn check_ipv6_literal(text: &str) -> Result<(), String> {
    match parse(text).map_err(|error| format!("invalid host: {error}"))?.address {
        IpAddr::V4(_) => Err("invalid IP-literal".to_owned()),
        IpAddr::V6(_) => Ok(()),
    }
}

fn v4(text: &str) -> Result<[u8; 4], Fault<'_>> {
    let bytes = text.as_bytes();
    let (mut octets, mut at, mut value, mut digits) = ([0; 4], 0, 0_u16, 0);
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(Fault::new("IPv4 field has octet with leading zero"));
                }
                value = value * 10 + u16::from(byte - b'0');
                digits += 1;
                octets[at] =
                    u8::try_from(value).map_err(|_| Fault::new("IPv4 field has value >255"))?;
            }
            b'.' => {
                if i == 0 || i == bytes.len() - 1 || bytes[i - 1] == b'.' {
                    return Err(Fault {
                        message: "IPv4 field must have at least one digit",
                        at: &text[i..],
                    });
                }
                if at == 3 {
                    return Err(Fault::new("IPv4 address too long"));
                }
                (at, value, digits) = (at + 1, 0, 0);
            }
            _ => {
                return Err(Fault { message: "unexpected character", at: &text[i..] });
            }
        }
    }
    if at < 3 { Err(Fault::new("IPv4 address too short")) } else { Ok(octets) }
}

fn v6(text: &str) -> Result<ParsedAddress, Fault<'_>> {
    let (address, zone) = match text.split_once('%') {
        Some((_, "")) => return Err(Fault::new("zone must be a non-empty string")),
        Some((address, _)) => (address, true),
        None => (text, false),
    };
    let mut groups = Groups { bytes: [0; LENGTH], filled: 0, ellipsis: None };
    let mut rest = address;
    if let Some(after) = rest.strip_prefix("::") {
        (groups.ellipsis, rest) = (Some(0), after);
    }
    while groups.filled < LENGTH && !(rest.is_empty() && groups.ellipsis == Some(groups.filled)) {
        rest = groups.read_group(rest)?;
        if rest.is_empty() {
            break;
        }
    }
    if !rest.is_empty() {
        return Err(Fault { message: "trailing garbage after address", at: rest });
    }
    let bytes = groups.expanded()?;
    Ok(ParsedAddress { address: Ipv6Addr::from(bytes).into(), has_zone: zone })
}

/// The groups of an IPv6 address read so far.
struct Groups {
    bytes: [u8; LENGTH],
    filled: usize,
    /// Bytes before `::`.
    ellipsis: Option<usize>,
}

impl Groups {
    /// Reads a group and the colons after it; the answer is what follows.
    fn read_group<'t>(&mut self, rest: &'t str) -> Result<&'t str, Fault<'t>> {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > MAX_GROUP_DIGITS {
            return Err(Fault { message: "each group must have 4 or fewer digits", at: rest });
        }
        if digits == 0 {
            return Err(Fault {
                message: "each colon-separated field must have at least one digit",
                at: rest,
            });
        }
        let after = &rest[digits..];
        if after.starts_with('.') {
            self.read_v4(rest)?;
            return Ok("");
        }
        let group = u16::from_str_radix(&rest[..digits], 16).expect("four hexadecimal digits fit");
        self.push(&group.to_be_bytes());
        if after.is_empty() {
            return Ok("");
        }
        let Some(next) = after.strip_prefix(':') else {
            return Err(Fault { message: "unexpected character, want colon", at: after });
        };
        if next.is_empty() {
            return Err(Fault { message: "colon must be followed by more characters", at: after });
        }
        let Some(tail) = next.strip_prefix(':') else {
            return Ok(next);
        };
        if self.ellipsis.is_some() {
            return Err(Fault { message: "multiple :: in address", at: next });
        }
        self.ellipsis = Some(self.filled);
        Ok(tail)
    }

    /// Reads an IPv4 address at the end.
    fn read_v4<'t>(&mut self, rest: &'t str) -> Result<(), Fault<'t>> {
        if self.ellipsis.is_none() && self.filled != 12 {
            let message = "embedded IPv4 address must replace the final 2 fields of the address";
            return Err(Fault { message, at: rest });
        }
        if self.filled + 4 > LENGTH {
            let message = "too many hex fields to fit an embedded IPv4 at the end of the address";
            return Err(Fault { message, at: rest });
        }
        self.push(&v4(rest)?);
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
    }

    /// All bytes, zeros where `::` stood.
    fn expanded(mut self) -> Result<[u8; LENGTH], Fault<'static>> {
        match self.ellipsis {
            None if self.filled < LENGTH => Err(Fault::new("address string too short")),
            None => Ok(self.bytes),
            Some(_) if self.filled == LENGTH => {
                Err(Fault::new("the :: must expand to at least one field of zeros"))
            }
            Some(at) => {
                let moved = LENGTH - (self.filled - at);
                self.bytes.copy_within(at..self.filled, moved);
                self.bytes[at..moved].fill(0);
                Ok(self.bytes)
            }
        }
    }
}
