//! The well-known signers and what each issues (Kubernetes: "Kubernetes signers").
//!
//! Usages in parentheses are optional. *Agent* stands for the subject of a kubelet: `system:node:…`
//! in `system:nodes` only.
//!
//! | signer | subject | alternative names | usages |
//! |---|---|---|---|
//! | client | any | any | client auth (digital signature, key encipherment) |
//! | kubelet client | agent | none | client auth, digital signature (key encipherment) |
//! | kubelet serving | agent | at least one DNS name or address | server auth, digital signature (key encipherment) |

use std::sync::Arc;

use quorate_meta::Names;
use quorate_meta::well_known::{GROUP_NODES, USER_NODE_PREFIX};
use quorate_registry::Resource;
use quorate_registry::error::Error;
use x509_parser::asn1_rs::Header;
use x509_parser::prelude::{
    AttributeTypeAndValue, FromDer, GeneralName, ParsedCriAttribute, ParsedExtension,
    X509CertificationRequest,
};

use crate::context::Context;

/// The resource of requests.
pub(super) fn requests(context: &Context) -> Result<Arc<Resource>, Error> {
    let group = context.names.group("certificates");
    let found = context.find(&group, "v1", "certificatesigningrequests");
    found.ok_or_else(|| Error::internal("requests for certificates are not served"))
}

/// What an issued certificate may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Usage {
    /// Signing what is not a certificate.
    DigitalSignature,
    /// Enciphering keys.
    KeyEncipherment,
    /// Being a TLS client.
    ClientAuth,
    /// Being a TLS server.
    ServerAuth,
}

impl Usage {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "digital signature" => Ok(Self::DigitalSignature),
            "key encipherment" => Ok(Self::KeyEncipherment),
            "client auth" => Ok(Self::ClientAuth),
            "server auth" => Ok(Self::ServerAuth),
            _ => Err(format!("usage {text:?} is not issued by this signer")),
        }
    }
}

/// A well-known signer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signer {
    Client,
    NodeClient,
    NodeServing,
}

impl Signer {
    /// The signer with this name.
    pub(super) fn of(names: &Names, name: &str) -> Option<Self> {
        match name {
            name if name == names.signer_client => Some(Self::Client),
            name if name == names.signer_client_node_agent => Some(Self::NodeClient),
            name if name == names.signer_node_agent_serving => Some(Self::NodeServing),
            _ => None,
        }
    }

    /// The usages of the certificate that is to be issued.
    ///
    /// # Errors
    /// Why the signer issues nothing like it.
    pub(super) fn check(
        self,
        asked: &RequestedNames,
        usages: &[&str],
    ) -> Result<Vec<Usage>, String> {
        let mut usages =
            usages.iter().map(|usage| Usage::parse(usage)).collect::<Result<Vec<_>, _>>()?;
        usages.sort_unstable();
        let purpose = if self == Self::NodeServing { Usage::ServerAuth } else { Usage::ClientAuth };
        let fits = |usage: &Usage| {
            [Usage::DigitalSignature, Usage::KeyEncipherment, purpose].contains(usage)
        };
        if let Some(other) = usages.iter().find(|usage| !fits(usage)) {
            return Err(format!("usage {other:?} is not issued by this signer"));
        }
        if !usages.contains(&purpose) {
            return Err(format!("usage {purpose:?} is missing"));
        }
        if self == Self::Client {
            return Ok(usages);
        }
        if !usages.contains(&Usage::DigitalSignature) {
            return Err("usage DigitalSignature is missing".to_owned());
        }
        self.check_node(asked).map(|()| usages)
    }

    fn check_node(self, asked: &RequestedNames) -> Result<(), String> {
        if asked.organizations != [GROUP_NODES] {
            return Err(format!("the subject's organization is not {GROUP_NODES}"));
        }
        let [common_name] = asked.common_names.as_slice() else {
            return Err("the subject does not have exactly one common name".to_owned());
        };
        if !common_name.starts_with(USER_NODE_PREFIX) {
            return Err(format!(
                "the subject's common name does not begin with {USER_NODE_PREFIX}"
            ));
        }
        match self {
            Self::NodeServing if asked.hosts == 0 => {
                Err("an alternative name of type DNS or IP is required".to_owned())
            }
            Self::NodeServing if asked.others > 0 => {
                Err("alternative names other than DNS and IP are not allowed".to_owned())
            }
            Self::NodeClient if asked.hosts + asked.others > 0 => {
                Err("alternative names are not allowed".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// The message about a request whose signature does not prove that its author has the key.
const UNVERIFIED: &str = "the request is not signed with the key that it is for, or with one that is not taken (RSA of 2048 to \
                          8192 bits, P-256 with SHA-256, P-384 with SHA-384, and Ed25519 are)";

/// What the text of a request asks for.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct RequestedNames {
    pub(super) common_names: Vec<String>,
    pub(super) organizations: Vec<String>,
    /// Alternative names that are host names or addresses.
    pub(super) hosts: usize,
    /// Other alternative names.
    pub(super) others: usize,
}

impl RequestedNames {
    /// Reads a request (DER), and verifies that its author has the key.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(request: &[u8]) -> Result<Self, String> {
        let (_, request) =
            X509CertificationRequest::from_der(request).map_err(|error| error.to_string())?;
        request.verify_signature().map_err(|_| UNVERIFIED.to_owned())?;
        let subject = &request.certification_request_info.subject;
        if subject.iter_attributes().any(|part| part.as_str().is_err()) {
            return Err("the subject has a text that is of no sort which names may have".to_owned());
        }
        let mut asked = Self {
            common_names: subject.iter_common_name().map(text).collect(),
            organizations: subject.iter_organization().map(text).collect(),
            ..Self::default()
        };
        let attributes = request.certification_request_info.iter_attributes();
        let mut wishes = attributes.filter_map(|attribute| match attribute.parsed_attribute() {
            ParsedCriAttribute::ExtensionRequest(wish) => Some((attribute.value, &wish.extensions)),
            _ => None,
        });
        let Some((set, extensions)) = wishes.next() else {
            return Ok(asked);
        };
        // Only the first one would be checked, and an issuer might issue all of them.
        if wishes.next().is_some() || !is_all(set) {
            return Err("the request asks for extensions more than once".to_owned());
        }
        for extension in extensions {
            let names = match extension.parsed_extension() {
                ParsedExtension::SubjectAlternativeName(names) => names,
                ParsedExtension::ParseError { .. } => {
                    return Err("an extension that the request asks for cannot be read".to_owned());
                }
                _ => continue,
            };
            for name in &names.general_names {
                match name {
                    GeneralName::DNSName(_) | GeneralName::IPAddress(_) => asked.hosts += 1,
                    _ => asked.others += 1,
                }
            }
        }
        Ok(asked)
    }
}

/// A part of a subject; empty when it is of a sort that no name or group of a user has.
fn text(part: &AttributeTypeAndValue<'_>) -> String {
    part.as_str().unwrap_or_default().to_owned()
}

/// Whether a set (DER) that was read up to the end of its first value has no other one.
fn is_all(set: &[u8]) -> bool {
    Header::from_der(set)
        .is_ok_and(|(read, header)| header.length().definite().is_ok_and(|long| long == read.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;

    const CLIENT: &[&str] = &["client auth", "digital signature"];
    const SERVER: &[&str] = &["server auth", "digital signature", "key encipherment"];

    fn node() -> RequestedNames {
        let texts = |text: &str| vec![text.to_owned()];
        RequestedNames {
            common_names: texts("system:node:a"),
            organizations: texts("system:nodes"),
            ..RequestedNames::default()
        }
    }

    #[track_caller]
    fn check(signer: Signer, asked: &RequestedNames, usages: &[&str], good: bool) {
        let result = signer.check(asked, usages);
        assert_eq!(result.is_ok(), good, "{signer:?} {asked:?} {usages:?}: {result:?}");
    }

    #[test]
    fn signers_are_found_by_name_in_both_profiles() {
        for naming in [Naming::Svc, Naming::Kubernetes] {
            let names = naming.names();
            let found = [
                names.signer_client,
                names.signer_client_node_agent,
                names.signer_node_agent_serving,
            ];
            let found = found.map(|name| Signer::of(names, name));
            assert_eq!(
                found,
                [Some(Signer::Client), Some(Signer::NodeClient), Some(Signer::NodeServing)]
            );
            assert_eq!(Signer::of(names, names.signer_legacy_unknown), None);
        }
    }

    #[test]
    fn clients_are_clients_and_nothing_else() {
        let anybody = RequestedNames {
            common_names: vec!["a".into(); 2],
            hosts: 1,
            others: 1,
            ..RequestedNames::default()
        };
        check(Signer::Client, &anybody, &["client auth"], true);
        check(
            Signer::Client,
            &anybody,
            &["key encipherment", "client auth", "digital signature"],
            true,
        );
        check(Signer::Client, &anybody, &["digital signature"], false);
        check(Signer::Client, &anybody, &["client auth", "server auth"], false);
        check(Signer::Client, &anybody, &["client auth", "cert sign"], false);
    }

    #[test]
    fn node_agents_are_named_as_such() {
        check(Signer::NodeClient, &node(), CLIENT, true);
        check(Signer::NodeClient, &node(), &["client auth"], false);
        check(Signer::NodeClient, &node(), SERVER, false);
        check(Signer::NodeClient, &RequestedNames { hosts: 1, ..node() }, CLIENT, false);
        for names in
            [vec![], vec!["a".into()], vec!["system:node:a".into(), "system:node:b".into()]]
        {
            let asked = RequestedNames { common_names: names, hosts: 1, ..node() };
            check(Signer::NodeServing, &asked, SERVER, false);
            check(Signer::NodeClient, &RequestedNames { hosts: 0, ..asked }, CLIENT, false);
        }
        let two = vec!["system:nodes".into(), "b".into()];
        check(Signer::NodeClient, &RequestedNames { organizations: two, ..node() }, CLIENT, false);
        check(Signer::NodeServing, &RequestedNames { hosts: 2, ..node() }, SERVER, true);
        check(Signer::NodeServing, &node(), SERVER, false);
        check(
            Signer::NodeServing,
            &RequestedNames { hosts: 1, others: 1, ..node() },
            SERVER,
            false,
        );
        check(Signer::NodeServing, &RequestedNames { hosts: 1, ..node() }, CLIENT, false);
    }

    #[test]
    fn a_request_is_signed_with_its_own_key() {
        let mut params =
            rcgen::CertificateParams::new(vec!["a.example".to_owned(), "10.0.0.1".to_owned()])
                .unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "system:node:a");
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "system:nodes");
        let key = rcgen::KeyPair::generate().unwrap();
        let mut request = params.serialize_request(&key).unwrap().der().to_vec();
        assert_eq!(RequestedNames::parse(&request), Ok(RequestedNames { hosts: 2, ..node() }));
        let place = request.windows(6).position(|window| window == b"node:a").unwrap();
        request[place + 5] = b'b';
        assert!(RequestedNames::parse(&request).is_err(), "the signature no longer fits");
        assert!(RequestedNames::parse(b"nonsense").is_err());
    }

    #[test]
    fn a_subject_has_names_that_everybody_reads_alike() {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        let odd = rcgen::DnValue::BmpString("system:masters".try_into().unwrap());
        params.distinguished_name.push(rcgen::DnType::OrganizationName, odd);
        let key = rcgen::KeyPair::generate().unwrap();
        let refused = RequestedNames::parse(params.serialize_request(&key).unwrap().der());
        assert_eq!(
            refused,
            Err("the subject has a text that is of no sort which names may have".to_owned())
        );
    }

    /// Requests (DER) of an extension: a usage of keys, the name `b.example`, and alternative names
    /// that are none.
    const HARMLESS: &[u8] = b"\x30\x0d\x30\x0b\x06\x03\x55\x1d\x0f\x04\x04\x03\x02\x07\x80";
    const NAMED: &[u8] = b"\x30\x16\x30\x14\x06\x03\x55\x1d\x11\x04\x0d\x30\x0b\x82\x09b.example";
    const UNREADABLE: &[u8] = b"\x30\x0b\x30\x09\x06\x03\x55\x1d\x11\x04\x02\x05\x00";

    /// An attribute that asks for extensions with these values.
    fn attribute(values: &[&[u8]]) -> rcgen::Attribute {
        let values = values.concat();
        let head = [0x31, u8::try_from(values.len()).unwrap()];
        rcgen::Attribute {
            oid: &[1, 2, 840, 113_549, 1, 9, 14],
            values: [&head[..], &values].concat(),
        }
    }

    #[test]
    fn extensions_are_asked_for_once() {
        let check = |attributes: &[&[&[u8]]], expect: Result<usize, &str>| {
            let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            params.distinguished_name.push(rcgen::DnType::CommonName, "system:node:a");
            let attributes = attributes.iter().map(|values| attribute(values)).collect();
            let key = rcgen::KeyPair::generate().unwrap();
            let request = params.serialize_request_with_attributes(&key, attributes).unwrap();
            let asked = RequestedNames::parse(request.der()).map(|asked| asked.hosts);
            assert_eq!(asked, expect.map_err(str::to_owned));
        };
        let more = Err("the request asks for extensions more than once");
        check(&[], Ok(0));
        check(&[&[HARMLESS]], Ok(0));
        check(&[&[NAMED]], Ok(1));
        check(&[&[HARMLESS], &[NAMED]], more);
        check(&[&[NAMED], &[NAMED]], more);
        check(&[&[HARMLESS, NAMED]], more);
        check(&[&[UNREADABLE]], Err("an extension that the request asks for cannot be read"));
    }
}
