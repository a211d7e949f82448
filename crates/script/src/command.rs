//! Commands in backquotes, split into words as a shell splits them; no shell is run.

/// The simple commands of `text`, without its remarks.
pub fn simple(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let mut found = Vec::new();
    for line in joined.lines() {
        let line = line.split_once('#').map_or(line, |(before, _)| before);
        let simple = line.split("&&").flat_map(|part| part.split(';'));
        found.extend(simple.map(|one| one.trim().to_owned()));
    }
    found
}

/// Words as a shell parts them: quotes group, `$((…))` is arithmetic, redirections to /dev/null are dropped.
pub fn words(command: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = command;
    while let Some(c) = rest.chars().next() {
        if quote != Some('\'') && rest.starts_with("$((") {
            let end = rest.find("))").ok_or_else(|| format!("`{command}`: `$((` is never closed"))?;
            let value =
                product(&rest[3..end]).ok_or_else(|| format!("`{command}`: arithmetic beyond products"))?;
            word.get_or_insert_default().push_str(&value.to_string());
            rest = &rest[end + 2..];
            continue;
        }
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => found.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    found.extend(word);
    Ok(without_silencing(found))
}

/// Drops `> /dev/null`, `2>&1` and their like.
fn without_silencing(words: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for word in words {
        match word.as_str() {
            "2>&1" | ">/dev/null" | "2>/dev/null" | "&>/dev/null" => {}
            "/dev/null" if kept.last().is_some_and(|last| matches!(last.as_str(), ">" | "2>" | "&>")) => {
                kept.pop();
            }
            _ => kept.push(word),
        }
    }
    kept
}

/// `15*1024*1024`.
fn product(text: &str) -> Option<u64> {
    text.split('*').try_fold(1u64, |product, factor| product.checked_mul(factor.trim().parse().ok()?))
}
