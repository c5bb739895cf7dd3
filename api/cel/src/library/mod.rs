//! The function libraries, a file each.
