//! Numbers for people, in three significant digits.

/// Three significant digits; more if the number has more before the point. What is smaller than 0.0001 has an exponent.
pub fn significant(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 {
        return format!("{value:.2e}");
    }
    let digits = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize };
    format!("{value:.digits$}")
}

/// A time with three significant digits and its unit: seconds with a metric prefix, any other unit as it is named.
pub fn time_text(time: f64, unit: &str) -> String {
    let (scale, suffix) = match time {
        _ if unit != "seconds" => (1.0, unit),
        t if t == 0.0 || t >= 1.0 => (1.0, "s"),
        t if t >= 1e-3 => (1e3, "ms"),
        t if t >= 1e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
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
        assert_eq!([time_text(2.5e-8, "EU"), time_text(-3e-13, "EU")], ["2.50e-8 EU", "-3.00e-13 EU"]);
        assert_eq!([bytes_text(1_234.0), bytes_text(0.0), bytes_text(9.99e9)], ["1.23 kB", "0 B", "9.99 GB"]);
    }
}
