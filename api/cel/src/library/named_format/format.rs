//! Formats with a name, and what they refuse.

use quorate_meta::name;

use crate::library::time::Timestamp;
use crate::library::url::Url;

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedFormat {
    /// A DNS label of RFC 1123.
    Dns1123Label,
    /// Dot-separated DNS labels of RFC 1123.
    Dns1123Subdomain,
    /// A DNS label of RFC 1035.
    Dns1035Label,
    /// A key of labels and annotations.
    QualifiedName,
    /// The beginning of a DNS label, to which more is appended.
    Dns1123LabelPrefix,
    /// The beginning of a DNS subdomain.
    Dns1123SubdomainPrefix,
    /// The beginning of a DNS label of RFC 1035.
    Dns1035LabelPrefix,
    /// A value of a label.
    LabelValue,
    /// An absolute URL or path.
    Uri,
    /// A UUID, in any case, with or without dashes.
    Uuid,
    /// Base64, with padding.
    Byte,
    /// A date of RFC 3339.
    Date,
    /// A date and time of RFC 3339.
    DateTime,
}

/// Every format: the name in expressions, the name it prints, and the length of the pattern that its cost supposes.
pub(super) const FORMATS: [(&str, NamedFormat, &str, u64); 13] = [
    ("dns1123Label", NamedFormat::Dns1123Label, "DNS1123Label", 30),
    ("dns1123Subdomain", NamedFormat::Dns1123Subdomain, "DNS1123Subdomain", 60),
    ("dns1035Label", NamedFormat::Dns1035Label, "DNS1035Label", 30),
    ("qualifiedName", NamedFormat::QualifiedName, "QualifiedName", 60),
    ("dns1123LabelPrefix", NamedFormat::Dns1123LabelPrefix, "DNS1123LabelPrefix", 30),
    ("dns1123SubdomainPrefix", NamedFormat::Dns1123SubdomainPrefix, "DNS1123SubdomainPrefix", 60),
    ("dns1035LabelPrefix", NamedFormat::Dns1035LabelPrefix, "DNS1035LabelPrefix", 30),
    ("labelValue", NamedFormat::LabelValue, "LabelValue", 40),
    ("uri", NamedFormat::Uri, "URI", 1103),
    ("uuid", NamedFormat::Uuid, "uuid", 70),
    ("byte", NamedFormat::Byte, "byte", 84),
    ("date", NamedFormat::Date, "date", 71),
    ("datetime", NamedFormat::DateTime, "datetime", 71),
];

impl NamedFormat {
    /// The format that expressions call `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|(known, ..)| *known == name).map(|(_, format, ..)| *format)
    }

    /// The name it prints.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Length of the pattern that its cost supposes, in characters.
    #[must_use]
    pub fn pattern_length(self) -> u64 {
        self.row().1
    }

    /// What is wrong with a text, nothing when it is fine.
    #[must_use]
    pub fn validate(self, text: &str) -> Vec<String> {
        let refused = |valid: bool, message: &str| {
            if valid { Vec::new() } else { vec![message.to_owned()] }
        };
        match self {
            Self::Dns1123Label => dns_label(text),
            Self::Dns1123Subdomain => name::dns_subdomain(text),
            Self::Dns1035Label => name::dns_1035_label(text),
            Self::QualifiedName => qualified_name(text),
            Self::Dns1123LabelPrefix => dns_label(&as_name(text)),
            Self::Dns1123SubdomainPrefix => name::dns_subdomain(&as_name(text)),
            Self::Dns1035LabelPrefix => name::dns_1035_label(&as_name(text)),
            Self::LabelValue => name::label_value(text),
            Self::Uri => Url::check(text).err().into_iter().collect(),
            Self::Uuid => refused(is_uuid(text), "does not match the UUID format"),
            Self::Byte => refused(is_base64(text), "invalid base64"),
            Self::Date => refused(is_date(text), "invalid date"),
            Self::DateTime => refused(is_date_time(text), "invalid datetime"),
        }
    }

    fn row(self) -> (&'static str, u64) {
        let row = FORMATS.iter().find(|(_, format, ..)| *format == self);
        row.map(|(_, _, name, length)| (*name, *length)).expect("every format has a row")
    }
}

/// As [`name::dns_label`], but dots in what could be a subdomain are named.
fn dns_label(text: &str) -> Vec<String> {
    let mut wrong = name::dns_label(text);
    let shape = |message: &String| message.starts_with("a lowercase");
    let dotted = text.contains('.') && !name::dns_subdomain(text).iter().any(shape);
    if let Some(message) = wrong.iter_mut().find(|message| dotted && shape(message)) {
        "must not contain dots".clone_into(message);
    }
    wrong
}

/// As [`name::qualified_name`], but a prefix is measured in bytes.
fn qualified_name(text: &str) -> Vec<String> {
    let in_bytes = |message: String| match message.strip_suffix(" characters") {
        Some(start) if start.starts_with("prefix part must be no more than") => {
            format!("{start} bytes")
        }
        _ => message,
    };
    name::qualified_name(text).into_iter().map(in_bytes).collect()
}

/// A prefix as a name that is as good: a dash at the end does not count.
fn as_name(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(head) if !head.is_empty() => {
            let mut name = head.to_owned();
            // The character before a dash that is longer than a byte is wrong anywhere.
            if name.ends_with(|c: char| c.is_ascii()) {
                name.pop();
            }
            name.push('a');
            name
        }
        _ => prefix.to_owned(),
    }
}

fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (at, digits) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((head, tail)) = rest.split_at_checked(digits) else {
            return false;
        };
        if !head.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        rest = tail;
    }
    rest.is_empty()
}

fn is_base64(text: &str) -> bool {
    let bare = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !text.is_empty() && text.len().is_multiple_of(4) && bare.bytes().all(known)
}

fn is_date(text: &str) -> bool {
    // Ten bytes leave no room for an hour or a zone.
    text.len() == 10
        && !matches!(Timestamp::parse(&format!("{text}T00:00:00Z")), Err(error) if error.is_malformed())
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_time(time)
}

/// A time of day, lower-case; its fraction may follow any character, its zone may be any number.
fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = clock.as_bytes() else {
        return false;
    };
    let digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let known = digits(&[h1, h2, m1, m2, s1, s2])
        && [h1, h2] <= *b"23"
        && [m1, m2] <= *b"59"
        && [s1, s2] <= *b"59";
    let fraction = match rest.strip_suffix('z') {
        Some(fraction) => fraction,
        None => {
            let Some((fraction, zone)) =
                rest.len().checked_sub(6).and_then(|at| rest.split_at_checked(at))
            else {
                return false;
            };
            let &[b'+' | b'-', z1, z2, b':', z3, z4] = zone.as_bytes() else {
                return false;
            };
            if !digits(&[z1, z2, z3, z4]) {
                return false;
            }
            fraction
        }
    };
    let mut after_mark = fraction.chars();
    let mark = after_mark.next();
    known && (mark.is_none() || mark != Some('\n') && digits(after_mark.as_str().as_bytes()))
}
