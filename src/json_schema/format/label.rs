//! Which labels A-labels may stand for: the rules of RFC 5891, section 4.2, for one label.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::characters::{
    COMBINING, COMPOSITIONS, JOINING_BEFORE, JOINING_ON_BOTH_SIDES, NEUTRAL, NOT_IN_LABELS,
    RIGHT_TO_LEFT, VIRAMAS,
};

/// Characters by the properties that the rules ask for.
struct Characters {
    /// RFC 5892, section 2: valid in every context.
    valid: ClassUnicode,
    marks: ClassUnicode,
    /// Of Bidi_Class NSM.
    nonspacing: ClassUnicode,
    viramas: ClassUnicode,
    both_sides: ClassUnicode,
    before: ClassUnicode,
    greek: ClassUnicode,
    hebrew: ClassUnicode,
    japanese: ClassUnicode,
    right_to_left: ClassUnicode,
    arabic_numbers: ClassUnicode,
    numbers: ClassUnicode,
    neutral: ClassUnicode,
    /// By combining class.
    combining: Vec<(u8, ClassUnicode)>,
    /// The second character of a composition, and the first ones.
    compositions: Vec<(char, ClassUnicode)>,
}

static CHARACTERS: LazyLock<Characters> = LazyLock::new(|| Characters {
    valid: class(&format!(
        r"[\p{{Ll}}\p{{Lo}}\p{{Lm}}\p{{Mn}}\p{{Mc}}\p{{Nd}}\-\x{{6FD}}\x{{6FE}}\x{{F0B}}\x{{3007}}\x{{13A0}}-\x{{13F5}}--[{NOT_IN_LABELS}{ARABIC}{EXTENDED}]]"
    )),
    marks: class(r"\p{M}"),
    nonspacing: class(r"\p{Mn}"),
    viramas: class(&format!("[{VIRAMAS}]")),
    both_sides: class(&format!("[{JOINING_ON_BOTH_SIDES}]")),
    before: class(&format!("[{JOINING_ON_BOTH_SIDES}{JOINING_BEFORE}]")),
    greek: class(r"\p{Greek}"),
    hebrew: class(r"\p{Hebrew}"),
    japanese: class(r"[\p{Hiragana}\p{Katakana}\p{Han}]"),
    right_to_left: class(&format!("[{RIGHT_TO_LEFT}]")),
    arabic_numbers: class(r"[\x{660}-\x{669}\x{10D30}-\x{10D39}\x{10D40}-\x{10D49}]"),
    numbers: class(&format!("[0-9{EXTENDED}]")),
    neutral: class(&format!("[{NEUTRAL}]")),
    combining: COMBINING
        .iter()
        .map(|&(value, marks)| (value, class(&format!("[{marks}]"))))
        .collect(),
    compositions: COMPOSITIONS
        .iter()
        .map(|&(second, first)| (second, class(&format!("[{first}]"))))
        .collect(),
});

/// Arabic-Indic and extended Arabic-Indic digits (RFC 5892, appendix A.8 and A.9).
const ARABIC: &str = r"\u{660}-\u{669}";
const EXTENDED: &str = r"\u{6F0}-\u{6F9}";

/// The characters of a class. Patterns of our own, which a test reads.
fn class(pattern: &str) -> ClassUnicode {
    match regex_syntax::parse(pattern).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // A class of one character comes back as a literal.
        Ok(HirKind::Literal(literal)) => {
            let one = String::from_utf8_lossy(&literal.0).into_owned();
            ClassUnicode::new(one.chars().map(|c| ClassUnicodeRange::new(c, c)))
        }
        _ => ClassUnicode::empty(),
    }
}

fn has(class: &ClassUnicode, c: char) -> bool {
    class
        .ranges()
        .binary_search_by(|range| match () {
            () if range.end() < c => std::cmp::Ordering::Less,
            () if range.start() > c => std::cmp::Ordering::Greater,
            () => std::cmp::Ordering::Equal,
        })
        .is_ok()
}

/// Is it a label beyond ASCII that a name may have?
pub(super) fn is_valid(label: &[char]) -> bool {
    let characters = &*CHARACTERS;
    let (Some(&first), Some(&last)) = (label.first(), label.last()) else { return false };
    let hyphens = first == '-' || last == '-' || label.get(2..4) == Some(&['-', '-']);
    !label.iter().all(char::is_ascii)
        && !hyphens
        && !has(&characters.marks, first)
        && (0..label.len()).all(|at| characters.allow(label, at))
        && characters.is_of_one_direction(label)
        && characters.is_normal(label)
}

impl Characters {
    /// RFC 5892, appendix A.
    fn allow(&self, label: &[char], at: usize) -> bool {
        let before = at.checked_sub(1).map(|before| label[before]);
        let after = label.get(at + 1).copied();
        let any = |range: std::ops::RangeInclusive<char>| label.iter().any(|c| range.contains(c));
        let virama = before.is_some_and(|c| has(&self.viramas, c));
        match label[at] {
            '\u{200C}' => virama || self.joins(label, at),
            '\u{200D}' => virama,
            '\u{B7}' => before == Some('l') && after == Some('l'),
            '\u{375}' => after.is_some_and(|c| has(&self.greek, c)),
            '\u{5F3}' | '\u{5F4}' => before.is_some_and(|c| has(&self.hebrew, c)),
            '\u{30FB}' => label.iter().any(|&c| has(&self.japanese, c)),
            '\u{660}'..='\u{669}' => !any('\u{6F0}'..='\u{6F9}'),
            '\u{6F0}'..='\u{6F9}' => !any('\u{660}'..='\u{669}'),
            c => has(&self.valid, c),
        }
    }

    /// Does the character stand between two that it keeps from joining? Marks are transparent.
    fn joins(&self, label: &[char], at: usize) -> bool {
        let joining = |&&c: &&char| !has(&self.nonspacing, c);
        let before = label[..at].iter().rev().find(joining);
        let after = label[at + 1..].iter().find(joining);
        before.is_some_and(|&c| has(&self.both_sides, c))
            && after.is_some_and(|&c| has(&self.before, c))
    }

    /// RFC 5893, section 2, for a label by itself.
    fn is_of_one_direction(&self, label: &[char]) -> bool {
        let right = |c: char| has(&self.right_to_left, c);
        let arabic = |c: char| has(&self.arabic_numbers, c);
        let number = |c: char| has(&self.numbers, c);
        let between = |c: char| c == '-' || has(&self.neutral, c) || has(&self.nonspacing, c);
        if !label.iter().any(|&c| right(c) || arabic(c)) {
            return true;
        }
        let last = label.iter().rev().find(|&&c| !has(&self.nonspacing, c));
        right(label[0])
            && label.iter().all(|&c| right(c) || arabic(c) || number(c) || between(c))
            && last.is_some_and(|&c| right(c) || arabic(c) || number(c))
            && !(label.iter().any(|&c| arabic(c)) && label.iter().any(|&c| number(c)))
    }

    fn combining_class(&self, c: char) -> u8 {
        self.combining.iter().find(|(_, marks)| has(marks, c)).map_or(0, |&(class, _)| class)
    }

    /// Normalization Form C (Unicode Standard Annex 15): marks are in order, and nothing is left to
    /// be composed.
    fn is_normal(&self, label: &[char]) -> bool {
        let (mut starter, mut last) = (None, 0);
        for &c in label {
            let class = self.combining_class(c);
            if class != 0 && class < last {
                return false;
            }
            // What stands between keeps the two apart unless its class is lower.
            if let Some((first, adjacent)) = starter
                && (adjacent || last < class)
                && self
                    .compositions
                    .iter()
                    .any(|(second, firsts)| *second == c && has(firsts, first))
            {
                return false;
            }
            starter = match class {
                0 => Some((c, true)),
                _ => starter.map(|(first, _)| (first, false)),
            };
            last = class;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_follow_their_rules() {
        for label in [
            "bücher",
            "他们",
            "l·l",
            "α͵β",
            "א׳ב",
            "・ァ",
            "ب٠ب",
            "۰0",
            "\u{915}\u{94D}\u{200D}\u{937}",
            "\u{628}\u{64A}\u{200C}\u{628}\u{64A}",
            "ßς་〇",
            "ünïcode-3",
            "a\u{316}ü",
            "Ꭰ",
        ] {
            assert!(is_valid(&label.chars().collect::<Vec<_>>()), "{label}");
        }
        for label in [
            "",
            "abc",
            "-ü",
            "ü-",
            "üa--b",
            "\u{300}a",
            "Ü",
            "a·l",
            "α͵",
            "׳ב",
            "def・abc",
            "ب٠۰",
            "\u{915}\u{200D}\u{937}",
            "aא",
            "0א",
            "א0٠",
            "u\u{308}",
            "u\u{316}\u{308}",
            "a\u{301}\u{316}ü",
            "\u{302E}실",
            "ü b",
            "ﬁ",
            "ᆨ",
            "ü.b",
        ] {
            assert!(!is_valid(&label.chars().collect::<Vec<_>>()), "{label}");
        }
    }

    #[test]
    fn classes_are_not_empty() {
        let all = &*CHARACTERS;
        for class in [
            &all.valid,
            &all.marks,
            &all.nonspacing,
            &all.viramas,
            &all.both_sides,
            &all.before,
            &all.greek,
            &all.hebrew,
            &all.japanese,
            &all.right_to_left,
            &all.arabic_numbers,
            &all.numbers,
            &all.neutral,
        ] {
            assert!(!class.ranges().is_empty());
        }
        assert!(all.combining.iter().all(|(_, marks)| !marks.ranges().is_empty()));
        assert!(all.compositions.iter().all(|(_, firsts)| !firsts.ranges().is_empty()));
    }
}
