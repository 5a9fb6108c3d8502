//! `include/maskwright.h` is what cbindgen makes of the source. `MASKWRIGHT_UPDATE=1` writes it anew.

use std::fs;
use std::path::Path;

#[test]
fn the_header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"));
    let builder = cbindgen::Builder::new().with_config(config.expect("cbindgen.toml is read"));
    // Modules are read with the file that declares them; one that is also named is in the header twice.
    let bindings =
        builder.with_src(folder.join("src/lib.rs")).generate().expect("the sources are read");
    let mut header = Vec::new();
    bindings.write(&mut header);
    let header = String::from_utf8(header).expect("a header is text");
    assert_eq!(header.matches("*mw_matcher_new(").count(), 1, "a function is declared twice");
    let file = folder.join("include/maskwright.h");
    if std::env::var_os("MASKWRIGHT_UPDATE").is_some() {
        fs::write(&file, &header).expect("the header is written");
    }
    let current = fs::read_to_string(&file).unwrap_or_default();
    assert!(current == header, "run this test with MASKWRIGHT_UPDATE=1 to write the header anew");
}
