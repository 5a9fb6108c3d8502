//! Python's `strftime` for chat templates that write the date, in UTC.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const DAY: u64 = 24 * 60 * 60;

/// Python's `strftime` for years from 1970 on, with the English names of the C locale. A directive
/// that is not known here stays as it is.
pub(crate) fn strftime(format: &str, time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, second) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = civil(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let (month_name, day_name) = (MONTHS[month as usize - 1], DAYS[(days % 7) as usize]);
    let day_of_year = days - days_until(year) + 1;
    let noon = if hour < 12 { "AM" } else { "PM" };

    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        let directive = if c == '%' { chars.next() } else { None };
        // Writing to a string does not fail.
        let _ = match directive {
            None => write!(out, "{c}"),
            Some('Y') => write!(out, "{year}"),
            Some('y') => write!(out, "{:02}", year % 100),
            Some('m') => write!(out, "{month:02}"),
            Some('d') => write!(out, "{day:02}"),
            Some('e') => write!(out, "{day:2}"),
            Some('j') => write!(out, "{day_of_year:03}"),
            Some('B') => write!(out, "{month_name}"),
            Some('b' | 'h') => write!(out, "{}", &month_name[..3]),
            Some('A') => write!(out, "{day_name}"),
            Some('a') => write!(out, "{}", &day_name[..3]),
            Some('H') => write!(out, "{hour:02}"),
            Some('I') => write!(out, "{:02}", (hour + 11) % 12 + 1),
            Some('p') => write!(out, "{noon}"),
            Some('M') => write!(out, "{minute:02}"),
            Some('S') => write!(out, "{:02}", second % 60),
            Some('F') => write!(out, "{year}-{month:02}-{day:02}"),
            Some('T') => write!(out, "{hour:02}:{minute:02}:{:02}", second % 60),
            Some('Z') => write!(out, "UTC"),
            Some('R') => write!(out, "{hour:02}:{minute:02}"),
            Some('D' | 'x') => write!(out, "{month:02}/{day:02}/{:02}", year % 100),
            Some('X') => write!(out, "{hour:02}:{minute:02}:{:02}", second % 60),
            Some('c') => write!(out, "{}", strftime("%a %b %e %H:%M:%S %Y", time)),
            Some('f') => write!(out, "000000"),
            Some('u') => write!(out, "{}", (days + 3) % 7 + 1),
            Some('w') => write!(out, "{}", (days + 4) % 7),
            // A number without zeros before it, as on Linux.
            Some('-') => match chars.next() {
                Some(c) => {
                    let padded = strftime(&format!("%{c}"), time);
                    let bare = padded.trim_start_matches(['0', ' ']);
                    write!(out, "{}", if bare.is_empty() { "0" } else { bare })
                }
                None => write!(out, "%-"),
            },
            Some('%') => write!(out, "%"),
            Some(other) => write!(out, "%{other}"),
        };
    }
    out
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days from 1970-01-01 to the first day of a year: 365 for each, and one for each leap year.
fn days_until(year: u64) -> u64 {
    let leaps = |y: u64| y / 4 - y / 100 + y / 400;
    365 * (year - 1970) + leaps(year - 1) - leaps(1969)
}

/// Year, month and day (from 1) of a day counted from 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // Never past the year, and one short of it for each five centuries.
    let mut year = 1970 + days / 366;
    while days_until(year + 1) <= days {
        year += 1;
    }
    let mut rest = days - days_until(year);
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while rest >= lengths[month] {
        rest -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, rest + 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Seconds and expectations by `date -u -d @N +FORMAT`.
    #[test]
    fn dates_are_those_of_the_system() {
        for (seconds, expected) in [
            (0, "1970-01-01 Thu Thursday 01 Jan January 70 001 00:00:00 12 AM"),
            (951_782_399, "2000-02-28 Mon Monday 28 Feb February 00 059 23:59:59 11 PM"),
            (951_782_400, "2000-02-29 Tue Tuesday 29 Feb February 00 060 00:00:00 12 AM"),
            (1_735_689_599, "2024-12-31 Tue Tuesday 31 Dec December 24 366 23:59:59 11 PM"),
            (1_763_726_400, "2025-11-21 Fri Friday 21 Nov November 25 325 12:00:00 12 PM"),
            (4_107_542_400, "2100-03-01 Mon Monday 01 Mar March 00 060 00:00:00 12 AM"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(strftime("%Y-%m-%d %a %A %d %b %B %y %j %T %I %p", time), expected);
            assert_eq!(strftime("%F %H:%M:%S", time), strftime("%Y-%m-%d %T", time));
        }
        let time = UNIX_EPOCH + Duration::from_secs(1_735_689_599 - 30 * DAY);
        assert_eq!(
            strftime("%-d %-m %-I %-M %R %D %c %u %w", time),
            "1 12 11 59 23:59 12/01/24 Sun Dec  1 23:59:59 2024 7 0"
        );
        assert_eq!(strftime("%-H", UNIX_EPOCH), "0");
        assert_eq!(strftime("100%% %e %Q %", UNIX_EPOCH), "100%  1 %Q %");
    }
}
