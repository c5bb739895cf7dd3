//! Rules of declarative validation: how they are written in the schema, and which failures they
//! can report.
//!
//! Not here: how they are checked.

use std::borrow::Cow;

use quorate_meta::CauseReason;

use super::Text;

/// A rule of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclaredRule {
    /// The field may be absent; then nothing else about it is checked.
    Optional,
    /// The field must be there.
    Required,
    /// An update may not change the field.
    Immutable,
    /// Once set, the field may not get another value.
    NoModify,
    /// The list has so many items, at most.
    MaxItems(usize),
    /// The text has so many bytes, at most.
    MaxLength(usize),
    /// The number is not below this one.
    Minimum(i64),
    /// The text has this form.
    Format(TextFormat),
    /// The text is one of the values that the schema lists.
    Enum,
    /// No two items have the same keys; without keys, no two are the same.
    Unique(Vec<Text>),
    /// Exactly one of the fields with this rule is set.
    UnionMember,
    /// At most one item has one of these values of this key.
    AtMostOneOf(Text, Vec<Text>),
    /// A rule of a field of the value.
    Subfield(Text, Box<DeclaredRule>),
}

/// The form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// A DNS label.
    ShortName,
    /// A DNS subdomain.
    LongName,
    /// The same with capital letters.
    LongNameCaseless,
    /// The key of a label.
    LabelKey,
    /// A UUID in lower case.
    Uuid,
    /// The name of a pool of devices: subdomains separated by slashes.
    ResourcePoolName,
    /// A domain and a C identifier, separated by a slash.
    ResourceFullyQualifiedName,
    /// The name of an extended resource.
    ExtendedResourceName,
}

impl DeclaredRule {
    /// Reads `NAME` or `NAME:ARGUMENTS`.
    pub(super) fn read(text: &'static str) -> Option<Self> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let keys = |text: &'static str| {
            text.split(',').filter(|key| !key.is_empty()).map(Cow::Borrowed).collect()
        };
        Some(match name {
            "optional" => Self::Optional,
            "required" => Self::Required,
            "immutable" => Self::Immutable,
            "noModify" => Self::NoModify,
            "maxItems" => Self::MaxItems(rest.parse().ok()?),
            "maxLength" => Self::MaxLength(rest.parse().ok()?),
            "minimum" => Self::Minimum(rest.parse().ok()?),
            "format" => Self::Format(TextFormat::read(rest)?),
            "enum" => Self::Enum,
            "unique" => Self::Unique(keys(rest)),
            "unionMember" => Self::UnionMember,
            "atMostOneOf" => {
                let (key, values) = rest.split_once(':')?;
                Self::AtMostOneOf(Cow::Borrowed(key), keys(values))
            }
            "subfield" => {
                let (field, rule) = rest.split_once(':')?;
                Self::Subfield(Cow::Borrowed(field), Box::new(Self::read(rule)?))
            }
            _ => return None,
        })
    }

    /// Whether the field is not checked further where this rule fails.
    pub(crate) const fn stops(&self) -> bool {
        matches!(
            self,
            Self::Optional | Self::Required | Self::Immutable | Self::NoModify | Self::MaxItems(_)
        )
    }

    /// The failures that it can report at the field.
    pub(crate) fn reasons(&self) -> &'static [CauseReason] {
        match self {
            Self::Optional | Self::Subfield(..) | Self::UnionMember => &[],
            Self::Required => &[CauseReason::FieldValueRequired],
            Self::MaxItems(_) => &[CauseReason::FieldValueTooMany],
            Self::MaxLength(_) => &[CauseReason::FieldValueTooLong],
            Self::Format(TextFormat::ResourcePoolName | TextFormat::ResourceFullyQualifiedName) => {
                &[CauseReason::FieldValueInvalid, CauseReason::FieldValueTooLong]
            }
            Self::Immutable
            | Self::NoModify
            | Self::Minimum(_)
            | Self::Format(_)
            | Self::AtMostOneOf(..) => &[CauseReason::FieldValueInvalid],
            Self::Enum => &[CauseReason::FieldValueNotSupported],
            Self::Unique(_) => &[CauseReason::FieldValueDuplicate],
        }
    }
}

impl TextFormat {
    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "short-name" => Self::ShortName,
            "long-name" => Self::LongName,
            "long-name-caseless" => Self::LongNameCaseless,
            "label-key" => Self::LabelKey,
            "uuid" => Self::Uuid,
            "resource-pool-name" => Self::ResourcePoolName,
            "resource-fully-qualified-name" => Self::ResourceFullyQualifiedName,
            "extended-resource-name" => Self::ExtendedResourceName,
            _ => return None,
        })
    }
}
