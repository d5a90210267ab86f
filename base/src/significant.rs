//! Numbers for people, in three significant digits.

/// Three significant digits; more if the number has more before the point. With a power of ten below 0.0001 and from 10¹⁵.
pub fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..15).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let digits = (2 - magnitude).max(0) as usize;
    format!("{value:.digits$}")
}

/// A time with three significant digits and its unit: seconds with a metric prefix, any other unit as it is named.
pub fn time_text(time: f64, unit: &str) -> String {
    let (scale, suffix) = match time {
        _ if unit != "seconds" => (1.0, unit),
        t if t == 0.0 || t >= 1.0 => (1.0, "s"),
        t if t >= 1e-3 => (1e3, "ms"),
        t if t >= 1e-6 => (1e6, "µs"),
        t if t >= 1e-9 => (1e9, "ns"),
        _ => (1e12, "ps"),
    };
    format!("{} {suffix}", significant(time * scale)).trim_end().to_owned()
}

/// Bytes with three significant digits and a decimal prefix.
pub fn bytes_text(bytes: f64) -> String {
    let (scale, unit) = match bytes {
        b if b >= 1e12 => (1e12, "TB"),
        b if b >= 1e9 => (1e9, "GB"),
        b if b >= 1e6 => (1e6, "MB"),
        b if b >= 1e3 => (1e3, "kB"),
        _ => (1.0, "B"),
    };
    format!("{} {unit}", significant(bytes / scale))
}

/// Bytes and a limit that they exceed: with three significant digits, or exact where both would read the same.
pub fn excess_texts(bytes: u64, limit: u64) -> (String, String) {
    let texts = (bytes_text(bytes as f64), bytes_text(limit as f64));
    if texts.0 == texts.1 { (format!("{bytes} bytes"), format!("{limit} bytes")) } else { texts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(
            [
                time_text(0.01234, "seconds"),
                time_text(123.4, "EU"),
                time_text(0.0, "seconds"),
                time_text(4.2e-5, "seconds")
            ],
            ["12.3 ms", "123 EU", "0 s", "42.0 µs"]
        );
        // A graph counted in operations on a cluster in TFLOPS.
        let tiny = [time_text(1e3 / 14e12, "EU"), time_text(0.0001234, "EU"), time_text(-1.5e300, "EU")];
        assert_eq!(tiny, ["7.14e-11 EU", "0.000123 EU", "-1.50e300 EU"]);
        assert_eq!([time_text(7.14e-11, "seconds"), time_text(1e-20, "seconds")], ["71.4 ps", "1.00e-8 ps"]);
        assert_eq!(
            [significant(99_950_000.0), significant(1e15), significant(f64::NAN)],
            ["99950000", "1.00e15", "NaN"]
        );
        assert_eq!(excess_texts(8_600_000_000, 8_000_000_000), ("8.60 GB".to_owned(), "8.00 GB".to_owned()));
        assert_eq!(
            excess_texts(8_000_000_001, 8_000_000_000),
            ("8000000001 bytes".to_owned(), "8000000000 bytes".to_owned())
        );
        assert_eq!([bytes_text(1_234.0), bytes_text(0.0), bytes_text(9.99e9)], ["1.23 kB", "0 B", "9.99 GB"]);
    }
}
