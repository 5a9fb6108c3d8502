//! Arrays of which all items must differ, against a plain comparison of JSON values.
