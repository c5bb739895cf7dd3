//! Which requests are traced, by the option and by the standard variables.
//!
//! Invariant: a variable with a value that is not known is named in the log and taken as not given, as
//! the specification of OpenTelemetry says.

use quorate_trace::{ParentSampling, SamplerOptions};

/// The standard variable of the sampler.
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
/// That of the sampler's rate, from 0 to 1.
const RATE: &str = "OTEL_TRACES_SAMPLER_ARG";
/// All requests.
const ALL: u32 = 1_000_000;

/// How requests are sampled; `None` when none is traced at all. The option comes before variables.
pub(super) fn find(
    per_million: Option<u32>,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<SamplerOptions> {
    let options = |per_million, parents| {
        Some(SamplerOptions { per_million, parents, ..SamplerOptions::default() })
    };
    if let Some(per_million) = per_million {
        return options(per_million, ParentSampling::Honoured);
    }
    let sampler = variable(SAMPLER).unwrap_or_default();
    match sampler.as_str() {
        "" => options(0, ParentSampling::Honoured),
        "always_on" => options(ALL, ParentSampling::Ignored),
        "always_off" => None,
        "traceidratio" => options(rate(variable(RATE)), ParentSampling::Ignored),
        "parentbased_always_on" => options(ALL, ParentSampling::Honoured),
        "parentbased_always_off" => options(0, ParentSampling::Honoured),
        "parentbased_traceidratio" => options(rate(variable(RATE)), ParentSampling::Honoured),
        other => {
            tracing::warn!("{SAMPLER}: {other:?} is not known and does not count");
            options(0, ParentSampling::Honoured)
        }
    }
}

/// A rate in requests of a million; all where none is given.
fn rate(text: Option<String>) -> u32 {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return ALL };
    match text.parse::<f64>() {
        // Between 0 and a million.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        Ok(rate) if (0.0..=1.0).contains(&rate) => (rate * f64::from(ALL)).round() as u32,
        _ => {
            tracing::warn!("{RATE}: {text:?} is no number from 0 to 1 and does not count");
            ALL
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_and_the_variables_decide() {
        let check = |option, sampler: &str, argument: &str, expect: Option<(u32, bool)>| {
            let variable = |name: &str| match name {
                SAMPLER => Some(sampler.to_owned()),
                RATE => Some(argument.to_owned()),
                _ => None,
            };
            let found = find(option, variable)
                .map(|found| (found.per_million, found.parents == ParentSampling::Honoured));
            assert_eq!(found, expect, "{option:?} {sampler} {argument}");
        };
        check(None, "", "0.5", Some((0, true)));
        check(Some(7), "", "", Some((7, true)));
        check(Some(7), "always_off", "", Some((7, true)));
        check(None, "always_on", "0.5", Some((ALL, false)));
        check(None, "always_off", "", None);
        check(None, "traceidratio", "0.001", Some((1000, false)));
        check(None, "traceidratio", "", Some((ALL, false)));
        check(None, "traceidratio", "2", Some((ALL, false)));
        check(None, "traceidratio", "some", Some((ALL, false)));
        check(None, "parentbased_always_on", "", Some((ALL, true)));
        check(None, "parentbased_always_off", "", Some((0, true)));
        check(None, "parentbased_traceidratio", "0.25", Some((250_000, true)));
        check(None, "jaeger_remote", "", Some((0, true)));
    }
}
