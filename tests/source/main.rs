//! Rules of the source text itself: layers and import cycles (`layers`), what a machine can check
//! of `docs/style.md` (`style`), and the documentation's pointers to files (`pointers`).
//!
//! The first two read `src/` with a small scanner ([`rust`]) that knows comments, strings, `use` trees and
//! paths; they need no compiler and take well under a second.

mod layers;
mod pointers;
mod rust;
mod style;
