//! Requests and the tool calls that answer them.

use rand::RngExt;
use serde_json::{Map, Value, json};

use super::Draft;
use super::concept::{Concept, Kind};
use super::words::{Words, capitalised, one_in, pick};

/// A tool: its names, its arguments, and what one says to have it called.
struct Tool {
    names: &'static [&'static str],
    arguments: &'static [&'static Concept],
    /// `{key}` is the argument whose usual key that is; one not mentioned is left out.
    asks: &'static [&'static str],
}

const fn argument(keys: &'static [&'static str], kind: Kind) -> Concept {
    Concept { keys, says: &[], other: &[], short: &[], kind }
}

static CITY: Concept = argument(&["city", "location", "place", "town"], Kind::City);
static UNIT: Concept = argument(
    &["unit", "units"],
    Kind::Choice(&[
        ("celsius", "celsius"),
        ("fahrenheit", "fahrenheit"),
        ("Celsius", "celsius"),
        ("Fahrenheit", "fahrenheit"),
    ]),
);
static TO: Concept = argument(&["to", "recipient", "email", "address"], Kind::Email);
static PERSON: Concept = argument(&["name", "person", "contact", "who", "to"], Kind::Name);
static SUBJECT: Concept = argument(&["subject", "title", "topic"], Kind::Phrase);
static TITLE: Concept = argument(&["title", "name", "event", "subject"], Kind::Phrase);
static QUERY: Concept = argument(&["query", "q", "text", "search", "keywords"], Kind::Phrase);
static LIMIT: Concept = argument(&["limit", "count", "max_results", "n"], Kind::Count);
static MINUTES: Concept = argument(&["minutes", "duration", "length"], Kind::Int(1, 120));
static DATE: Concept = argument(&["date", "day", "when"], Kind::Date);
static TIME: Concept = argument(&["time", "at", "start", "start_time"], Kind::Time);
static AMOUNT: Concept = argument(&["amount", "value", "sum"], Kind::Decimal(900));
static MONEY: &[(&str, &str)] = &[
    ("euros", "EUR"),
    ("dollars", "USD"),
    ("pounds", "GBP"),
    ("yen", "JPY"),
    ("EUR", "EUR"),
    ("USD", "USD"),
    ("GBP", "GBP"),
    ("CHF", "CHF"),
];
static FROM_MONEY: Concept = argument(&["from", "source", "from_currency"], Kind::Choice(MONEY));
static INTO_MONEY: Concept = argument(&["to", "target", "to_currency"], Kind::Choice(MONEY));
static FROM_CITY: Concept = argument(&["from", "origin", "start", "departure"], Kind::City);
static TO_CITY: Concept = argument(&["to", "destination", "end", "arrival"], Kind::City);
static LANGUAGE: Concept = argument(
    &["language", "target_language", "lang"],
    Kind::Choice(&[
        ("French", "French"),
        ("German", "German"),
        ("Spanish", "Spanish"),
        ("Polish", "Polish"),
        ("Italian", "Italian"),
        ("Japanese", "Japanese"),
    ]),
);
static TEXT: Concept = argument(&["text", "message", "body", "content"], Kind::Phrase);
static SONG: Concept = argument(&["song", "title", "track", "name"], Kind::Phrase);
static ARTIST: Concept = argument(&["artist", "by", "band", "singer"], Kind::Name);
static ITEM: Concept = argument(&["item", "product", "name"], Kind::Thing);
static QUANTITY: Concept = argument(&["quantity", "amount", "count"], Kind::Count);
static ROOM: Concept = argument(
    &["room", "where", "location"],
    Kind::Choice(&[
        ("kitchen", "kitchen"),
        ("bedroom", "bedroom"),
        ("bathroom", "bathroom"),
        ("office", "office"),
        ("hall", "hall"),
        ("garage", "garage"),
        ("garden", "garden"),
    ]),
);
static STATE: Concept =
    argument(&["state", "action", "status"], Kind::Choice(&[("on", "on"), ("off", "off")]));
static PHONE: Concept = argument(&["number", "phone", "phone_number"], Kind::Phone);
static ORDER: Concept = argument(&["order_id", "id", "order"], Kind::Code);

static TOOLS: &[Tool] = &[
    Tool {
        names: &["get_weather", "weather", "get_current_weather", "weather_forecast"],
        arguments: &[&CITY, &UNIT, &DATE],
        asks: &[
            "What is the weather in {city}?",
            "What's the weather like in {city}?",
            "How warm is it in {city}, in {unit}?",
            "Weather in {city} in {unit}, please.",
            "Will it rain in {city} on {date}?",
            "Tell me the weather for {city}.",
            "Is it cold in {city}?",
            "Forecast for {city}, {date}",
            "Give me the temperature in {city} in {unit}.",
            "In {city}, how is the weather?",
            "Do I need an umbrella in {city}?",
            "What is the weather in {city} in {unit}?",
        ],
    },
    Tool {
        names: &["send_email", "email", "send_mail"],
        arguments: &[&TO, &SUBJECT, &TEXT],
        asks: &[
            "Send an email to {to} about {subject}.",
            "Write to {to}: \"{text}\"",
            "Email {to} with the subject \"{subject}\".",
            "Mail {to} that says {text}.",
            "Send {to} a mail with the subject {subject} and the text \"{text}\".",
        ],
    },
    Tool {
        names: &["search", "web_search", "find", "search_web"],
        arguments: &[&QUERY, &LIMIT],
        asks: &[
            "Search for {query}.",
            "Find {limit} results for {query}.",
            "Look up \"{query}\".",
            "Search the web for {query}, {limit} results",
            "What can you find about {query}?",
            "Show me the top {limit} pages on {query}.",
        ],
    },
    Tool {
        names: &["set_timer", "timer", "start_timer"],
        arguments: &[&MINUTES],
        asks: &[
            "Set a timer for {minutes} minutes.",
            "Wake me in {minutes} minutes.",
            "Start a {minutes} minute timer.",
            "Timer, {minutes} min",
        ],
    },
    Tool {
        names: &["create_event", "add_event", "schedule_meeting", "book_meeting"],
        arguments: &[&TITLE, &DATE, &TIME, &MINUTES, &PERSON],
        asks: &[
            "Schedule \"{title}\" on {date} at {time}.",
            "Put {title} in my calendar for {date}.",
            "Meeting with {name} on {date} at {time} for {minutes} minutes.",
            "Book a meeting with {name} at {time}.",
            "Create an event {title}, {date}, {time}.",
            "Plan {title} with {name} on {date}.",
        ],
    },
    Tool {
        names: &["convert_currency", "convert", "exchange"],
        arguments: &[&AMOUNT, &FROM_MONEY, &INTO_MONEY],
        asks: &[
            "Convert {amount} {from} to {to}.",
            "How much is {amount} {from} in {to}?",
            "What are {amount} {from} in {to}?",
            "Change {amount} {from} into {to}.",
        ],
    },
    Tool {
        names: &["book_flight", "find_flight", "search_flights", "book_train"],
        arguments: &[&FROM_CITY, &TO_CITY, &DATE],
        asks: &[
            "Book a flight from {from} to {to} on {date}.",
            "I want to fly from {from} to {to}.",
            "Find me a trip to {to} from {from}, {date}.",
            "Flights {from} - {to} on {date}",
            "Get me to {to} from {from}.",
        ],
    },
    Tool {
        names: &["translate", "translate_text"],
        arguments: &[&TEXT, &LANGUAGE],
        asks: &[
            "Translate \"{text}\" into {language}.",
            "How do you say {text} in {language}?",
            "What is \"{text}\" in {language}?",
            "Put {text} into {language}.",
        ],
    },
    Tool {
        names: &["play_music", "play_song", "play"],
        arguments: &[&SONG, &ARTIST],
        asks: &[
            "Play \"{song}\" by {artist}.",
            "Play {song}.",
            "Put on something by {artist}.",
            "I want to hear {song} by {artist}.",
        ],
    },
    Tool {
        names: &["add_to_cart", "order_item", "buy", "place_order"],
        arguments: &[&ITEM, &QUANTITY],
        asks: &[
            "Add {quantity} {item} to my cart.",
            "Buy a {item}.",
            "Order {quantity} x {item}.",
            "I need {quantity} of the {item}.",
        ],
    },
    Tool {
        names: &["set_light", "switch_light", "light"],
        arguments: &[&ROOM, &STATE],
        asks: &[
            "Turn {state} the light in the {room}.",
            "Switch the {room} lamp {state}.",
            "{room} light {state}",
        ],
    },
    Tool {
        names: &["call", "make_call", "phone_call"],
        arguments: &[&PERSON, &PHONE],
        asks: &[
            "Call {name}.",
            "Phone {name} at {number}.",
            "Please ring {number}.",
            "Give {name} a call.",
        ],
    },
    Tool {
        names: &["create_contact", "add_contact", "save_contact"],
        arguments: &[&PERSON, &TO, &CITY, &PHONE],
        asks: &[
            "Save {name} with the mail {to}.",
            "Add {name} from {city} to my contacts, {number}.",
            "New contact: {name}, {to}, {city}.",
            "Store the number {number} for {name}.",
        ],
    },
    Tool {
        names: &["get_order", "track_order", "order_status"],
        arguments: &[&ORDER],
        asks: &[
            "Where is my order {order_id}?",
            "Track {order_id}.",
            "What is the status of order {order_id}?",
            "Has order {order_id} been sent?",
        ],
    },
    Tool {
        names: &["get_time", "current_time", "time_in"],
        arguments: &[&CITY],
        asks: &[
            "What time is it in {city}?",
            "Tell me the time in {city}.",
            "How late is it in {city} now?",
        ],
    },
];

/// A request and the call, or array of calls, that answers it; mostly with the tools told.
pub fn request(words: &mut Words<'_>) -> Draft {
    let is_told = !one_in(words.rng, 3);
    let (mut text, call, tool) = one_call(words, is_told);
    let mut tools = vec![tool];
    let mut calls = vec![call];
    if one_in(words.rng, 10) {
        let (more, second, tool) = one_call(words, is_told);
        text = format!("{text} {more}");
        calls.push(second);
        if tools[0]["function"]["name"] != tool["function"]["name"] {
            tools.push(tool);
        }
    }
    // Calls of tools that the chat template tells are an array, as `tools` in a request has them written.
    let answer = match (calls.len(), words.rng.random_range(0..20)) {
        _ if is_told => Value::Array(calls),
        (1, 0) => json!({ "tool_calls": calls }),
        (1, _) => calls.remove(0),
        _ => Value::Array(calls),
    };
    if is_told {
        for _ in 0..words.rng.random_range(0..=2) {
            let (_, _, other) = one_call(words, is_told);
            if tools.iter().all(|tool| tool["function"]["name"] != other["function"]["name"]) {
                let at = words.rng.random_range(0..=tools.len());
                tools.insert(at, other);
            }
        }
    } else {
        tools.clear();
    }
    let (usual, fields) = (Vec::new(), Map::new());
    Draft { prompt: text, answer, named: false, usual, tools, fields }
}

/// A request, its call, and the tool as OpenAI's API writes it.
fn one_call(words: &mut Words<'_>, is_told: bool) -> (String, Value, Value) {
    let tool = &TOOLS[words.rng.random_range(0..TOOLS.len())];
    let mut text = pick(words.rng, tool.asks).to_owned();
    let (mut arguments, mut properties) = (Map::new(), Map::new());
    for concept in tool.arguments {
        let slot = format!("{{{}}}", concept.keys[0]);
        let key =
            if one_in(words.rng, 3) { concept.key(words) } else { concept.keys[0].to_owned() };
        let fact = concept.fact(words, None);
        if !properties.contains_key(&key) {
            properties.insert(key.clone(), concept.kind.schema());
        }
        if text.contains(&slot) && !arguments.contains_key(&key) {
            text = text.replace(&slot, &fact.text);
            arguments.insert(key, fact.value);
        }
    }
    let name = if one_in(words.rng, 2) { tool.names[0] } else { pick(words.rng, tool.names) };
    let (name_key, arguments_key) = match words.rng.random_range(0..12) {
        _ if is_told => ("name", "arguments"),
        0 => ("tool", "parameters"),
        1 => ("function", "arguments"),
        2 => ("name", "parameters"),
        _ => ("name", "arguments"),
    };
    let mut call = Map::new();
    call.insert(name_key.to_owned(), json!(name));
    call.insert(arguments_key.to_owned(), Value::Object(arguments));
    let polite = ["Please: ", "Hey, ", "Hello. ", "Now, "];
    let text = if one_in(words.rng, 8) {
        pick(words.rng, &polite).to_owned() + &text
    } else {
        capitalised(&text)
    };
    let description = match words.rng.random_range(0..3) {
        0 => String::new(),
        _ => capitalised(&tool.names[0].replace('_', " ")),
    };
    let told = super::schema::tool_object(name, &description, properties);
    (text, Value::Object(call), told)
}
