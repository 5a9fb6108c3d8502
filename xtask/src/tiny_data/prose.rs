//! Tells a topic's facts as text: in whole sentences, in clauses, as a list, in the first person.

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use serde_json::Value;

use super::concept::{Concept, Fact, Kind};
use super::topics::Topic;
use super::words::{Words, capitalised, one_in, pick};

/// A text and the facts it tells, the subject first.
pub struct Told {
    pub text: String,
    pub facts: Vec<Fact>,
}

const COMMANDS: &[&str] = &[
    "Add",
    "Please register",
    "New entry:",
    "Please note",
    "Save",
    "Record:",
    "Found:",
    "Meet",
    "For the list:",
    "Entry:",
    "Next:",
    "Welcome",
    "We have",
    "Here is",
    "Today's entry is",
];
const BEFORE: &[&str] = &[
    "Hello!",
    "Hi there.",
    "Read this.",
    "Dear team,",
    "Text:",
    "Note:",
    "Good morning.",
    "Extract the data:",
    "As JSON:",
    "Here is what I know.",
    "It is a fine day.",
    "FYI:",
    "Please fill in the form.",
    "What do we know?",
    "Turn this into JSON:",
];
const AFTER: &[&str] = &[
    "Thanks.",
    "Thank you!",
    "That is all.",
    "Please take note.",
    "See you soon.",
    "Best regards",
    "Answer in JSON.",
    "The rest does not matter.",
    "OK?",
    "Reply as JSON.",
    "Cheers",
];

/// Draws facts about `topic` and a text that tells them; at most `most` besides the subject.
pub fn tell(words: &mut Words<'_>, topic: &'static Topic, most: usize) -> Told {
    let mut told = if words.rng.random_bool(0.35) {
        whole_sentence(words, topic, most)
    } else {
        composed(words, topic, most)
    };
    if one_in(words.rng, 8) {
        told.text = format!("{} {}", pick(words.rng, BEFORE), told.text);
    } else if one_in(words.rng, 10) {
        told.text = format!("{} {}", beside_the_point(words), told.text);
    }
    if one_in(words.rng, 8) {
        told.text = format!("{} {}", told.text, pick(words.rng, AFTER));
    } else if one_in(words.rng, 10) {
        told.text = format!("{} {}", told.text, beside_the_point(words));
    }
    told
}

/// A sentence about nothing that is asked for.
pub fn beside_the_point(words: &mut Words<'_>) -> String {
    let (noun, other) = (words.word(), words.word());
    let number = words.rng.random_range(2..100);
    let sentence = match words.rng.random_range(0..8) {
        0 => format!("the {noun} was late again."),
        1 => format!("there were {number} {noun} on the {other}."),
        2 => format!("nobody has seen the {noun} since then."),
        3 => format!("we had a long talk about {noun} and {other}."),
        4 => format!("do not forget the {noun}!"),
        5 => format!("it took {number} minutes to find the {noun}."),
        6 => format!("the {noun} of {} is closed.", words.capital()),
        _ => format!("I hope the {noun} is well."),
    };
    capitalised(&sentence)
}

/// The concepts named in `{}` of a sentence, in the order of their first mention.
fn slots(sentence: &str, topic: &'static Topic) -> Vec<&'static Concept> {
    let mut found: Vec<&'static Concept> = Vec::new();
    for slot in sentence.split('{').skip(1) {
        let key = slot.split('}').next().unwrap_or_default();
        let concept = std::iter::once(topic.subject)
            .chain(topic.facts.iter().map(|(concept, _)| *concept))
            .find(|concept| concept.keys[0] == key)
            .expect("a sentence names only facts of its topic");
        if !found.iter().any(|seen| std::ptr::eq(*seen, concept)) {
            found.push(concept);
        }
    }
    found
}

fn whole_sentence(words: &mut Words<'_>, topic: &'static Topic, most: usize) -> Told {
    let sentence = pick(words.rng, topic.sentences);
    let concepts = slots(sentence, topic);
    let mut facts: Vec<Fact> = Vec::new();
    // The name comes first, so that an address may be made from it wherever it stands.
    let name = concepts.iter().find(|c| matches!(c.kind, Kind::Name)).map(|c| c.fact(words, None));
    for concept in &concepts {
        match &name {
            Some(name) if std::ptr::eq(name.concept, *concept) => facts.push(name.clone()),
            _ => facts.push(concept.fact(words, name.as_ref().map(|name| name.text.as_str()))),
        }
    }
    let mut text = sentence.to_owned();
    for fact in &facts {
        text = text.replace(&format!("{{{}}}", fact.concept.keys[0]), &fact.text);
    }
    text = capitalised(&text);
    let has_subject = facts.iter().any(|fact| std::ptr::eq(fact.concept, topic.subject));
    if has_subject && text.ends_with('.') && one_in(words.rng, 3) && facts.len() <= most {
        let more = words.rng.random_range(1..=2);
        let name = name.map(|name| name.text);
        for fact in draw_facts(words, topic, more, name.as_deref(), &facts) {
            let pronoun = pick(words.rng, topic.pronouns);
            text = format!("{text} {pronoun} {}.", fact.clause(words, false));
            facts.push(fact);
        }
    }
    Told { text, facts }
}

/// `count` facts of the topic, each at most once, by weight, none of them `taken`.
fn draw_facts(
    words: &mut Words<'_>,
    topic: &'static Topic,
    count: usize,
    name: Option<&str>,
    taken: &[Fact],
) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    for _ in 0..count * 2 {
        let (concept, _) = topic
            .facts
            .choose_weighted(words.rng, |(_, weight)| *weight)
            .expect("weights are positive");
        let known = |fact: &Fact| std::ptr::eq(fact.concept, *concept);
        if facts.len() < count && !facts.iter().any(known) && !taken.iter().any(known) {
            facts.push(concept.fact(words, name));
        }
    }
    facts
}

fn composed(words: &mut Words<'_>, topic: &'static Topic, most: usize) -> Told {
    let subject = topic.subject.fact(words, None);
    let count = words.rng.random_range(1..=most);
    let name = matches!(topic.subject.kind, Kind::Name).then(|| subject.text.clone());
    let facts = draw_facts(words, topic, count, name.as_deref(), &[]);
    let speaks = facts.iter().all(Fact::in_first_person) && !topic.subject.other.is_empty();
    let (text, facts) = match words.rng.random_range(0..100) {
        0..=11 if speaks => first_person(words, subject, facts),
        12..=29 => labelled(words, subject, facts),
        30..=49 => bare(words, topic, subject, facts),
        _ => third_person(words, topic, subject, facts),
    };
    Told { text, facts }
}

fn third_person(
    words: &mut Words<'_>,
    topic: &Topic,
    subject: Fact,
    facts: Vec<Fact>,
) -> (String, Vec<Fact>) {
    let mut text = pick(words.rng, topic.subject_forms).replace("{}", &subject.text);
    let mut told = vec![subject];
    let mut rest = facts.into_iter().peekable();
    // Up to two facts stand right after the subject, as long as one is left for a clause.
    let mut asides = words.rng.random_range(0..=2_usize).min(rest.len().saturating_sub(1));
    let parenthesis = one_in(words.rng, 3);
    let mut commas = false;
    while asides > 0 && rest.peek().is_some_and(has_short) {
        asides -= 1;
        let Some(fact) = rest.next() else { break };
        let short = pick(words.rng, fact.concept.short).replace("{}", &fact.text);
        if parenthesis && !commas {
            text = format!("{text} ({short})");
            told.push(fact);
            break;
        }
        text = format!("{text}, {short}");
        commas = true;
        told.push(fact);
    }
    if commas {
        text.push(',');
    }
    let rest: Vec<Fact> = rest.collect();
    let mut at = 0;
    while at < rest.len() {
        let group = &rest[at..(at + words.rng.random_range(1..=3)).min(rest.len())];
        if at > 0 {
            let pronoun = pick(words.rng, topic.pronouns);
            text = format!("{text} {pronoun}");
        }
        text = format!("{text} {}", clauses(words, group, false));
        text.push_str(if one_in(words.rng, 10) { "!" } else { "." });
        at += group.len();
    }
    told.extend(rest);
    (text, told)
}

fn has_short(fact: &Fact) -> bool {
    !matches!(fact.concept.kind, Kind::Flag) && !fact.concept.short.is_empty()
}

/// "lives in Riga, likes tea and writes to …".
fn clauses(words: &mut Words<'_>, facts: &[Fact], first: bool) -> String {
    let mut text = String::new();
    for (at, fact) in facts.iter().enumerate() {
        if at > 0 {
            let last = at + 1 == facts.len();
            let joins: &[&str] = if last { &[" and ", " and ", ", and ", ", "] } else { &[", "] };
            text += pick(words.rng, joins);
        }
        text += &fact.clause(words, first);
    }
    text
}

fn first_person(words: &mut Words<'_>, subject: Fact, facts: Vec<Fact>) -> (String, Vec<Fact>) {
    let opening = ["I am {}", "My name is {}", "I'm {}", "{} here", "This is {}", "Hi, I am {}"];
    let opening = pick(words.rng, &opening).replace("{}", &subject.text);
    let said = clauses(words, &facts, true);
    let join = pick(words.rng, &[". I ", ", I ", " and I ", "; I "]);
    let mut told = vec![subject];
    told.extend(facts);
    (format!("{opening}{join}{said}."), told)
}

/// "Name: Mira, Age: 30": in any order, with any of the concept's keys as its label.
fn labelled(words: &mut Words<'_>, subject: Fact, facts: Vec<Fact>) -> (String, Vec<Fact>) {
    let mut told = vec![subject];
    told.extend(facts);
    if one_in(words.rng, 2) {
        told.shuffle(words.rng);
    }
    let colon = pick(words.rng, &[": ", ": ", ": ", " = ", " - ", ":", " is "]);
    let between = pick(words.rng, &[", ", "; ", "\n", " | ", ". ", "\n- "]);
    let capital = one_in(words.rng, 2);
    let mut lines = Vec::new();
    for fact in &told {
        let label = pick(words.rng, fact.concept.keys).replace('_', " ");
        let label = if capital { capitalised(&label) } else { label };
        let text = match &fact.value {
            Value::Bool(true) => pick(words.rng, &["yes", "true"]),
            Value::Bool(false) => pick(words.rng, &["no", "false"]),
            _ => &fact.text,
        };
        lines.push(format!("{label}{colon}{text}"));
    }
    let end = if one_in(words.rng, 2) { "." } else { "" };
    (lines.join(between) + end, told)
}

/// "Mira, 30, from Riga": the subject and short forms, perhaps after a command.
fn bare(
    words: &mut Words<'_>,
    topic: &Topic,
    subject: Fact,
    facts: Vec<Fact>,
) -> (String, Vec<Fact>) {
    let form = if one_in(words.rng, 2) { "{}" } else { pick(words.rng, topic.subject_forms) };
    let mut parts = vec![form.replace("{}", &subject.text)];
    let mut told = vec![subject];
    for fact in facts {
        if has_short(&fact) {
            parts.push(pick(words.rng, fact.concept.short).replace("{}", &fact.text));
            told.push(fact);
        }
    }
    if one_in(words.rng, 4) {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.shuffle(words.rng);
        parts = order.iter().map(|at| parts[*at].clone()).collect();
        told = order.iter().map(|at| told[*at].clone()).collect();
    }
    let between = pick(words.rng, &[", ", ", ", ", ", "; ", " - ", " ", " / "]);
    let mut text = parts.join(between);
    if one_in(words.rng, 3) {
        text = format!("{} {text}", pick(words.rng, COMMANDS));
    }
    (text + pick(words.rng, &[".", ".", "", "!"]), told)
}
