//! Whether a schema is structural: types are said outside of logic, logic says nothing but what values must fulfil, and metadata is
//! left to the machinery.

use quorate_meta::Cause;

use super::words::wrong_type;
use crate::structural::limits::Told;
use crate::structural::patterns::Patterns;
use crate::structural::place::Place;
use crate::structural::source::{AdditionalSource, Source};

/// Checks a schema and all below it.
pub(in crate::structural) fn check(
    root: Source<'_>,
    place: &Place<'_>,
    patterns: &mut Patterns<'_>,
    told: &mut Told,
) {
    StructureRules { patterns, told }.schema(root, Level::Root, place);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

struct StructureRules<'w, 'a> {
    patterns: &'w mut Patterns<'a>,
    told: &'w mut Told,
}

impl StructureRules<'_, '_> {
    fn schema(&mut self, schema: Source<'_>, level: Level, place: &Place<'_>) {
        match schema.items() {
            Some(items) => self.schema(items, Level::Item, &place.child("items")),
            None if schema.ty() == "array" => {
                self.told
                    .push(|| Cause::required(place.child("items").text(), "must be specified"));
            }
            None => {}
        }
        let properties = place.child("properties");
        for (name, inner) in schema.properties() {
            self.schema(inner, Level::Field, &properties.key(name));
        }
        if let Some(additional) = schema.additional() {
            let place = place.child("additionalProperties");
            if level == Level::Root {
                self.told.push(|| Cause::forbidden(place.text(), "must not be used at the root"));
            }
            if let AdditionalSource::Schema(inner) = additional {
                self.schema(inner, Level::Field, &place);
            }
        }
        self.extensions(schema, place);
        let in_all_of =
            schema.each("allOf").next().is_some_and(|(_, first)| is_int_or_string(first));
        self.logic(schema, is_int_or_string(schema), in_all_of, place);
        self.types(schema, level, place);
        self.metadata(schema, level, place);
    }

    fn extensions(&mut self, schema: Source<'_>, place: &Place<'_>) {
        let words = schema.words;
        if !schema.is_int_or_string() {
            return;
        }
        let why = format!("must be false if {} is true", words.int_or_string);
        if schema.preserves() {
            self.told.push(|| {
                Cause::invalid(place.child(&words.preserve_unknown_fields).text(), true, &why)
            });
        }
        if schema.is_embedded() {
            self.told.push(|| Cause::invalid(place.child(&words.embedded).text(), true, &why));
        }
    }

    fn types(&mut self, schema: Source<'_>, level: Level, place: &Place<'_>) {
        let (ty, words) = (schema.ty(), schema.words);
        if schema.is_embedded() && ty != "object" {
            let why = format!("must be object if {} is true", words.embedded);
            self.told.push(|| wrong_type(place, ty, &why));
        } else if ty.is_empty() && !schema.is_int_or_string() && !schema.preserves() {
            let why = match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            };
            self.told.push(|| Cause::required(place.child("type").text(), why));
        }
        if schema.is_embedded() && schema.additional().is_some() {
            let why = format!("must not be used if {} is set", words.embedded);
            self.told.push(|| Cause::forbidden(place.child("additionalProperties").text(), &why));
        }
        if level == Level::Root && !ty.is_empty() && ty != "object" {
            self.told.push(|| {
                Cause::invalid(place.child("type").text(), ty, "must be object at the root")
            });
        }
    }

    fn metadata(&mut self, schema: Source<'_>, level: Level, place: &Place<'_>) {
        let has_metadata = level == Level::Root || schema.is_embedded();
        let properties = place.child("properties");
        for name in ["kind", "apiVersion"] {
            let Some(inner) =
                schema.property(name).filter(|inner| has_metadata && inner.ty() != "string")
            else {
                continue;
            };
            self.told.push(|| {
                Cause::invalid(
                    properties.key(name).child("type").text(),
                    inner.ty(),
                    "must be string",
                )
            });
        }
        if let Some(metadata) = schema.property("metadata") {
            let place = properties.key("metadata");
            if has_metadata && metadata.ty() != "object" {
                self.told.push(|| {
                    Cause::invalid(place.child("type").text(), metadata.ty(), "must be object")
                });
            }
            if level == Level::Root && !is_plain_metadata(metadata) {
                let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
                self.told.push(|| Cause::forbidden(place.text(), why));
            }
        }
        if schema.is_embedded() && !schema.preserves() && schema.properties().next().is_none() {
            let (embedded, preserve) =
                (&schema.words.embedded, &schema.words.preserve_unknown_fields);
            let why = format!("must not be empty if {embedded} is true without {preserve}");
            self.told.push(|| Cause::required(properties.text(), &why));
        }
    }

    /// The logic of a schema or of a branch. The two forms that say "an integer or a string" may name types.
    fn logic(
        &mut self,
        schema: Source<'_>,
        skip_any_of: bool,
        skip_in_all_of: bool,
        place: &Place<'_>,
    ) {
        for word in ["anyOf", "allOf", "oneOf"] {
            if word == "anyOf" && skip_any_of {
                continue;
            }
            let place = place.child(word);
            for (index, branch) in schema.each(word) {
                self.branch(
                    branch,
                    word == "allOf" && index == 0 && skip_in_all_of,
                    &place.index(index),
                );
            }
        }
        if let Some(branch) = schema.schema("not") {
            self.branch(branch, false, &place.child("not"));
        }
        let pattern = schema.text("pattern");
        if let (false, Err(why)) = (pattern.is_empty(), self.patterns.get(pattern)) {
            let why = format!("must be a valid regular expression, but isn't: {why}");
            self.told.push(|| Cause::invalid(place.child("pattern").text(), pattern, &why));
        }
    }

    fn branch(&mut self, branch: Source<'_>, skip_any_of: bool, place: &Place<'_>) {
        self.logic(branch, skip_any_of, false, place);
        if let Some(items) = branch.items() {
            self.branch(items, false, &place.child("items"));
        }
        let properties = place.child("properties");
        for (name, inner) in branch.properties() {
            self.branch(inner, false, &properties.key(name));
        }
        self.forbidden(branch, place);
        if branch.property("metadata").is_some() {
            let why = "must not be specified in a nested context";
            self.told.push(|| Cause::forbidden(properties.key("metadata").text(), why));
        }
    }

    /// Words that say what a value is, which logic must not.
    fn forbidden(&mut self, branch: Source<'_>, place: &Place<'_>) {
        let words = branch.words;
        let is_set = |word: &str| branch.get(word).is_some();
        let refused = [
            ("type", !branch.ty().is_empty(), "empty"),
            ("additionalProperties", is_set("additionalProperties"), "undefined"),
            ("default", is_set("default"), "undefined"),
            ("title", !branch.text("title").is_empty(), "empty"),
            ("description", !branch.text("description").is_empty(), "empty"),
            ("nullable", branch.flag("nullable"), "false"),
            ("externalDocs", is_set("externalDocs"), "undefined"),
            (&words.preserve_unknown_fields, branch.preserves(), "false"),
            (&words.embedded, branch.is_embedded(), "false"),
            (&words.int_or_string, branch.is_int_or_string(), "false"),
            (&words.list_map_keys, branch.list_map_keys().next().is_some(), "empty"),
            (&words.list_type, is_set(&words.list_type), "undefined"),
            (&words.map_type, is_set(&words.map_type), "undefined"),
            (&words.validations, !branch.list(&words.validations).is_empty(), "empty"),
        ];
        for (word, _, state) in refused.into_iter().filter(|(_, is_set, _)| *is_set) {
            let why = format!("must be {state} to be structural");
            self.told.push(|| Cause::forbidden(place.child(word).text(), &why));
        }
    }
}

/// `anyOf: [{type: integer}, {type: string}]`, in this order and with nothing else in it.
fn is_int_or_string(schema: Source<'_>) -> bool {
    let mut branches = schema.each("anyOf");
    let mut is_next = |ty: &str| {
        branches.next().is_some_and(|(_, branch)| {
            branch.ty() == ty && branch.entries().all(|(word, _)| word == "type")
        })
    };
    is_next("integer") && is_next("string") && schema.list("anyOf").len() == 2
}

/// Nothing but a type, a default (which another rule refuses) and schemas for the name and the prefix of a generated one.
fn is_plain_metadata(metadata: Source<'_>) -> bool {
    let mut names = metadata.properties().map(|(name, _)| name);
    names.all(|name| ["name", "generateName"].contains(&name))
        && metadata.entries().all(|(word, value)| match word {
            "type" | "default" | "properties" | "externalDocs" | "example" => true,
            word => value.is_empty() || value.as_bool() == Some(false) || word == "$schema",
        })
}
