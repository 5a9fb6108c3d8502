//! ABNF, by RFC 5234 and RFC 7405, and on the grammars of other RFCs.

use maskwright::ebnf::Dialect;

use crate::{judge, refuse};

#[test]
fn sections() {
    judge(
        Dialect::Abnf,
        &[
            // RFC 5234, 2.3: strings in any case; numbers in just one.
            ("rulename = \"abc\"", &["abc", "Abc", "ABC", "aBc"], &["ab", "äbc"]),
            ("rulename = %d97 %d98 %d99", &["abc"], &["ABC", "Abc"]),
            ("rulename = %d97.98.99", &["abc"], &["Abc"]),
            ("crlf = %d13.10", &["\r\n"], &["\n"]),
            // RFC 7405, 2.1.
            ("rulename = %s\"aBc\"", &["aBc"], &["abc", "ABC"]),
            ("rulename = %i\"aBc\"", &["aBc", "abc", "ABC"], &["ab"]),
            ("rulename = %S\"aBc\"", &["aBc"], &["abc"]),
            // 3.1, 3.2: concatenation, alternatives; 2.1: names in any case.
            ("mumble = FOO bar Foo\nfoo = %x61 ; a\nbar = %x62 ; b", &["aba"], &["ab"]),
            ("a = \"foo\" / \"bar\" ; c\n  / \"baz\"", &["foo", "BAR", "baz"], &["foobar"]),
            // 3.3: incremental alternatives.
            (
                "ruleset = alt1 / alt2\nruleset =/ alt3\nruleset =/ alt4 / alt5\nalt1 = \"1\"\nalt2 = \"2\"\nalt3 = \"3\"\nalt4 = \"4\"\nalt5 = \"5\"",
                &["1", "3", "5"],
                &["6", ""],
            ),
            // 3.4: value ranges.
            ("DIGIT = %x30-39", &["0", "9"], &["a", "00"]),
            (
                "char-line = %x0D.0A %x20-7E / %b1000001 / %xE9",
                &["\r\n~", "A", "é"],
                &["\r\n", "a"],
            ),
            // 3.5: groups.
            (
                "a = elem (foo / bar) blat\nelem = \"e\"\nfoo = \"f\"\nbar = \"b\"\nblat = \"t\"",
                &["eft", "ebt"],
                &["et"],
            ),
            (
                "a = elem foo / bar blat\nelem = \"e\"\nfoo = \"f\"\nbar = \"b\"\nblat = \"t\"",
                &["ef", "bt"],
                &["eft"],
            ),
            // 3.6 to 3.8: repetition, options.
            (
                "a = *\"x\" 1*\"y\" 3*3\"z\" 1*2\"w\"",
                &["yzzzw", "xxyyzzzww"],
                &["zzzw", "yzzw", "yzzzwww"],
            ),
            ("a = 2DIGIT 3ALPHA", &["12abc"], &["1abc", "123abc"]),
            ("a = [\"x\" \"y\"] \"z\"", &["z", "xyz"], &["xz"]),
            ("a = *1(\"x\")", &["", "x"], &["xx"]),
            // A rule that is repeated in the same words, as in a collected grammar.
            (
                "a = b %x5B ; c\n  / \"; b\"\nb = \"b\"\nA =  b %x5B\n/ \"; b\" ; the same",
                &["b[", "; B"],
                &["b", ";"],
            ),
            // Names of other documents that the start does not reach.
            ("a = \"x\"\nb = token", &["x"], &["b"]),
            // 3.9: comments. Appendix B.1: core rules.
            ("a = 1*HEXDIG CRLF ; c\n", &["09afAF\r\n"], &["g\r\n"]),
            ("a = DQUOTE *(WSP / VCHAR) DQUOTE", &["\"a b\t\"", "\"\"\""], &["\"\n\""]),
            (
                "a = LWSP BIT CTL SP OCTET CHAR HTAB CR LF",
                &["1\0 \u{ff}a\t\r\n", " \r\n 0\u{7f} aa\t\r\n"],
                &["2\0 aa\t\r\n"],
            ),
            ("a = \"\"", &[""], &["a"]),
        ],
    );
}

/// RFC 3339, section 5.6, as it stands there; RFC 4648's alphabet; RFC 8259's numbers.
#[test]
fn grammars_of_other_documents() {
    let date_time = r#"
   date-time       = full-date "T" full-time
   date-fullyear   = 4DIGIT
   date-month      = 2DIGIT  ; 01-12
   date-mday       = 2DIGIT  ; 01-28, 01-29, 01-30, 01-31 based on
                             ; month/year
   time-hour       = 2DIGIT  ; 00-23
   time-minute     = 2DIGIT  ; 00-59
   time-second     = 2DIGIT  ; 00-58, 00-59, 00-60 based on leap second
                             ; rules
   time-secfrac    = "." 1*DIGIT
   time-numoffset  = ("+" / "-") time-hour ":" time-minute
   time-offset     = "Z" / time-numoffset

   partial-time    = time-hour ":" time-minute ":" time-second
                     [time-secfrac]
   full-date       = date-fullyear "-" date-month "-" date-mday
   full-time       = partial-time time-offset
"#;
    let json = r#"
JSON-text = ws value ws
ws = *( %x20 / %x09 / %x0A / %x0D )
value = false / null / true / object / array / number / string
false = %x66.61.6c.73.65   ; false
null  = %x6e.75.6c.6c      ; null
true  = %x74.72.75.65      ; true
object = begin-object [ member *( value-separator member ) ] end-object
member = string name-separator value
array = begin-array [ value *( value-separator value ) ] end-array
begin-array = ws %x5B ws
begin-object = ws %x7B ws
end-array = ws %x5D ws
end-object = ws %x7D ws
name-separator = ws %x3A ws
value-separator = ws %x2C ws
number = [ minus ] int [ frac ] [ exp ]
decimal-point = %x2E
digit1-9 = %x31-39
e = %x65 / %x45
exp = e [ minus / plus ] 1*DIGIT
frac = decimal-point 1*DIGIT
int = zero / ( digit1-9 *DIGIT )
minus = %x2D
plus = %x2B
zero = %x30
string = quotation-mark *char quotation-mark
char = unescaped /
    escape (
        %x22 /          ; "    quotation mark  U+0022
        %x5C /          ; \    reverse solidus U+005C
        %x2F /          ; /    solidus         U+002F
        %x62 / %x66 / %x6E / %x72 / %x74 /
        %x75 4HEXDIG )  ; uXXXX                U+XXXX
escape = %x5C              ; \
quotation-mark = %x22      ; "
unescaped = %x20-21 / %x23-5B / %x5D-10FFFF
"#;
    judge(
        Dialect::Abnf,
        &[
            (
                date_time,
                &["1985-04-12T23:20:50.52Z", "1996-12-19t16:39:57-08:00"],
                &["1985-04-12", "1985-04-12 23:20:50Z", "1985-4-12T23:20:50Z"],
            ),
            (
                json,
                &["{\"a\": [1, -2.5e3, \"é\\u00E9\", true, null]}", " 0 "],
                &["{a: 1}", "[1,]", "01", "TRUE", "\"\u{1}\""],
            ),
        ],
    );
}

#[test]
fn what_is_refused() {
    refuse(
        Dialect::Abnf,
        &[
            ("a = \"x", (1, 5), "not closed"),
            ("a = <any text>", (1, 5), "`any text` names no rule"),
            ("a = \"x\" / b\nb = 0<pchar>", (2, 6), "`pchar` names no rule"),
            ("a = \"x\"\nb = <c>\nc = <d\n>", (3, 5), "not closed"),
            ("a = / \"x\"", (1, 5), "expected an element"),
            ("a = \"x\" /\nb = \"y\"", (2, 1), "expected an element"),
            ("a = \"x\" ()", (1, 10), "expected an element"),
            ("a = []", (1, 6), "expected an element"),
            ("a =\nb = \"y\"", (2, 1), "expected an element"),
            ("a = %q41", (1, 5), "unknown kind"),
            ("a = %x", (1, 7), "base 16"),
            ("a = %x110000", (1, 7), "base 16"),
            ("a = %x5A-41", (1, 5), "ends before"),
            ("a = %d55296.65", (1, 5), "surrogate"),
            ("a = 3*2\"x\"", (1, 5), "exceeds"),
            ("a = 3 \"x\"", (1, 5), "nothing to repeat"),
            ("a = (\"x\"", (1, 9), "expected `)`"),
            ("a = \"x\" /", (1, 10), "expected an element"),
            ("a = \"x\" | \"y\"", (1, 9), "unexpected `|`"),
            ("a = DIGITS", (1, 5), "did you mean `DIGIT`"),
            ("a = \"x\" / b\nb = token", (2, 5), "never defined"),
            ("a =/ \"x\"", (1, 1), "not defined yet"),
            ("a = \"x\"\nA = \"y\"", (2, 1), "twice"),
            ("a = \"x  y\"\na = \"x y\"", (2, 1), "twice"),
            ("a = \"x;y\"\na = \"x;z\"", (2, 1), "twice"),
            ("a = \"x\"\na =/ \"y\"\na = \"x\"", (3, 1), "twice"),
            ("\"x\"", (1, 1), "expected a rule"),
            ("", (1, 1), "no rule"),
        ],
    );
}

/// Prose that names a rule is the rule; prose that nothing reaches is not read.
#[test]
fn prose() {
    judge(
        Dialect::Abnf,
        &[
            (
                "path = empty / <pchar> ; RFC 3986\nempty = 0<pchar>\npchar = ALPHA",
                &["", "x"],
                &["xx", "1"],
            ),
            ("a = 2<B> *1<Digit>\nb = \"b\"", &["bb", "BB7"], &["b", "b7"]),
            (
                "a = \"x\"\nquoted = <any text, see section 3>\nhost = <host, see [RFC3986], Section 3.2.2>",
                &["x"],
                &[""],
            ),
            ("a = <b>\nb = <A> / \"y\" / \"(\" a \")\"", &["y", "(y)"], &["(y"]),
        ],
    );
}

/// RFC 3986, appendix A, as it is printed.
const RFC_3986: &str = r##"
   URI           = scheme ":" hier-part [ "?" query ] [ "#" fragment ]

   hier-part     = "//" authority path-abempty
                 / path-absolute
                 / path-rootless
                 / path-empty

   URI-reference = URI / relative-ref

   absolute-URI  = scheme ":" hier-part [ "?" query ]

   relative-ref  = relative-part [ "?" query ] [ "#" fragment ]

   relative-part = "//" authority path-abempty
                 / path-absolute
                 / path-noscheme
                 / path-empty

   scheme        = ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )

   authority     = [ userinfo "@" ] host [ ":" port ]
   userinfo      = *( unreserved / pct-encoded / sub-delims / ":" )
   host          = IP-literal / IPv4address / reg-name
   port          = *DIGIT

   IP-literal    = "[" ( IPv6address / IPvFuture  ) "]"

   IPvFuture     = "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" )

   IPv6address   =                            6( h16 ":" ) ls32
                 /                       "::" 5( h16 ":" ) ls32
                 / [               h16 ] "::" 4( h16 ":" ) ls32
                 / [ *1( h16 ":" ) h16 ] "::" 3( h16 ":" ) ls32
                 / [ *2( h16 ":" ) h16 ] "::" 2( h16 ":" ) ls32
                 / [ *3( h16 ":" ) h16 ] "::"    h16 ":"   ls32
                 / [ *4( h16 ":" ) h16 ] "::"              ls32
                 / [ *5( h16 ":" ) h16 ] "::"              h16
                 / [ *6( h16 ":" ) h16 ] "::"

   h16           = 1*4HEXDIG
   ls32          = ( h16 ":" h16 ) / IPv4address
   IPv4address   = dec-octet "." dec-octet "." dec-octet "." dec-octet

   dec-octet     = DIGIT                 ; 0-9
                 / %x31-39 DIGIT         ; 10-99
                 / "1" 2DIGIT            ; 100-199
                 / "2" %x30-34 DIGIT     ; 200-249
                 / "25" %x30-35          ; 250-255

   reg-name      = *( unreserved / pct-encoded / sub-delims )

   path          = path-abempty    ; begins with "/" or is empty
                 / path-absolute   ; begins with "/" but not "//"
                 / path-noscheme   ; begins with a non-colon segment
                 / path-rootless   ; begins with a segment
                 / path-empty      ; zero characters

   path-abempty  = *( "/" segment )
   path-absolute = "/" [ segment-nz *( "/" segment ) ]
   path-noscheme = segment-nz-nc *( "/" segment )
   path-rootless = segment-nz *( "/" segment )
   path-empty    = 0<pchar>

   segment       = *pchar
   segment-nz    = 1*pchar
   segment-nz-nc = 1*( unreserved / pct-encoded / sub-delims / "@" )
                 ; non-zero-length segment without any colon ":"

   pchar         = unreserved / pct-encoded / sub-delims / ":" / "@"

   query         = *( pchar / "/" / "?" )

   fragment      = *( pchar / "/" / "?" )

   pct-encoded   = "%" HEXDIG HEXDIG

   unreserved    = ALPHA / DIGIT / "-" / "." / "_" / "~"
   reserved      = gen-delims / sub-delims
   gen-delims    = ":" / "/" / "?" / "#" / "[" / "]" / "@"
   sub-delims    = "!" / "$" / "&" / "'" / "(" / ")"
                 / "*" / "+" / "," / ";" / "="
"##;

/// RFC 5234, section 4, as it is printed.
const RFC_5234: &str = r##"
         rulelist       =  1*( rule / (*c-wsp c-nl) )

         rule           =  rulename defined-as elements c-nl
                                ; continues if next line starts
                                ;  with white space

         rulename       =  ALPHA *(ALPHA / DIGIT / "-")

         defined-as     =  *c-wsp ("=" / "=/") *c-wsp
                                ; basic rules definition and
                                ;  incremental alternatives

         elements       =  alternation *c-wsp

         c-wsp          =  WSP / (c-nl WSP)

         c-nl           =  comment / CRLF
                                ; comment or newline

         comment        =  ";" *(WSP / VCHAR) CRLF

         alternation    =  concatenation
                           *(*c-wsp "/" *c-wsp concatenation)

         concatenation  =  repetition *(1*c-wsp repetition)

         repetition     =  [repeat] element

         repeat         =  1*DIGIT / (*DIGIT "*" *DIGIT)

         element        =  rulename / group / option /
                           char-val / num-val / prose-val

         group          =  "(" *c-wsp alternation *c-wsp ")"

         option         =  "[" *c-wsp alternation *c-wsp "]"

         char-val       =  DQUOTE *(%x20-21 / %x23-7E) DQUOTE
                                ; quoted string of SP and VCHAR
                                ;  without DQUOTE

         num-val        =  "%" (bin-val / dec-val / hex-val)

         bin-val        =  "b" 1*BIT
                           [ 1*("." 1*BIT) / ("-" 1*BIT) ]
                                ; series of concatenated bit values
                                ;  or single ONEOF range

         dec-val        =  "d" 1*DIGIT
                           [ 1*("." 1*DIGIT) / ("-" 1*DIGIT) ]

         hex-val        =  "x" 1*HEXDIG
                           [ 1*("." 1*HEXDIG) / ("-" 1*HEXDIG) ]

         prose-val      =  "<" *(%x20-3D / %x3F-7E) ">"
                                ; bracketed string of SP and VCHAR
                                ;  without angles
                                ; prose description, to be used as
                                ;  last resort
"##;

/// Of RFC 7230, appendix B, with its prose for rules of other documents.
const RFC_7230: &str = r##"
   HTTP-message = start-line *( header-field CRLF ) CRLF [ message-body ]
   HTTP-name = %x48.54.54.50 ; HTTP
   HTTP-version = HTTP-name "/" DIGIT "." DIGIT
   OWS = *( SP / HTAB )
   URI-reference = <URI-reference, see [RFC3986], Section 4.1>
   absolute-URI = <absolute-URI, see [RFC3986], Section 4.3>
   authority = <authority, see [RFC3986], Section 3.2>
   field-content = field-vchar [ 1*( SP / HTAB ) field-vchar ]
   field-name = token
   field-value = *( field-content / obs-fold )
   field-vchar = VCHAR / obs-text
   header-field = field-name ":" OWS field-value OWS
   message-body = *OCTET
   method = token
   obs-fold = CRLF 1*( SP / HTAB )
   obs-text = %x80-FF
   reason-phrase = *( HTAB / SP / VCHAR / obs-text )
   start-line = status-line
   status-code = 3DIGIT
   status-line = HTTP-version SP status-code SP reason-phrase CRLF
   tchar = "!" / "#" / "$" / "%" / "&" / "'" / "*" / "+" / "-" / "." /
    "^" / "_" / "`" / "|" / "~" / DIGIT / ALPHA
   token = 1*tchar
   uri-host = <host, see [RFC3986], Section 3.2.2>
"##;

#[test]
fn grammars_of_rfcs_as_they_are_printed() {
    judge(
        Dialect::Abnf,
        &[
            (
                RFC_3986,
                &["http://a.b:80/c?d#e", "urn:", "mailto:a@b", "ftp://[::1]/x", "a:/b"],
                &["", "//a", "a b:", "http://[::g]/"],
            ),
            (
                RFC_5234,
                &["a = b\r\n", "a =/ 1*2\"x\" / <y> ; c\r\n", "a = [%x41-5A]\r\n\r\n"],
                &["a = b", "= b\r\n", "1a = b\r\n"],
            ),
            (
                RFC_7230,
                &["HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", "HTTP/1.0 404 \r\n\r\n"],
                &["http/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n"],
            ),
        ],
    );
}

/// A section with a page break in it, indented as RFCs are, with CRLF at the end of lines.
#[test]
fn page_breaks_are_blanks() {
    let page = "   pair  = name \":\" value   ; a comment\n   name  = 1*ALPHA\n\n\n\nDoe & Roe                    Standards Track                    [Page 12]\n\x0C\nRFC 9999                      Pairs                         January 2020\n\n\n   value = %x30-39 /\n           %s\"x\"\n";
    let lines = page.replace('\n', "\r\n");
    for grammar in [page, &lines] {
        judge(Dialect::Abnf, &[(grammar, &["a:1", "Ab:x"], &["a:X", ":1"])]);
    }
    // What is no header stays.
    refuse(
        Dialect::Abnf,
        &[("a = b\nx                 [Page 1]\nc = \"y\"", (1, 5), "`b` is used")],
    );
}

/// Rules of one document that another one defines, in either order, and lists of HTTP.
#[test]
fn documents_together() {
    judge(
        Dialect::Abnf,
        &[
            (
                "uri = \"//\" host\nhost = <host, see [RFC3986], Section 3.2.2>\nhost = 1*ALPHA",
                &["//ab"],
                &["//"],
            ),
            (
                "uri = \"//\" host\nhost = 1*ALPHA\nhost = <host, see [RFC3986], Section 3.2.2>",
                &["//ab"],
                &["//"],
            ),
            ("a = #b\nb = 1*DIGIT", &["", "1", "1,2", "1 ,\t22"], &[",", "1,", "1 2"]),
            ("a = 1#b\nb = 1*DIGIT\nOWS = *SP", &["1", "1, 2"], &["", "1,\t2"]),
            ("a = 2#3( \"x\" / \"y\" )", &["x,y", "x, y,x"], &["x", "x,y,x,y"]),
            ("a = #1\"x\"", &["", "x"], &["x,x"]),
        ],
    );
    refuse(
        Dialect::Abnf,
        &[
            ("a = b\nb = <b, see [X]>", (2, 5), "prose has no meaning"),
            ("a = #", (1, 5), "nothing to repeat"),
            ("a = 3#2b\nb = \"x\"", (1, 5), "exceeds"),
        ],
    );
}
