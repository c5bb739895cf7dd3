//! Byte sizes with binary units, as options take them.

/// A number of bytes with an optional binary unit: `4096`, `64KiB`, `512MiB`, `8GiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        unit => return Err(format!("'{unit}' is no unit: use B, KiB, MiB or GiB")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("'{digits}' is not a whole number"))?;
    number.checked_mul(unit).ok_or_else(|| "the number is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_sizes() {
        let check = |text, expect: Result<u64, &str>| {
            assert_eq!(bytes(text), expect.map_err(str::to_owned))
        };
        check("0", Ok(0));
        check("4096B", Ok(4096));
        check("3KiB", Ok(3 << 10));
        check("8GiB", Ok(8 << 30));
        check("8GB", Err("'GB' is no unit: use B, KiB, MiB or GiB"));
        check("-1", Err("'-1' is not a whole number"));
        check("99999999999GiB", Err("the number is too large"));
    }
}
