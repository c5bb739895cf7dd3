//! Addresses and networks: `ip`, `isIP`, `ip.isCanonical`, `cidr`, `isCIDR` and their members.

mod address;
mod cidr;
mod ip;
mod overloads;

#[cfg(test)]
mod tests;

pub(crate) use address::check_ipv6_literal;
pub use cidr::Cidr;
pub use ip::Ip;
pub(super) use overloads::overloads;
