//! Properties of an issued certificate: its remaining life, its names, its issuer.

use std::collections::BTreeSet;
use std::net::IpAddr;

use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::error::Error;

/// A certificate is due when less than this part of its life is left.
const RENEW_AT: i64 = 3;

/// Whether it is time for another one: the last third of its life has begun, or its life has not,
/// since a clock was wrong.
pub(crate) fn is_due(certificate: &[u8], now: OffsetDateTime) -> Result<bool, Error> {
    let now = now.unix_timestamp();
    let certificate = parse(certificate)?;
    let validity = certificate.validity();
    let (start, end) = (validity.not_before.timestamp(), validity.not_after.timestamp());
    Ok(now < start || now > end - (end - start) / RENEW_AT)
}

/// Whether these are the hosts and addresses that it is for, in any order.
pub(crate) fn is_for(certificate: &[u8], names: &[String]) -> Result<bool, Error> {
    let certificate = parse(certificate)?;
    let found = certificate.subject_alternative_name().map_err(Error::config)?;
    let found: BTreeSet<String> =
        found.iter().flat_map(|found| &found.value.general_names).map(text).collect();
    let wanted = names
        .iter()
        .map(|name| name.parse::<IpAddr>().map_or_else(|_| name.clone(), |ip| ip.to_string()));
    Ok(found == wanted.collect::<BTreeSet<_>>())
}

/// Whether this authority has issued it.
pub(crate) fn is_issued_by(certificate: &[u8], authority: &[u8]) -> Result<bool, Error> {
    let (certificate, authority) = (parse(certificate)?, parse(authority)?);
    Ok(certificate.verify_signature(Some(authority.public_key())).is_ok())
}

fn parse(certificate: &[u8]) -> Result<X509Certificate<'_>, Error> {
    let (_, certificate) = X509Certificate::from_der(certificate).map_err(Error::config)?;
    Ok(certificate)
}

fn text(name: &GeneralName<'_>) -> String {
    match name {
        GeneralName::DNSName(host) => (*host).to_owned(),
        GeneralName::IPAddress(bytes) => {
            let four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let ip = four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            ip.map_or_else(|_| format!("{bytes:02x?}"), |ip| ip.to_string())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use quorate_raft::ClusterId;

    use super::*;
    use crate::pki::{Authority, Subject};

    const START: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

    fn issue(authority: &Authority, subject: &Subject) -> Vec<u8> {
        authority.issue(subject, START).unwrap().chain().unwrap()[0].to_vec()
    }

    #[test]
    fn a_certificate_is_due_in_the_last_third_of_its_life_and_before_it() {
        let authority = Authority::generate("test-ca", START).unwrap();
        let issued =
            issue(&authority, &Subject::Peer { cluster: ClusterId::new([7; 16]), node: 1 });
        let check = |days: i64, expect: bool| {
            assert_eq!(
                is_due(&issued, START + time::Duration::days(days)).unwrap(),
                expect,
                "{days}"
            );
        };
        check(-1, true);
        check(0, false);
        check(240, false);
        check(250, true);
        check(400, true);
    }

    #[test]
    fn a_certificate_is_for_the_names_in_it() {
        let authority = Authority::generate("test-ca", START).unwrap();
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let check = |issued: &[&str], asked: &[&str], expect: bool| {
            let issued = issue(&authority, &Subject::Server { names: own(issued) });
            assert_eq!(is_for(&issued, &own(asked)).unwrap(), expect, "{asked:?}");
        };
        check(&["a.example", "10.0.0.1", "::1"], &["::1", "a.example", "10.0.0.1"], true);
        check(&["a.example", "::1"], &["a.example", "0:0::1"], true);
        check(&["a.example"], &["a.example", "b.example"], false);
        check(&["a.example", "10.0.0.1"], &["a.example"], false);
    }

    #[test]
    fn an_authority_of_the_same_name_is_another_one() {
        let [one, other] = [1, 2].map(|_| Authority::generate("test-ca", START).unwrap());
        let issued = issue(&one, &Subject::Client { user: "ann".to_owned(), group: None });
        for (authority, expect) in [(&one, true), (&other, false)] {
            let authority = authority.identity().chain().unwrap();
            assert_eq!(is_issued_by(&issued, &authority[0]).unwrap(), expect);
        }
    }
}
