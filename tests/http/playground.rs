//! The files of the playground: types, caching, the policy of what the page may load.

use maskwright::server::ServerOptions;

use crate::model_support::hey;
use crate::{send, serve, serve_by};

#[test]
fn the_page_is_served_without_a_key_and_loads_only_itself() {
    let address = serve(hey("http-playground"), &["secret"]);
    let page = send(address, "GET / HTTP/1.1", "");
    assert_eq!(
        (page.status, page.headers["content-type"].as_str()),
        (200, "text/html; charset=utf-8")
    );
    let policy = &page.headers["content-security-policy"];
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    // Every file that the page or one of its scripts names is there, with its type.
    let mut named: Vec<String> = Vec::new();
    let mut texts = vec![page.body.clone()];
    while let Some(text) = texts.pop() {
        for part in text.split('"') {
            let path = match part.strip_prefix("./") {
                Some(script) if script.ends_with(".js") => format!("/playground/{script}"),
                _ if part.starts_with("/playground/") => part.to_owned(),
                _ => continue,
            };
            if named.contains(&path) {
                continue;
            }
            let file = send(address, &format!("GET {path} HTTP/1.1"), "");
            assert_eq!(file.status, 200, "{path}");
            let media_type = match path.rsplit_once('.').unwrap().1 {
                "js" => "text/javascript; charset=utf-8",
                "css" => "text/css; charset=utf-8",
                _ => "image/svg+xml",
            };
            assert_eq!(file.headers["content-type"], media_type, "{path}");
            assert_eq!(file.headers["x-content-type-options"], "nosniff");
            named.push(path);
            texts.push(file.body);
        }
    }
    assert_eq!(named.len(), 7, "{named:?}");
    // The API wants its key all the same.
    assert_eq!(send(address, "GET /v1/models HTTP/1.1", "").status, 401);
}

#[test]
fn a_browser_that_has_a_file_is_told_so() {
    let address = serve(hey("http-playground-tags"), &[]);
    let first = send(address, "GET /playground/app.js HTTP/1.1", "");
    let tag = &first.headers["etag"];
    let head = format!("GET /playground/app.js HTTP/1.1\r\nIf-None-Match: {tag}");
    let again = send(address, &head, "");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let head = "GET /playground/app.js HTTP/1.1\r\nIf-None-Match: \"another\"";
    assert_eq!(send(address, head, "").status, 200);
    let refused = send(address, "POST /playground/app.js HTTP/1.1", "");
    assert_eq!(refused.status, 405);
    assert_eq!(refused.json()["error"]["type"], "invalid_request_error", "{}", refused.body);
}

#[test]
fn the_playground_can_be_left_out() {
    let options = ServerOptions { without_playground: true, ..ServerOptions::default() };
    let address = serve_by(hey("http-no-playground"), options);
    for path in ["/", "/playground/app.js"] {
        assert_eq!(send(address, &format!("GET {path} HTTP/1.1"), "").status, 404, "{path}");
    }
}
