//! JSON read for what it says, not for the shape it was last seen in.
//!
//! The same key is a string in one event and an object in another (`message`, `error`,
//! `content`), and every release of an agent changes some. A field read through [`loose`] that
//! has an unexpected shape counts as absent, so it costs that field and not the whole line.
//!
//! Deliberately absent: `serde_json::Value` and tagged enums. Both copy every string of a line,
//! also those that no reader needs.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A value that can be read from any JSON; shapes that it does not name give the default.
pub(super) trait Loose<'de>: Default {
    fn string(_: Cow<'de, str>) -> Self {
        Self::default()
    }

    fn number(_: f64) -> Self {
        Self::default()
    }

    fn flag(_: bool) -> Self {
        Self::default()
    }

    fn map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// For `#[serde(deserialize_with = "loose")]`.
pub(super) fn loose<'de, D: Deserializer<'de>, T: Loose<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(AnyShape(PhantomData))
}

struct AnyShape<T>(PhantomData<T>);

impl<'de, T: Loose<'de>> Visitor<'de> for AnyShape<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<T, E> {
        Ok(T::string(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok(T::string(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<T, E> {
        Ok(T::flag(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        Ok(T::number(number))
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::seq(seq)
    }
}

impl<'de: 'a, 'a> Loose<'de> for Cow<'a, str> {
    fn string(text: Cow<'de, str>) -> Cow<'a, str> {
        text
    }
}

impl<'de> Loose<'de> for bool {
    fn flag(flag: bool) -> bool {
        flag
    }
}

impl<'de> Loose<'de> for Option<f64> {
    fn number(number: f64) -> Option<f64> {
        Some(number)
    }
}

/// Counts. What is negative or broken is cut off by the cast, as it should be.
impl<'de> Loose<'de> for u64 {
    fn number(number: f64) -> u64 {
        number as u64
    }
}

impl<'de> Loose<'de> for u32 {
    fn number(number: f64) -> u32 {
        number as u32
    }
}

/// A structure read from an object, and from nothing else.
pub(super) trait Object<'de>: Deserialize<'de> + Default {}

impl<'de, T: Object<'de>> Loose<'de> for T {
    fn map<A: MapAccess<'de>>(map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// A list of values, each as loose as the list.
impl<'de, T: Loose<'de>> Loose<'de> for Vec<T> {
    fn seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(Each(item)) = seq.next_element()? {
            list.push(item);
        }
        Ok(list)
    }
}

/// An item of a list or a map: a type of its own, as there is no attribute for items.
pub(super) struct Each<T>(pub(super) T);

impl<'de, T: Loose<'de>> Deserialize<'de> for Each<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Each<T>, D::Error> {
        loose(from).map(Each)
    }
}
