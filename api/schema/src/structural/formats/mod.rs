//! Formats of text that release 1.35 checks, and the numeric ones that it names in messages. Others are ignored.
//!
//! A format is known by its name without dashes: `date-time` and `datetime` are one.

mod codes;
mod net;
mod text;
mod time;

use super::node::ValueType;

/// How a text is checked.
type Accepts = fn(&str) -> bool;

/// Names without dashes, in order, and their checks.
const FORMATS: [(&str, Accepts); 27] = [
    ("bsonobjectid", codes::is_object_id),
    ("byte", codes::is_base64),
    ("cidr", net::is_cidr),
    ("creditcard", codes::is_credit_card),
    ("date", time::is_date),
    ("datetime", time::is_date_time),
    ("duration", time::is_duration),
    ("email", text::is_email),
    ("hexcolor", codes::is_hex_color),
    ("hostname", net::is_hostname),
    ("ipv4", net::is_ipv4),
    ("ipv6", net::is_ipv6),
    ("isbn", codes::is_isbn),
    ("isbn10", codes::is_isbn10),
    ("isbn13", codes::is_isbn13),
    ("k8slongname", text::is_long_name),
    ("k8sshortname", text::is_short_name),
    ("mac", net::is_mac),
    ("password", text::is_anything),
    ("quantity", text::is_quantity),
    ("rgbcolor", codes::is_rgb_color),
    ("ssn", codes::is_social_security_number),
    ("uri", net::is_uri),
    ("uuid", codes::is_uuid),
    ("uuid3", codes::is_uuid3),
    ("uuid4", codes::is_uuid4),
    ("uuid5", codes::is_uuid5),
];

/// A format that is checked or named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    name: Box<str>,
    /// Place of its check; `None` when it is numeric.
    check: Option<u8>,
}

impl Format {
    /// The format of a schema of type `ty`, when it means anything there.
    pub(super) fn of(ty: &ValueType, name: &str) -> Option<Self> {
        if name.is_empty() {
            return None;
        }
        let check = match ty {
            ValueType::Any | ValueType::String => Some(place(&name.replace('-', ""))?),
            ValueType::Integer if ["int32", "int64"].contains(&name) => None,
            ValueType::Number if ["float", "double"].contains(&name) => None,
            _ => return None,
        };
        Some(Self { name: name.into(), check })
    }

    /// Whether text of this format is checked.
    pub fn is_known(name: &str) -> bool {
        place(&name.replace('-', "")).is_some()
    }

    /// As the schema writes it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name without dashes.
    pub fn neutral(&self) -> &'static str {
        self.check.map_or("", |at| entry(at).0)
    }

    /// Whether a text has the format.
    pub fn accepts(&self, text: &str) -> bool {
        self.check.is_none_or(|at| entry(at).1(text))
    }
}

fn place(neutral: &str) -> Option<u8> {
    let at = FORMATS.binary_search_by(|(name, _)| (*name).cmp(neutral)).ok()?;
    u8::try_from(at).ok()
}

fn entry(at: u8) -> (&'static str, Accepts) {
    FORMATS[usize::from(at)]
}
