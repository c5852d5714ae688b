//! The JSON forms that derived code cannot give: a call in two spellings, and values
//! that are checked while they are read, so that the error has a line and a column.

use super::{Action, Call};
use rustix::process::Signal;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Written as `true`. An action that is switched off is better left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "bool", into = "bool")]
pub struct Yes;

/// Bytes, written as pairs of hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hex(pub Vec<u8>);

/// A signal that this system has, written as its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i32", into = "i32")]
pub struct SignalNumber(pub Signal);

impl TryFrom<bool> for Yes {
    type Error = &'static str;

    fn try_from(value: bool) -> Result<Yes, Self::Error> {
        if value { Ok(Yes) } else { Err("only true has a meaning here") }
    }
}

impl From<Yes> for bool {
    fn from(Yes: Yes) -> bool {
        true
    }
}

impl TryFrom<String> for Hex {
    type Error = String;

    fn try_from(digits: String) -> Result<Hex, String> {
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        let bytes: Option<Vec<u8>> = pairs.iter().map(|[high, low]| byte(*high, *low)).collect();
        match bytes {
            Some(bytes) if rest.is_empty() => Ok(Hex(bytes)),
            _ => Err(format!("not pairs of hexadecimal digits: {digits:?}")),
        }
    }
}

fn byte(high: u8, low: u8) -> Option<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|d| u8::try_from(d).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

impl From<Hex> for String {
    fn from(Hex(bytes): Hex) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<i32> for SignalNumber {
    type Error = String;

    fn try_from(number: i32) -> Result<SignalNumber, String> {
        Signal::from_named_raw(number)
            .map(SignalNumber)
            .ok_or_else(|| format!("no signal has the number {number}"))
    }
}

impl From<SignalNumber> for i32 {
    fn from(SignalNumber(signal): SignalNumber) -> i32 {
        signal.as_raw()
    }
}

// An untagged enum would answer every mistake inside an action with "did not match any
// variant"; deciding by the first token keeps the error of the action itself.
impl<'de> Deserialize<'de> for Call {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Call, D::Error> {
        deserializer.deserialize_any(CallVisitor)
    }
}

struct CallVisitor;

impl<'de> Visitor<'de> for CallVisitor {
    type Value = Call;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"a list of actions or {"do": [...]}"#)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Call, A::Error> {
        Vec::<Action>::deserialize(SeqAccessDeserializer::new(seq)).map(Call)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Call, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Wrapped {
            r#do: Vec<Action>,
        }
        let Wrapped { r#do: actions } = Wrapped::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Call(actions))
    }
}
