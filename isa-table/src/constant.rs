//! Contents of a table: data in a `static`, and its owned counterpart while a generator builds it.
//!
//! A content type has `'static` strings and lists. Its counterpart, named with the suffix `Buf`, owns them: the
//! generator fills it in and writes it as a Rust expression of the `'static` type. A macro that needs the table
//! immediately leaks it instead.
//!
//! All of this requires the feature `write`, which readers of a table do not need.
//!
//! ```
//! # #[cfg(feature = "write")] {
//! use isa_table::constant::Content;
//! use isa_table::page::{Function, FunctionBuf};
//!
//! let function = FunctionBuf { signature: "flush(x)".into(), description: "Subnormal numbers become zero.".into() };
//! let mut text = String::new();
//! Function::write(&function, &mut text);
//! assert_eq!(text, r#"Function { signature: "flush(x)", description: "Subnormal numbers become zero." }"#);
//! assert_eq!(Function::leak(function).signature, "flush(x)");
//! # }
//! ```

#[cfg(feature = "write")]
use alloc::{boxed::Box, format, string::String, vec::Vec};

/// Data in a `static`.
#[cfg(feature = "write")]
pub trait Content: Sized + 'static {
    /// The owned counterpart, used while building.
    type Buf;

    /// Appends the Rust expression of the value. Paths are the names of this crate's types without their modules.
    fn write(buf: &Self::Buf, out: &mut String);

    /// Appends the Rust expression of a list of values.
    fn write_list(list: &[Self::Buf], out: &mut String) {
        out.push_str("&[");
        for (index, element) in list.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            Self::write(element, out);
        }
        out.push(']');
    }

    /// Leaks the value, which then has the static lifetime.
    fn leak(buf: Self::Buf) -> Self;
}

#[cfg(feature = "write")]
impl Content for &'static str {
    type Buf = String;

    fn write(buf: &String, out: &mut String) {
        // `Debug` of `str` emits Rust's own escapes only.
        out.push_str(&format!("{buf:?}"));
    }

    fn leak(buf: String) -> &'static str {
        buf.leak()
    }
}

#[cfg(feature = "write")]
impl<T: Content> Content for &'static [T] {
    type Buf = Vec<T::Buf>;

    fn write(buf: &Vec<T::Buf>, out: &mut String) {
        T::write_list(buf, out);
    }

    fn leak(buf: Vec<T::Buf>) -> &'static [T] {
        // `collect` would be monomorphized for each type, which slows the build.
        let mut list = Vec::with_capacity(buf.len());
        for element in buf {
            list.push(T::leak(element));
        }
        list.leak()
    }
}

/// Boxed: a field that few rows have is kept out of line to keep rows small.
#[cfg(feature = "write")]
impl<T: Content> Content for &'static T {
    type Buf = T::Buf;

    fn write(buf: &T::Buf, out: &mut String) {
        out.push('&');
        T::write(buf, out);
    }

    fn leak(buf: T::Buf) -> &'static T {
        Box::leak(Box::new(T::leak(buf)))
    }
}

#[cfg(feature = "write")]
impl Content for u8 {
    type Buf = u8;

    fn write(buf: &u8, out: &mut String) {
        out.push_str(&format!("{buf}"));
    }

    /// Writes a byte string literal, which the compiler parses as one token instead of one for each number.
    fn write_list(list: &[u8], out: &mut String) {
        out.push_str(&format!("b\"{}\"", list.escape_ascii()));
    }

    fn leak(buf: u8) -> u8 {
        buf
    }
}

#[cfg(feature = "write")]
impl<T: Content> Content for Option<T> {
    type Buf = Option<T::Buf>;

    fn write(buf: &Option<T::Buf>, out: &mut String) {
        match buf {
            Some(value) => {
                out.push_str("Some(");
                T::write(value, out);
                out.push(')');
            }
            None => out.push_str("None"),
        }
    }

    fn leak(buf: Option<T::Buf>) -> Option<T> {
        buf.map(T::leak)
    }
}

/// Declares types that are their own counterpart, each with the expression of a value.
macro_rules! plain {
    ($($ty:ty = |$value:ident| $text:expr;)*) => {$(
        #[cfg(feature = "write")]
        impl $crate::constant::Content for $ty {
            type Buf = $ty;

            fn write($value: &$ty, out: &mut alloc::string::String) {
                out.push_str(&$text);
            }

            fn leak(buf: $ty) -> $ty {
                buf
            }
        }
    )*};
}

pub(crate) use plain;

plain! {
    bool = |value| alloc::format!("{value}");
    char = |value| alloc::format!("{value:?}");
    u16 = |value| alloc::format!("{value}");
    u32 = |value| alloc::format!("{value}");
    i64 = |value| if *value > 9999 { alloc::format!("{value:#x}") } else { alloc::format!("{value}") };
    u64 = |value| if *value > 9999 { alloc::format!("{value:#x}") } else { alloc::format!("{value}") };
    u128 = |value| if *value > 9999 { alloc::format!("{value:#x}") } else { alloc::format!("{value}") };
}

/// Declares content structs, each with its counterpart.
macro_rules! contents {
    ($($(#[$docs:meta])* $name:ident, $buf:ident { $($(#[$field_docs:meta])* $field:ident: $ty:ty,)* })*) => {$(
        $(#[$docs])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $($(#[$field_docs])* pub $field: $ty,)*
        }

        #[doc = concat!("A [`", stringify!($name), "`] that is being made.")]
        #[cfg(feature = "write")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $buf {
            $($(#[$field_docs])* pub $field: <$ty as $crate::constant::Content>::Buf,)*
        }

        #[cfg(feature = "write")]
        impl $crate::constant::Content for $name {
            type Buf = $buf;

            fn write(buf: &$buf, out: &mut alloc::string::String) {
                out.push_str(concat!(stringify!($name), " {"));
                let mut separator = " ";
                $(
                    out.push_str(core::mem::replace(&mut separator, ", "));
                    out.push_str(concat!(stringify!($field), ": "));
                    <$ty as $crate::constant::Content>::write(&buf.$field, out);
                )*
                out.push_str(" }");
            }

            fn leak(buf: $buf) -> $name {
                $name { $($field: <$ty as $crate::constant::Content>::leak(buf.$field),)* }
            }
        }
    )*};
}

pub(crate) use contents;
