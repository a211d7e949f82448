/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a simulator and a compiled congestion control tell each other: plain numbers, no type of the kernel. The other
 * side is crates/module/src/abi.rs. After a change of either, `tailback_call_5` gets the next number: neither side takes
 * the other for one of its own version then.
 */
#ifndef TAILBACK_ABI_H
#define TAILBACK_ABI_H

typedef unsigned int tb_u32;
typedef int tb_s32;
typedef unsigned long long tb_u64;

/* The sender before a call. */
struct tailback_facts {
	tb_u64 now_ns;
	tb_u64 app_limited;
	tb_u64 departure_ns;	/* of the newest packet */
	tb_u64 delivered_ns;	/* when `delivered` last grew */
	tb_u64 last_sent_ns;
	tb_u64 snd_una;
	tb_u64 snd_nxt;
	tb_u64 delivered;
	tb_u64 delivered_ce;
	tb_u64 lost;
	tb_u32 srtt_us8;
	tb_u32 min_rtt_us;	/* ~0 before the first sample */
	tb_u32 packets_out;
	tb_u32 sacked_out;
	tb_u32 in_flight;
	tb_u32 is_cwnd_limited;
	tb_u32 tsval;		/* milliseconds; 0 without the option */
	tb_u32 tsecr;
	tb_u32 mss;
	tb_u32 mtu;		/* of a full segment */
	tb_u32 ca_state;
	tb_u32 ecn_ok;
	tb_u32 pacing_status;
	tb_u32 pacing_shift;
	tb_u32 gso_max_size;
	tb_u32 gso_max_segs;
	tb_u32 settings_changed;	/* `mss` to `gso_max_segs` differ from those of the last call for this socket */
};

/* Values of `asks`. */
#define TAILBACK_MARK_APP_LIMITED 1
#define TAILBACK_ENTER_CWR 2
#define TAILBACK_PACING_NEEDED 4
#define TAILBACK_WROTE_BEYOND_PRIVATE 8

/* What a call may change, before and after it. */
struct tailback_window {
	tb_u64 pacing_rate;	/* bytes per second; ~0 without a limit */
	tb_u32 cwnd;
	tb_u32 ssthresh;
	tb_u32 cwnd_cnt;
	tb_u32 prior_cwnd;
	tb_u32 cwnd_clamp;
	tb_u32 asks;		/* after a call only */
};

struct tailback_ack {
	tb_u32 acked;
	tb_s32 rtt_us;		/* -1: none */
	tb_u32 in_flight;
};

struct tailback_rate {
	tb_u64 prior_delivered;
	long long delivered;	/* -1: the sample is not valid */
	long long interval_us;	/* -1: likewise */
	long long rtt_us;	/* -1: none */
	tb_u32 losses;
	tb_u32 acked_sacked;
	tb_u32 prior_in_flight;
	tb_u32 is_app_limited;
	tb_u32 is_retrans;
	tb_u32 is_ack_delayed;
	tb_u32 tx_in_flight;	/* this and the next only for trees that have them */
	tb_u32 lost;
};

/* A segment that was marked lost, with the state of its sender when it was sent. */
struct tailback_lost {
	tb_u32 tx_in_flight;
	tb_u32 lost;		/* since then, itself included */
	tb_u32 is_app_limited;
};

/* What `get_info` says; BBR's alone has a meaning here. */
struct tailback_info {
	tb_u32 is_bbr;
	tb_u32 pacing_gain;	/* 1/256 */
	tb_u32 cwnd_gain;	/* 1/256 */
	tb_u32 min_rtt_us;
	tb_u64 bandwidth;	/* bytes per second */
};

/* Members of struct tcp_congestion_ops, as numbers of a call and as bits of `has`. */
enum tailback_op {
	TAILBACK_INIT,
	TAILBACK_SSTHRESH,
	TAILBACK_CONG_AVOID,
	TAILBACK_SET_STATE,
	TAILBACK_CWND_EVENT,
	TAILBACK_IN_ACK_EVENT,
	TAILBACK_PKTS_ACKED,
	TAILBACK_MIN_TSO_SEGS,
	TAILBACK_CONG_CONTROL,
	TAILBACK_UNDO_CWND,
	TAILBACK_SNDBUF_EXPAND,
	TAILBACK_GET_INFO,
	TAILBACK_RELEASE,
	TAILBACK_SKB_MARKED_LOST,
};

/* Services of the simulator. */
struct tailback_host {
	tb_u32 (*random)(void);
	void *(*allocate)(unsigned long size);	/* zeroed */
	void (*release)(void *memory);
	int (*format)(char *text, unsigned long size, const char *format, void *arguments);
	void (*log)(const char *line);
	void (*fail)(const char *reason);	/* does not return */
};

enum tailback_ecn {
	TAILBACK_ECN_NONE,
	TAILBACK_ECN_CLASSIC,	/* TCP_CONG_NEEDS_ECN */
	TAILBACK_ECN_L4S,	/* and TCP_CONG_NEEDS_ACCECN */
};

struct tailback_about {
	char name[16];
	tb_u32 registered;	/* how many controls the module registered */
	tb_u32 has;		/* bits of enum tailback_op */
	tb_u32 needs_ecn;	/* enum tailback_ecn */
	tb_u32 hz;
};

/* Runs the initialisation of the module: 0, or a negative errno. */
int tailback_open(const struct tailback_host *host);
void tailback_describe(struct tailback_about *about);
/* The name of the n-th module parameter; NULL after the last. */
const char *tailback_parameter(tb_u32 n);
int tailback_set_parameter(const char *name, const char *value);
/* A socket with nothing in it. */
void *tailback_socket(void);
/* `argument`: tailback_ack, tailback_rate, tailback_lost, a tb_u32, or nothing. Returns what the member returns, else 0. */
tb_u32 tailback_call_5(void *socket, tb_u32 op, const struct tailback_facts *facts, struct tailback_window *window,
		     const void *argument);
/* Asks `get_info`, with the window that the last call left. `found` is zeroed before. */
void tailback_ask(void *socket, const struct tailback_facts *facts, struct tailback_info *found);

#endif
