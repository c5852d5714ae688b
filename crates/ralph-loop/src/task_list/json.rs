//! JSON that is written back as it was read: keys keep their order, unknown ones their value.
//!
//! A key that is there twice is an error: readers disagree about which one counts, so an agent
//! could show one value to ralph and another to the next reader.

use super::field;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Number;
use std::collections::HashSet;
use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Json>),
    Object(Object),
}

impl Json {
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// A list of strings, if it is one.
    pub fn as_strings(&self) -> Option<Vec<&str>> {
        match self {
            Json::Array(items) => items.iter().map(Json::as_str).collect(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => None,
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::String(text.to_owned())
    }
}

/// As in a file, on one line.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// An object's fields in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    fields: Vec<(Key, Json)>,
}

/// A list has thousands of keys, and nearly all of them are one of fifteen names: those are
/// numbers, which need no copy and are compared at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Known(u8),
    Other(Box<str>),
}

impl Key {
    fn of(name: &str) -> Key {
        known(name).map_or_else(|| Key::Other(name.into()), Key::Known)
    }

    fn name(&self) -> &str {
        match self {
            Key::Known(number) => field::ALL[usize::from(*number)],
            Key::Other(name) => name,
        }
    }
}

/// The place of a name in `field::ALL`.
fn known(name: &str) -> Option<u8> {
    Some(match name {
        field::ID => 0,
        field::TITLE => 1,
        field::DESCRIPTION => 2,
        field::ACCEPTANCE_CRITERIA => 3,
        field::PRIORITY => 4,
        field::PASSES => 5,
        field::REVIEW_STATUS => 6,
        field::REVIEW_COUNT => 7,
        field::REVIEW_FEEDBACK => 8,
        field::NOTES => 9,
        field::DEPENDS_ON => 10,
        field::PROJECT => 11,
        field::BRANCH_NAME => 12,
        field::VERIFY_COMMANDS => 13,
        field::USER_STORIES => 14,
        _ => return None,
    })
}

impl Object {
    fn position(&self, name: &str) -> Option<usize> {
        match known(name) {
            Some(number) => self.fields.iter().position(|(key, _)| *key == Key::Known(number)),
            None => self.fields.iter().position(|(key, _)| key.name() == name),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Json> {
        self.position(name).map(|at| &self.fields[at].1)
    }

    /// Replaces a value in its place; a new field goes to the end.
    pub fn set(&mut self, name: &str, value: Json) {
        match self.position(name) {
            Some(at) => self.fields[at].1 = value,
            None => self.fields.push((Key::of(name), value)),
        }
    }

    /// Makes a field what it is in another object, absence included.
    pub fn take_from(&mut self, other: &Object, name: &str) {
        match other.get(name) {
            Some(value) => self.set(name, value.clone()),
            None => self.fields.retain(|(key, _)| key.name() != name),
        }
    }

    pub fn fields(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.fields.iter().map(|(key, value)| (key.name(), value))
    }

    /// Takes a value out and leaves null in its place.
    pub(super) fn take_out(&mut self, name: &str) -> Option<Json> {
        let at = self.position(name)?;
        Some(std::mem::replace(&mut self.fields[at].1, Json::Null))
    }
}

impl<'a> FromIterator<(&'a str, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (&'a str, Json)>>(fields: I) -> Object {
        Object { fields: fields.into_iter().map(|(name, value)| (Key::of(name), value)).collect() }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (key, value) in &self.fields {
            map.serialize_entry(key.name(), value)?;
        }
        map.end()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(value) => value.serialize(serializer),
            Json::String(value) => serializer.serialize_str(value),
            Json::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Json::Object(object) => object.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
        Number::from_f64(value).map(Json::Number).ok_or_else(|| E::custom("the number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Json, A::Error> {
        object(map).map(Json::Object)
    }
}

fn object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Object, A::Error> {
    let mut fields: Vec<(Key, Json)> = Vec::with_capacity(field::OF_A_STORY);
    // One bit for each known name; the others are few, if there are any.
    let mut known: u16 = 0;
    let mut others: HashSet<Box<str>> = HashSet::new();
    while let Some(key) = map.next_key::<Key>()? {
        let twice = match &key {
            Key::Known(number) => {
                let bit = 1 << number;
                let twice = known & bit != 0;
                known |= bit;
                twice
            }
            Key::Other(name) => !others.insert(name.clone()),
        };
        if twice {
            let name = key.name().escape_debug();
            return Err(de::Error::custom(format!("duplicate key: {name}")));
        }
        fields.push((key, map.next_value()?));
    }
    Ok(Object { fields })
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, name: &str) -> Result<Key, E> {
        Ok(Key::of(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_schema_is_known_by_its_place() {
        for (place, name) in field::ALL.iter().enumerate() {
            assert_eq!(known(name).map(usize::from), Some(place), "{name}");
        }
        assert_eq!((known("x"), field::ALL.len()), (None, 15));
    }
}
