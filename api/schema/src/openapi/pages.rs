//! The paths that are no resources: versions, groups, and the OpenID issuer, each with one
//! operation.

use quorate_meta::{Map, Value, well_known};

use super::definitions::Definitions;
use super::naming;
use super::operation::{PathOperation, Produced};

const ISSUER: &str = ".well-known/openid-configuration";
const ISSUER_KEYS: &str = "openid/v1/jwks";
/// The format of the issuer's keys (RFC 7517).
const MEDIA_KEYS: &str = "application/jwk-set+json";

/// The paths of the pages that every server has, as the index of version 3 lists them.
pub(super) const PATHS: [&str; 5] = [ISSUER, "api", "apis", ISSUER_KEYS, "version"];

/// The operation of this path; `group` is the neutral name of its group, if it has one.
pub(super) fn operation(
    path: &str,
    group: &str,
    definitions: &mut Definitions<'_>,
) -> PathOperation {
    let text = || Value::from([("type", "string")]);
    match path {
        "api" => {
            let answer = definitions.machinery("meta/v1.APIVersions");
            page("getCoreAPIVersions", "core", "List the versions of the core group.", answer)
        }
        "apis" => page(
            "getAPIVersions",
            "apis",
            "List the groups.",
            definitions.machinery("meta/v1.APIGroupList"),
        ),
        "version" => {
            let answer = definitions.opaque(
                "pkg.version.Info",
                version(),
                "The release and the build of a server.",
            );
            only(
                well_known::MEDIA_JSON,
                page("getCodeVersion", "version", "Tell the release of the server.", answer),
            )
        }
        ISSUER => {
            let id = "getServiceAccountIssuerOpenIDConfiguration";
            let description =
                "Tell who issues the tokens of service accounts, and where its keys are.";
            only(well_known::MEDIA_JSON, page(id, "WellKnown", description, text()))
        }
        ISSUER_KEYS => {
            let description = "List the public keys of the issuer of service accounts' tokens.";
            only(
                MEDIA_KEYS,
                page("getServiceAccountIssuerOpenIDKeyset", "openid", description, text()),
            )
        }
        _ => {
            let tag = naming::camel_group(group);
            let id = format!("get{}APIGroup", naming::capital(&tag));
            page(
                &id,
                &tag,
                "List the versions of this group.",
                definitions.machinery("meta/v1.APIGroup"),
            )
        }
    }
}

fn page(id: &str, tag: &str, description: &str, answer: Value) -> PathOperation {
    PathOperation {
        action: "read",
        id: id.to_owned(),
        tag: tag.to_owned(),
        description: description.to_owned(),
        kind: None,
        body: None,
        answer: Some(answer),
        media: Produced::Objects,
    }
}

fn only(media: &'static str, operation: PathOperation) -> PathOperation {
    PathOperation { media: Produced::Only(media), ..operation }
}

/// The schema of a release.
fn version() -> Map {
    const ALWAYS: [(&str, &str); 9] = [
        ("major", "Major number of the release whose interface is served."),
        ("minor", "Minor number of the release whose interface is served."),
        ("gitVersion", "Name of the release and of the build."),
        ("gitCommit", "Commit that was built; may be empty."),
        ("gitTreeState", "Whether the commit was built as it is: clean or dirty."),
        ("buildDate", "When the build was made; may be empty."),
        ("goVersion", "Toolchain that made the build."),
        ("compiler", "Compiler that made the build."),
        ("platform", "Operating system and processor of the build."),
    ];
    const SOMETIMES: [(&str, &str); 4] = [
        ("emulationMajor", "Major number of the release that the server behaves like."),
        ("emulationMinor", "Minor number of the release that the server behaves like."),
        (
            "minCompatibilityMajor",
            "Major number of the oldest release that the server works together with.",
        ),
        (
            "minCompatibilityMinor",
            "Minor number of the oldest release that the server works together with.",
        ),
    ];
    let property = |(name, description)| {
        (name, Value::from([("description", description), ("type", "string")]))
    };
    let properties: Map = ALWAYS.into_iter().chain(SOMETIMES).map(property).collect();
    let required = ALWAYS.map(|(name, _)| name).to_vec();
    Map::from([
        ("type", Value::from("object")),
        ("properties", properties.into()),
        ("required", required.into()),
    ])
}
