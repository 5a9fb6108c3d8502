//! Compiled constraints and matchers: states, masks, rollback.
