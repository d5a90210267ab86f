//! Quantities as people write them: `"8 GiB"`, `"12 GB/s"`, `"5 us"`, or a plain number.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};

/// A number, or a text of a number and a unit. The caller decides which units are allowed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Quantity {
    Integer(i64),
    Float(f64),
    Text(String),
}

impl<'de> serde::Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantityVisitor;

        impl Visitor<'_> for QuantityVisitor {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a text with a number and a unit")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Quantity, E> {
                Ok(Quantity::Integer(value))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Quantity, E> {
                Ok(Quantity::Float(value))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Quantity, E> {
                Ok(Quantity::Text(value.to_owned()))
            }
        }

        deserializer.deserialize_any(QuantityVisitor)
    }
}

impl Quantity {
    /// Bytes: an integer, or `B`, `kB`, `MB`, `GB`, `TB` (powers of 1000), `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024).
    pub(crate) fn bytes(&self) -> Result<u64, String> {
        const EXAMPLE: &str = "as in 17179869184 or \"16 GiB\"";
        let fault = |text: &dyn fmt::Display| format!("'{text}' is no amount of memory: write it {EXAMPLE}");
        match self {
            Self::Integer(bytes) => u64::try_from(*bytes).map_err(|_| fault(bytes)),
            Self::Float(bytes) => Err(fault(bytes)),
            Self::Text(text) => {
                let (number, unit) = split(text);
                let factor = byte_factor(unit).ok_or_else(|| fault(text))?;
                // Integers are exact up to 2^64; fractions need not be.
                if let Ok(whole) = number.parse::<u64>() {
                    return whole.checked_mul(factor).ok_or_else(|| format!("'{text}' is more than 2^64 bytes"));
                }
                let bytes = number.parse::<f64>().map_err(|_| fault(text))? * factor as f64;
                match (0.0..u64::MAX as f64).contains(&bytes) {
                    true => Ok(bytes.round() as u64),
                    false => Err(fault(text)),
                }
            }
        }
    }

    /// Whether it says its unit.
    pub(crate) fn has_unit(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// Bytes per time unit: a number; or, where the time unit is the second, `B/s` to `TB/s`, `KiB/s` to `TiB/s`,
    /// `bit/s` to `Tbit/s`, which may also be written `b/s` to `Tb/s`.
    pub(crate) fn rate(&self) -> Result<f64, String> {
        self.number("as in 12e9, \"12 GB/s\" or \"100 Gbit/s\"", "rate", |number, unit| {
            let amount = unit.strip_suffix("/s")?;
            let factor = match amount.strip_suffix("bit").or_else(|| amount.strip_suffix('b')) {
                Some(prefix) => decimal(prefix)? / 8.0,
                None => byte_factor(amount)? as f64,
            };
            Some(number * factor)
        })
    }

    /// Operations per time unit: a number; or, where the time unit is the second, `ops/s`, `Gops/s`, `Tops/s`, or the
    /// same with `FLOPS` or `FLOP/s`.
    pub(crate) fn speed(&self) -> Result<f64, String> {
        self.number("as in 50, \"14 Tops/s\" or \"14 TFLOPS\"", "speed", |number, unit| {
            let prefix = ["ops/s", "FLOPS", "FLOP/s"].iter().find_map(|suffix| unit.strip_suffix(suffix))?;
            Some(number * decimal(prefix)?)
        })
    }

    /// A duration in time units: a number; or, where the time unit is the second, `s`, `ms`, `us`, `µs`, `ns`.
    pub(crate) fn duration(&self) -> Result<f64, String> {
        // Divide instead of multiplying by a fraction, so that "5 us" is exactly 5e-6.
        self.number("as in 5e-6 or \"5 us\"", "duration", |number, unit| match unit {
            "s" => Some(number),
            "ms" => Some(number / 1e3),
            "us" | "µs" | "μs" => Some(number / 1e6),
            "ns" => Some(number / 1e9),
            _ => None,
        })
    }

    fn number(&self, example: &str, what: &str, convert: impl Fn(f64, &str) -> Option<f64>) -> Result<f64, String> {
        match self {
            Self::Integer(number) => Ok(*number as f64),
            Self::Float(number) => Ok(*number),
            Self::Text(text) => {
                let (number, unit) = split(text);
                let number = number.parse().ok().and_then(|number| convert(number, unit));
                number.ok_or_else(|| format!("'{text}' is no {what}: write it {example}"))
            }
        }
    }
}

/// A text as its number and its unit, without the space between them.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    // An 'e' is part of the number only if digits follow it. No unit has digits.
    let end = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |last| last + 1);
    (text[..end].trim(), text[end..].trim())
}

fn byte_factor(unit: &str) -> Option<u64> {
    let prefix = unit.strip_suffix('B')?;
    match prefix.strip_suffix('i') {
        Some(binary) => {
            let power =
                ["", "K", "M", "G", "T", "P"].iter().position(|&known| known == binary).filter(|&power| power > 0)?;
            Some(1 << (10 * power))
        }
        None => decimal(prefix).map(|factor| factor as u64),
    }
}

fn decimal(prefix: &str) -> Option<f64> {
    match prefix {
        "" => Some(1.0),
        "k" | "K" => Some(1e3),
        "M" => Some(1e6),
        "G" => Some(1e9),
        "T" => Some(1e12),
        "P" => Some(1e15),
        _ => None,
    }
}

/// Memory as the shortest exact text.
pub(crate) fn memory_text(bytes: u64) -> String {
    let binary = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match binary.iter().find(|(_, shift)| bytes > 0 && bytes.trailing_zeros() >= *shift) {
        Some((unit, shift)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Quantity {
        Quantity::Text(text.to_owned())
    }

    #[test]
    fn units_mean_what_people_mean_by_them() {
        assert_eq!(text("8 GiB").bytes(), Ok(8 << 30));
        assert_eq!(text("1.5KiB").bytes(), Ok(1536));
        assert_eq!(text("12 GB").bytes(), Ok(12_000_000_000));
        assert_eq!(text("18446744073709551615 B").bytes(), Ok(u64::MAX));
        assert_eq!(text("12 GB/s").rate(), Ok(12e9));
        assert_eq!(text("100 Gbit/s").rate(), Ok(12.5e9));
        assert_eq!(text("1e3 MiB/s").rate(), Ok(1_048_576_000.0));
        assert_eq!(text("14 TFLOPS").speed(), Ok(14e12));
        assert_eq!(text("3 Gops/s").speed(), Ok(3e9));
        assert_eq!(text("5 us").duration(), Ok(5e-6));
        assert_eq!(Quantity::Integer(50).speed(), Ok(50.0));
    }

    #[test]
    fn what_is_no_quantity_is_answered_with_an_example() {
        let fault = text("8 gigs").bytes().unwrap_err();
        assert_eq!(fault, "'8 gigs' is no amount of memory: write it as in 17179869184 or \"16 GiB\"");
        for wrong in ["", "GiB", "x GiB", "8 iB", "8 GiB/s", "-1 GiB", "1e40 B", "NaN B"] {
            assert!(text(wrong).bytes().is_err(), "{wrong}");
        }
        for wrong in ["12 GB", "12", "12 G/s", "12 gb/s"] {
            assert!(text(wrong).rate().is_err(), "{wrong}");
        }
        assert!(Quantity::Integer(-1).bytes().is_err());
        assert!(text("99999999999 TiB").bytes().unwrap_err().contains("more than 2^64"));
    }

    #[test]
    fn written_memory_is_exact_and_short() {
        for (bytes, expected) in
            [(8 << 30, "8 GiB"), (0, "0 B"), (1000, "1000 B"), (u64::MAX, "18446744073709551615 B")]
        {
            assert_eq!(memory_text(bytes), expected);
            assert_eq!(text(expected).bytes(), Ok(bytes));
        }
    }
}
