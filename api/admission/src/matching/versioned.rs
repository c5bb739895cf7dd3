//! The objects of a write in the form of the resource that it is matched as.
//!
//! Invariants: a write of a scale is one of a Scale; objects that are stored have their
//! `resourceVersion`; an absent object is null.

use quorate_meta::Value;
use quorate_registry::error::Error;
use quorate_registry::scale::ScalePlaces;
use quorate_registry::{Attributes, Part, Resource, stored_codec};
use quorate_store::{Entry, Revision};

use super::match_resources::MatchedAs;
use super::seen;

/// Old and new object of a write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Versioned {
    pub(crate) old: Value,
    pub(crate) new: Value,
}

impl Versioned {
    /// The objects of a write; that of a body is the body.
    ///
    /// # Errors
    /// When they cannot be converted.
    pub(crate) async fn of(
        attributes: &Attributes<'_>,
        matched: &MatchedAs,
    ) -> Result<Self, Error> {
        let old = form(attributes, matched, attributes.old).await?;
        let new = form(attributes, matched, attributes.new).await?;
        Ok(Self { old, new })
    }

    /// What is written when the new object becomes `changed`.
    ///
    /// # Errors
    /// When it cannot be converted back.
    pub(crate) async fn written(
        attributes: &Attributes<'_>,
        matched: &MatchedAs,
        changed: Value,
    ) -> Result<Value, Error> {
        let resource = attributes.target.resource;
        if attributes.part == Some(Part::Scale) {
            let mut object = attributes.new.cloned().unwrap_or_default();
            ScalePlaces::of(resource).write(&changed, &mut object)?;
            return Ok(object);
        }
        match matched {
            MatchedAs::Equivalent(other) if has_versions(attributes) => {
                convert(other, resource, &changed).await
            }
            _ => Ok(changed),
        }
    }
}

/// Whether the objects have the version of the resource: a scale and a body have their own.
fn has_versions(attributes: &Attributes<'_>) -> bool {
    attributes.part != Some(Part::Scale) && attributes.body.is_none()
}

async fn form(
    attributes: &Attributes<'_>,
    matched: &MatchedAs,
    object: Option<&Value>,
) -> Result<Value, Error> {
    let Some(object) = object else {
        return Ok(Value::Null);
    };
    let resource = attributes.target.resource;
    let mut object = match matched {
        MatchedAs::Equivalent(other) if has_versions(attributes) => {
            convert(resource, other, object).await?
        }
        _ => object.clone(),
    };
    if let Some(revision) = attributes.revision {
        object.set_at(&["metadata", "resourceVersion"], revision.get().to_string());
    }
    if attributes.part == Some(Part::Scale) {
        return ScalePlaces::of(resource).begin(&object);
    }
    Ok(object)
}

/// An object in the form of another version of its resource.
async fn convert(from: &Resource, to: &Resource, object: &Value) -> Result<Value, Error> {
    if !from.is_custom() {
        return Ok(seen::convert(from, to, object));
    }
    let value = stored_codec::encode_converted(from, object).await?;
    let entry = Entry { value, created: Revision::ZERO, modified: Revision::ZERO };
    let mut object = stored_codec::decode_converted(to, &entry).await?;
    object.remove_at(&["metadata", "resourceVersion"]);
    Ok(object)
}
