//! Linux's constants by the names that scripts use.

use tailback_script::player::CallError;
use tailback_script::script::{Value, shown};

/// Constants that are arguments or results of calls.
const NUMBERS: &[(&str, i64)] = &[
    ("NULL", 0),
    ("AF_UNSPEC", libc::AF_UNSPEC as i64),
    ("AF_INET", libc::AF_INET as i64),
    ("PF_INET", libc::AF_INET as i64),
    ("SOCK_STREAM", libc::SOCK_STREAM as i64),
    ("SOCK_NONBLOCK", libc::SOCK_NONBLOCK as i64),
    ("SOCK_CLOEXEC", libc::SOCK_CLOEXEC as i64),
    ("IPPROTO_IP", libc::IPPROTO_IP as i64),
    ("IPPROTO_TCP", libc::IPPROTO_TCP as i64),
    ("SOL_IP", libc::SOL_IP as i64),
    ("SOL_TCP", libc::SOL_TCP as i64),
    ("SOL_SOCKET", libc::SOL_SOCKET as i64),
    ("SO_REUSEADDR", libc::SO_REUSEADDR as i64),
    ("SO_REUSEPORT", libc::SO_REUSEPORT as i64),
    ("SO_PRIORITY", libc::SO_PRIORITY as i64),
    ("SO_MARK", libc::SO_MARK as i64),
    ("SO_INCOMING_CPU", libc::SO_INCOMING_CPU as i64),
    ("SO_KEEPALIVE", libc::SO_KEEPALIVE as i64),
    ("SO_SNDBUF", libc::SO_SNDBUF as i64),
    ("SO_RCVBUF", libc::SO_RCVBUF as i64),
    ("SO_SNDBUFFORCE", libc::SO_SNDBUFFORCE as i64),
    ("SO_RCVBUFFORCE", libc::SO_RCVBUFFORCE as i64),
    ("SO_RCVLOWAT", libc::SO_RCVLOWAT as i64),
    ("SO_RCVTIMEO", libc::SO_RCVTIMEO as i64),
    ("SO_SNDTIMEO", libc::SO_SNDTIMEO as i64),
    ("SO_LINGER", libc::SO_LINGER as i64),
    ("SO_ERROR", libc::SO_ERROR as i64),
    ("SO_BUSY_POLL", libc::SO_BUSY_POLL as i64),
    ("SO_MAX_PACING_RATE", 47),
    ("SO_ZEROCOPY", 60),
    ("SO_TIMESTAMPING", libc::SO_TIMESTAMPING as i64),
    ("SOF_TIMESTAMPING_TX_HARDWARE", 1),
    ("SOF_TIMESTAMPING_TX_SOFTWARE", 1 << 1),
    ("SOF_TIMESTAMPING_RX_HARDWARE", 1 << 2),
    ("SOF_TIMESTAMPING_RX_SOFTWARE", 1 << 3),
    ("SOF_TIMESTAMPING_SOFTWARE", 1 << 4),
    ("SOF_TIMESTAMPING_RAW_HARDWARE", 1 << 6),
    ("SOF_TIMESTAMPING_OPT_ID", 1 << 7),
    ("SOF_TIMESTAMPING_TX_SCHED", 1 << 8),
    ("SOF_TIMESTAMPING_TX_ACK", 1 << 9),
    ("SOF_TIMESTAMPING_OPT_CMSG", 1 << 10),
    ("SOF_TIMESTAMPING_OPT_TSONLY", 1 << 11),
    ("SOF_TIMESTAMPING_OPT_STATS", 1 << 12),
    ("SOF_TIMESTAMPING_OPT_ID_TCP", 1 << 16),
    ("IP_TOS", libc::IP_TOS as i64),
    ("IP_MTU_DISCOVER", libc::IP_MTU_DISCOVER as i64),
    ("IP_PMTUDISC_DONT", libc::IP_PMTUDISC_DONT as i64),
    ("IP_PMTUDISC_WANT", libc::IP_PMTUDISC_WANT as i64),
    ("IP_PMTUDISC_DO", libc::IP_PMTUDISC_DO as i64),
    ("IP_PMTUDISC_PROBE", libc::IP_PMTUDISC_PROBE as i64),
    ("TCP_NODELAY", libc::TCP_NODELAY as i64),
    ("TCP_MAXSEG", libc::TCP_MAXSEG as i64),
    ("TCP_CORK", libc::TCP_CORK as i64),
    ("TCP_KEEPIDLE", libc::TCP_KEEPIDLE as i64),
    ("TCP_KEEPINTVL", libc::TCP_KEEPINTVL as i64),
    ("TCP_KEEPCNT", libc::TCP_KEEPCNT as i64),
    ("TCP_SYNCNT", libc::TCP_SYNCNT as i64),
    ("TCP_LINGER2", libc::TCP_LINGER2 as i64),
    ("TCP_DEFER_ACCEPT", libc::TCP_DEFER_ACCEPT as i64),
    ("TCP_WINDOW_CLAMP", libc::TCP_WINDOW_CLAMP as i64),
    ("TCP_INFO", libc::TCP_INFO as i64),
    ("TCP_QUICKACK", libc::TCP_QUICKACK as i64),
    ("TCP_CONGESTION", libc::TCP_CONGESTION as i64),
    ("TCP_THIN_LINEAR_TIMEOUTS", 16),
    ("TCP_USER_TIMEOUT", libc::TCP_USER_TIMEOUT as i64),
    ("TCP_TIMESTAMP", libc::TCP_TIMESTAMP as i64),
    ("TCP_NOTSENT_LOWAT", 25),
    ("TCP_CC_INFO", 26),
    ("TCP_INQ", 36),
    ("TCP_CM_INQ", 36),
    ("TCP_TX_DELAY", 37),
    ("MSG_DONTWAIT", libc::MSG_DONTWAIT as i64),
    ("MSG_NOSIGNAL", libc::MSG_NOSIGNAL as i64),
    ("MSG_MORE", libc::MSG_MORE as i64),
    ("MSG_EOR", libc::MSG_EOR as i64),
    ("MSG_OOB", libc::MSG_OOB as i64),
    ("MSG_PEEK", libc::MSG_PEEK as i64),
    ("MSG_TRUNC", libc::MSG_TRUNC as i64),
    ("MSG_WAITALL", libc::MSG_WAITALL as i64),
    ("MSG_ERRQUEUE", libc::MSG_ERRQUEUE as i64),
    ("SHUT_RD", libc::SHUT_RD as i64),
    ("SHUT_WR", libc::SHUT_WR as i64),
    ("SHUT_RDWR", libc::SHUT_RDWR as i64),
    ("F_GETFL", libc::F_GETFL as i64),
    ("F_SETFL", libc::F_SETFL as i64),
    ("O_RDWR", libc::O_RDWR as i64),
    ("O_NONBLOCK", libc::O_NONBLOCK as i64),
    ("SIOCINQ", libc::FIONREAD as i64),
    ("FIONREAD", libc::FIONREAD as i64),
    ("SIOCOUTQ", libc::TIOCOUTQ as i64),
    ("SIOCOUTQNSD", 0x894b),
    ("EPOLLIN", libc::EPOLLIN as i64),
    ("EPOLLPRI", libc::EPOLLPRI as i64),
    ("EPOLLOUT", libc::EPOLLOUT as i64),
    ("EPOLLERR", libc::EPOLLERR as i64),
    ("EPOLLHUP", libc::EPOLLHUP as i64),
    ("EPOLLRDHUP", libc::EPOLLRDHUP as i64),
    ("EPOLLRDNORM", libc::EPOLLRDNORM as i64),
    ("EPOLLWRNORM", libc::EPOLLWRNORM as i64),
    ("EPOLLEXCLUSIVE", 1 << 28),
    ("EPOLLWAKEUP", 1 << 29),
    ("EPOLLONESHOT", 1 << 30),
    ("EPOLLET", 1 << 31),
    ("EPOLL_CLOEXEC", libc::EPOLL_CLOEXEC as i64),
    ("EPOLL_CTL_ADD", libc::EPOLL_CTL_ADD as i64),
    ("EPOLL_CTL_DEL", libc::EPOLL_CTL_DEL as i64),
    ("EPOLL_CTL_MOD", libc::EPOLL_CTL_MOD as i64),
    ("POLLIN", libc::POLLIN as i64),
    ("POLLPRI", libc::POLLPRI as i64),
    ("POLLOUT", libc::POLLOUT as i64),
    ("POLLERR", libc::POLLERR as i64),
    ("POLLHUP", libc::POLLHUP as i64),
    ("POLLNVAL", libc::POLLNVAL as i64),
    ("POLLRDHUP", libc::POLLRDHUP as i64),
    ("POLLRDNORM", libc::POLLRDNORM as i64),
    ("POLLWRNORM", libc::POLLWRNORM as i64),
];

/// The number that `value` denotes.
pub fn number(value: &Value) -> Result<i64, CallError> {
    match value {
        Value::Integer(number) => Ok(*number),
        Value::Word(name) => {
            let found = NUMBERS.iter().find(|(known, _)| known == name);
            found.map(|(_, number)| *number).ok_or_else(|| unknown(name))
        }
        Value::Union(parts) => parts.iter().try_fold(0, |all, part| Ok(all | number(part)?)),
        Value::List(items) if items.len() == 1 => number(&items[0]),
        other => Err(unknown(&shown(other))),
    }
}

fn unknown(name: &str) -> CallError {
    CallError::Unsupported(format!("`{name}` in a system call is not supported on a kernel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined_and_unknown_ones_are_refused() {
        let word = |name: &str| Value::Word(name.to_owned());
        let both = Value::Union(vec![word("O_RDWR"), word("O_NONBLOCK")]);
        assert_eq!(number(&both), Ok(0o4002));
        assert_eq!(number(&Value::List(vec![Value::Integer(5)])), Ok(5));
        assert!(matches!(number(&word("SO_MADE_UP")), Err(CallError::Unsupported(_))));
    }
}
