//! TokenReview: the user of a token, and whether it is for the audience that asks.
//!
//! Invariant: the token is checked exactly as one that comes as a credential, and what is wrong
//! with it is told in the status, never by an error of the request.

use quorate_meta::{Map, Value};

use super::{user_info, with_status};
use crate::Api;
use quorate_access::authentication::StateRequirement;
use quorate_registry::error::Error;

/// The review with its verdict.
pub(super) async fn answer(api: &Api, object: Value) -> Result<Value, Error> {
    let token = object.str_at(&["spec", "token"]).unwrap_or_default().to_owned();
    if token.is_empty() {
        return Err(Error::bad_request("token is required for TokenReview in authentication"));
    }
    let audiences = object.at(&["spec", "audiences"]).and_then(Value::as_list).unwrap_or_default();
    let mut audiences: Vec<String> =
        audiences.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let authentication = &api.authentication;
    if audiences.is_empty() {
        audiences.clone_from(&authentication.service_accounts.options().audiences);
    }
    let now_ms = api.env.clock.now_ms();
    let status = match authentication
        .token(&*api.store, now_ms, &token, &audiences, StateRequirement::Confirmed)
        .await?
    {
        Ok(accepted) => Map::from([
            ("authenticated", Value::from(true)),
            ("user", user_info::of(&accepted.user).into()),
            ("audiences", accepted.audiences.into()),
        ]),
        Err(refusal) => {
            Map::from([("error", Value::from(refusal.to_string())), ("user", Map::new().into())])
        }
    };
    Ok(with_status(object, status))
}
