//! The Rust examples of pages, as documentation tests. In a crate of its own, because a published package contains only
//! files of its folder.

#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../docs/registering.md")]
    struct Registering;
}
