//! Which crate and which module may use which. A new edge is a decision, and its change explains
//! it.
//!
//! Edges are those of production code and of its unit tests. A crate's table is checked against its
//! manifest, a module's against its sources: both are complete and exact.

mod modules;

use modules::{
    ACCESS, ADMISSION, API, CEL, CONTROLLERS, EXTENSIONS, KINDS, META, METRICS, POLICY, REGISTRY,
    SCHEMA, WEBHOOK, WIRE,
};

/// What a crate may use.
pub(super) struct CrateRule {
    pub(super) name: &'static str,
    /// Crates of the workspace.
    pub(super) uses: &'static [&'static str],
    /// Further ones that only its tests and benchmarks use: the built-in kinds stand above the registry, whose tests need
    /// some.
    pub(super) tests: &'static [&'static str],
    /// For the crates of the API: each module, and the modules that it may use.
    pub(super) modules: Option<&'static [(&'static str, &'static [&'static str])]>,
}

/// Every crate, from those that use nothing on.
pub(super) const CRATES: &[CrateRule] = &[
    CrateRule { name: "quorate-env", uses: &[], tests: &[], modules: None },
    CrateRule { name: "quorate-store", uses: &["quorate-env"], tests: &[], modules: None },
    CrateRule { name: "quorate-trace", uses: &[], tests: &[], modules: None },
    CrateRule { name: "base2histogram", uses: &[], tests: &[], modules: None },
    CrateRule {
        name: "quorate-archive",
        uses: &["quorate-env", "quorate-store"],
        tests: &[],
        modules: None,
    },
    CrateRule {
        name: "quorate-raft",
        uses: &["quorate-archive", "quorate-env", "quorate-store", "quorate-trace"],
        tests: &[],
        modules: None,
    },
    CrateRule {
        name: "quorate-backup",
        uses: &["quorate-env", "quorate-store"],
        tests: &[],
        modules: None,
    },
    CrateRule { name: "quorate-meta", uses: &[], tests: &[], modules: Some(META) },
    CrateRule {
        name: "quorate-schema",
        uses: &["quorate-meta"],
        tests: &[],
        modules: Some(SCHEMA),
    },
    CrateRule {
        name: "quorate-wire",
        uses: &["quorate-meta", "quorate-schema"],
        tests: &[],
        modules: Some(WIRE),
    },
    CrateRule {
        name: "quorate-webhook",
        uses: &["quorate-env", "quorate-meta", "quorate-trace"],
        tests: &[],
        modules: Some(WEBHOOK),
    },
    CrateRule {
        name: "quorate-registry",
        uses: &[
            "quorate-env",
            "quorate-meta",
            "quorate-schema",
            "quorate-store",
            "quorate-trace",
            "quorate-wire",
        ],
        tests: &["quorate-kinds"],
        modules: Some(REGISTRY),
    },
    CrateRule {
        name: "quorate-metrics",
        uses: &["quorate-registry"],
        tests: &[],
        modules: Some(METRICS),
    },
    CrateRule {
        name: "quorate-access",
        uses: &[
            "quorate-env",
            "quorate-meta",
            "quorate-registry",
            "quorate-schema",
            "quorate-store",
            "quorate-wire",
        ],
        tests: &["quorate-kinds"],
        modules: Some(ACCESS),
    },
    CrateRule {
        name: "quorate-admission",
        uses: &[
            "quorate-cel",
            "quorate-env",
            "quorate-meta",
            "quorate-policy",
            "quorate-registry",
            "quorate-store",
            "quorate-trace",
            "quorate-webhook",
            "quorate-wire",
        ],
        tests: &["quorate-kinds", "quorate-schema"],
        modules: Some(ADMISSION),
    },
    CrateRule {
        name: "quorate-controllers",
        uses: &[
            "quorate-access",
            "quorate-admission",
            "quorate-env",
            "quorate-extensions",
            "quorate-meta",
            "quorate-policy",
            "quorate-registry",
            "quorate-schema",
            "quorate-store",
            "quorate-wire",
        ],
        tests: &["quorate-kinds"],
        modules: Some(CONTROLLERS),
    },
    CrateRule {
        name: "quorate-extensions",
        uses: &[
            "quorate-cel",
            "quorate-env",
            "quorate-meta",
            "quorate-registry",
            "quorate-schema",
            "quorate-store",
            "quorate-webhook",
            "quorate-wire",
        ],
        tests: &["quorate-kinds"],
        modules: Some(EXTENSIONS),
    },
    CrateRule {
        name: "quorate-api",
        uses: &[
            "quorate-access",
            "quorate-admission",
            "quorate-controllers",
            "quorate-env",
            "quorate-extensions",
            "quorate-meta",
            "quorate-metrics",
            "quorate-registry",
            "quorate-schema",
            "quorate-store",
            "quorate-trace",
            "quorate-webhook",
            "quorate-wire",
        ],
        tests: &["quorate-kinds"],
        modules: Some(API),
    },
    CrateRule {
        name: "quorate-kinds",
        uses: &[
            "quorate-cel",
            "quorate-extensions",
            "quorate-meta",
            "quorate-policy",
            "quorate-registry",
            "quorate-schema",
            "quorate-store",
            "quorate-webhook",
            "quorate-wire",
        ],
        tests: &[],
        modules: Some(KINDS),
    },
    CrateRule {
        name: "quorate",
        uses: &[
            "quorate-access",
            "quorate-api",
            "quorate-backup",
            "quorate-cel",
            "quorate-controllers",
            "quorate-env",
            "quorate-kinds",
            "quorate-meta",
            "quorate-metrics",
            "quorate-raft",
            "quorate-registry",
            "quorate-schema",
            "quorate-store",
            "quorate-trace",
            "quorate-webhook",
            "quorate-wire",
        ],
        tests: &[],
        modules: None,
    },
    CrateRule {
        name: "quorate-cel",
        uses: &["quorate-meta", "quorate-schema"],
        tests: &[],
        modules: Some(CEL),
    },
    CrateRule {
        name: "quorate-policy",
        uses: &["quorate-cel", "quorate-meta", "quorate-schema"],
        tests: &[],
        modules: Some(POLICY),
    },
    CrateRule {
        name: "quorate-simulation",
        uses: &[
            "quorate-access",
            "quorate-api",
            "quorate-archive",
            "quorate-controllers",
            "quorate-env",
            "quorate-kinds",
            "quorate-meta",
            "quorate-raft",
            "quorate-registry",
            "quorate-schema",
            "quorate-store",
            "quorate-wire",
        ],
        tests: &[],
        modules: None,
    },
];
