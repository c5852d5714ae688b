//! JSON that is written back as it was read: keys keep their order, unknown ones their value.
//!
//! A key that is there twice is an error: readers disagree about which one counts, so an agent
//! could show one value to ralph and another to the next reader.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Number;
use std::borrow::Cow;
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

/// Names of the schema cost no copy: a long list has thousands of them.
pub type Key = Cow<'static, str>;

impl Object {
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Replaces a value in its place; a new field goes to the end.
    pub fn set(&mut self, name: &'static str, value: Json) {
        match self.fields.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.fields.push((Key::Borrowed(name), value)),
        }
    }

    /// Makes a field what it is in another object, absence included.
    pub fn take_from(&mut self, other: &Object, name: &'static str) {
        match other.get(name) {
            Some(value) => self.set(name, value.clone()),
            None => self.fields.retain(|(key, _)| key != name),
        }
    }

    pub fn fields(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.fields.iter().map(|(key, value)| (&**key, value))
    }

    /// Takes a value out and leaves null in its place.
    pub(super) fn take_out(&mut self, name: &str) -> Option<Json> {
        let (_, value) = self.fields.iter_mut().find(|(key, _)| key == name)?;
        Some(std::mem::replace(value, Json::Null))
    }
}

impl FromIterator<(&'static str, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (&'static str, Json)>>(fields: I) -> Object {
        Object { fields: fields.into_iter().map(|(name, value)| (Key::Borrowed(name), value)).collect() }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (key, value) in &self.fields {
            map.serialize_entry(&**key, value)?;
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

/// An object with more keys than this is not searched key by key.
const FEW: usize = 24;

fn object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Object, A::Error> {
    let mut fields: Vec<(Key, Json)> = Vec::with_capacity(12);
    let mut seen: HashSet<Key> = HashSet::new();
    while let Some(Name(name)) = map.next_key()? {
        if fields.len() == FEW {
            seen.extend(fields.iter().map(|(key, _)| key.clone()));
        }
        let twice = match fields.len() {
            ..FEW => fields.iter().any(|(key, _)| *key == name),
            FEW.. => !seen.insert(name.clone()),
        };
        if twice {
            return Err(de::Error::custom(format!("the key is there twice: {}", name.escape_debug())));
        }
        fields.push((name, map.next_value()?));
    }
    Ok(Object { fields })
}

struct Name(Key);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        let known = super::field::ALL.iter().find(|known| **known == name);
        Ok(Name(known.map_or_else(|| Key::Owned(name.to_owned()), |known| Key::Borrowed(known))))
    }
}
