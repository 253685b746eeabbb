//! The comparison of an output with its print in a page.

/// The length of a key tag, which differs in every run.
const TAG: usize = 16;

/// Whether the lines are those of the print. `…` alone on a line stands for any lines, elsewhere for any text. All key tags
/// are equal.
pub(crate) fn matches(printed: &[String], lines: &[String]) -> bool {
    match (printed.split_first(), lines.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((first, rest)), _) if first.trim() == "…" => {
            (0..=lines.len()).any(|skip| matches(rest, &lines[skip..]))
        }
        (Some((first, rest)), Some((line, others))) => line_matches(first, line) && matches(rest, others),
        (Some(_), None) => false,
    }
}

fn line_matches(printed: &str, line: &str) -> bool {
    let (printed, line) = (without_tags(printed.trim_end()), without_tags(line.trim_end()));
    let Some((begin, rest)) = printed.split_once('…') else { return printed == line };
    let Some(mut left) = line.strip_prefix(begin) else { return false };
    let mut parts: Vec<&str> = rest.split('…').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(end)
}

/// The text with `TAG` in place of each word of 16 hexadecimal digits.
fn without_tags(text: &str) -> String {
    let is_tag = |word: &str| word.len() == TAG && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let replace = |piece: &str| {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if is_tag(word) { format!("TAG{}", &piece[TAG..]) } else { piece.to_owned() }
    };
    words.map(replace).collect()
}

#[test]
fn prints_match_their_outputs_only() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (printed, output, expected) in [
        ("a\nb", "a\nb", true),
        ("a\nb", "a", false),
        ("a", "a\nb", false),
        ("a\n…\nc", "a\nb\nb\nc", true),
        ("a\n…", "a", true),
        ("a\n…\nc", "a\nb", false),
        ("took … s of …", "took 1.5 s of 3", true),
        ("took … s", "took 1.5 min", false),
        ("tag 0123456789abcdef, in", "tag fedcba9876543210, in", true),
        ("tag 0123456789abcdef", "tag 0123", false),
        ("", "6", false),
    ] {
        assert_eq!(matches(&lines(printed), &lines(output)), expected, "{printed:?} {output:?}");
    }
}
