//! Accurate ECN as scripts see it, on the stack that has it.

use tailback_drill::{Options, Report, Verdict, drill};

fn report(stack: &str, text: &str) -> Report {
    let options = Options { stack: Some(stack.to_owned()), ..Options::default() };
    drill(text, &options).expect("the stack exists")
}

fn passes(text: &str) {
    let verdict = report("linux-7.3", text).verdict;
    assert_eq!(verdict, Verdict::Passed, "{verdict:?}");
}

/// A server with `tcp_ecn` 3 and other settings.
fn server(settings: &str) -> String {
    format!(
        "`sysctl -q net.ipv4.tcp_ecn=3 {settings}`\n\
         0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
         +0 < SEWA 0:0(0) win 32792 <mss 1050,nop,nop,sackOK,nop,wscale 8>\n"
    )
}

const ACCEPTED: &str = "+.002 > SW. 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 0 e0b 1,nop,nop,nop,sackOK,nop,wscale 10>\n\
    +.05 < [ect0] W. 1:1(0) ack 1 win 264 <ECN e0b 1 ceb 0 e1b 1,nop>\n+.002 accept(3, ..., ...) = 4\n";

#[test]
fn both_sides_tell_marks_in_ace_and_bytes_in_the_option() {
    let text = server("")
        + ACCEPTED
        + "+.01 < [ce] P.5 1:1001(1000) ack 1 win 264 <ECN e0b 1 ceb 0 e1b 1,nop>\n\
           +.002 > [ect0] .6 1:1(0) ack 1001 <ECN e1b 1 ceb 1000 e0b 1,nop>\n+0 read(4, ..., 1000) = 1000\n\
           +.01 write(4, ..., 1000) = 1000\n\
           +.002 > [ect0] P.6 1:1001(1000) ack 1001 <ECN e1b 1 ceb 1000 e0b 1,nop>\n\
           +.05 < [ect0] .6 1001:1001(0) ack 1001 win 264 <ECN e0b 1 ceb 1000 e1b 1,nop>\n+.01 %{ 1 }%\n";
    let report = report("linux-7.3", &text);
    assert_eq!(report.verdict, Verdict::Passed);
    let value =
        |name: &str| report.snippets[0].variables.iter().find(|(known, _)| *known == name).map(|row| row.1);
    let names = [
        "tcpi_ecn_mode",
        "tcpi_delivered_ce",
        "tcpi_delivered_ce_bytes",
        "tcpi_received_ce",
        "tcpi_received_ce_bytes",
    ];
    assert_eq!(names.map(value), [2, 1, 1000, 1, 1000].map(Some));
}

#[test]
fn a_client_asks_twice_and_then_opens_without_ecn() {
    passes(
        "`sysctl -q net.ipv4.tcp_ecn=3`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4\n\
         +0 ... 2.1 connect(4, ..., ...) = 0\n\
         +0 > [noecn] SEWA 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 10>\n\
         +1~+1.1 > [noecn] SEWA 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 10>\n\
         +1~+1.1 > [noecn] S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 10>\n\
         +.1 < [noecn] S. 0:0(0) ack 1 win 32767 <mss 1460,nop,nop,sackOK,nop,wscale 8>\n\
         +0 > [noecn] . 1:1(0) ack 1\n",
    );
}

#[test]
fn a_broken_server_that_reflects_the_flags_gets_no_ecn_and_a_classic_one_gets_classic_ecn() {
    for (answer, code_point, last) in
        [("SEWA.", "noecn", "noecn"), ("SE.", "ect0", "noecn"), ("S.", "noecn", "noecn")]
    {
        passes(&format!(
            "`sysctl -q net.ipv4.tcp_ecn=3`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4\n\
             +0 ... .05 connect(4, ..., ...) = 0\n\
             +0 > [noecn] SEWA 0:0(0) <...>\n\
             +.05 < [noecn] {answer} 0:0(0) ack 1 win 32767 <mss 1460,nop,nop,sackOK,nop,wscale 8>\n\
             +0 > [{last}] . 1:1(0) ack 1\n+0 write(4, ..., 100) = 100\n+0 > [{code_point}] P. 1:101(100) ack 1\n"
        ));
    }
}

#[test]
fn a_path_that_bleaches_the_last_ack_gets_packets_that_are_not_ecn_capable() {
    let text = server("net.ipv4.tcp_ecn_option=0")
        + "+.002 > SW. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 10>\n\
           +.05 < [ect0] . 1:1(0) ack 1 win 264\n+.002 accept(3, ..., ...) = 4\n\
           +.01 write(4, ..., 1000) = 1000\n+.002 > [noecn] P.5 1:1001(1000) ack 1\n";
    passes(&text);
}

#[test]
fn full_segments_leave_room_for_the_option() {
    let text = server("")
        + ACCEPTED
        + "+.01 write(4, ..., 2076) = 2076\n\
           +.002 > [ect0] .5 1:1039(1038) ack 1 <ECN e1b 1 ceb 0 e0b 1,nop>\n\
           +0 > [ect0] P.5 1039:2077(1038) ack 1 <ECN e1b 1 ceb 0 e0b 1,nop>\n";
    passes(&text);
}

#[test]
fn older_stacks_take_no_accurate_ecn_and_answer_its_syn_with_classic_ecn() {
    let text = server("").replace("tcp_ecn=3", "tcp_ecn=1") + "+.002 > SE. 0:0(0) ack 1 <...>\n";
    assert_eq!(report("linux-6.12", &text).verdict, Verdict::Passed);
    let Verdict::Unsupported(found) = report("linux-6.12", &server("")).verdict else {
        panic!("6.12 has no AccECN")
    };
    assert!(found[0].message.contains("tcp_ecn=3"), "{}", found[0].message);
}
