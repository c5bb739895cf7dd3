//! `quorate policy test`: which recorded writes, and which objects, policies would have refused,
//! changed or warned of.
//!
//! The server checks the policies first, by a dry run of their creation, and rehearses them then
//! step by step; progress is told on standard error.

mod candidates;
mod tally;

use indicatif::ProgressBar;
use quorate_env::Env;
use quorate_meta::{Map, Time, Value};

use super::api_client::ApiClient;
use crate::cli::{Output, PolicyTest};
use crate::error::Error;
use crate::terminal::print_line;
use candidates::Candidates;
use tally::Tally;

/// The user of the command, in audit logs.
const USER: &str = "policy-test";
/// Where the server rehearses.
const PATH: &str = "/admission/rehearsal";

/// Carries out the command.
pub(super) async fn run(options: &PolicyTest, env: &Env) -> Result<(), Error> {
    let candidates = Candidates::read(options.policies.iter().chain(&options.binding))?;
    let mut client = ApiClient::connect(&options.query.target, env, USER).await?;
    let candidates = candidates.check(&mut client).await?;
    let mut tally = Tally::new(options.examples);
    let mut body = Map::from([("candidates", Value::List(candidates))]);
    if let Some(since) = options.since {
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let since = Time::from_ms(env.clock.now_ms().saturating_sub(millis));
        body.insert("since", since.seconds());
    }
    let progress = ProgressBar::new_spinner();
    loop {
        let step = client.post(PATH, &Value::Map(body.clone())).await?;
        tally.add(&step);
        let Some(next) = step.str_at(&["continue"]) else {
            break;
        };
        body.insert("continue", next);
        progress.set_message(tally.progress());
        progress.tick();
    }
    progress.finish_and_clear();
    match options.query.output {
        Output::Json => {
            print_line(serde_json::to_string_pretty(&tally.record()).map_err(Error::failed)?);
        }
        Output::Table => tally.lines().iter().for_each(print_line),
    }
    Ok(())
}
