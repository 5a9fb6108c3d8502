//! Keywords for arrays: `prefixItems`, `items`, `contains`, `uniqueItems` and their bounds.

use crate::error::Result;
use crate::json_schema::document::Value;
use crate::json_schema::keywords::values::{count_of, schema_list};
use crate::json_schema::set::Sets;
use crate::json_schema::set::array_set::{ArraySet, ContainsCount, ItemEquality};
use crate::json_schema::set::keyword_reader::KeywordReader;

/// The arrays that a schema accepts (Validation, section 6.4; Core, section 10.3.1); `None` if its
/// bounds leave none.
pub(crate) fn array_set(
    sets: &mut Sets<'_>,
    reader: &KeywordReader<'_>,
) -> Result<Option<ArraySet>> {
    let mut array = ArraySet {
        min: count_of(sets, reader, "minItems")?.unwrap_or(0),
        max: count_of(sets, reader, "maxItems")?,
        ..ArraySet::any()
    };
    if let Some(at) = reader.get("prefixItems") {
        array.prefix = schema_list(sets, at, "prefixItems")?;
    }
    if let Some(at) = reader.get("items") {
        match sets.document.value(at) {
            Value::Array(items) if reader.dialect.items_may_be_array() => {
                array.prefix = items.iter().map(|&i| sets.schema(i)).collect::<Result<_>>()?;
                if let Some(at) = reader.get("additionalItems") {
                    array.rest = sets.schema(at)?;
                }
            }
            Value::Array(_) => {
                let message = "`items` must be a schema";
                return Err(sets.malformed(at, message));
            }
            _ => array.rest = sets.schema(at)?,
        }
    }
    if let Some(at) = reader.get("uniqueItems") {
        match sets.document.value(at) {
            Value::Bool(true) => array.equality = ItemEquality::Never,
            Value::Bool(false) => {}
            _ => return Err(sets.malformed(at, "`uniqueItems` must be a boolean")),
        }
    }
    if let Some(at) = reader.get("contains") {
        let min = count_of(sets, reader, "minContains")?.unwrap_or(1);
        let max = count_of(sets, reader, "maxContains")?;
        let set = sets.schema(at)?;
        match max {
            Some(max) if max < min => return Ok(None),
            Some(0) => {
                let not = sets.not(set);
                for item in array.prefix.iter_mut().chain([&mut array.rest]) {
                    *item = sets.and([*item, not]);
                }
            }
            None if min == 0 => {}
            _ => array.contains_counts.push(ContainsCount { from: 0, set, min, max }),
        }
    }
    let keywords =
        ["minItems", "maxItems", "prefixItems", "items", "contains", "uniqueItems", "type"];
    array.origins = reader.origins(&keywords);
    Ok(Some(array))
}
