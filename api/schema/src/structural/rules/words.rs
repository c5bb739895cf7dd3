//! Every schema by itself: words that are refused, types that exist, extensions that fit the type.

use quorate_meta::{Cause, Value};

use super::{list_types, validations};
use crate::structural::limits::Told;
use crate::structural::place::Place;
use crate::structural::source::{AdditionalSource, Source};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const META_FIELDS: [&str; 3] = ["metadata", "apiVersion", "kind"];
/// Words that are refused when they are set, and not empty where a map may be.
const REFUSED: [(&str, bool); 6] = [
    ("id", true),
    ("additionalItems", false),
    ("patternProperties", true),
    ("definitions", true),
    ("dependencies", false),
    ("$ref", false),
];

/// Words that the root may have when status is a subresource, as the message lists them.
const ALLOWED_BESIDE_STATUS: &str = "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
    MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example \
    XPreserveUnknownFields XValidations]";
/// The same, as schemas write them.
const BESIDE_STATUS: [&str; 20] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
];

/// What holds for a schema because of where it stands.
#[derive(Clone, Copy, Debug, Default)]
struct Context<'a> {
    is_root: bool,
    inside_metadata: bool,
    /// Why defaults are refused.
    no_defaults: Option<&'a str>,
}

/// Checks a schema and all below it.
pub(in crate::structural) fn check(root: Source<'_>, place: &Place<'_>, told: &mut Told) {
    WordRules { told }.schema(root, place, Context { is_root: true, ..Context::default() });
}

/// Checks what is asked of the root alone.
pub(in crate::structural) fn check_root(
    root: Source<'_>,
    place: &Place<'_>,
    has_status: bool,
    told: &mut Told,
) {
    if has_status && !root.ty().is_empty() && root.ty() != "object" {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        told.push(|| Cause::invalid(place.child("type").text(), root.ty(), why));
    } else if has_status
        && root.entries().any(|(word, value)| {
            !value.is_empty() && value.as_bool() != Some(false) && !is_beside_status(root, word)
        })
    {
        let why = format!(
            "only {ALLOWED_BESIDE_STATUS} fields are allowed at the root of the schema if the status subresource is enabled"
        );
        told.push(|| Cause::invalid(place.text(), "", &why));
    }
    if root.flag("nullable") {
        told.push(|| {
            Cause::forbidden(place.child("nullable").text(), "nullable cannot be true at the root")
        });
    }
}

fn is_beside_status(root: Source<'_>, word: &str) -> bool {
    let words = root.words;
    BESIDE_STATUS.contains(&word)
        || word == words.preserve_unknown_fields
        || word == words.validations
}

struct WordRules<'t> {
    told: &'t mut Told,
}

impl WordRules<'_> {
    fn schema(&mut self, schema: Source<'_>, place: &Place<'_>, context: Context<'_>) {
        self.refused(schema, place, context);
        if schema.flag("uniqueItems") {
            let why =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.told.push(|| Cause::forbidden(place.child("uniqueItems").text(), why));
        }
        self.additional(schema, place, context);
        self.properties(schema, place, context);
        self.below(schema, place, context);
        self.extensions(schema, place);
        list_types::check(schema, place, self.told);
        validations::check(schema, place, self.told);
    }

    fn refused(&mut self, schema: Source<'_>, place: &Place<'_>, context: Context<'_>) {
        let ty = schema.ty();
        if let (Some(why), Some(_)) = (context.no_defaults, schema.get("default")) {
            self.told.push(|| {
                Cause::forbidden(place.child("default").text(), &format!("must not be set {why}"))
            });
        }
        for (word, may_be_empty) in REFUSED {
            if schema.get(word).is_some_and(|value| !may_be_empty || !value.is_empty()) {
                self.told.push(|| {
                    Cause::forbidden(place.child(word).text(), &format!("{word} is not supported"))
                });
            }
        }
        if !ty.is_empty() && !TYPES.contains(&ty) {
            self.told.push(|| Cause::not_supported(place.child("type").text(), ty, &TYPES));
        }
        if ty == "null" {
            let why = "type cannot be set to null, use nullable as an alternative";
            self.told.push(|| Cause::forbidden(place.child("type").text(), why));
        }
        if !schema.list("items").is_empty() {
            let why = "items must be a schema object and not an array";
            self.told.push(|| Cause::forbidden(place.child("items").text(), why));
        }
        if context.inside_metadata && schema.is_embedded() {
            let why = "must not be used inside of resource meta";
            self.told.push(|| Cause::forbidden(place.child(&schema.words.embedded).text(), why));
        }
    }

    fn additional(&mut self, schema: Source<'_>, place: &Place<'_>, context: Context<'_>) {
        let Some(additional) = schema.additional() else {
            return;
        };
        let place = place.child("additionalProperties");
        if schema.properties().next().is_some()
            && !matches!(additional, AdditionalSource::Allowed(true))
        {
            let why = "additionalProperties and properties are mutual exclusive";
            self.told.push(|| Cause::forbidden(place.text(), why));
        }
        if let AdditionalSource::Schema(inner) = additional {
            let no_defaults = match context.inside_metadata {
                true => Some("inside additionalProperties applying to object metadata"),
                false => context.no_defaults,
            };
            self.schema(inner, &place, Context { is_root: false, no_defaults, ..context });
        }
    }

    fn properties(&mut self, schema: Source<'_>, place: &Place<'_>, context: Context<'_>) {
        let place = place.child("properties");
        for (name, inner) in schema.properties() {
            let is_meta = (context.is_root || schema.is_embedded()) && META_FIELDS.contains(&name);
            let mut below = Context { is_root: false, ..context };
            below.inside_metadata |= is_meta;
            let why = format!("in top-level {name}");
            if is_meta && context.is_root {
                below.no_defaults = Some(&why);
            }
            self.schema(inner, &place.key(name), below);
        }
    }

    fn below(&mut self, schema: Source<'_>, place: &Place<'_>, context: Context<'_>) {
        let context = Context { is_root: false, ..context };
        if let Some(inner) = schema.schema("not") {
            self.schema(inner, &place.child("not"), context);
        }
        for word in ["allOf", "oneOf", "anyOf"] {
            let place = place.child(word);
            for (index, inner) in schema.each(word) {
                self.schema(inner, &place.index(index), context);
            }
        }
        for word in ["definitions", "dependencies"] {
            let place = place.child(word);
            for (name, inner) in schema.schemas(word) {
                self.schema(inner, &place.key(name), context);
            }
        }
        let place = place.child("items");
        if let Some(inner) = schema.items() {
            self.schema(inner, &place, context);
        }
        for (index, inner) in schema.each("items") {
            self.schema(inner, &place.index(index), context);
        }
    }

    fn extensions(&mut self, schema: Source<'_>, place: &Place<'_>) {
        let words = schema.words;
        let preserves = schema.get(&words.preserve_unknown_fields);
        if preserves.and_then(Value::as_bool) == Some(false) {
            let place = place.child(&words.preserve_unknown_fields);
            self.told.push(|| Cause::invalid(place.text(), false, "must be true or undefined"));
        }
        let Some(map_type) = schema.map_type() else {
            return;
        };
        if schema.ty() != "object" {
            let why = format!("must be object if {} is specified", words.map_type);
            self.told.push(|| wrong_type(place, schema.ty(), &why));
        }
        if !["atomic", "granular"].contains(&map_type) {
            let place = place.child(&words.map_type);
            self.told
                .push(|| Cause::not_supported(place.text(), map_type, &["atomic", "granular"]));
        }
    }
}

/// A type that is missing or another than it must be.
pub(super) fn wrong_type(place: &Place<'_>, ty: &str, why: &str) -> Cause {
    let field = place.child("type").text();
    if ty.is_empty() { Cause::required(field, why) } else { Cause::invalid(field, ty, why) }
}
