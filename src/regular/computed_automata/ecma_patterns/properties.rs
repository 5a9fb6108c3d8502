//! The names that may stand in `\p{…}`, as ECMA-262 spells them (section 22.2.1.9, tables 66 and 67;
//! the values are those of the Unicode Character Database, `PropertyValueAliases.txt`).

use std::sync::LazyLock;

/// `General_Category`.
const CATEGORIES: &str = "\
    Cased_Letter LC Close_Punctuation Pe Connector_Punctuation Pc Control Cc cntrl \
    Currency_Symbol Sc Dash_Punctuation Pd Decimal_Number Nd digit Enclosing_Mark Me \
    Final_Punctuation Pf Format Cf Initial_Punctuation Pi Letter L Letter_Number Nl \
    Line_Separator Zl Lowercase_Letter Ll Mark M Combining_Mark Math_Symbol Sm Modifier_Letter \
    Lm Modifier_Symbol Sk Nonspacing_Mark Mn Number N Open_Punctuation Ps Other C Other_Letter \
    Lo Other_Number No Other_Punctuation Po Other_Symbol So Paragraph_Separator Zp Private_Use \
    Co Punctuation P punct Separator Z Space_Separator Zs Spacing_Mark Mc Surrogate Cs Symbol S \
    Titlecase_Letter Lt Unassigned Cn Uppercase_Letter Lu";

/// `Script` and `Script_Extensions`.
const SCRIPTS: &str = "\
    Adlam Adlm Ahom Anatolian_Hieroglyphs Hluw Arabic Arab Armenian Armn Avestan Avst Balinese \
    Bali Bamum Bamu Bassa_Vah Bass Batak Batk Bengali Beng Bhaiksuki Bhks Bopomofo Bopo Brahmi \
    Brah Braille Brai Buginese Bugi Buhid Buhd Canadian_Aboriginal Cans Carian Cari \
    Caucasian_Albanian Aghb Chakma Cakm Cham Cherokee Cher Chorasmian Chrs Common Zyyy Coptic \
    Copt Qaac Cuneiform Xsux Cypriot Cprt Cypro_Minoan Cpmn Cyrillic Cyrl Deseret Dsrt \
    Devanagari Deva Dives_Akuru Diak Dogra Dogr Duployan Dupl Egyptian_Hieroglyphs Egyp Elbasan \
    Elba Elymaic Elym Ethiopic Ethi Garay Gara Georgian Geor Glagolitic Glag Gothic Goth Grantha \
    Gran Greek Grek Gujarati Gujr Gunjala_Gondi Gong Gurmukhi Guru Gurung_Khema Gukh Han Hani \
    Hangul Hang Hanifi_Rohingya Rohg Hanunoo Hano Hatran Hatr Hebrew Hebr Hiragana Hira \
    Imperial_Aramaic Armi Inherited Qaai Zinh Inscriptional_Pahlavi Phli Inscriptional_Parthian \
    Prti Javanese Java Kaithi Kthi Kannada Knda Katakana Kana Katakana_Or_Hiragana Hrkt Kawi \
    Kayah_Li Kali Kharoshthi Khar Khitan_Small_Script Kits Khmer Khmr Khojki Khoj Khudawadi Sind \
    Kirat_Rai Krai Lao Laoo Latin Latn Lepcha Lepc Limbu Limb Linear_A Lina Linear_B Linb Lisu \
    Lycian Lyci Lydian Lydi Mahajani Mahj Makasar Maka Malayalam Mlym Mandaic Mand Manichaean \
    Mani Marchen Marc Masaram_Gondi Gonm Medefaidrin Medf Meetei_Mayek Mtei Mende_Kikakui Mend \
    Meroitic_Cursive Merc Meroitic_Hieroglyphs Mero Miao Plrd Modi Mongolian Mong Mro Mroo \
    Multani Mult Myanmar Mymr Nabataean Nbat Nag_Mundari Nagm Nandinagari Nand New_Tai_Lue Talu \
    Newa Nko Nkoo Nushu Nshu Nyiakeng_Puachue_Hmong Hmnp Ogham Ogam Ol_Chiki Olck Ol_Onal Onao \
    Old_Hungarian Hung Old_Italic Ital Old_North_Arabian Narb Old_Permic Perm Old_Persian Xpeo \
    Old_Sogdian Sogo Old_South_Arabian Sarb Old_Turkic Orkh Old_Uyghur Ougr Oriya Orya Osage \
    Osge Osmanya Osma Pahawh_Hmong Hmng Palmyrene Palm Pau_Cin_Hau Pauc Phags_Pa Phag Phoenician \
    Phnx Psalter_Pahlavi Phlp Rejang Rjng Runic Runr Samaritan Samr Saurashtra Saur Sharada Shrd \
    Shavian Shaw Siddham Sidd SignWriting Sgnw Sinhala Sinh Sogdian Sogd Sora_Sompeng Sora \
    Soyombo Soyo Sundanese Sund Sunuwar Sunu Syloti_Nagri Sylo Syriac Syrc Tagalog Tglg Tagbanwa \
    Tagb Tai_Le Tale Tai_Tham Lana Tai_Viet Tavt Takri Takr Tamil Taml Tangsa Tnsa Tangut Tang \
    Telugu Telu Thaana Thaa Thai Tibetan Tibt Tifinagh Tfng Tirhuta Tirh Todhri Todr Toto \
    Tulu_Tigalari Tutg Ugaritic Ugar Unknown Zzzz Vai Vaii Vithkuqi Vith Wancho Wcho Warang_Citi \
    Wara Yezidi Yezi Yi Yiii Zanabazar_Square Zanb";

/// Properties that a character has or has not.
const BINARY: &str = "\
    ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored \
    Bidi_M Case_Ignorable CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM \
    Changes_When_Lowercased CWL Changes_When_NFKC_Casefolded CWKCF Changes_When_Titlecased CWT \
    Changes_When_Uppercased CWU Dash Default_Ignorable_Code_Point DI Deprecated Dep Diacritic \
    Dia Emoji Emoji_Component EComp Emoji_Modifier EMod Emoji_Modifier_Base EBase \
    Emoji_Presentation EPres Extended_Pictographic ExtPict Extender Ext Grapheme_Base Gr_Base \
    Grapheme_Extend Gr_Ext Hex_Digit Hex IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST \
    ID_Continue IDC ID_Start IDS Ideographic Ideo Join_Control Join_C Logical_Order_Exception \
    LOE Lowercase Lower Math Noncharacter_Code_Point NChar Pattern_Syntax Pat_Syn \
    Pattern_White_Space Pat_WS Quotation_Mark QMark Radical Regional_Indicator RI \
    Sentence_Terminal STerm Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo \
    Uppercase Upper Variation_Selector VS White_Space space XID_Continue XIDC XID_Start XIDS";

/// All that may stand between the braces, sorted.
static ALL: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut all: Vec<String> = Vec::new();
    all.extend([CATEGORIES, BINARY].into_iter().flat_map(str::split_whitespace).map(Into::into));
    for (properties, values) in [
        (&["General_Category", "gc"][..], CATEGORIES),
        (&["Script", "sc", "Script_Extensions", "scx"][..], SCRIPTS),
    ] {
        for property in properties {
            all.extend(values.split_whitespace().map(|value| format!("{property}={value}")));
        }
    }
    all.sort_unstable();
    all.dedup();
    all
});

/// A prefix of a property name: the first name that begins with it, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PropertyPrefix {
    pub(crate) first: usize,
    pub(crate) length: usize,
}

impl PropertyPrefix {
    pub(crate) const NOTHING: Self = Self { first: 0, length: 0 };

    fn text(self) -> &'static str {
        ALL.get(self.first).map_or("", |name| &name[..self.length])
    }

    /// The prefix with one more byte; `None` if no name begins so.
    pub(crate) fn then(self, byte: u8) -> Option<Self> {
        let longer = [self.text().as_bytes(), &[byte]].concat();
        let first = ALL.partition_point(|name| name.as_bytes() < &longer[..]);
        let begins = ALL.get(first)?.as_bytes().starts_with(&longer);
        begins.then_some(Self { first, length: longer.len() })
    }

    /// Whether it is a whole name.
    pub(crate) fn is_whole(self) -> bool {
        ALL.get(self.first).is_some_and(|name| name.len() == self.length)
    }

    /// The next byte of the shortest name with this prefix; `None` if that is the prefix itself.
    pub(crate) fn onward(self) -> Option<u8> {
        let so = ALL[self.first..].iter().take_while(|name| name.starts_with(self.text()));
        so.min_by_key(|name| name.len())?.as_bytes().get(self.length).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> Option<PropertyPrefix> {
        name.bytes().try_fold(PropertyPrefix::NOTHING, PropertyPrefix::then)
    }

    #[test]
    fn names_are_those_of_ecma_262() {
        for name in ["L", "Lu", "Script=Greek", "sc=Grek", "scx=Zyyy", "gc=Nd", "Any", "EPres"] {
            assert!(read(name).is_some_and(PropertyPrefix::is_whole), "{name}");
        }
        // Loose names, blocks, and values without their property are none.
        for name in ["lu", "Greek", "IsGreek", "InGreek", "gc=Greek", "Script=", "uppercase", ""] {
            assert!(!read(name).is_some_and(PropertyPrefix::is_whole), "{name}");
        }
        assert_eq!(read("Script=Gre").and_then(PropertyPrefix::onward), Some(b'k'));
    }

    /// All but properties that `regex-syntax` has no table of.
    #[test]
    fn names_are_known_to_the_reader_of_patterns() {
        let check = |name: &str| {
            crate::regular::check(&format!("\\p{{{name}}}"), crate::regular::Dialect::Ecma)
        };
        let unknown: Vec<&String> = ALL.iter().filter(|name| check(name).is_err()).collect();
        let without = ["CWKCF", "NFKC", "Cs", "Surrogate", "Hrkt", "Katakana_", "Zzzz", "Unknown"];
        let meant = |name: &&String| without.iter().any(|part| name.contains(part));
        assert!(unknown.iter().all(meant), "{unknown:?}");
        assert!(ALL.len() > 1_500);
    }
}
