//! Keywords for numbers: bounds and `multipleOf`.

use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::document::draft::Draft;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::keywords::values::number_at;
use crate::json_schema::number::multiple_of::grid::MultipleGrid;
use crate::json_schema::number::{BoundSide, Decimal, NumberSet};
use crate::json_schema::set::Sets;
use crate::json_schema::set::keyword_reader::KeywordReader;

/// The numbers that a schema accepts (Validation, section 6.2).
pub(crate) fn number_set(
    sets: &mut Sets<'_>,
    reader: &KeywordReader<'_>,
    fractions: bool,
) -> Result<NumberSet> {
    let pointed = reader.dialect.integers_may_have_points();
    let mut set = if fractions {
        sets.numbers.all()
    } else {
        sets.numbers.integers(&mut sets.languages, pointed)
    };
    for (keyword, exclusive, side) in [
        ("minimum", "exclusiveMinimum", BoundSide::Above),
        ("maximum", "exclusiveMaximum", BoundSide::Below),
    ] {
        let mut inclusive = true;
        if let Some(at) = reader.get(exclusive) {
            match sets.document.value(at) {
                Value::Bool(strict) if reader.dialect.exclusive_may_be_boolean() => {
                    inclusive = !strict;
                }
                Value::Number(_) if reader.dialect.draft > Draft::Draft4 => {
                    let value = number_at(sets, at, exclusive)?;
                    let bound = sets.numbers.bound(&mut sets.languages, &value, side, false);
                    set = sets.numbers.and(&mut sets.languages, set, bound);
                }
                _ => {
                    let type_ =
                        if reader.dialect.draft > Draft::Draft4 { "a number" } else { "a boolean" };
                    return Err(sets.malformed(at, format!("`{exclusive}` must be {type_}")));
                }
            }
        }
        if let Some(at) = reader.get(keyword) {
            let value = number_at(sets, at, keyword)?;
            let bound = sets.numbers.bound(&mut sets.languages, &value, side, inclusive);
            set = sets.numbers.and(&mut sets.languages, set, bound);
        }
    }
    if let Some(at) = reader.get("multipleOf") {
        let divisor = divisor_at(sets, at)?;
        let Some(multiples) = sets.numbers.multiples(&mut sets.languages, &divisor) else {
            return Err(too_long_a_divisor(sets, at));
        };
        set = sets.numbers.and(&mut sets.languages, set, multiples);
    }
    Ok(set)
}

/// The number that `multipleOf` holds.
pub(crate) fn divisor_at(sets: &Sets<'_>, at: ValueId) -> Result<Decimal> {
    let divisor = number_at(sets, at, "multipleOf")?;
    if divisor.is_zero() || divisor.is_negative() {
        return Err(sets.malformed(at, "`multipleOf` must be greater than 0"));
    }
    match MultipleGrid::multiples(&divisor) {
        Some(_) => Ok(divisor),
        None => Err(too_long_a_divisor(sets, at)),
    }
}

fn too_long_a_divisor(sets: &Sets<'_>, at: ValueId) -> Error {
    let message = "`multipleOf` has more than 1,000 digits, or is beyond 1e±1000";
    let error = sets.document.error(ErrorKind::Limit, at, message);
    error.with_help("keep it to what a double holds: 17 digits, 1e-308 to 1e308")
}
