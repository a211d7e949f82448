//! Property tests: for any script there is a verdict, without a panic or a hang.

use proptest::prelude::*;
use tailback_drill::{Options, Verdict, drill};
use tailback_properties::cases;

/// The statements that establish a connection.
const OPENING: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
    +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n+0 > S. 0:0(0) ack 1 <...>\n\
    +.01 < . 1:1(0) ack 1 win 512\n+0 accept(3, ..., ...) = 4\n";

fn verdict(text: &str) -> Verdict {
    drill(text, &Options::default()).expect("the default stack exists").verdict
}

/// A word of the language, or a number.
fn token() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "+",
        "*",
        "~",
        "<",
        ">",
        ":",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "=",
        ",",
        "|",
        ".",
        "...",
        "-1",
        "S",
        "P.",
        "FP.",
        "R.",
        "SEW",
        "ack",
        "win",
        "mss",
        "sackOK",
        "sack",
        "TS",
        "val",
        "ecr",
        "nop",
        "wscale",
        "udp",
        "socket",
        "write",
        "read",
        "close",
        "connect",
        "accept",
        "poll",
        "fd",
        "events",
        "[ect0]",
        "[ce]",
        "`sysctl -q net.ipv4.tcp_sack=0`",
        "`",
        "\"",
        "%{ x = 1 }%",
        "%{",
        "--mss=1",
        "//",
        "/*",
        "*/",
        "\n",
    ];
    prop_oneof![
        3 => proptest::sample::select(WORDS).prop_map(str::to_owned),
        1 => any::<u16>().prop_map(|number| number.to_string()),
        1 => any::<i64>().prop_map(|number| number.to_string()),
    ]
}

/// A well-formed event of a script, whether it makes sense or not.
fn event() -> impl Strategy<Value = String> {
    let number = || prop_oneof![Just(1u32), 0u32..40_000, any::<u32>()];
    let after = prop_oneof![Just("+0"), Just("+.001"), Just("+.05"), Just("+3")];
    let sack = prop_oneof![
        Just(String::new()),
        (number(), number()).prop_map(|(start, end)| format!(" <nop,nop,sack {start}:{end}>")),
        proptest::collection::vec((0u32..30, 1u32..5), 1..4).prop_map(|blocks| {
            let words: Vec<String> =
                blocks.iter().map(|(at, n)| format!("{}:{}", at * 1000 + 1, (at + n) * 1000 + 1)).collect();
            format!(" <sack {}>", words.join(" "))
        }),
    ];
    let flags = prop_oneof![4 => Just("."), 1 => Just("P."), 1 => Just("F."), 1 => Just("R."), 1 => Just("S"), 1 => Just("-")];
    let length = prop_oneof![3 => Just(0u32), 1 => 0u32..3000, 1 => 0u32..65_536];
    let arrives = (flags, number(), length, number(), 0u32..65_536, sack).prop_map(
        |(flags, seq, length, ack, window, sack)| {
            let ack = if flags.ends_with('.') { format!("ack {ack}") } else { String::new() };
            format!("< {flags} {seq}:{}({length}) {ack} win {window}{sack}", seq.wrapping_add(length))
        },
    );
    let aligned = (0u32..30, 0u32..600)
        .prop_map(|(segment, window)| format!("< . 1:1(0) ack {} win {window}", segment * 1000 + 1));
    let call = prop_oneof![
        (0u32..60_000).prop_map(|bytes| format!("write(4, ..., {bytes}) = {bytes}")),
        (0u32..60_000).prop_map(|bytes| format!("read(4, ..., {bytes}) = {bytes}")),
        Just("close(4) = 0".to_owned()),
        Just("shutdown(4, SHUT_WR) = 0".to_owned()),
        Just("setsockopt(4, SOL_SOCKET, SO_SNDBUF, [5000], 4) = 0".to_owned()),
        Just("fcntl(4, F_SETFL, O_NONBLOCK) = 0".to_owned()),
    ];
    let leaves = Just("> . 1:1(0) ack 1 <...>".to_owned());
    let code = Just("%{ assert tcpi_snd_cwnd > 0 }%".to_owned());
    let action = prop_oneof![3 => arrives, 5 => aligned, 3 => call, 1 => leaves, 1 => code];
    (after, action).prop_map(|(after, action)| format!("{after} {action}"))
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn any_text_has_a_verdict(text in ".{0,200}") {
        verdict(&text);
    }

    #[test]
    fn any_tokens_have_a_verdict(tokens in proptest::collection::vec(token(), 0..40)) {
        verdict(&tokens.join(" "));
    }

    #[test]
    fn tokens_after_an_opening_have_a_verdict(tokens in proptest::collection::vec(token(), 0..20)) {
        verdict(&format!("{OPENING}{}", tokens.join(" ")));
    }

    #[test]
    fn any_events_on_a_connection_have_a_verdict(
        events in proptest::collection::vec(event(), 1..30),
        options in proptest::sample::select(&["sackOK,nop,nop,nop,wscale 7", "sackOK,nop,nop", "nop,wscale 7", "eol"][..]),
    ) {
        // A failing event ends a script, so events that fail alone are left out.
        let mut script = OPENING.replace("sackOK,nop,nop,nop,wscale 7", options);
        for event in &events {
            let longer = format!("{script}{event}\n");
            if verdict(&longer) == Verdict::Passed {
                script = longer;
            }
        }
    }

    #[test]
    fn a_script_with_a_character_changed_has_a_verdict(at in 0usize..400, with in any::<char>()) {
        let text = format!("{OPENING}+0 write(4, ..., 3000) = 3000\n+0 > . 1:3001(3000) ack 1 <...>\n");
        let changed: String = text.chars().enumerate().map(|(i, c)| if i == at { with } else { c }).collect();
        verdict(&changed);
    }
}

#[test]
fn the_opening_passes() {
    assert_eq!(verdict(OPENING), Verdict::Passed);
}
