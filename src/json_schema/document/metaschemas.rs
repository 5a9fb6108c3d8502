//! The metaschemas of every draft, as json-schema.org publishes them (3-clause BSD or Academic
//! Free License 3.0), for schemas that refer to them.

/// By the URI without its fragment.
pub(super) const TEXTS: &[(&str, &str)] = &[
    ("http://json-schema.org/draft-04/schema", include_str!("metaschemas/draft-04.json")),
    ("http://json-schema.org/draft-06/schema", include_str!("metaschemas/draft-06.json")),
    ("http://json-schema.org/draft-07/schema", include_str!("metaschemas/draft-07.json")),
    ("https://json-schema.org/draft/2019-09/schema", include_str!("metaschemas/2019-09.json")),
    (
        "https://json-schema.org/draft/2019-09/meta/core",
        include_str!("metaschemas/2019-09-core.json"),
    ),
    (
        "https://json-schema.org/draft/2019-09/meta/applicator",
        include_str!("metaschemas/2019-09-applicator.json"),
    ),
    (
        "https://json-schema.org/draft/2019-09/meta/validation",
        include_str!("metaschemas/2019-09-validation.json"),
    ),
    (
        "https://json-schema.org/draft/2019-09/meta/meta-data",
        include_str!("metaschemas/2019-09-meta-data.json"),
    ),
    (
        "https://json-schema.org/draft/2019-09/meta/format",
        include_str!("metaschemas/2019-09-format.json"),
    ),
    (
        "https://json-schema.org/draft/2019-09/meta/content",
        include_str!("metaschemas/2019-09-content.json"),
    ),
    ("https://json-schema.org/draft/2020-12/schema", include_str!("metaschemas/2020-12.json")),
    (
        "https://json-schema.org/draft/2020-12/meta/core",
        include_str!("metaschemas/2020-12-core.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/applicator",
        include_str!("metaschemas/2020-12-applicator.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/unevaluated",
        include_str!("metaschemas/2020-12-unevaluated.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/validation",
        include_str!("metaschemas/2020-12-validation.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/meta-data",
        include_str!("metaschemas/2020-12-meta-data.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/format-annotation",
        include_str!("metaschemas/2020-12-format-annotation.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/format-assertion",
        include_str!("metaschemas/2020-12-format-assertion.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/content",
        include_str!("metaschemas/2020-12-content.json"),
    ),
];

#[cfg(test)]
mod tests {
    use super::super::METASCHEMAS;
    use super::*;

    #[test]
    fn all_are_well_formed_and_named_as_they_are_filed() {
        assert_eq!(METASCHEMAS.supplied().count(), TEXTS.len());
        for (uri, root) in METASCHEMAS.supplied() {
            let id = METASCHEMAS.get(root, "$id").or_else(|| METASCHEMAS.get(root, "id")).unwrap();
            let id = METASCHEMAS.string(id).unwrap();
            assert_eq!(id.trim_end_matches('#'), uri);
        }
    }
}
