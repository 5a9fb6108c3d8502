//! Admission: bounds on what one client may take of the server, in the order in which they apply.
//!
//! ```text
//! connections   how many, and how long one may stay silent     (before any byte is read)
//! api_keys      whether a request may be answered              (from its head)
//! bodies        how large one may be, how large all together   (while it is read)
//! bounds        the numbers
//! ```

mod api_keys;
mod bodies;
mod bounds;
mod connections;

pub(super) use api_keys::ApiKeys;
pub(super) use bodies::{BodyPermit, BodyReader};
pub use bounds::{DecisionBounds, GenerationBounds, ServerBounds};
pub(super) use connections::serve;
