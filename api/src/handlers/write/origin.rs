//! The origin that a request's changes are kept with.

use http::header::USER_AGENT;
use quorate_access::authentication::User;
use quorate_access::request::Verb;
use quorate_meta::well_known::{MEDIA_APPLY_PATCH, MEDIA_APPLY_PATCH_CBOR};
use quorate_registry::{OriginHead, RequestOrigin, UserInfo};

use super::decode::media_type;
use crate::handlers::Request;

/// The origin of what the request writes.
pub(in crate::handlers) fn origin_of(request: &Request<'_>) -> OriginHead {
    let info = request.info;
    let is_apply = info.verb == Verb::Patch
        && [MEDIA_APPLY_PATCH, MEDIA_APPLY_PATCH_CBOR].contains(&&*media_type(request));
    OriginHead::of_request(&RequestOrigin {
        user: user_info(request.user),
        impersonator: request.original_user.map(|user| user_info(user)),
        user_agent: request.header(USER_AGENT.as_str()).unwrap_or_default(),
        audit_id: request.record.id().to_str().unwrap_or_default(),
        verb: if is_apply { "apply" } else { info.verb.name() },
        subresource: info.subresource.as_deref().unwrap_or_default(),
        force: is_apply && info.query.flag("force") == Some(true),
    })
}

/// The user as origins and reviews have it.
pub(in crate::handlers) fn user_info(user: &User) -> UserInfo<'_> {
    let User { name, uid, groups, extra } = user;
    UserInfo { name, uid, groups, extra }
}
