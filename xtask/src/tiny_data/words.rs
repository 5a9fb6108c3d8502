//! Names, places and addresses: partly made up, so that there is nothing to learn by heart, and partly of words as they
//! are, so that strange letters do not tell where a value begins and ends.
//!
//! Every made-up word and every line of a list belongs to exactly one [`Split`], decided by its hash: one of the held-out half is
//! never written into the training text, neither from a list nor by chance. The words of
//! [`HELD_OUT`] belong to neither.

use std::sync::LazyLock;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// The random numbers that all text is drawn from.
pub type Rng = ChaCha8Rng;

/// Words that the project's documentation shows the model: kept out of all generated text, in any
/// case and even inside other words, so that a right answer there can only have been copied.
pub const HELD_OUT: [&str; 4] = ["ada", "lovelace", "london", "example"];

/// The words that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// For training: nine words of ten.
    Train,
    /// For measuring: the tenth.
    HeldOut,
}

/// Whether `text` has one of the [`HELD_OUT`] words in it.
pub fn mentions_held_out(text: &str) -> bool {
    let text = text.to_lowercase();
    HELD_OUT.iter().any(|word| text.contains(word))
}

/// The split of one word: FNV-1a over its lower-case bytes, so that "Mira" and "mira" agree.
pub fn split_of(word: &str) -> Split {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in word.to_lowercase().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    if (hash >> 32).is_multiple_of(10) { Split::HeldOut } else { Split::Train }
}

/// One of `list`, each as likely as the other.
pub fn pick<'a, T: ?Sized>(rng: &mut Rng, list: &[&'a T]) -> &'a T {
    list.choose(rng).expect("the list has something to pick")
}

/// `true` once in `n` draws.
pub fn one_in(rng: &mut Rng, n: u32) -> bool {
    rng.random_range(0..n) == 0
}

/// The lines of a file of `xtask/data`, of which each belongs to one split.
pub struct Lines {
    train: Vec<&'static str>,
    held_out: Vec<&'static str>,
}

impl Lines {
    fn new(text: &'static str) -> Self {
        let lines = text.lines().filter(|line| !mentions_held_out(line));
        let (train, held_out) = lines.partition(|line| split_of(line) == Split::Train);
        Self { train, held_out }
    }
}

static GIVEN_NAMES: LazyLock<Lines> =
    LazyLock::new(|| Lines::new(include_str!("../../data/tiny_given_names.txt")));
static FAMILY_NAMES: LazyLock<Lines> =
    LazyLock::new(|| Lines::new(include_str!("../../data/tiny_family_names.txt")));
static CITIES: LazyLock<Lines> =
    LazyLock::new(|| Lines::new(include_str!("../../data/tiny_cities.txt")));
/// Streets, squares, stations and parts of towns.
pub static PLACES: LazyLock<Lines> =
    LazyLock::new(|| Lines::new(include_str!("../../data/tiny_places.txt")));
/// Companies, venues, teams and titles.
pub static BRANDS: LazyLock<Lines> =
    LazyLock::new(|| Lines::new(include_str!("../../data/tiny_brands.txt")));
/// Things that people order, lose, sell, repair and report: a few words each.
pub static THINGS: LazyLock<Lines> =
    LazyLock::new(|| Lines::new(include_str!("../../data/tiny_things.txt")));
/// Subjects, messages, reasons and remarks.
pub static PHRASES: LazyLock<Lines> =
    LazyLock::new(|| Lines::new(include_str!("../../data/tiny_phrases.txt")));

/// Things that tools are about, some of them for sale: a line each.
pub static TOOL_NOUNS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("../../data/tiny_nouns.txt").lines().collect());

const COUNTRIES: &[&str] = &[
    "Norway", "Peru", "Japan", "Portugal", "Austria", "Ireland", "Spain", "Poland", "Greece",
    "Egypt", "Korea", "Brazil", "Chile", "Kenya", "Italy", "France", "Germany", "India", "Mexico",
    "Finland", "Sweden", "Latvia", "Turkey", "Morocco", "Vietnam", "Belgium", "Iceland", "Cuba",
];

/// Accented and other scripts' letters: their tokens are single bytes.
const FOREIGN: &[&str] = &[
    "José",
    "Zoë",
    "Łukasz",
    "Müller",
    "Søren",
    "François",
    "Núñez",
    "Çelik",
    "Björk",
    "Dvořák",
    "Иван",
    "Мария",
    "Ольга",
    "山田",
    "太郎",
    "李娜",
    "王伟",
    "Γιώργος",
    "Ελένη",
    "سارة",
    "محمد",
    "Håkan",
    "Señora",
    "Ångström",
    "Ünal",
    "Žižek",
    "Brontë",
    "Élodie",
    "Óscar",
    "Ñandú",
];

const ONSETS: &[&str] = &[
    "b", "br", "c", "ch", "cl", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "kr", "l", "m",
    "n", "p", "pl", "qu", "r", "s", "sh", "st", "t", "th", "tr", "v", "w", "x", "y", "z", "", "bl",
    "cr", "gl", "gn", "kn", "ph", "pr", "rh", "sc", "sch", "sk", "sl", "sm", "sn", "sp", "spr",
    "str", "sw", "tw", "wh", "wr", "zh",
];
const VOWELS: &[&str] =
    &["a", "e", "i", "o", "u", "a", "e", "i", "o", "ai", "ea", "ee", "ia", "io", "ou", "y"];
const CODAS: &[&str] = &[
    "", "", "", "", "n", "r", "l", "s", "t", "m", "nd", "rk", "ck", "th", "x", "v", "rn", "ll",
    "st", "sh", "d", "g", "b", "ct", "dge", "ff", "ft", "ght", "gh", "ld", "lt", "mb", "mp", "ng",
    "nk", "ns", "nt", "p", "pt", "rd", "rm", "rt", "rst", "sk", "ss", "tch", "tt", "tz", "wn", "z",
];

/// Letters of other scripts than plain Latin, for made-up words: tokens of single bytes.
const SCRIPTS: &[(&str, usize)] = &[
    // The letters, and how many make a long word.
    ("àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿāăąćčďēęěğīıłńňőœřśşšťūůűźżžßþðabdegiklmnorstu", 8),
    ("абвгдежзийклмнопрстуфхцчшщыьэюяіїєґ", 8),
    ("αβγδεζηθικλμνξοπρστυφχψωάέήίόύώ", 8),
    ("王李張刘陈楊黄趙吴周山田太郎花子東京大阪北海道上下中小林木森村川口本日月金水火土春夏秋冬", 4),
    (
        "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわん",
        5,
    ),
    (
        "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン",
        5,
    ),
    ("김이박최정강조윤장임한서울부산대구인천광주민수영희지현우진", 4),
    ("ابتثجحخدذرزسشصضطظعغفقكلمنهوي", 6),
    ("אבגדהוזחטיכלמנסעפצקרשת", 6),
    ("अआइईउएकखगघचछजटडतथदधनपबभमयरलवशसह", 5),
];

/// Endings of host names; many more are drawn at random.
const DOMAIN_ENDS: &[&str] = &[
    "com", "com", "com", "org", "org", "net", "io", "de", "fr", "edu", "dev", "info", "co.uk",
    "app", "eu", "it", "no", "jp", "us", "gov", "pl", "uk", "ch", "at", "nl", "es", "se", "ca",
    "ac.uk", "com.au", "co.jp", "biz", "shop", "cloud", "museum", "travel", "online", "ai", "me",
    "tv",
];

/// Text in the making: the random numbers, and the split that its names come from.
pub struct Words<'a> {
    pub rng: &'a mut Rng,
    pub split: Split,
}

impl Words<'_> {
    /// Draws until the word is in our split and not a [`HELD_OUT`] one.
    fn draw(&mut self, mut make: impl FnMut(&mut Rng) -> String) -> String {
        loop {
            let word = make(self.rng);
            if split_of(&word) == self.split && !mentions_held_out(&word) {
                return word;
            }
        }
    }

    /// A made-up lower-case word of syllables, or (once in six) of random letters.
    pub fn word(&mut self) -> String {
        self.draw(|rng| {
            if one_in(rng, 6) {
                let length = rng.random_range(2..=7);
                return (0..length).map(|_| rng.random_range('a'..='z')).collect();
            }
            let mut word = String::new();
            let syllables = pick(rng, &[&1, &2, &2, &2, &3]);
            for left in (0..*syllables).rev() {
                word += pick(rng, ONSETS);
                word += pick(rng, VOWELS);
                if left == 0 || one_in(rng, 4) {
                    word += pick(rng, CODAS);
                }
            }
            if word.len() < 2 { word + "n" } else { word }
        })
    }

    /// A made-up word with a capital.
    pub fn capital(&mut self) -> String {
        capitalised(&self.word())
    }

    /// A made-up word of letters of another script, or of accented ones, with a capital where the
    /// script has them.
    pub fn foreign(&mut self) -> String {
        if one_in(self.rng, 6) {
            return self.listed(FOREIGN, 0);
        }
        let (letters, longest) = SCRIPTS[self.rng.random_range(0..SCRIPTS.len())];
        let letters: Vec<char> = letters.chars().collect();
        let word = self.draw(|rng| {
            let length = rng.random_range(2..=longest);
            (0..length).map(|_| letters[rng.random_range(0..letters.len())]).collect()
        });
        capitalised(&word)
    }

    /// `text` now and then in capitals, in lower case, or in mixed ones.
    pub fn recased(&mut self, text: String) -> String {
        match self.rng.random_range(0..60) {
            0 | 1 => text.to_uppercase(),
            2 => text.to_lowercase(),
            3 => {
                let rng = &mut *self.rng;
                text.chars()
                    .map(|c| if one_in(rng, 3) { c.to_ascii_uppercase() } else { c })
                    .collect()
            }
            _ => text,
        }
    }

    /// One of `list` that belongs to our split, or a made-up capitalised word.
    fn listed(&mut self, list: &[&str], made_up_percent: u32) -> String {
        if self.rng.random_range(0..100) < made_up_percent {
            return self.capital();
        }
        let ours: Vec<&str> =
            list.iter().copied().filter(|word| split_of(word) == self.split).collect();
        if ours.is_empty() { self.capital() } else { pick(self.rng, &ours).to_owned() }
    }

    /// A line of our split.
    pub fn line(&mut self, lines: &Lines) -> String {
        let ours = match self.split {
            Split::Train => &lines.train,
            Split::HeldOut => &lines.held_out,
        };
        pick(self.rng, ours).to_owned()
    }

    /// A line of our split, or so often a made-up capitalised word.
    fn line_or_word(&mut self, lines: &Lines, made_up_percent: u32) -> String {
        if self.rng.random_range(0..100) < made_up_percent {
            return self.capital();
        }
        self.line(lines)
    }

    fn given_name(&mut self) -> String {
        if one_in(self.rng, 14) { self.foreign() } else { self.line_or_word(&GIVEN_NAMES, 30) }
    }

    fn family_name(&mut self) -> String {
        if one_in(self.rng, 14) {
            return self.foreign();
        }
        let last = self.line_or_word(&FAMILY_NAMES, 35);
        match self.rng.random_range(0..40) {
            0 => format!("{last}-{}", self.line_or_word(&FAMILY_NAMES, 35)),
            1 => format!("O'{last}"),
            2 => format!("Mc{last}"),
            3 => format!("{last}son"),
            _ => last,
        }
    }

    /// A person's name: mostly two words.
    pub fn name(&mut self) -> String {
        let name = self.plain_name();
        self.recased(name)
    }

    fn plain_name(&mut self) -> String {
        let first = self.given_name();
        match self.rng.random_range(0..24) {
            7 => format!("{first} \"{}\" {}", self.capital(), self.family_name()),
            8 => format!("{first} {}", self.foreign()),
            0..=2 => first,
            3 => {
                let initial = self.rng.random_range('A'..='Z');
                format!("{first} {initial}. {}", self.family_name())
            }
            4 => {
                let particle = pick(self.rng, &["van", "de", "von", "del", "di", "la", "al"]);
                format!("{first} {particle} {}", self.family_name())
            }
            5 => format!("{first} {} {}", self.given_name(), self.family_name()),
            6 => {
                let titles = ["Dr.", "Dr", "Ms", "Mr", "Mr.", "Prof.", "Mrs", "Mrs.", "Sir"];
                let title = pick(self.rng, &titles);
                let first = if one_in(self.rng, 2) { first + " " } else { String::new() };
                format!("{title} {first}{}", self.family_name())
            }
            _ => format!("{first} {}", self.family_name()),
        }
    }

    /// A town, real or made up, of one to three words.
    pub fn city(&mut self) -> String {
        match self.rng.random_range(0..12) {
            0 => {
                let front = ["New", "San", "Port", "Saint", "Fort", "Bad", "Lake", "El", "North"];
                format!("{} {}", pick(self.rng, &front), self.capital())
            }
            1 | 2 => {
                let back =
                    ["burg", "ville", "ton", "stad", "ford", "polis", "dorf", "grad", "mouth"];
                self.draw_city(&back)
            }
            3 if one_in(self.rng, 3) => {
                format!("{} on {}", self.capital(), self.capital())
            }
            3 if one_in(self.rng, 2) => format!("{}-{}", self.capital(), self.capital()),
            4 if one_in(self.rng, 2) => self.foreign(),
            _ => {
                let city = self.line_or_word(&CITIES, 40);
                self.recased(city)
            }
        }
    }

    fn draw_city(&mut self, back: &[&str]) -> String {
        loop {
            let city = self.capital() + pick(self.rng, back);
            if split_of(&city) == self.split && !mentions_held_out(&city) {
                return city;
            }
        }
    }

    /// A country, real or made up.
    pub fn country(&mut self) -> String {
        self.listed(COUNTRIES, 35)
    }

    /// An address: from the name (half of them) or of words of its own.
    pub fn email(&mut self, name: Option<&str>) -> String {
        let parts: Vec<String> = name
            .unwrap_or_default()
            .split(|c: char| !c.is_ascii_alphabetic())
            .filter(|part| part.len() > 1)
            .map(str::to_lowercase)
            .collect();
        let user = match (parts.as_slice(), self.rng.random_range(0..12)) {
            ([first, ..], 0..=2) => first.clone(),
            ([first, .., last], 3) => format!("{first}.{last}"),
            ([first, .., last], 4) => format!("{}.{last}", &first[..1]),
            ([first, .., last], 5) => format!("{first}{last}"),
            ([.., last], 6) => format!("{last}{}", self.rng.random_range(1..100)),
            (_, 7) => format!("{}{}", self.word(), self.rng.random_range(1..1000)),
            (_, 8) => format!("{}.{}", self.word(), self.word()),
            (_, 9) => format!("{}_{}", self.word(), self.word()),
            (_, 10) if one_in(self.rng, 2) => format!("{}+{}", self.word(), self.word()),
            (_, 11) if one_in(self.rng, 2) => format!("{}-{}", self.word(), self.word()),
            _ => self.word(),
        };
        let address = format!("{user}@{}", self.domain());
        self.recased(address)
    }

    /// A host name.
    pub fn domain(&mut self) -> String {
        let end = match self.rng.random_range(0..6) {
            0 => self.word(),
            1 => (0..2).map(|_| self.rng.random_range('a'..='z')).collect(),
            2 => format!("{}.{}", self.word(), pick(self.rng, DOMAIN_ENDS)),
            _ => pick(self.rng, DOMAIN_ENDS).to_owned(),
        };
        let middle = match self.rng.random_range(0..8) {
            0 => format!("{}-{}", self.word(), self.word()),
            1 => format!("mail.{}", self.word()),
            2 => pick(self.rng, &["mail", "post", "inbox", "web", "work", "home"]).to_owned(),
            _ => self.word(),
        };
        format!("{middle}.{end}")
    }
}

/// `word` with its first letter in upper case.
pub fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
