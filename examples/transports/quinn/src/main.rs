//! quinn's controls beside Linux's CUBIC: shares and latency over rate, round trip and queue, as a table in Markdown.
//!
//! `cargo run --release` prints it; `cargo run --release 20 20` for 20 Mbit/s and 20 ms alone.

use tailback_net::{Endpoint, Network};
use tailback_quinn::{Control, upload};
use tailback_transports_matrix::print;

fn ends(control: Control) -> impl Fn(&Network, &str) -> [Box<dyn Endpoint>; 2] {
    move |network, name| upload(network, name, control).map(|end| Box::new(end) as Box<dyn Endpoint>)
}

fn main() {
    print(&[
        ("CUBIC", &ends(Control::Cubic)),
        ("NewReno", &ends(Control::NewReno)),
        ("BBR", &ends(Control::Bbr)),
    ]);
}
