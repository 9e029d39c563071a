//! Instants as Pi writes them (rule 3 of section 1.6): `YYYY-MM-DDTHH:MM:SS.mmmZ`.

use std::fmt;

use serde::{Serialize, Serializer};

/// An instant in milliseconds since 1970, in the years 0000 to 9999.
///
/// It has exactly one spelling, so it stands for the text it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

const DAY: i64 = 86_400_000;
/// 9999-12-31T23:59:59.999Z.
const LAST: i64 = 253_402_300_799_999;
/// 0000-01-01T00:00:00.000Z.
const FIRST: i64 = -62_167_219_200_000;

impl Timestamp {
    /// 1970-01-01T00:00:00.000Z, the time of an artifact that holds no mention.
    pub const EPOCH: Self = Self(0);

    /// 9999-12-31T23:59:59.999Z, the last instant with a spelling.
    pub const LATEST: Self = Self(LAST);

    /// The instant so many milliseconds after 1970, if its year has four digits.
    pub fn from_millis(millis: i64) -> Option<Self> {
        (FIRST..=LAST).contains(&millis).then_some(Self(millis))
    }

    /// Milliseconds since 1970.
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Reads the one canonical spelling: what `new Date(t).toISOString()` gives back unchanged.
    pub fn parse(text: &[u8]) -> Option<Self> {
        const SHAPE: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
        if text.len() != SHAPE.len() {
            return None;
        }
        let fits = |(byte, shape): (&u8, &u8)| match shape {
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        };
        if !text.iter().zip(SHAPE).all(fits) {
            return None;
        }
        let number = |range: std::ops::Range<usize>| {
            text[range].iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'))
        };
        let (year, month, day) = (number(0..4), number(5..7), number(8..10));
        let (hour, minute, second) = (number(11..13), number(14..16), number(17..19));
        let real = (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        let of_day = ((hour * 60 + minute) * 60 + second) * 1000 + number(20..23);
        real.then(|| Self(days_from_civil(year, month, day) * DAY + of_day))
    }

    /// Reads a date or an instant given by a person: `2026-11-30`, `2026-11-30T17:55Z`, with
    /// seconds and a fraction as far as wanted. UTC only.
    pub fn parse_loose(text: &str) -> Option<Self> {
        const FULL: &str = "0000-01-01T00:00:00.000";
        let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
        let filled = match text.len() {
            10 | 16 | 19 | 23 => format!("{text}{}Z", &FULL[text.len()..]),
            _ => return None,
        };
        Self::parse(filled.replace(' ', "T").as_bytes())
    }
}

fn leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar, with years that begin in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(DAY));
        let of_day = self.0.rem_euclid(DAY);
        let (second, millis) = (of_day / 1000, of_day % 1000);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_javascript_gives_back_is_a_timestamp() {
        let cases = [
            ("2026-11-30T17:28:07.858Z", true),
            ("2024-02-29T00:00:00.000Z", true),
            ("0000-01-01T00:00:00.000Z", true),
            ("9999-12-31T23:59:59.999Z", true),
            ("2026-02-29T00:00:00.000Z", false),
            ("2026-04-31T00:00:00.000Z", false),
            ("2026-01-01T24:00:00.000Z", false),
            ("2026-01-01T23:59:60.000Z", false),
            ("2026-01-00T00:00:00.000Z", false),
            ("2026-13-01T00:00:00.000Z", false),
            ("2026-11-30T17:28:07Z", false),
            ("2026-11-30T17:28:07.858z", false),
            ("2026-11-30 17:28:07.858Z", false),
            ("2026-11-30T17:28:07.858+00:00", false),
            ("2026-11-30T17:28:07.85８Z", false),
            ("+02026-11-30T17:28:07.858Z", false),
            ("", false),
        ];
        for (text, expected) in cases {
            assert_eq!(Timestamp::parse(text.as_bytes()).is_some(), expected, "{text}");
        }
        assert_eq!(Timestamp::parse(b"1970-01-01T00:00:00.000Z"), Some(Timestamp::EPOCH));
        assert_eq!(Timestamp::parse(b"0000-01-01T00:00:00.000Z").unwrap().millis(), FIRST);
        assert_eq!(Timestamp::parse(b"9999-12-31T23:59:59.999Z").unwrap().millis(), LAST);
    }

    #[test]
    fn a_person_may_leave_out_what_is_zero() {
        for text in ["2026-11-30", "2026-11-30T00:00Z", "2026-11-30 00:00:00", "2026-11-30T00:00:00.000Z"] {
            let read = Timestamp::parse_loose(text).map(|at| at.to_string());
            assert_eq!(read.as_deref(), Some("2026-11-30T00:00:00.000Z"), "{text}");
        }
        assert_eq!(Timestamp::parse_loose("yesterday"), None);
        assert_eq!(Timestamp::parse_loose("2026-11-30T17:28:07.858+09:00"), None);
        assert_eq!(Timestamp::parse_loose("ééééé"), None);
    }

    proptest::proptest! {
        #[test]
        fn an_instant_and_its_spelling_are_one(millis in FIRST..=LAST) {
            let at = Timestamp::from_millis(millis).unwrap();
            proptest::prop_assert_eq!(Timestamp::parse(at.to_string().as_bytes()), Some(at));
        }
    }
}
