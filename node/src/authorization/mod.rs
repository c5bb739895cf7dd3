//! Options of the authorizer: its modes, and the webhook that it may ask.

mod reviewer;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use quorate_access::authorization::{ModeOptions, Verdict, WebhookOptions};
use quorate_env::Env;

use self::reviewer::ServerReviewer;
use crate::error::Error;

/// Options of the authorizer.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Authorization")]
pub(crate) struct Authorization {
    /// Modes that decide what a user may do. They are asked in this order; the first that allows or
    /// denies decides. Members of system:masters may always do everything.
    #[arg(long, value_name = "MODE", value_delimiter = ',', value_enum, default_value = "RBAC")]
    pub(crate) authorization_mode: Vec<Mode>,
    /// Where the mode Webhook sends access reviews: a kubeconfig with the server's URL and
    /// authority, and a token or client certificate. It is read again when it changes, and so are
    /// the files that it names.
    #[arg(long, value_name = "FILE")]
    pub(crate) authorization_webhook_config_file: Option<PathBuf>,
    /// How long it is remembered that the webhook allows something; 0s asks each time.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "5m")]
    pub(crate) authorization_webhook_cache_authorized_ttl: Duration,
    /// How long it is remembered that it does not; 0s asks each time.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "30s")]
    pub(crate) authorization_webhook_cache_unauthorized_ttl: Duration,
    /// How long one access review may take, with all its retries.
    #[arg(long, value_name = "DURATION", value_parser = webhook_timeout, default_value = "10s")]
    pub(crate) authorization_webhook_timeout: Duration,
    /// What holds when the webhook does not answer: with NoOpinion the next mode is asked, and if
    /// none allows it, the request may be sent again (503); Deny refuses it (403).
    #[arg(long, value_name = "POLICY", value_enum, default_value = "NoOpinion")]
    pub(crate) authorization_webhook_failure_policy: FailurePolicy,
}

/// An authorization mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// By the rules of roles and bindings.
    #[value(name = "RBAC")]
    Rules,
    /// What kubelets need for the pods that are bound to their nodes.
    #[value(name = "Node")]
    Nodes,
    /// By a SubjectAccessReview that another server answers.
    #[value(name = "Webhook")]
    Webhook,
    /// Every request is allowed.
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
    /// Every request is denied.
    #[value(name = "AlwaysDeny")]
    AlwaysDeny,
}

/// The decision when the webhook does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailurePolicy {
    /// The next mode is asked.
    #[value(name = "NoOpinion")]
    NoOpinion,
    /// It is refused.
    #[value(name = "Deny")]
    Deny,
}

impl Authorization {
    /// The same as command-line arguments, for the processes that `dev` starts.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let modes: Vec<String> = self.authorization_mode.iter().map(name).collect();
        let duration = |duration: Duration| humantime::format_duration(duration).to_string();
        let mut args = vec![
            ("authorization-mode", modes.join(",")),
            (
                "authorization-webhook-cache-authorized-ttl",
                duration(self.authorization_webhook_cache_authorized_ttl),
            ),
            (
                "authorization-webhook-cache-unauthorized-ttl",
                duration(self.authorization_webhook_cache_unauthorized_ttl),
            ),
            ("authorization-webhook-timeout", duration(self.authorization_webhook_timeout)),
            (
                "authorization-webhook-failure-policy",
                name(&self.authorization_webhook_failure_policy),
            ),
        ];
        let file = self.authorization_webhook_config_file.as_ref();
        args.extend(
            file.map(|file| ("authorization-webhook-config-file", file.display().to_string())),
        );
        args.into_iter().map(|(name, value)| format!("--{name}={value}")).collect()
    }

    /// The modes, in their order.
    ///
    /// # Errors
    /// When the options contradict each other, or the webhook's file is not what it should be.
    pub(crate) fn modes(&self, env: &Env) -> Result<Vec<ModeOptions>, Error> {
        let modes = &self.authorization_mode;
        if let Some((_, twice)) =
            modes.iter().enumerate().find(|(at, mode)| modes[..*at].contains(mode))
        {
            return Err(Error::config(format_args!(
                "--authorization-mode names {} twice",
                name(twice)
            )));
        }
        if self.authorization_webhook_config_file.is_some() && !modes.contains(&Mode::Webhook) {
            let why = "--authorization-webhook-config-file needs Webhook in --authorization-mode";
            return Err(Error::config(why));
        }
        let options = |mode: &Mode| {
            Ok(match mode {
                Mode::Rules => ModeOptions::Rules,
                Mode::Nodes => ModeOptions::Nodes,
                Mode::Webhook => ModeOptions::Webhook(self.webhook(env)?),
                Mode::AlwaysAllow => ModeOptions::AlwaysAllow,
                Mode::AlwaysDeny => ModeOptions::AlwaysDeny,
            })
        };
        modes.iter().map(options).collect()
    }

    fn webhook(&self, env: &Env) -> Result<WebhookOptions, Error> {
        let file = self.authorization_webhook_config_file.as_deref();
        let file = file.ok_or_else(|| {
            Error::config(
                "Webhook in --authorization-mode needs --authorization-webhook-config-file",
            )
        })?;
        Ok(WebhookOptions {
            reviewer: Arc::new(ServerReviewer::new(file, env.network.clone())?),
            clock: env.clock.clone(),
            authorized_ttl: self.authorization_webhook_cache_authorized_ttl,
            unauthorized_ttl: self.authorization_webhook_cache_unauthorized_ttl,
            timeout: self.authorization_webhook_timeout,
            on_failure: match self.authorization_webhook_failure_policy {
                FailurePolicy::NoOpinion => Verdict::NoOpinion,
                FailurePolicy::Deny => Verdict::Deny,
            },
        })
    }
}

/// A value as it stands on the command line.
fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// More than 0 s, and at most 30 s: a request waits that long.
fn webhook_timeout(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let known = (Duration::from_millis(1)..=Duration::from_secs(30)).contains(&duration);
    if known { Ok(duration) } else { Err("must be more than 0s and at most 30s".to_owned()) }
}
