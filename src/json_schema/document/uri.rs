//! URIs, as far as references need them (RFC 3986).

/// `%41` to `A`; `None` if an escape is broken or the bytes are not UTF-8.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The parts of a URI that joining needs (RFC 3986, appendix B).
struct UriParts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

fn parts(uri: &str) -> UriParts<'_> {
    let uri = uri.split('#').next().unwrap_or_default();
    let (rest, query) = match uri.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (uri, None),
    };
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, rest))
            if scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) =>
        {
            (Some(scheme), rest)
        }
        _ => (None, rest),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        None => (None, rest),
    };
    UriParts { scheme, authority, path, query }
}

/// Resolves a reference against a base (RFC 3986, section 5.2), without its fragment.
pub(crate) fn join(base: &str, reference: &str) -> String {
    let (b, r) = (parts(base), parts(reference));
    let (scheme, authority, path, query) = if r.scheme.is_some() {
        (r.scheme, r.authority, without_dots(r.path), r.query)
    } else if r.authority.is_some() {
        (b.scheme, r.authority, without_dots(r.path), r.query)
    } else if r.path.is_empty() {
        (b.scheme, b.authority, b.path.to_owned(), r.query.or(b.query))
    } else if r.path.starts_with('/') {
        (b.scheme, b.authority, without_dots(r.path), r.query)
    } else {
        let folder = match b.path.rfind('/') {
            Some(end) => &b.path[..=end],
            None if b.authority.is_some() => "/",
            None => "",
        };
        (b.scheme, b.authority, without_dots(&format!("{folder}{}", r.path)), r.query)
    };
    let mut uri = String::new();
    if let Some(scheme) = scheme {
        uri += &format!("{scheme}:");
    }
    if let Some(authority) = authority {
        uri += &format!("//{authority}");
    }
    uri += &path;
    if let Some(query) = query {
        uri += &format!("?{query}");
    }
    uri
}

fn without_dots(path: &str) -> String {
    if !path.contains("./") && !path.ends_with('.') {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let last = path.split('/').next_back().unwrap_or_default();
    // Before the slash that a path begins with is an empty segment, which stays.
    let root = usize::from(path.starts_with('/'));
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." if kept.len() > root => {
                kept.pop();
            }
            ".." => {}
            segment => kept.push(segment),
        }
    }
    if last == "." || last == ".." {
        kept.push("");
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_follows_rfc_3986_section_5_4() {
        let base = "http://a/b/c/d;p?q";
        let table = [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d;p?q"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
            ("urn:x:y", "urn:x:y"),
        ];
        for (reference, uri) in table {
            assert_eq!(join(base, reference), uri, "{reference}");
        }
        assert_eq!(join("", "item.json"), "item.json");
        assert_eq!(join("schemas/root.json", "../other.json"), "other.json");
        assert_eq!(join("", "a/b/../../c"), "c");
        assert_eq!(join("http://h", "item.json"), "http://h/item.json");
    }
}
