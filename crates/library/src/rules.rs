//! What an endpoint of a user may not do, in whatever language.

use std::time::Duration;

/// Why an endpoint may not want to be called at `asked`, if it may not.
pub fn past(asked: Option<Duration>, now: Duration) -> Option<String> {
    let asked = asked.filter(|&asked| asked < now)?;
    let (asked, now) = (asked.as_secs_f64(), now.as_secs_f64());
    Some(format!("it asks to be called at {asked} s, and it is {now} s; give the present time for at once"))
}
