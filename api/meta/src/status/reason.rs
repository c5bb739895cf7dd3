//! Reasons of a Status (`StatusReason`), each with its HTTP status code.

/// Why a request failed, for clients to match on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// No reason given; left out of the body.
    #[default]
    Unknown,
    /// 400: the request cannot be understood.
    BadRequest,
    /// 401: no valid credentials.
    Unauthorized,
    /// 403: understood, refused.
    Forbidden,
    /// 404: no such object or path.
    NotFound,
    /// 405: the path does not take this method.
    MethodNotAllowed,
    /// 406: no media type that the client accepts can be produced.
    NotAcceptable,
    /// 409: the name is in use.
    AlreadyExists,
    /// 409: the object has changed, or another manager owns a field.
    Conflict,
    /// 410: the object is gone for good.
    Gone,
    /// 410: the revision or continue token is too old.
    Expired,
    /// 413: body or object too large.
    RequestEntityTooLarge,
    /// 415: the media type of the body is not accepted here.
    UnsupportedMediaType,
    /// 422: the object is not valid.
    Invalid,
    /// 429: try again later.
    TooManyRequests,
    /// 500: an internal error.
    InternalError,
    /// 503: cannot be served now.
    ServiceUnavailable,
    /// 500: not done within the server's own time; the client may retry.
    ServerTimeout,
    /// 504: not done within the time of the request.
    Timeout,
    /// 507: the database has reached its size limit.
    StorageFull,
    /// Any other text, as webhooks may return.
    Other(String),
}

impl Reason {
    /// The text in the body; empty for `Unknown`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unknown => "",
            Self::BadRequest => "BadRequest",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Gone => "Gone",
            Self::Expired => "Expired",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::Invalid => "Invalid",
            Self::TooManyRequests => "TooManyRequests",
            Self::InternalError => "InternalError",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::ServerTimeout => "ServerTimeout",
            Self::Timeout => "Timeout",
            Self::StorageFull => "StorageFull",
            Self::Other(text) => text,
        }
    }

    /// The HTTP status code that goes with the reason; 500 for those that have none of their own.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::AlreadyExists | Self::Conflict => 409,
            Self::Gone | Self::Expired => 410,
            Self::RequestEntityTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Invalid => 422,
            Self::TooManyRequests => 429,
            Self::Unknown | Self::InternalError | Self::ServerTimeout | Self::Other(_) => 500,
            Self::ServiceUnavailable => 503,
            Self::Timeout => 504,
            Self::StorageFull => 507,
        }
    }
}
