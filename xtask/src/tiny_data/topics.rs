//! Topics of the texts: for each its subject, the facts about it, and sentences for them.

use super::concept::{Concept, Kind};

/// A kind of record: a person, an order, an event.
pub struct Topic {
    /// Its name in JSON, where a record is nested: `{"person": {…}}`.
    pub names: &'static [&'static str],
    pub subject: &'static Concept,
    /// Forms of the subject in a sentence; `{}` is its value.
    pub subject_forms: &'static [&'static str],
    /// Names for it in later sentences.
    pub pronouns: &'static [&'static str],
    /// The facts that a text may tell, and how often each does: its weight.
    pub facts: &'static [(&'static Concept, u32)],
    /// Whole sentences; `{key}` is the concept whose usual key that is, subject included.
    pub sentences: &'static [&'static str],
}

macro_rules! concepts {
    ($($name:ident: $kind:expr, [$($key:literal),*], [$($says:literal),*], [$($other:literal),*], [$($short:literal),*];)*) => {
        $(static $name: Concept = Concept {
            keys: &[$($key),*], says: &[$($says),*], other: &[$($other),*], short: &[$($short),*],
            kind: $kind,
        };)*
    };
}

concepts! {
    NAME: Kind::Name, ["name", "full_name", "person", "customer", "who", "username", "contact_name"],
        ["is called {}", "goes by {}"], ["am {}", "am called {}"], ["{}"];
    AGE: Kind::Int(1, 99), ["age", "years", "age_in_years", "years_old"],
        ["is {} years old", "is {}", "turned {} this year", "is aged {}", "has just turned {}", "is {} years of age"],
        ["am {} years old", "am {}", "turned {} last week", "am aged {}"],
        ["{}", "{} years old", "aged {}", "age {}", "{} years of age", "{} yrs"];
    CITY: Kind::City, ["city", "town", "location", "place", "home", "residence", "hometown", "address"],
        ["lives in {}", "is from {}", "comes from {}", "is based in {}", "moved to {}", "resides in {}", "works in {}", "has a home in {}", "lives near {}", "grew up in {}", "is at home in {}"],
        ["live in {}", "am from {}", "come from {}", "moved to {}", "work in {}", "am based in {}"],
        ["from {}", "of {}", "living in {}", "based in {}", "in {}", "resident of {}", "{}"];
    EMAIL: Kind::Email, ["email", "mail", "e_mail", "email_address", "contact", "address", "contact_email"],
        ["writes to {}", "can be reached at {}", "has the e-mail {}", "uses {}", "writes from {}", "answers at {}", "gets mail at {}", "is reachable at {}", "reads {}", "has the address {}", "receives mail at {}", "can be written to at {}"],
        ["use {}", "can be reached at {}", "read mail at {}", "have the e-mail {}", "write from {}"],
        ["{}", "e-mail {}", "email: {}", "mail {}", "reachable at {}", "contact {}", "<{}>"];
    PHONE: Kind::Phone, ["phone", "telephone", "phone_number", "tel", "mobile", "number"],
        ["has the phone number {}", "answers the phone at {}", "can be called at {}", "picks up at {}"],
        ["have the number {}", "can be called at {}"],
        ["tel. {}", "phone {}", "phone: {}", "call {}", "mobile {}"];
    JOB: Kind::Choice(&[("a teacher", "teacher"), ("a nurse", "nurse"), ("an engineer", "engineer"), ("a baker", "baker"), ("a doctor", "doctor"), ("a student", "student"), ("a writer", "writer"), ("a lawyer", "lawyer"), ("a pilot", "pilot"), ("a painter", "painter"), ("an architect", "architect"), ("a chemist", "chemist"), ("a mathematician", "mathematician"), ("a programmer", "programmer"), ("a farmer", "farmer"), ("a cook", "cook")]),
        ["job", "occupation", "profession", "role", "work", "job_title"],
        ["is {}", "works as {}", "has a job as {}"], ["am {}", "work as {}"], ["{}"];
    COMPANY: Kind::Brand, ["company", "employer", "organization", "firm", "organisation"],
        ["works for {}", "works at {}", "is employed by {}", "has joined {}"],
        ["work for {}", "work at {}", "joined {}"], ["of {}", "at {}", "with {}"];
    COUNTRY: Kind::Country, ["country", "nation", "nationality", "land"],
        ["is a citizen of {}", "was born in {}", "holds a passport of {}", "lives in the country {}"],
        ["was born in {}", "am a citizen of {}"], ["citizen of {}", "country: {}", "born in {}"];
    HOBBIES: Kind::Topics, ["hobbies", "interests", "likes", "tags", "topics"],
        ["likes {}", "enjoys {}", "is fond of {}", "spends the weekends on {}", "loves {}"],
        ["like {}", "enjoy {}", "love {}"], ["interests: {}", "likes {}", "hobbies: {}", "fond of {}"];
    FRIENDS: Kind::Names, ["friends", "colleagues", "children", "members", "people"],
        ["knows {}", "is a friend of {}", "works with {}", "often meets {}"],
        ["know {}", "work with {}"], ["friends: {}", "with {}"];
    MEMBER: Kind::Flag, ["member", "is_member", "subscribed", "newsletter", "subscriber"],
        ["is a member", "has subscribed", "wants the newsletter", "is subscribed"],
        ["is not a member", "has not subscribed", "does not want the newsletter", "is not subscribed"], ["{}"];
    MARRIED: Kind::Flag, ["married", "is_married"],
        ["is married"], ["is not married", "is single", "is unmarried"], ["{}"];
    STATUS: Kind::Choice(&[("active", "active"), ("inactive", "inactive"), ("suspended", "suspended"), ("pending", "pending"), ("blocked", "blocked")]),
        ["status", "state", "account", "account_status"],
        ["is {}", "is currently {}", "has the status {}", "is marked {}"], ["am {}"], ["{}", "status {}", "status: {}"];
    BIRTHDAY: Kind::Date, ["birthday", "birth_date", "born", "date_of_birth", "dob"],
        ["was born on {}", "has a birthday on {}"], ["was born on {}"], ["born {}", "born on {}", "birthday {}"];
    HEIGHT: Kind::Int(120, 210), ["height", "height_cm"],
        ["is {} cm tall", "measures {} cm"], ["am {} cm tall"], ["{} cm tall", "height {} cm"];
    STREET: Kind::Street, ["street", "street_address", "address"],
        ["lives at {}", "has a house at {}"], ["live at {}"], ["at {}", "{}"];
    ZIP: Kind::Zip, ["zip", "postal_code", "zip_code", "postcode"],
        ["has the postcode {}", "has the zip code {}"], [], ["zip {}", "postcode {}", "{}"];

    ORDER: Kind::Code, ["order_id", "id", "order", "number", "order_number", "reference"],
        ["has the number {}", "is filed under {}"], [], ["order {}", "no. {}", "#{}"];
    CUSTOMER: Kind::Name, ["customer", "name", "buyer", "client", "customer_name"],
        ["is for {}", "was placed by {}", "goes to {}", "belongs to {}"], [], ["for {}", "customer {}", "by {}", "customer: {}"];
    ITEM: Kind::Thing, ["item", "product", "article", "goods", "thing", "product_name"],
        ["is for the item {}", "contains the product {}", "has the article {}"], [], ["item {}", "item: {}", "product: {}"];
    ITEMS: Kind::Things, ["items", "products", "articles", "goods"],
        ["contains {}", "is for {}", "lists {}"], [], ["items: {}", "with {}"];
    QUANTITY: Kind::Count, ["quantity", "amount", "count", "qty", "number", "how_many"],
        ["has a quantity of {}", "counts {} pieces", "is for {} pieces"], [], ["quantity {}", "{} pieces", "qty: {}", "{} units", "amount {}"];
    PRICE: Kind::Decimal(500), ["price", "total", "cost", "amount", "sum", "total_price"],
        ["costs {}", "comes to {}", "has a total of {}", "is priced at {}"], [], ["price {}", "{} in total", "total: {}", "for {}", "at {}"];
    CURRENCY: Kind::Choice(&[("euros", "EUR"), ("dollars", "USD"), ("pounds", "GBP"), ("yen", "JPY"), ("EUR", "EUR"), ("USD", "USD"), ("GBP", "GBP")]),
        ["currency"], ["is paid in {}"], [], ["in {}", "currency {}"];
    PAID: Kind::Flag, ["paid", "is_paid", "payment_received"],
        ["is paid", "has been paid", "is already paid"], ["is not paid", "has not been paid", "is unpaid", "is not yet paid"], ["{}"];
    EXPRESS: Kind::Flag, ["express", "urgent", "is_urgent", "rush"],
        ["is urgent", "goes by express", "must be sent at once"], ["is not urgent", "can wait", "does not go by express"], ["{}"];
    DELIVERY: Kind::Choice(&[("shipped", "shipped"), ("delivered", "delivered"), ("cancelled", "cancelled"), ("pending", "pending"), ("returned", "returned"), ("processing", "processing")]),
        ["status", "state", "delivery"], ["is {}", "was {} yesterday", "is now {}"], [], ["{}", "status {}", "status: {}"];
    SHIP_TO: Kind::City, ["city", "destination", "ship_to", "town", "location"],
        ["ships to {}", "goes to the city of {}", "is delivered to {}", "will be sent to {}"], [], ["to {}", "ship to {}", "destination {}", "delivered to {}"];
    ORDERED: Kind::Date, ["date", "order_date", "ordered_on", "day"],
        ["was placed on {}", "came in on {}", "dates from {}"], [], ["on {}", "date {}", "dated {}"];

    TITLE: Kind::Phrase, ["title", "event", "name", "subject", "event_name", "topic"],
        ["is titled {}", "is called {}"], [], ["{}"];
    VENUE: Kind::City, ["location", "place", "venue", "city", "where", "town"],
        ["takes place in {}", "is held in {}", "happens in {}", "will be in {}", "is in {}"], [], ["in {}", "at {}", "place: {}", "venue {}"];
    DATE: Kind::Date, ["date", "day", "when", "on", "event_date"],
        ["is on {}", "takes place on {}", "happens on {}", "is scheduled for {}", "is planned for {}"], [], ["on {}", "date: {}", "{}"];
    TIME: Kind::Time, ["time", "start", "start_time", "starts_at", "at"],
        ["starts at {}", "begins at {}", "opens at {}"], [], ["at {}", "start {}", "{}", "from {}"];
    GUESTS: Kind::Int(2, 900), ["attendees", "guests", "participants", "seats", "capacity", "count"],
        ["expects {} guests", "has {} seats", "is open to {} people", "has {} participants"], [], ["{} guests", "{} people", "{} seats", "for {} participants"];
    SPEAKERS: Kind::Names, ["speakers", "participants", "attendees", "people", "hosts", "guests"],
        ["is hosted by {}", "has talks by {}", "is a meeting of {}", "brings together {}"], [], ["with {}", "speakers: {}", "hosted by {}"];
    ORGANIZER: Kind::Name, ["organizer", "host", "speaker", "contact", "name", "organiser"],
        ["is organised by {}", "is led by {}", "has the speaker {}", "is run by {}"], [], ["by {}", "host: {}", "organised by {}", "led by {}"];
    ONLINE: Kind::Flag, ["online", "is_online", "remote", "virtual"],
        ["is online", "takes place online", "is remote"], ["is not online", "takes place on site", "is in person"], ["{}"];
    FREE: Kind::Flag, ["free", "is_free", "free_entry"],
        ["is free", "costs nothing"], ["is not free", "needs a ticket"], ["{}"];
    DURATION: Kind::Int(5, 240), ["duration", "minutes", "length", "duration_minutes"],
        ["takes {} minutes", "lasts {} minutes", "is {} minutes long"], [], ["{} minutes", "{} min", "duration {} minutes"];

    TOWN: Kind::City, ["city", "name", "town", "place", "location"], ["is called {}"], [], ["{}"];
    IN_COUNTRY: Kind::Country, ["country", "state", "nation", "region"],
        ["lies in {}", "is a city in {}", "is in {}", "belongs to {}", "is a town in {}", "is the capital of {}"], [], ["in {}", "{}", "country: {}"];
    POPULATION: Kind::Int(100, 9_000_000), ["population", "inhabitants", "people", "residents"],
        ["has {} inhabitants", "has a population of {}", "is home to {} people", "counts {} people"], [], ["population {}", "{} inhabitants", "{} people"];
    AREA: Kind::Decimal(900), ["area", "size", "area_km2"],
        ["covers {} square kilometres", "has an area of {} km2", "measures {} square km"], [], ["area {}", "{} km2", "{} square kilometres"];
    RIVER: Kind::Brand, ["river", "lake", "water"],
        ["lies on the river {}", "stands on the {}", "is crossed by the river {}"], [], ["on the {}", "river {}"];
    MAYOR: Kind::Name, ["mayor", "head", "leader", "name"],
        ["has the mayor {}", "is led by {}", "is governed by {}"], [], ["mayor {}", "mayor: {}"];
    CAPITAL: Kind::Flag, ["capital", "is_capital"],
        ["is the capital", "is a capital"], ["is not the capital", "is no capital"], ["{}"];
    TEMPERATURE: Kind::Decimal(35), ["temperature", "degrees", "temp", "celsius"],
        ["has {} degrees", "is at {} degrees", "reports a temperature of {}"], [], ["{} degrees", "temperature {}"];
    WEATHER: Kind::Choice(&[("sunny", "sunny"), ("rainy", "rainy"), ("cloudy", "cloudy"), ("windy", "windy"), ("foggy", "foggy"), ("snowy", "snowy")]),
        ["weather", "condition", "sky", "conditions"], ["is {}", "is {} today", "will be {}"], [], ["{}", "{} weather"];

    FIRM: Kind::Brand, ["company", "name", "firm", "business", "organization", "brand"], ["is called {}"], [], ["{}"];
    CEO: Kind::Name, ["ceo", "founder", "director", "owner", "name", "manager"],
        ["is led by {}", "was founded by {}", "is run by {}", "belongs to {}"], [], ["founder {}", "led by {}", "owner: {}"];
    SEAT: Kind::City, ["city", "headquarters", "location", "seat", "town"],
        ["is based in {}", "sits in {}", "has its office in {}", "comes from {}"], [], ["from {}", "in {}", "of {}", "based in {}"];
    FOUNDED: Kind::Int(1800, 2030), ["founded", "year", "since", "founded_year", "established"],
        ["was founded in {}", "has existed since {}", "opened in {}"], [], ["founded {}", "since {}", "est. {}"];
    STAFF: Kind::Int(1, 9000), ["employees", "staff", "size", "headcount", "people"],
        ["has {} employees", "employs {} people", "has a staff of {}"], [], ["{} employees", "{} people", "staff {}"];
    SELLS: Kind::Things, ["products", "sells", "goods", "items", "tags"],
        ["sells {}", "makes {}", "is known for {}"], [], ["products: {}", "maker of {}"];

    PRODUCT: Kind::Thing, ["product", "item", "name", "title", "article"], ["is called {}"], [], ["{}"];
    SKU: Kind::Code, ["sku", "id", "code", "article_number", "product_id"],
        ["has the code {}", "is listed as {}", "has the number {}"], [], ["code {}", "no. {}", "sku: {}", "({})"];
    MAKER: Kind::Brand, ["brand", "maker", "company", "manufacturer", "vendor"],
        ["is made by {}", "comes from {}", "is a product of {}"], [], ["by {}", "from {}", "brand {}"];
    COLOR: Kind::Choice(&[("red", "red"), ("blue", "blue"), ("green", "green"), ("black", "black"), ("white", "white"), ("yellow", "yellow"), ("brown", "brown"), ("grey", "grey")]),
        ["color", "colour"], ["is {}", "comes in {}"], [], ["in {}", "colour {}", "{}"];
    STOCK: Kind::Flag, ["in_stock", "available", "availability"],
        ["is in stock", "is available"], ["is out of stock", "is not available", "is sold out"], ["{}"];
    RATING: Kind::Int(1, 5), ["rating", "stars", "score"],
        ["has {} stars", "is rated {}", "gets {} of 5 stars"], [], ["{} stars", "rating {}"];
    WEIGHT: Kind::Decimal(50), ["weight", "weight_kg", "mass"],
        ["weighs {} kg", "has a weight of {} kg"], [], ["{} kg", "weight {} kg"];
}

/// Every topic, and how often a text is about it: its weight.
pub static TOPICS: &[(&Topic, u32)] =
    &[(&PEOPLE, 9), (&ORDERS, 3), (&EVENTS, 3), (&PLACES, 2), (&FIRMS, 2), (&PRODUCTS, 2)];

static PEOPLE: Topic = Topic {
    names: &["person", "user", "contact", "customer", "profile", "employee", "data"],
    subject: &NAME,
    subject_forms: &["{}"],
    pronouns: &["She", "He"],
    facts: &[
        (&AGE, 12),
        (&CITY, 12),
        (&EMAIL, 12),
        (&PHONE, 4),
        (&JOB, 4),
        (&COMPANY, 3),
        (&COUNTRY, 2),
        (&HOBBIES, 4),
        (&FRIENDS, 1),
        (&MEMBER, 2),
        (&MARRIED, 2),
        (&STATUS, 1),
        (&BIRTHDAY, 2),
        (&HEIGHT, 1),
        (&STREET, 2),
        (&ZIP, 1),
    ],
    sentences: &[
        "{name}, {age}, lives in {city} and writes to {email}.",
        "{name} is {age} and lives in {city}; the e-mail is {email}.",
        "Write to {email} to reach {name} in {city}.",
        "In {city} lives {name}, who is {age} years old.",
        "From {city} we have {name} ({age}), {email}.",
        "{email} is the address of {name}, {age}, {city}.",
        "At {age}, {name} moved to {city}.",
        "{city} is where {name} lives, and {email} is where to write.",
        "My friend {name} from {city} turned {age}.",
        "Hi, this is {name} from {city}. Please send it to {email}.",
        "Hello, my name is {name}, I am {age} years old and I live in {city}. My email is {email}.",
        "Name is {name}, I'm {age}, mail me at {email}.",
        "Please add {name} ({email}) to the list.",
        "We met {name} in {city} last year. {name} is {age}.",
        "{name} <{email}>, {city}",
        "{name}, {job} at {company}, can be reached at {email} or {phone}.",
        "{company} has hired {name}, {age}, as {job}.",
        "Call {name} at {phone}.",
        "The new colleague is {name}, {job} from {city}, phone {phone}.",
        "{name} ({age}) has been living in {city} for years and reads mail at {email}.",
        "My neighbour {name}, who turned {age} last month, still works as {job}.",
        "{name} was born on {birthday} in {city}.",
        "Born on {birthday}, {name} grew up in {city} and now works for {company}.",
        "Dear Sir or Madam, I am {name}, {job} at {company}. Please call me at {phone}.",
        "Contact: {name}, {company}, {street}, {zip} {city}",
        "{street}, {zip} {city} is the address of {name}.",
        "If you need anything, ask {name} at {email} or call {phone}.",
        "The {age}-year-old {name} comes from {country}.",
        "{name}, a {age}-year-old from {city}, joined {company}.",
        "For questions about the trip, {name} can be found under {phone} or {email}.",
        "You should talk to {name}. The number is {phone} and the address is {email}.",
        "{name} and the family have moved from {country} to {city}.",
        "Sincerely, {name}, {company}, {email}, {phone}",
        "In the spring {name}, {job}, left {city} at the age of {age}.",
        "Ticket opened by {name} <{email}>: the printer in {city} is broken.",
        "Passenger {name}, age {age}, nationality {country}.",
        "{name} loves {hobbies}.",
        "After work {name} from {city} enjoys {hobbies}.",
        "{name} has invited {friends}.",
        "The account of {name} ({email}) is {status}.",
        "User {name} signed up on {birthday} with {email}.",
        "She is {name}, {age}, and her e-mail address is {email}.",
        "His name is {name}; he is {age} and lives at {street} in {city}.",
        "Patient {name}, born {birthday}, phone {phone}.",
        "Applicant: {name}, {age}, currently {job} at {company} in {city}.",
    ],
};

static ORDERS: Topic = Topic {
    names: &["order", "purchase", "data", "shipment"],
    subject: &ORDER,
    subject_forms: &["Order {}", "The order {}", "Purchase {}", "Order #{}", "Order no. {}"],
    pronouns: &["It", "The order"],
    facts: &[
        (&CUSTOMER, 6),
        (&ITEM, 4),
        (&ITEMS, 4),
        (&QUANTITY, 4),
        (&PRICE, 5),
        (&CURRENCY, 1),
        (&PAID, 3),
        (&EXPRESS, 2),
        (&DELIVERY, 3),
        (&SHIP_TO, 5),
        (&ORDERED, 3),
    ],
    sentences: &[
        "{customer} ordered {quantity} x {item} for {price} {currency}.",
        "{customer} from {city} ordered {quantity} {item}.",
        "Please send {quantity} {item} to {customer} in {city}.",
        "{customer} bought {items} for {price}.",
        "I would like to order {quantity} of the {item}. My name is {customer}.",
        "Order {order_id}: {quantity} x {item}, {price} {currency}, for {customer}.",
        "We sold {quantity} {item} at {price} each to {customer}.",
        "{quantity} {item} for {customer}, order {order_id}, to {city}.",
        "Invoice {order_id} for {customer}: {price} {currency}.",
        "Ship {item} to {city} by {date}.",
        "{customer} wants {quantity} {item} delivered to {city}; the total is {price} {currency}.",
        "On {date} {customer} paid ${price} for {quantity} {item}.",
        "Your order {order_id} of {date} comes to {price} {currency} and goes to {city}.",
        "Receipt no. {order_id}: {items}. Total: ${price}.",
        "Hello, {customer} here. I have ordered {items}, order number {order_id}.",
        "Order {order_id} ({customer}) was {status} on {date}.",
        "Could you send {quantity} of {item} to {customer}, {city}? The order is {order_id}.",
        "{customer} returned {quantity} {item} bought on {date}.",
        "The invoice {order_id} dated {date} over {price} {currency} is addressed to {customer}.",
        "We owe {customer} {price} {currency} for {item}.",
        "{quantity} x {item} at €{price}, ship to {customer}, {city}",
    ],
};

static EVENTS: Topic = Topic {
    names: &["event", "meeting", "appointment", "data"],
    subject: &TITLE,
    subject_forms: &["{}", "The event {}", "\"{}\"", "The meeting \"{}\"", "The talk \"{}\""],
    pronouns: &["It", "The event", "The meeting"],
    facts: &[
        (&VENUE, 6),
        (&DATE, 6),
        (&TIME, 5),
        (&GUESTS, 3),
        (&SPEAKERS, 3),
        (&ORGANIZER, 4),
        (&ONLINE, 2),
        (&FREE, 2),
        (&DURATION, 3),
    ],
    sentences: &[
        "Join us for {title} in {location} on {date} at {time}.",
        "On {date} at {time}: {title}, {location}.",
        "{organizer} invites you to \"{title}\" on {date} in {location}.",
        "Meeting with {speakers} on {date} at {time}.",
        "In {location}, {title} starts at {time} on {date}.",
        "There is a talk by {organizer} about {title} at {time}.",
        "The workshop \"{title}\" in {location} takes {duration} minutes and has {attendees} seats.",
        "{organizer} and {attendees} guests meet in {location} on {date}.",
        "Reminder: \"{title}\" begins at {time} on {date}, room {location}.",
        "Our next meeting, {title}, will be held on {date} in {location}.",
        "{speakers} will speak at {title} on {date}.",
        "Save the date: {date}, {time}, {location}. {organizer} talks about {title}.",
        "The {title} has been moved to {date} at {time}.",
        "From {time} on {date}, {location} hosts {title} with {attendees} participants.",
        "{organizer} has booked {location} for {date}; {attendees} people will come.",
        "Lunch with {speakers} at {time}.",
        "{title} ({date}, {location}) lasts {duration} minutes.",
    ],
};

static PLACES: Topic = Topic {
    names: &["place", "city", "location", "data"],
    subject: &TOWN,
    subject_forms: &["{}", "The city of {}", "The town of {}"],
    pronouns: &["It", "The city", "The town"],
    facts: &[
        (&IN_COUNTRY, 5),
        (&POPULATION, 5),
        (&AREA, 3),
        (&RIVER, 3),
        (&MAYOR, 3),
        (&CAPITAL, 2),
        (&TEMPERATURE, 3),
        (&WEATHER, 3),
    ],
    sentences: &[
        "In {city} it is {temperature} degrees and {weather}.",
        "The weather in {city} is {weather}.",
        "With {population} people, {city} is the largest town of {country}.",
        "{country} has a city called {city} with {population} inhabitants.",
        "{mayor} is the mayor of {city}.",
        "On the river {river} lies {city}, {country}.",
        "{city} ({country}), {population} inhabitants",
        "About {population} people live in {city}, which lies in {country}.",
        "{city} in {country} covers {area} square kilometres.",
        "Today it is {weather} in {city} at {temperature} degrees.",
        "{city}, with its {population} inhabitants, has been led by {mayor} for years.",
        "Travelling through {country} we stopped in {city} on the {river}.",
    ],
};

static FIRMS: Topic = Topic {
    names: &["company", "firm", "organization", "data"],
    subject: &FIRM,
    subject_forms: &["{}", "The company {}", "The firm {}"],
    pronouns: &["It", "The company", "The firm"],
    facts: &[
        (&CEO, 5),
        (&SEAT, 6),
        (&FOUNDED, 4),
        (&STAFF, 4),
        (&SELLS, 3),
        (&EMAIL, 3),
        (&PHONE, 2),
        (&COUNTRY, 1),
    ],
    sentences: &[
        "{ceo} founded {company} in {city} in {founded}.",
        "{company}, founded in {founded}, has {employees} employees.",
        "{company} in {city} sells {products}.",
        "{ceo} is the head of {company}, {city}.",
        "In {founded} {ceo} opened {company} in {city}.",
        "Write to {company} at {email}.",
        "{company} was started by {ceo} in {founded} and employs {employees} people in {city}.",
        "The {city} based company {company} makes {products}.",
        "{ceo}, who owns {company}, can be written to at {email}.",
        "With {employees} employees {company} of {city} is the largest employer there.",
        "Since {founded} {company} has been selling {products} in {country}.",
    ],
};

static PRODUCTS: Topic = Topic {
    names: &["product", "item", "article", "data"],
    subject: &PRODUCT,
    subject_forms: &["The {}", "Our {}", "The product {}", "{}"],
    pronouns: &["It", "The product"],
    facts: &[
        (&SKU, 4),
        (&PRICE, 6),
        (&MAKER, 4),
        (&COLOR, 3),
        (&STOCK, 3),
        (&RATING, 3),
        (&WEIGHT, 3),
    ],
    sentences: &[
        "The {product} by {brand} costs {price}.",
        "{brand} sells the {product} for {price}.",
        "For {price} you get the {product} ({sku}) from {brand}.",
        "I give the {product} {rating} stars.",
        "The {product} ({sku}) weighs {weight} kg.",
        "I bought the {product} from {brand} and rate it {rating} of 5.",
        "The {product} from {brand} is on sale for ${price}.",
        "{product}, article {sku}, {weight} kg, {price} euros",
        "We are out of the {product} ({sku}).",
        "{brand} has a new {product} in {color} for €{price}.",
        "Review of the {product}: {rating} stars. It cost {price}.",
    ],
};
