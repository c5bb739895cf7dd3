//! What the well-known signers issue (document 000, "Well-known signers").
//!
//! | signer | subject | alternative names | usages |
//! |---|---|---|---|
//! | client | any | any | client auth, and perhaps digital signature and key encipherment |
//! | client of node agents | `system:node:…` in `system:nodes` only | none | client auth, digital signature, perhaps key encipherment |
//! | serving of node agents | the same | DNS names and addresses, at least one | server auth, digital signature, perhaps key encipherment |

use quorate_meta::Names;
use quorate_meta::well_known::{GROUP_NODES, USER_NODE_PREFIX};
use x509_parser::prelude::{FromDer, GeneralName, ParsedExtension, X509CertificationRequest};

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
    pub(super) fn check(self, asked: &Asked, usages: &[&str]) -> Result<Vec<Usage>, String> {
        let mut usages = usages.iter().map(|usage| Usage::parse(usage)).collect::<Result<Vec<_>, _>>()?;
        usages.sort_unstable();
        let purpose = if self == Self::NodeServing { Usage::ServerAuth } else { Usage::ClientAuth };
        let fits = |usage: &Usage| [Usage::DigitalSignature, Usage::KeyEncipherment, purpose].contains(usage);
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

    fn check_node(self, asked: &Asked) -> Result<(), String> {
        if asked.organizations != [GROUP_NODES] {
            return Err(format!("the subject's organization is not {GROUP_NODES}"));
        }
        if !asked.common_name.starts_with(USER_NODE_PREFIX) {
            return Err(format!("the subject's common name does not begin with {USER_NODE_PREFIX}"));
        }
        match self {
            Self::NodeServing if asked.hosts == 0 => {
                Err("an alternative name of type DNS or IP is required".to_owned())
            }
            Self::NodeServing if asked.others > 0 => {
                Err("alternative names other than DNS and IP are not allowed".to_owned())
            }
            Self::NodeClient if asked.hosts + asked.others > 0 => Err("alternative names are not allowed".to_owned()),
            _ => Ok(()),
        }
    }
}

/// What the text of a request asks for.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) common_name: String,
    pub(super) organizations: Vec<String>,
    /// Alternative names that are host names or addresses.
    pub(super) hosts: usize,
    /// Other alternative names.
    pub(super) others: usize,
}

impl Asked {
    /// Reads a request (DER) whose author has the key that it is for.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(request: &[u8]) -> Result<Self, String> {
        let (_, request) = X509CertificationRequest::from_der(request).map_err(|error| error.to_string())?;
        request.verify_signature().map_err(|_| "the request is not signed with the key that it is for".to_owned())?;
        let subject = &request.certification_request_info.subject;
        let name = subject.iter_common_name().next().and_then(|name| name.as_str().ok());
        let mut asked = Self {
            common_name: name.unwrap_or_default().to_owned(),
            organizations: subject.iter_organization().filter_map(|o| o.as_str().ok()).map(str::to_owned).collect(),
            ..Self::default()
        };
        for extension in request.requested_extensions().into_iter().flatten() {
            let ParsedExtension::SubjectAlternativeName(names) = extension else { continue };
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

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;

    const CLIENT: &[&str] = &["client auth", "digital signature"];
    const SERVER: &[&str] = &["server auth", "digital signature", "key encipherment"];

    fn node() -> Asked {
        Asked { common_name: "system:node:a".into(), organizations: vec!["system:nodes".into()], ..Asked::default() }
    }

    #[track_caller]
    fn check(signer: Signer, asked: &Asked, usages: &[&str], good: bool) {
        let result = signer.check(asked, usages);
        assert_eq!(result.is_ok(), good, "{signer:?} {asked:?} {usages:?}: {result:?}");
    }

    #[test]
    fn signers_are_found_by_name_in_both_profiles() {
        for naming in [Naming::Svc, Naming::Kubernetes] {
            let names = naming.names();
            let found = [names.signer_client, names.signer_client_node_agent, names.signer_node_agent_serving];
            let found = found.map(|name| Signer::of(names, name));
            assert_eq!(found, [Some(Signer::Client), Some(Signer::NodeClient), Some(Signer::NodeServing)]);
            assert_eq!(Signer::of(names, names.signer_legacy_unknown), None);
        }
    }

    #[test]
    fn clients_are_clients_and_nothing_else() {
        let anybody = Asked { common_name: "a".into(), hosts: 1, others: 1, ..Asked::default() };
        check(Signer::Client, &anybody, &["client auth"], true);
        check(Signer::Client, &anybody, &["key encipherment", "client auth", "digital signature"], true);
        check(Signer::Client, &anybody, &["digital signature"], false);
        check(Signer::Client, &anybody, &["client auth", "server auth"], false);
        check(Signer::Client, &anybody, &["client auth", "cert sign"], false);
    }

    #[test]
    fn node_agents_are_named_as_such() {
        check(Signer::NodeClient, &node(), CLIENT, true);
        check(Signer::NodeClient, &node(), &["client auth"], false);
        check(Signer::NodeClient, &node(), SERVER, false);
        check(Signer::NodeClient, &Asked { hosts: 1, ..node() }, CLIENT, false);
        check(Signer::NodeClient, &Asked { common_name: "a".into(), ..node() }, CLIENT, false);
        let two = vec!["system:nodes".into(), "b".into()];
        check(Signer::NodeClient, &Asked { organizations: two, ..node() }, CLIENT, false);
        check(Signer::NodeServing, &Asked { hosts: 2, ..node() }, SERVER, true);
        check(Signer::NodeServing, &node(), SERVER, false);
        check(Signer::NodeServing, &Asked { hosts: 1, others: 1, ..node() }, SERVER, false);
        check(Signer::NodeServing, &Asked { hosts: 1, ..node() }, CLIENT, false);
    }

    #[test]
    fn a_request_is_signed_with_its_own_key() {
        let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned(), "10.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "system:node:a");
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "system:nodes");
        let key = rcgen::KeyPair::generate().unwrap();
        let mut request = params.serialize_request(&key).unwrap().der().to_vec();
        assert_eq!(Asked::parse(&request), Ok(Asked { hosts: 2, ..node() }));
        let place = request.windows(6).position(|window| window == b"node:a").unwrap();
        request[place + 5] = b'b';
        assert!(Asked::parse(&request).is_err(), "the signature no longer fits");
        assert!(Asked::parse(b"nonsense").is_err());
    }
}
