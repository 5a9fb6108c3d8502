//! The EBNF of XML 1.0 (fifth edition), section 6, on the productions of XML 1.0 itself.

use maskwright::ebnf::Dialect;

use crate::{judge, refuse};

/// All productions of the specification, as it writes them.
const XML: &str = r##"
[1]   document ::= prolog element Misc*
[2]   Char     ::= #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF] /* any Unicode character, excluding the surrogate blocks, FFFE, and FFFF. */
[3]   S        ::= (#x20 | #x9 | #xD | #xA)+
[4]   NameStartChar ::= ":" | [A-Z] | "_" | [a-z] | [#xC0-#xD6] | [#xD8-#xF6] | [#xF8-#x2FF] | [#x370-#x37D] | [#x37F-#x1FFF] | [#x200C-#x200D] | [#x2070-#x218F] | [#x2C00-#x2FEF] | [#x3001-#xD7FF] | [#xF900-#xFDCF] | [#xFDF0-#xFFFD] | [#x10000-#xEFFFF]
[4a]  NameChar ::= NameStartChar | "-" | "." | [0-9] | #xB7 | [#x0300-#x036F] | [#x203F-#x2040]
[5]   Name     ::= NameStartChar (NameChar)*
[6]   Names    ::= Name (#x20 Name)*
[7]   Nmtoken  ::= (NameChar)+
[8]   Nmtokens ::= Nmtoken (#x20 Nmtoken)*
[9]   EntityValue ::= '"' ([^%&"] | PEReference | Reference)* '"'
         |  "'" ([^%&'] | PEReference | Reference)* "'"
[10]  AttValue ::= '"' ([^<&"] | Reference)* '"'
         |  "'" ([^<&'] | Reference)* "'"
[11]  SystemLiteral ::= ('"' [^"]* '"') | ("'" [^']* "'")
[12]  PubidLiteral ::= '"' PubidChar* '"' | "'" (PubidChar - "'")* "'"
[13]  PubidChar ::= #x20 | #xD | #xA | [a-zA-Z0-9] | [-'()+,./:=?;!*#@$_%]
[14]  CharData ::= [^<&]* - ([^<&]* ']]>' [^<&]*)
[15]  Comment  ::= '<!--' ((Char - '-') | ('-' (Char - '-')))* '-->'
[16]  PI       ::= '<?' PITarget (S (Char* - (Char* '?>' Char*)))? '?>'
[17]  PITarget ::= Name - (('X' | 'x') ('M' | 'm') ('L' | 'l'))
[18]  CDSect   ::= CDStart CData CDEnd
[19]  CDStart  ::= '<![CDATA['
[20]  CData    ::= (Char* - (Char* ']]>' Char*))
[21]  CDEnd    ::= ']]>'
[22]  prolog   ::= XMLDecl? Misc* (doctypedecl Misc*)?
[23]  XMLDecl  ::= '<?xml' VersionInfo EncodingDecl? SDDecl? S? '?>'
[24]  VersionInfo ::= S 'version' Eq ("'" VersionNum "'" | '"' VersionNum '"')
[25]  Eq       ::= S? '=' S?
[26]  VersionNum ::= '1.' [0-9]+
[27]  Misc     ::= Comment | PI | S
[28]  doctypedecl ::= '<!DOCTYPE' S Name (S ExternalID)? S? ('[' intSubset ']' S?)? '>' [VC: Root Element Type]
         [WFC: External Subset]
[28a] DeclSep  ::= PEReference | S [WFC: PE Between Declarations]
[28b] intSubset ::= (markupdecl | DeclSep)*
[29]  markupdecl ::= elementdecl | AttlistDecl | EntityDecl | NotationDecl | PI | Comment [VC: Proper Declaration/PE Nesting]
         [WFC: PEs in Internal Subset]
[30]  extSubset ::= TextDecl? extSubsetDecl
[31]  extSubsetDecl ::= ( markupdecl | conditionalSect | DeclSep)*
[32]  SDDecl   ::= S 'standalone' Eq (("'" ('yes' | 'no') "'") | ('"' ('yes' | 'no') '"')) [VC: Standalone Document Declaration]
[39]  element  ::= EmptyElemTag
         | STag content ETag [WFC: Element Type Match]
         [VC: Element Valid]
[40]  STag     ::= '<' Name (S Attribute)* S? '>' [WFC: Unique Att Spec]
[41]  Attribute ::= Name Eq AttValue [VC: Attribute Value Type]
         [WFC: No External Entity References]
         [WFC: No < in Attribute Values]
[42]  ETag     ::= '</' Name S? '>'
[43]  content  ::= CharData? ((element | Reference | CDSect | PI | Comment) CharData?)*
[44]  EmptyElemTag ::= '<' Name (S Attribute)* S? '/>' [WFC: Unique Att Spec]
[45]  elementdecl ::= '<!ELEMENT' S Name S contentspec S? '>' [VC: Unique Element Type Declaration]
[46]  contentspec ::= 'EMPTY' | 'ANY' | Mixed | children
[47]  children ::= (choice | seq) ('?' | '*' | '+')?
[48]  cp       ::= (Name | choice | seq) ('?' | '*' | '+')?
[49]  choice   ::= '(' S? cp ( S? '|' S? cp )+ S? ')' [VC: Proper Group/PE Nesting]
[50]  seq      ::= '(' S? cp ( S? ',' S? cp )* S? ')' [VC: Proper Group/PE Nesting]
[51]  Mixed    ::= '(' S? '#PCDATA' (S? '|' S? Name)* S? ')*'
         | '(' S? '#PCDATA' S? ')' [VC: Proper Group/PE Nesting]
         [VC: No Duplicate Types]
[52]  AttlistDecl ::= '<!ATTLIST' S Name AttDef* S? '>'
[53]  AttDef   ::= S Name S AttType S DefaultDecl
[54]  AttType  ::= StringType | TokenizedType | EnumeratedType
[55]  StringType ::= 'CDATA'
[56]  TokenizedType ::= 'ID' [VC: ID]
         [VC: One ID per Element Type]
         [VC: ID Attribute Default]
         | 'IDREF' [VC: IDREF]
         | 'IDREFS' [VC: IDREF]
         | 'ENTITY' [VC: Entity Name]
         | 'ENTITIES' [VC: Entity Name]
         | 'NMTOKEN' [VC: Name Token]
         | 'NMTOKENS' [VC: Name Token]
[57]  EnumeratedType ::= NotationType | Enumeration
[58]  NotationType ::= 'NOTATION' S '(' S? Name (S? '|' S? Name)* S? ')' [VC: Notation Attributes]
[59]  Enumeration ::= '(' S? Nmtoken (S? '|' S? Nmtoken)* S? ')' [VC: Enumeration]
[60]  DefaultDecl ::= '#REQUIRED' | '#IMPLIED'
         | (('#FIXED' S)? AttValue) [VC: Required Attribute]
[61]  conditionalSect ::= includeSect | ignoreSect
[62]  includeSect ::= '<![' S? 'INCLUDE' S? '[' extSubsetDecl ']]>' [VC: Proper Conditional Section/PE Nesting]
[63]  ignoreSect ::= '<![' S? 'IGNORE' S? '[' ignoreSectContents* ']]>'
[64]  ignoreSectContents ::= Ignore ('<![' ignoreSectContents ']]>' Ignore)*
[65]  Ignore   ::= Char* - (Char* ('<![' | ']]>') Char*)
[66]  CharRef  ::= '&#' [0-9]+ ';'
         | '&#x' [0-9a-fA-F]+ ';' [WFC: Legal Character]
[67]  Reference ::= EntityRef | CharRef
[68]  EntityRef ::= '&' Name ';' [WFC: Entity Declared]
         [VC: Entity Declared]
[69]  PEReference ::= '%' Name ';' [VC: Entity Declared]
[70]  EntityDecl ::= GEDecl | PEDecl
[71]  GEDecl   ::= '<!ENTITY' S Name S EntityDef S? '>'
[72]  PEDecl   ::= '<!ENTITY' S '%' S Name S PEDef S? '>'
[73]  EntityDef ::= EntityValue | (ExternalID NDataDecl?)
[74]  PEDef    ::= EntityValue | ExternalID
[75]  ExternalID ::= 'SYSTEM' S SystemLiteral
         | 'PUBLIC' S PubidLiteral S SystemLiteral
[76]  NDataDecl ::= S 'NDATA' S Name [VC: Notation Declared]
[77]  TextDecl ::= '<?xml' VersionInfo? EncodingDecl S? '?>'
[78]  extParsedEnt ::= TextDecl? content
[80]  EncodingDecl ::= S 'encoding' Eq ('"' EncName '"' | "'" EncName "'" )
[81]  EncName  ::= [A-Za-z] ([A-Za-z0-9._] | '-')* /* Encoding name contains only Latin characters */
[82]  NotationDecl ::= '<!NOTATION' S Name S (ExternalID | PublicID) S? '>' [VC: Unique Notation Name]
[83]  PublicID ::= 'PUBLIC' S PubidLiteral
"##;

#[test]
fn xml_by_its_own_productions() {
    judge(
        Dialect::W3c,
        &[(
            XML,
            &[
                "<a/>",
                "<?xml version=\"1.0\"?>\n<greeting>Hello, world!</greeting>",
                "<a x='1' y = \"&lt;é\"><b/>t&#10;t<![CDATA[ <&] ]]><!-- - c --><?pi x > y?></a >\n",
                "<a>]]&gt;]</a><?xmlx?>",
                "<?xml version='1.1' encoding=\"UTF-8\" standalone='yes' ?><!DOCTYPE a SYSTEM \"a.dtd\"><a/>",
                "<!DOCTYPE a [\n<!ELEMENT a (b, (c | d)*, e?)+>\n<!ELEMENT b (#PCDATA | c)*> %p;\n\
                 <!ATTLIST a id ID #REQUIRED k (x|y) 'x' n NOTATION (v) #IMPLIED>\n\
                 <!ENTITY e \"1 &#xA9; %p;\"><!ENTITY % p PUBLIC '-//X//Y' 'u'>\n\
                 <!NOTATION v PUBLIC \"VRML 1.0\">]>\n<a>&e;</a>",
            ],
            &[
                "",
                "<a>",
                "<a b></a>",
                "<a x='<'/>",
                "<a>&</a>",
                "<a>]]></a>",
                "<a><!-- -- --></a>",
                "<a><!-- ---></a>",
                "<a><?xMl x?></a>",
                "<1/>",
                "<a/><b/>",
                "<a>\u{1}<![CDATA[\u{1}]]></a>",
                "<!DOCTYPE a [<!ELEMENT a (b,)>]><a/>",
                "<!DOCTYPE a [<!ELEMENT a (b | c, d)>]><a/>",
                "<!DOCTYPE a [<!ATTLIST a k NUMBER #IMPLIED>]><a/>",
                "<?xml encoding='UTF-8'?><a/>",
            ],
        )],
    );
}

/// Section 6, construct by construct.
#[test]
fn constructs() {
    judge(
        Dialect::W3c,
        &[
            ("a ::= | 'x' | ( ) | 'y' |", &["", "x", "y"], &["xy"]),
            ("a ::= b 'x' c\nb ::=\nc ::= /* nothing */\nd ::= 'y'", &["x"], &["", "xy"]),
            ("a ::= #x41 | #xE9 | #x1F600", &["A", "é", "😀"], &["41", ""]),
            ("a ::= [a-zA-Z] [#x30-#x39]", &["a0", "Z9"], &["0a", "é1"]),
            ("a ::= [abc] [#x41#x42#x43]", &["aA", "cC"], &["dA", "ad"]),
            ("a ::= [^a-z] [^#x30-#x39]", &["AA", "0é"], &["a0", "A0"]),
            ("a ::= [^abc]", &["d", "é"], &["a", ""]),
            ("a ::= \"string\" 'str\"ing'", &["stringstr\"ing"], &["string"]),
            ("a ::= ('x' | 'y')? 'z'", &["xz", "z"], &["x", "xyz"]),
            ("a ::= 'x' 'y' | 'z'", &["xy", "z"], &["xz"]),
            ("a ::= [a-z]+ - 'if'", &["i", "iff"], &["if", ""]),
            ("a ::= 'x'+ 'y'* /* comment\n */ b\nb ::= '-'", &["x-", "xyy-"], &["-"]),
            // Mixes of characters and ranges, as in [13] PubidChar.
            ("a ::= [-'()+,./:=?;!*#@$_%]", &["-", "#", "%"], &["a", "\""]),
            ("a ::= b | a '+' b\nb ::= [0-9]", &["1", "1+2+3"], &["+", "1+"]),
            ("a::= a.b-c\na.b-c ::= 'x'", &["x"], &["a"]),
            // A class at the end of a rule is no number of the next one.
            ("a ::= b '0' [xX]\nb ::= [01]\nc ::= [ ]\nd ::= 'y'", &["00x", "10X"], &["00", "0x"]),
            ("[1] a ::= b [01]\n[2] b ::= [eE]\n[3a] c ::= 'x'", &["e0", "E1"], &["e", "0"]),
            ("a ::= 'x'\n  [01]\nb ::= 'y'", &["x0", "x1"], &["x"]),
        ],
    );
}

#[test]
fn what_is_refused() {
    refuse(
        Dialect::W3c,
        &[
            ("a ::= 'x", (1, 7), "not closed"),
            ("a ::= /* x", (1, 7), "not closed"),
            ("a ::= [a-", (1, 7), "not closed"),
            ("a ::= 'x' | b'\nb ::= 'z'", (1, 14), "not closed"),
            ("<a> ::= 'x' [ <b> ]\n<b> ::= 'y'", (1, 13), "not an option"),
            ("a ::= [z-a]", (1, 8), "ends before"),
            ("a ::= #xFFFFFFF", (1, 7), "no such character"),
            ("a ::= #12", (1, 7), "expected `#xN`"),
            ("a ::= ('x'\nb ::= 'y'", (2, 1), "expected `)`"),
            ("a ::= nmae\nname ::= 'x'", (1, 7), "did you mean `name`"),
            ("a ::= *", (1, 7), "nothing to repeat"),
            ("a ::= 'x' - ", (1, 12), "taken away"),
            ("a ::= b - 'x'\nb ::= 'y' b?", (1, 7), "calls itself"),
            ("a ::= 'x' } 'y'", (1, 11), "unexpected `}`"),
            ("a ::= 'x'\na ::= 'y'", (2, 1), "twice"),
            ("= 'x'", (1, 1), "expected a rule"),
            ("", (1, 1), "no rule"),
        ],
    );
}

/// In the manner of SPARQL's and Turtle's grammars.
#[test]
fn terminals_and_text_that_passes() {
    const LINKS: &str = "
[1]     doc      ::=    triple*
[2] 	triple	 ::= 	subject verb object ( ',' object )* '.'
[3]     subject  ::=    IRI | '_:' /* no name */
[4]     verb     ::=    IRI | 'a'
[5.1]   object   ::=    IRI | STRING

@terminals
[18]    IRI      ::=    '<' ([^#x00-#x20<>\"{}|^`\\] | UCHAR)* '>' /* #x00=NULL */
[19]    STRING   ::=    '\"' [^#x22#xA]* '\"'
[20]    UCHAR    ::=    '\\u' HEX HEX HEX HEX
[21]    HEX      ::=    [0-9] | [A-F] | [a-f]
[22]    WS       ::=    #x20 | #x9 | #xD | #xA
[23]    COMMENT  ::=    '#' [^#xA]*
@pass ::= WS | COMMENT
";
    // Capitals make terminals where no section does.
    let capitals = LINKS.replace("@terminals\n", "").replace("@pass ::= ", "@pass: ");
    for grammar in [LINKS, &capitals] {
        judge(
            Dialect::W3c,
            &[(
                grammar,
                &[
                    "",
                    " # nothing\n ",
                    "<a><b><c>.",
                    "\n<a>\ta \"x y\" , <c\\u00e9> # end\n.\n_: a <b> .",
                ],
                &["<a> <b> <c>", "<a b> <b> <c>.", "_ : a <b>.", "<a> a \"x\\"],
            )],
        );
    }
    refuse(
        Dialect::W3c,
        &[
            ("a ::= b - 'x'\nb ::= 'y'\n@pass ' '", (1, 9), "in which text may pass"),
            ("a ::= 'y'\n@pass ' '\n@pass '\t'", (3, 1), "twice"),
        ],
    );
}

/// In the manner of XPath's and XQuery's grammars, as tools extract them.
#[test]
fn explicit_blanks() {
    const ELEMENTS: &str = "
/* version of today */
Expr     ::= Element | 'if' '(' Expr ')' | Number
Element  ::= '<' Name Enclosed* '/>'
          /* ws: explicit */
Enclosed ::= '{' Expr '}'   /* xgc: enclosed */

<?TOKENS?>

Number   ::= Digits ('.' Digits)?
          /* ws: explicit */
Digits   ::= [0-9]+
Comment  ::= '(:' (Contents | Comment)* ':)'
Contents ::= (Char+ - (Char* ('(:' | ':)') Char*))
@pass ::= S | Comment
";
    let accepted = ["<a/>", "if ( 1 )", "<a{ 1.5 }/> (: x (: y :) :)", "<a{<b/>} {1}/>", " if(1)"];
    let rejected = ["< a/>", "<a />", "1 .5", "i f(1)", "<a{1}/", "1 (: x"];
    judge(Dialect::W3c, &[(ELEMENTS, &accepted, &rejected)]);
}

#[test]
fn what_documents_and_users_add() {
    judge(
        Dialect::W3c,
        &[
            (
                "[1] Q ::= [http://www.w3.org/TR/REC-xml-names/#NT-QName]^Names\n[2] Z ::= 'x'",
                &["a", "a:b", "é-1"],
                &["", "a:", "1a", "a:b:c"],
            ),
            (
                "[1] D ::= C+\n[2] C ::= [http://www.w3.org/TR/REC-xml#NT-Char] /* xgc: xml-version */",
                &["a\n😀"],
                &["", "\u{1}"],
            ),
            ("[1] A ::= B C\n[66'] B ::= 'x'\n[66''] C ::= ['y]", &["xy", "x'"], &["x6", "xz"]),
            ("# a\na ::= 'x' # b\n// c\n (* d *) | 'y';\nb ::= 'z' ;", &["x", "y"], &["z"]),
            // Productions of XML that nothing defines, and other documents' that nothing calls.
            ("a ::= QName - k\nk ::= 'if'\nb ::= Elsewhere", &["x:y", "iff"], &["if", ":x"]),
            ("a ::= 'x' S Name", &["x y"], &["xy", "x 1"]),
            ("Name ::= 'x'\na ::= Name", &["x"], &["y"]),
            ("<s> ::= <a b> <s> | <a b>\n<a b> ::= \"x\" | \"<\"", &["x", "x<x"], &["", "y"]),
        ],
    );
    refuse(
        Dialect::W3c,
        &[
            ("a ::= [http://example.org/#NT-Foo]", (1, 7), "defined elsewhere"),
            ("a ::= { 'x' }", (1, 7), "`{` has no meaning"),
            ("a ::= b\nb ::= Elsewhere", (2, 7), "never defined"),
            ("a ::= #'[0-9]+'", (1, 7), "expected `#xN`"),
        ],
    );
}
