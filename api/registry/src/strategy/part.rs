//! The parts of an object that subresources write.

/// The part of an object that a write changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The resource itself: all fields except those of subresources.
    Main,
    /// The `status` subresource.
    Status,
    /// The `finalize` subresource.
    Finalize,
    /// The `approval` subresource.
    Approval,
    /// The number of replicas, through the `scale` subresource.
    Scale,
    /// The node that a pod runs on, through the `binding` subresource.
    Binding,
    /// The ephemeral containers of a running pod, through the `ephemeralcontainers` subresource.
    EphemeralContainers,
    /// The resources of a running pod's containers, through the `resize` subresource.
    Resize,
}

impl Part {
    /// The part that a subresource writes; `None` for a subresource that is not a part of the
    /// object.
    #[must_use]
    pub fn of(subresource: Option<&str>) -> Option<Self> {
        match subresource {
            None => Some(Self::Main),
            Some("status") => Some(Self::Status),
            Some("finalize") => Some(Self::Finalize),
            Some("approval") => Some(Self::Approval),
            Some("ephemeralcontainers") => Some(Self::EphemeralContainers),
            Some("resize") => Some(Self::Resize),
            Some(_) => None,
        }
    }

    /// The subresource that writes this part; empty for the resource itself.
    #[must_use]
    pub fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Finalize => "finalize",
            Self::Approval => "approval",
            Self::Scale => "scale",
            Self::Binding => "binding",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
        }
    }
}
