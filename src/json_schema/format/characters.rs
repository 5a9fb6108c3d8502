//! Characters of host names beyond ASCII, as bodies of character classes, from the Unicode
//! Character Database: where RFC 5892 and RFC 5893 ask for properties that patterns cannot name.

/// Letters, marks and digits that RFC 5892, section 2, rules out: those that change when they are
/// normalised and folded (`Unstable`), old Hangul, and its exceptions.
pub(super) const NOT_IN_LABELS: &str = concat!(
    r"\u{AA}-\u{B5}\u{BA}\u{133}\u{140}\u{149}\u{17F}\u{1C6}-\u{1CC}\u{1F3}\u{2B0}-\u{2B8}",
    r"\u{2E0}-\u{2E4}\u{340}-\u{341}\u{343}-\u{345}\u{34F}\u{374}\u{37A}\u{3D0}-\u{3D6}",
    r"\u{3F0}-\u{3F2}\u{3F5}\u{587}\u{640}\u{675}-\u{678}\u{7FA}\u{958}-\u{95F}\u{9DC}-\u{9DF}",
    r"\u{A33}\u{A36}\u{A59}-\u{A5B}\u{A5E}\u{B5C}-\u{B5D}\u{E33}\u{EB3}\u{EDC}-\u{EDD}\u{F43}",
    r"\u{F4D}\u{F52}\u{F57}\u{F5C}\u{F69}\u{F73}\u{F75}-\u{F79}\u{F81}\u{F93}\u{F9D}\u{FA2}",
    r"\u{FA7}\u{FAC}\u{FB9}\u{10FC}\u{1100}-\u{11FF}\u{13F8}-\u{13FD}\u{17B4}-\u{17B5}",
    r"\u{180B}-\u{180F}\u{1C80}-\u{1C88}\u{1D2C}-\u{1D2E}\u{1D30}-\u{1D3A}\u{1D3C}-\u{1D4D}",
    r"\u{1D4F}-\u{1D6A}\u{1D78}\u{1D9B}-\u{1DBF}\u{1E9A}-\u{1E9B}\u{1F71}\u{1F73}\u{1F75}",
    r"\u{1F77}\u{1F79}\u{1F7B}\u{1F7D}-\u{1FA7}\u{1FB2}-\u{1FB4}\u{1FB7}-\u{1FC4}\u{1FC7}",
    r"\u{1FD3}\u{1FE3}\u{1FF2}-\u{1FF4}\u{1FF7}\u{2071}-\u{2149}\u{2C7C}-\u{2C7D}\u{2D6F}",
    r"\u{302E}-\u{303B}\u{309F}\u{30FF}\u{3131}-\u{318E}\u{A69C}-\u{A69D}\u{A770}",
    r"\u{A7F2}-\u{A7F4}\u{A7F8}-\u{A7F9}\u{A960}-\u{A97C}\u{AB5C}-\u{AB5F}\u{AB69}-\u{ABBF}",
    r"\u{D7B0}-\u{FA0D}\u{FA10}\u{FA12}\u{FA15}-\u{FA1E}\u{FA20}\u{FA22}\u{FA25}-\u{FA26}",
    r"\u{FA2A}-\u{FB1D}\u{FB1F}-\u{FE0F}\u{FE70}-\u{FE72}\u{FE74}-\u{FEFC}\u{FF10}-\u{FF5A}",
    r"\u{FF66}-\u{FFDC}\u{10781}-\u{107BA}\u{1CCF0}-\u{1CCF9}\u{1D165}-\u{1D7FF}",
    r"\u{1E030}-\u{1E06D}\u{1EE00}-\u{1FBF9}\u{2F800}-\u{2FA1D}\u{E0100}-\u{E01EF}",
);

/// Canonical combining class 9.
pub(super) const VIRAMAS: &str = concat!(
    r"\u{94D}\u{9CD}\u{A4D}\u{ACD}\u{B4D}\u{BCD}\u{C4D}\u{CCD}\u{D3B}-\u{D3C}\u{D4D}\u{DCA}",
    r"\u{E3A}\u{EBA}\u{F84}\u{1039}-\u{103A}\u{1714}-\u{1715}\u{1734}\u{17D2}\u{1A60}\u{1B44}",
    r"\u{1BAA}-\u{1BAB}\u{1BF2}-\u{1BF3}\u{2D7F}\u{A806}\u{A82C}\u{A8C4}\u{A953}\u{A9C0}",
    r"\u{AAF6}\u{ABED}\u{10A3F}\u{11046}\u{11070}\u{1107F}\u{110B9}\u{11133}-\u{11134}",
    r"\u{111C0}\u{11235}\u{112EA}\u{1134D}\u{11442}\u{114C2}\u{115BF}\u{1163F}\u{116B6}",
    r"\u{1172B}\u{11839}\u{1193D}-\u{1193E}\u{119E0}\u{11A34}\u{11A47}\u{11A99}\u{11C3F}",
    r"\u{11D44}-\u{11D45}\u{11D97}",
);

/// Joining_Type D; those of type L are among them.
pub(super) const JOINING_ON_BOTH_SIDES: &str = concat!(
    r"\u{620}\u{626}\u{628}\u{62A}-\u{62E}\u{633}-\u{647}\u{649}-\u{64A}\u{66E}-\u{66F}",
    r"\u{679}-\u{687}\u{69A}-\u{6BF}\u{6C1}-\u{6C2}\u{6CC}\u{6CE}\u{6D0}-\u{6D1}",
    r"\u{6FA}-\u{6FC}\u{6FF}\u{712}-\u{714}\u{71A}-\u{71D}\u{71F}-\u{727}\u{729}\u{72B}",
    r"\u{72D}-\u{72E}\u{74E}-\u{758}\u{75C}-\u{76A}\u{76D}-\u{770}\u{772}\u{775}-\u{777}",
    r"\u{77A}-\u{77F}\u{7CA}-\u{7EA}\u{841}-\u{845}\u{848}\u{84A}-\u{853}\u{855}\u{860}",
    r"\u{862}-\u{865}\u{868}\u{886}\u{889}-\u{88D}\u{8A0}-\u{8A9}\u{8AF}-\u{8B0}",
    r"\u{8B3}-\u{8B8}\u{8BA}-\u{8C8}\u{1820}-\u{1878}\u{1887}-\u{18A8}\u{18AA}",
    r"\u{A840}-\u{A872}\u{10AC0}-\u{10AC4}\u{10ACD}\u{10AD3}-\u{10ADC}\u{10ADE}-\u{10AE0}",
    r"\u{10B80}\u{10B82}\u{10B86}-\u{10B88}\u{10B8A}-\u{10B8B}\u{10B8D}\u{10B90}",
    r"\u{10D00}-\u{10D21}\u{10D23}\u{10F30}-\u{10F32}\u{10F34}-\u{10F44}\u{10F70}-\u{10F73}",
    r"\u{10F76}-\u{10F81}\u{10FB0}\u{10FB2}-\u{10FB3}\u{10FB8}\u{10FBB}-\u{10FBC}",
    r"\u{10FBE}-\u{10FBF}\u{10FC1}\u{10FC4}\u{1E922}-\u{1E943}",
);

/// Joining_Type R.
pub(super) const JOINING_BEFORE: &str = concat!(
    r"\u{622}-\u{625}\u{627}\u{629}\u{62F}-\u{632}\u{648}\u{671}-\u{673}\u{688}-\u{699}\u{6C0}",
    r"\u{6C3}-\u{6CB}\u{6CD}\u{6CF}\u{6D2}-\u{6D5}\u{6EE}-\u{6EF}\u{710}\u{715}-\u{719}\u{71E}",
    r"\u{728}\u{72A}\u{72C}\u{72F}\u{74D}\u{759}-\u{75B}\u{76B}-\u{76C}\u{771}\u{773}-\u{774}",
    r"\u{778}-\u{779}\u{840}\u{846}-\u{847}\u{849}\u{854}\u{856}-\u{858}\u{867}\u{869}-\u{882}",
    r"\u{88E}\u{8AA}-\u{8AC}\u{8AE}\u{8B1}-\u{8B2}\u{8B9}\u{10AC5}\u{10AC7}-\u{10ACA}",
    r"\u{10ACE}-\u{10AD2}\u{10ADD}\u{10AE1}\u{10AE4}\u{10B81}\u{10B83}-\u{10B85}\u{10B89}",
    r"\u{10B8C}\u{10B8E}-\u{10B8F}\u{10B91}\u{10D22}\u{10F33}\u{10F74}-\u{10F75}",
    r"\u{10FB4}-\u{10FB6}\u{10FB9}-\u{10FBA}\u{10FBD}\u{10FC2}-\u{10FC3}",
);

/// Bidi_Class R and AL.
pub(super) const RIGHT_TO_LEFT: &str = concat!(
    r"\u{5D0}-\u{5F4}\u{620}-\u{64A}\u{66E}-\u{66F}\u{671}-\u{6D5}\u{6E5}-\u{6E6}",
    r"\u{6EE}-\u{6EF}\u{6FA}-\u{710}\u{712}-\u{72F}\u{74D}-\u{7A5}\u{7B1}-\u{7EA}",
    r"\u{7F4}-\u{7F5}\u{800}-\u{815}\u{81A}\u{824}\u{828}\u{840}-\u{858}\u{860}-\u{88E}",
    r"\u{8A0}-\u{8C9}\u{FE73}\u{10800}-\u{10A00}\u{10A10}-\u{10A35}\u{10A60}-\u{10AE4}",
    r"\u{10B00}-\u{10D23}\u{10D4A}-\u{10D4F}\u{10D6F}-\u{10EA9}\u{10EB0}-\u{10EC4}",
    r"\u{10F00}-\u{10F45}\u{10F70}-\u{10F81}\u{10FB0}-\u{10FF6}\u{1E800}-\u{1E8C4}",
    r"\u{1E922}-\u{1E943}\u{1E94B}-\u{1E959}",
);

/// Bidi_Class ON and BN.
pub(super) const NEUTRAL: &str = concat!(
    r"\u{B7}\u{2B9}-\u{2BA}\u{2C6}-\u{2CF}\u{2EC}\u{375}\u{200C}-\u{200D}\u{2E2F}-\u{3002}",
    r"\u{30FB}\u{A67F}\u{A717}-\u{A71F}\u{A788}\u{FF61}",
);

/// Canonical compositions (Unicode Standard, section 3.11): the second character, and the first
/// characters that it is composed with.
pub(super) const COMPOSITIONS: &[(char, &str)] = &[
    (
        '\u{300}',
        concat!(
            r"\u{61}\u{65}\u{69}\u{6E}-\u{6F}\u{75}\u{77}\u{79}\u{E2}\u{EA}\u{F4}\u{FC}\u{103}",
            r"\u{113}\u{14D}\u{1A1}\u{1B0}\u{3B1}\u{3B5}\u{3B7}\u{3B9}\u{3BF}\u{3C5}",
            r"\u{3C9}-\u{3CB}\u{435}\u{438}\u{1F00}-\u{1F01}\u{1F10}-\u{1F11}\u{1F20}-\u{1F21}",
            r"\u{1F30}-\u{1F31}\u{1F40}-\u{1F41}\u{1F50}-\u{1F51}\u{1F60}-\u{1F61}",
        ),
    ),
    (
        '\u{301}',
        concat!(
            r"\u{61}\u{63}\u{65}\u{67}\u{69}\u{6B}-\u{70}\u{72}-\u{73}\u{75}\u{77}\u{79}-\u{7A}",
            r"\u{E2}\u{E5}-\u{E7}\u{EA}\u{EF}\u{F4}-\u{F5}\u{F8}\u{FC}\u{103}\u{113}\u{14D}\u{169}",
            r"\u{1A1}\u{1B0}\u{3B1}\u{3B5}\u{3B7}\u{3B9}\u{3BF}\u{3C5}\u{3C9}-\u{3CB}\u{433}",
            r"\u{43A}\u{1F00}-\u{1F01}\u{1F10}-\u{1F11}\u{1F20}-\u{1F21}\u{1F30}-\u{1F31}",
            r"\u{1F40}-\u{1F41}\u{1F50}-\u{1F51}\u{1F60}-\u{1F61}",
        ),
    ),
    (
        '\u{302}',
        concat!(
            r"\u{61}\u{63}\u{65}\u{67}-\u{6A}\u{6F}\u{73}\u{75}\u{77}\u{79}-\u{7A}\u{1EA1}\u{1EB9}",
            r"\u{1ECD}",
        ),
    ),
    (
        '\u{303}',
        concat!(
            r"\u{61}\u{65}\u{69}\u{6E}-\u{6F}\u{75}-\u{76}\u{79}\u{E2}\u{EA}\u{F4}\u{103}\u{1A1}",
            r"\u{1B0}",
        ),
    ),
    (
        '\u{304}',
        concat!(
            r"\u{61}\u{65}\u{67}\u{69}\u{6F}\u{75}\u{79}\u{E4}\u{E6}\u{F5}-\u{F6}\u{FC}\u{1EB}",
            r"\u{227}\u{22F}\u{3B1}\u{3B9}\u{3C5}\u{438}\u{443}\u{1E37}\u{1E5B}",
        ),
    ),
    (
        '\u{306}',
        concat!(
            r"\u{61}\u{65}\u{67}\u{69}\u{6F}\u{75}\u{229}\u{3B1}\u{3B9}\u{3C5}\u{430}",
            r"\u{435}-\u{436}\u{438}\u{443}\u{1EA1}",
        ),
    ),
    ('\u{307}', r"\u{61}-\u{68}\u{6D}-\u{70}\u{72}-\u{74}\u{77}-\u{7A}\u{15B}\u{161}\u{1E63}"),
    (
        '\u{308}',
        concat!(
            r"\u{61}\u{65}\u{68}-\u{69}\u{6F}\u{74}-\u{75}\u{77}-\u{79}\u{F5}\u{16B}\u{3B9}\u{3C5}",
            r"\u{430}\u{435}-\u{438}\u{43E}\u{443}\u{447}\u{44B}\u{44D}\u{456}\u{4D9}\u{4E9}",
        ),
    ),
    ('\u{309}', r"\u{61}\u{65}\u{69}\u{6F}\u{75}\u{79}\u{E2}\u{EA}\u{F4}\u{103}\u{1A1}\u{1B0}"),
    ('\u{30A}', r"\u{61}\u{75}\u{77}\u{79}"),
    ('\u{30B}', r"\u{6F}\u{75}\u{443}"),
    ('\u{30C}', r"\u{61}\u{63}-\u{65}\u{67}-\u{6C}\u{6E}-\u{6F}\u{72}-\u{75}\u{7A}\u{FC}\u{292}"),
    ('\u{30F}', r"\u{61}\u{65}\u{69}\u{6F}\u{72}\u{75}\u{475}"),
    ('\u{311}', r"\u{61}\u{65}\u{69}\u{6F}\u{72}\u{75}"),
    ('\u{313}', r"\u{3B1}\u{3B5}\u{3B7}\u{3B9}\u{3BF}\u{3C1}\u{3C5}\u{3C9}"),
    ('\u{314}', r"\u{3B1}\u{3B5}\u{3B7}\u{3B9}\u{3BF}\u{3C1}\u{3C5}\u{3C9}"),
    ('\u{31B}', r"\u{6F}\u{75}"),
    (
        '\u{323}',
        concat!(
            r"\u{61}-\u{62}\u{64}-\u{65}\u{68}-\u{69}\u{6B}-\u{6F}\u{72}-\u{77}\u{79}-\u{7A}",
            r"\u{1A1}\u{1B0}",
        ),
    ),
    ('\u{324}', r"\u{75}"),
    ('\u{325}', r"\u{61}"),
    ('\u{326}', r"\u{73}-\u{74}"),
    ('\u{327}', r"\u{63}-\u{65}\u{67}-\u{68}\u{6B}-\u{6C}\u{6E}\u{72}-\u{74}"),
    ('\u{328}', r"\u{61}\u{65}\u{69}\u{6F}\u{75}"),
    ('\u{32D}', r"\u{64}-\u{65}\u{6C}\u{6E}\u{74}-\u{75}"),
    ('\u{32E}', r"\u{68}"),
    ('\u{330}', r"\u{65}\u{69}\u{75}"),
    ('\u{331}', r"\u{62}\u{64}\u{68}\u{6B}-\u{6C}\u{6E}\u{72}\u{74}\u{7A}"),
    (
        '\u{342}',
        concat!(
            r"\u{3B1}\u{3B7}\u{3B9}\u{3C5}\u{3C9}-\u{3CB}\u{1F00}-\u{1F01}\u{1F20}-\u{1F21}",
            r"\u{1F30}-\u{1F31}\u{1F50}-\u{1F51}\u{1F60}-\u{1F61}",
        ),
    ),
    ('\u{653}', r"\u{627}"),
    ('\u{654}', r"\u{627}\u{648}\u{64A}\u{6C1}\u{6D2}\u{6D5}"),
    ('\u{655}', r"\u{627}"),
    ('\u{93C}', r"\u{928}\u{930}\u{933}"),
    ('\u{9BE}', r"\u{9C7}"),
    ('\u{9D7}', r"\u{9C7}"),
    ('\u{B3E}', r"\u{B47}"),
    ('\u{B56}', r"\u{B47}"),
    ('\u{B57}', r"\u{B47}"),
    ('\u{BBE}', r"\u{BC6}-\u{BC7}"),
    ('\u{BD7}', r"\u{B92}\u{BC6}"),
    ('\u{C56}', r"\u{C46}"),
    ('\u{CC2}', r"\u{CC6}"),
    ('\u{CD5}', r"\u{CBF}\u{CC6}\u{CCA}"),
    ('\u{CD6}', r"\u{CC6}"),
    ('\u{D3E}', r"\u{D46}-\u{D47}"),
    ('\u{D57}', r"\u{D46}"),
    ('\u{DCA}', r"\u{DD9}\u{DDC}"),
    ('\u{DCF}', r"\u{DD9}"),
    ('\u{DDF}', r"\u{DD9}"),
    ('\u{102E}', r"\u{1025}"),
    (
        '\u{1B35}',
        concat!(
            r"\u{1B05}\u{1B07}\u{1B09}\u{1B0B}\u{1B0D}\u{1B11}\u{1B3A}\u{1B3C}\u{1B3E}-\u{1B3F}",
            r"\u{1B42}",
        ),
    ),
    (
        '\u{3099}',
        concat!(
            r"\u{3046}\u{304B}\u{304D}\u{304F}\u{3051}\u{3053}\u{3055}\u{3057}\u{3059}\u{305B}",
            r"\u{305D}\u{305F}\u{3061}\u{3064}\u{3066}\u{3068}\u{306F}\u{3072}\u{3075}\u{3078}",
            r"\u{307B}\u{309D}\u{30A6}\u{30AB}\u{30AD}\u{30AF}\u{30B1}\u{30B3}\u{30B5}\u{30B7}",
            r"\u{30B9}\u{30BB}\u{30BD}\u{30BF}\u{30C1}\u{30C4}\u{30C6}\u{30C8}\u{30CF}\u{30D2}",
            r"\u{30D5}\u{30D8}\u{30DB}\u{30EF}-\u{30F2}\u{30FD}",
        ),
    ),
    (
        '\u{309A}',
        r"\u{306F}\u{3072}\u{3075}\u{3078}\u{307B}\u{30CF}\u{30D2}\u{30D5}\u{30D8}\u{30DB}",
    ),
    ('\u{110BA}', r"\u{11099}\u{1109B}\u{110A5}"),
    ('\u{11127}', r"\u{11131}-\u{11132}"),
    ('\u{1133E}', r"\u{11347}"),
    ('\u{11357}', r"\u{11347}"),
    ('\u{114B0}', r"\u{114B9}"),
    ('\u{114BA}', r"\u{114B9}"),
    ('\u{114BD}', r"\u{114B9}"),
    ('\u{115AF}', r"\u{115B8}-\u{115B9}"),
    ('\u{11930}', r"\u{11935}"),
];

/// Marks by their canonical combining class, in order; those of class 0 are left out.
pub(super) const COMBINING: &[(u8, &str)] = &[
    (1, r"\u{334}-\u{338}\u{1CD4}\u{1CE2}-\u{1CE8}\u{10A39}\u{16AF0}-\u{16AF4}\u{1BC9E}"),
    (6, r"\u{16FF0}-\u{16FF1}"),
    (
        7,
        concat!(
            r"\u{93C}\u{9BC}\u{A3C}\u{ABC}\u{B3C}\u{C3C}\u{CBC}\u{1037}\u{1B34}\u{1BE6}\u{1C37}",
            r"\u{A9B3}\u{110BA}\u{11173}\u{111CA}\u{11236}\u{112E9}\u{1133B}-\u{1133C}\u{11446}",
            r"\u{114C3}\u{115C0}\u{116B7}\u{1183A}\u{11943}\u{11D42}\u{1E94A}",
        ),
    ),
    (8, r"\u{3099}-\u{309A}"),
    (
        9,
        concat!(
            r"\u{94D}\u{9CD}\u{A4D}\u{ACD}\u{B4D}\u{BCD}\u{C4D}\u{CCD}\u{D3B}-\u{D3C}\u{D4D}",
            r"\u{DCA}\u{E3A}\u{EBA}\u{F84}\u{1039}-\u{103A}\u{1714}-\u{1715}\u{1734}\u{17D2}",
            r"\u{1A60}\u{1B44}\u{1BAA}-\u{1BAB}\u{1BF2}-\u{1BF3}\u{2D7F}\u{A806}\u{A82C}\u{A8C4}",
            r"\u{A953}\u{A9C0}\u{AAF6}\u{ABED}\u{10A3F}\u{11046}\u{11070}\u{1107F}\u{110B9}",
            r"\u{11133}-\u{11134}\u{111C0}\u{11235}\u{112EA}\u{1134D}\u{11442}\u{114C2}\u{115BF}",
            r"\u{1163F}\u{116B6}\u{1172B}\u{11839}\u{1193D}-\u{1193E}\u{119E0}\u{11A34}\u{11A47}",
            r"\u{11A99}\u{11C3F}\u{11D44}-\u{11D45}\u{11D97}",
        ),
    ),
    (10, r"\u{5B0}"),
    (11, r"\u{5B1}"),
    (12, r"\u{5B2}"),
    (13, r"\u{5B3}"),
    (14, r"\u{5B4}"),
    (15, r"\u{5B5}"),
    (16, r"\u{5B6}"),
    (17, r"\u{5B7}"),
    (18, r"\u{5B8}\u{5C7}"),
    (19, r"\u{5B9}-\u{5BA}"),
    (20, r"\u{5BB}"),
    (21, r"\u{5BC}"),
    (22, r"\u{5BD}"),
    (23, r"\u{5BF}"),
    (24, r"\u{5C1}"),
    (25, r"\u{5C2}"),
    (26, r"\u{FB1E}"),
    (27, r"\u{64B}\u{8F0}"),
    (28, r"\u{64C}\u{8F1}"),
    (29, r"\u{64D}\u{8F2}"),
    (30, r"\u{618}\u{64E}"),
    (31, r"\u{619}\u{64F}"),
    (32, r"\u{61A}\u{650}"),
    (33, r"\u{651}"),
    (34, r"\u{652}"),
    (35, r"\u{670}"),
    (36, r"\u{711}"),
    (84, r"\u{C55}"),
    (91, r"\u{C56}"),
    (103, r"\u{E38}-\u{E39}"),
    (107, r"\u{E48}-\u{E4B}"),
    (118, r"\u{EB8}-\u{EB9}"),
    (122, r"\u{EC8}-\u{ECB}"),
    (129, r"\u{F71}"),
    (130, r"\u{F72}\u{F7A}-\u{F7D}\u{F80}"),
    (132, r"\u{F74}"),
    (202, r"\u{321}-\u{322}\u{327}-\u{328}\u{1DD0}"),
    (214, r"\u{1DCE}"),
    (216, r"\u{31B}\u{F39}"),
    (218, r"\u{1DFA}\u{302A}"),
    (
        220,
        concat!(
            r"\u{316}-\u{319}\u{31C}-\u{320}\u{323}-\u{326}\u{329}-\u{333}\u{339}-\u{33C}",
            r"\u{347}-\u{349}\u{34D}-\u{34E}\u{353}-\u{356}\u{359}-\u{35A}\u{591}\u{596}\u{59B}",
            r"\u{5A2}-\u{5A7}\u{5AA}\u{5C5}\u{655}-\u{656}\u{65C}\u{65F}\u{6E3}\u{6EA}\u{6ED}",
            r"\u{731}\u{734}\u{737}-\u{739}\u{73B}-\u{73C}\u{73E}\u{742}\u{744}\u{746}\u{748}",
            r"\u{7F2}\u{7FD}\u{859}-\u{85B}\u{899}-\u{89B}\u{8CF}-\u{8D3}\u{8E3}\u{8E6}\u{8E9}",
            r"\u{8ED}-\u{8EF}\u{8F6}\u{8F9}-\u{8FA}\u{952}\u{F18}-\u{F19}\u{F35}-\u{F37}\u{FC6}",
            r"\u{108D}\u{193B}\u{1A18}\u{1A7F}\u{1AB5}-\u{1ABA}\u{1ABD}-\u{1AC0}\u{1AC3}-\u{1AC4}",
            r"\u{1ACA}\u{1B6C}\u{1CD5}-\u{1CD9}\u{1CDC}-\u{1CDF}\u{1CED}\u{1DC2}\u{1DCA}\u{1DCF}",
            r"\u{1DF9}\u{1DFD}\u{1DFF}\u{A92B}-\u{A92D}\u{AAB4}\u{FE27}-\u{FE2D}\u{101FD}\u{102E0}",
            r"\u{10A0D}\u{10A3A}\u{10AE6}\u{10F46}-\u{10F47}\u{10F4B}\u{10F4D}-\u{10F50}\u{10F83}",
            r"\u{10F85}\u{1E8D0}-\u{1E8D6}",
        ),
    ),
    (222, r"\u{59A}\u{5AD}\u{1939}\u{302D}"),
    (228, r"\u{5AE}\u{18A9}\u{1DF7}-\u{1DF8}\u{302B}"),
    (
        230,
        concat!(
            r"\u{300}-\u{314}\u{33D}-\u{346}\u{34A}-\u{34C}\u{350}-\u{352}\u{357}\u{35B}",
            r"\u{363}-\u{36F}\u{483}-\u{487}\u{592}-\u{595}\u{597}-\u{599}\u{59C}-\u{5A1}",
            r"\u{5A8}-\u{5A9}\u{5AB}-\u{5AC}\u{5AF}\u{5C4}\u{610}-\u{617}\u{653}-\u{654}",
            r"\u{657}-\u{65B}\u{65D}-\u{65E}\u{6D6}-\u{6E2}\u{6E4}\u{6E7}-\u{6E8}\u{6EB}-\u{6EC}",
            r"\u{730}\u{732}-\u{733}\u{735}-\u{736}\u{73A}\u{73D}\u{73F}-\u{741}\u{743}\u{745}",
            r"\u{747}\u{749}-\u{74A}\u{7EB}-\u{7F1}\u{7F3}\u{816}-\u{819}\u{81B}-\u{823}",
            r"\u{825}-\u{827}\u{829}-\u{82D}\u{898}\u{89C}-\u{89F}\u{8CA}-\u{8CE}\u{8D4}-\u{8E1}",
            r"\u{8E4}-\u{8E5}\u{8E7}-\u{8E8}\u{8EA}-\u{8EC}\u{8F3}-\u{8F5}\u{8F7}-\u{8F8}",
            r"\u{8FB}-\u{8FF}\u{951}\u{953}-\u{954}\u{9FE}\u{F82}-\u{F83}\u{F86}-\u{F87}",
            r"\u{135D}-\u{135F}\u{17DD}\u{193A}\u{1A17}\u{1A75}-\u{1A7C}\u{1AB0}-\u{1AB4}",
            r"\u{1ABB}-\u{1ABC}\u{1AC1}-\u{1AC2}\u{1AC5}-\u{1AC9}\u{1ACB}-\u{1ACE}\u{1B6B}",
            r"\u{1B6D}-\u{1B73}\u{1CD0}-\u{1CD2}\u{1CDA}-\u{1CDB}\u{1CE0}\u{1CF4}\u{1CF8}-\u{1CF9}",
            r"\u{1DC0}-\u{1DC1}\u{1DC3}-\u{1DC9}\u{1DCB}-\u{1DCC}\u{1DD1}-\u{1DF5}\u{1DFB}\u{1DFE}",
            r"\u{2CEF}-\u{2CF1}\u{2DE0}-\u{2DFF}\u{A66F}-\u{A67D}\u{A69E}-\u{A69F}",
            r"\u{A6F0}-\u{A6F1}\u{A8E0}-\u{A8F1}\u{AAB0}\u{AAB2}-\u{AAB3}\u{AAB7}-\u{AAB8}",
            r"\u{AABE}-\u{AABF}\u{AAC1}\u{FE20}-\u{FE26}\u{FE2E}-\u{FE2F}\u{10376}-\u{1037A}",
            r"\u{10A0F}\u{10A38}\u{10AE5}\u{10D24}-\u{10D27}\u{10EAB}-\u{10EAC}\u{10F48}-\u{10F4A}",
            r"\u{10F4C}\u{10F82}\u{10F84}\u{11100}-\u{11102}\u{11366}-\u{11374}\u{1145E}",
            r"\u{16B30}-\u{16B36}\u{1E000}-\u{1E02A}\u{1E130}-\u{1E136}\u{1E2AE}",
            r"\u{1E2EC}-\u{1E2EF}\u{1E944}-\u{1E949}",
        ),
    ),
    (232, r"\u{315}\u{31A}\u{358}\u{1DF6}\u{302C}"),
    (233, r"\u{35C}\u{35F}\u{362}\u{1DFC}"),
    (234, r"\u{35D}-\u{35E}\u{360}-\u{361}\u{1DCD}"),
];
