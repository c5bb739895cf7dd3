//! `quorate admission`: policies and webhooks of the cluster.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Query, Target};

/// How long a suspension may last; for longer, the object is changed or deleted.
const MAX_SUSPENSION: Duration = Duration::from_secs(24 * 60 * 60);

/// `quorate admission`
#[derive(Debug, Subcommand)]
pub(crate) enum Admission {
    /// List policies and webhook configurations, and which of them are suspended.
    Status(Query),
    /// Leave a policy or webhook configuration out for a while, even where admission refuses every
    /// write. It is in force again by itself.
    Suspend(Suspend),
    /// End a suspension.
    Resume(Resume),
}

/// `quorate admission suspend`
#[derive(Debug, Args)]
pub(crate) struct Suspend {
    /// The policy or webhook configuration, NAME or RESOURCE/NAME.
    #[arg(value_name = "NAME")]
    pub(crate) object: String,
    /// For how long: 10m, 2h; a day at most.
    #[arg(long = "for", value_name = "DURATION", value_parser = suspension)]
    pub(crate) duration: Duration,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// `quorate admission resume`
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The policy or webhook configuration, NAME or RESOURCE/NAME.
    #[arg(value_name = "NAME")]
    pub(crate) object: String,
    #[command(flatten)]
    pub(crate) target: Target,
}

fn suspension(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration.is_zero() || duration > MAX_SUSPENSION {
        return Err("must be between 1s and 24h".to_owned());
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suspensions_end() {
        let check = |text: &str, seconds: Option<u64>| {
            assert_eq!(suspension(text).ok().map(|duration| duration.as_secs()), seconds, "{text}");
        };
        check("10m", Some(600));
        check("24h", Some(86_400));
        check("24h 1s", None);
        check("0s", None);
        check("forever", None);
    }
}
