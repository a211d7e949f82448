//! The air of a scenario, for one driver.
//!
//! `tailback-air SCENARIO SOCKET TABLE`: reads the resolved scenario, listens on the Unix socket, serves the first driver
//! that connects, and writes the table `wifi` as an Arrow IPC stream when it leaves.

use std::error::Error;
use std::fs;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

use tailback_world::Scenario;

fn main() -> ExitCode {
    match whole(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tailback-air: {error}");
            ExitCode::FAILURE
        }
    }
}

fn whole(words: &[String]) -> Result<(), Box<dyn Error>> {
    let [scenario, socket, table] = words else {
        return Err("usage: tailback-air SCENARIO SOCKET TABLE".into());
    };
    let listener = UnixListener::bind(socket)?;
    let scenario = Scenario::from_json(&fs::read_to_string(scenario)?)?;
    let (stream, _) = listener.accept()?;
    let mut tables = tailback_table::of_run(tailback_air::serve(&scenario, stream)?).into_iter();
    let (_, wifi) = tables.find(|(name, _)| *name == "wifi").ok_or("the scenario has no air")?;
    Ok(fs::write(table, wifi.to_stream()?)?)
}
