//! Rules of the source text itself: layers and import cycles (`layers`), and what a machine
//! can check of `docs/style.md` (`style`).
//!
//! Both read `src/` with a small scanner ([`rust`]) that knows comments, strings, `use` trees and
//! paths; they need no compiler and take well under a second.

mod layers;
mod rust;
mod style;
