//! Reads enums whose variant is in the key `kind` of an object, among the keys of the variant itself.
//!
//! For `serde(tag = "kind")` serde reads the whole object into a tree first, because `kind` may be its last key, and an
//! error below it has lost its path: `traffic[0]` instead of `traffic[0].socket.rcvlow`. The front end writes `kind` first,
//! and then the other keys are read directly, so that an error names its key.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::{EnumAccessDeserializer, MapAccessDeserializer, MapDeserializer};
use serde::de::{
    DeserializeSeed, EnumAccess, Error, IgnoredAny, MapAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Deserialize, Deserializer};

const KIND: &str = "kind";

/// An enum whose variant is in the key `kind`.
pub trait Tagged: Sized {
    /// Reads it as an enum of serde. Of a type with `serde(remote = "Self")` it is `Self::deserialize`.
    fn variant<'de, D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error>;
}

/// Reads an object by its key `kind`.
pub fn by_kind<'de, D: Deserializer<'de>, T: Tagged>(reader: D) -> Result<T, D::Error> {
    reader.deserialize_map(ByKind(PhantomData))
}

struct ByKind<T>(PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for ByKind<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("an object with a `kind`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<T, M::Error> {
        let mut others = serde_json::Map::new();
        while let Some(Key(key)) = map.next_key()? {
            if key == KIND && others.is_empty() {
                return T::variant(EnumAccessDeserializer::new(AfterKind(map)));
            }
            if others.contains_key(&*key) {
                return Err(M::Error::custom(format!("duplicate field `{key}`")));
            }
            others.insert(key.into_owned(), map.next_value()?);
        }
        let kind = others.remove_entry(KIND).ok_or_else(|| M::Error::missing_field(KIND))?;
        by_kind(MapDeserializer::new(std::iter::once(kind).chain(others))).map_err(M::Error::custom)
    }
}

/// A key of an object, not copied unless it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The rest of an object: the value of `kind`, then all other keys.
struct AfterKind<M>(M);

impl<'de, M: MapAccess<'de>> EnumAccess<'de> for AfterKind<M> {
    type Error = M::Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(mut self, seed: V) -> Result<(V::Value, Self), M::Error> {
        let variant = self.0.next_value_seed(seed)?;
        Ok((variant, self))
    }
}

impl<'de, M: MapAccess<'de>> VariantAccess<'de> for AfterKind<M> {
    type Error = M::Error;

    fn unit_variant(self) -> Result<(), M::Error> {
        IgnoredAny.visit_map(self.0).map(drop)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, M::Error> {
        seed.deserialize(MapAccessDeserializer::new(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, M::Error> {
        Err(M::Error::invalid_type(Unexpected::Map, &visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, M::Error> {
        visitor.visit_map(self.0)
    }
}

/// Implements `Deserialize` for a [`Tagged`] enum that is derived with `serde(remote = "Self")`.
macro_rules! read_by_kind {
    ($type:ty) => {
        impl crate::tagged::Tagged for $type {
            fn variant<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
                <$type>::deserialize(reader)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
                crate::tagged::by_kind(reader)
            }
        }
    };
}
pub(crate) use read_by_kind;

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    #[derive(PartialEq, Debug, Deserialize)]
    #[serde(remote = "Self", rename_all = "lowercase", deny_unknown_fields)]
    enum Shape {
        Point,
        Square { side: u32 },
        Circle(Circle),
    }

    #[derive(PartialEq, Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Circle {
        radius: u32,
        #[serde(default)]
        filled: bool,
    }

    read_by_kind!(Shape);

    fn read(json: &str) -> Result<Shape, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn the_kind_may_be_the_first_key_or_a_later_one() {
        assert_eq!(read(r#"{"kind": "point"}"#), Ok(Shape::Point));
        for json in [r#"{"kind": "square", "side": 3}"#, r#"{"side": 3, "kind": "square"}"#] {
            assert_eq!(read(json), Ok(Shape::Square { side: 3 }));
        }
        let circle = Ok(Shape::Circle(Circle { radius: 2, filled: true }));
        for json in [
            r#"{"kind": "circle", "radius": 2, "filled": true}"#,
            r#"{"filled": true, "kind": "circle", "radius": 2}"#,
        ] {
            assert_eq!(read(json), circle);
        }
    }

    #[test]
    fn what_is_wrong_is_named_wherever_the_kind_is() {
        for (json, problem) in [
            (r#"{"side": 3}"#, "missing field `kind`"),
            (
                r#"{"kind": "cube", "side": 3}"#,
                "unknown variant `cube`, expected one of `point`, `square`, `circle`",
            ),
            (
                r#"{"side": 3, "kind": "cube"}"#,
                "unknown variant `cube`, expected one of `point`, `square`, `circle`",
            ),
            (r#"{"kind": "square", "edge": 3}"#, "unknown field `edge`, expected `side`"),
            (r#"{"edge": 3, "kind": "square"}"#, "unknown field `edge`, expected `side`"),
            (r#"{"kind": "circle"}"#, "missing field `radius`"),
            (r#"{"radius": 1, "radius": 2, "kind": "circle"}"#, "duplicate field `radius`"),
            (r#"{"kind": "circle", "radius": 1, "radius": 2}"#, "duplicate field `radius`"),
            (r#"[3]"#, "invalid type: sequence, expected an object with a `kind`"),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.starts_with(problem), "{json}: {error}");
        }
    }
}
