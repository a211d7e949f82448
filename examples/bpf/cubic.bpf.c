/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CUBIC by the formulas of RFC 9438, as a BPF program, in integers. Not in it: HyStart, and a clock that stands still
 * while the application sends nothing.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* In 1/1024: beta, 3 (1 - beta) / (1 + beta), (1 + beta) / 2. [rfc9438 §4.3, §4.6, §4.7] */
#define BETA 717
#define ALPHA 542
#define CONVERGED 870
#define ONE 1024

/* C is 0.4 segments per second cubed: a segment per 2.5e9 milliseconds cubed. [rfc9438 §5.1] */
#define MS3_PER_SEGMENT 2500000000ULL

/* Bits of the largest cube root, so that its cube fits into 64 bits. */
#define ROOT_BITS 21

/* The curve ends after a minute, which no window reaches. */
#define LONGEST_MS 60000

/* The least growth: a segment in so many round trips. */
#define SLOWEST 100

char _license[] SEC("license") = "Dual MIT/GPL";

extern unsigned long CONFIG_HZ __kconfig;

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

struct cubic {
	__u64 began_ms;		/* 0: no epoch */
	__u32 maximum;		/* W_max */
	__u32 origin;		/* where the plateau of this epoch is */
	__u32 until_ms;		/* K */
	__u32 before;		/* cwnd before the last reduction */
	__u64 reno;		/* W_est in 1/1024 */
};

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct cubic *state_of(struct sock *sk)
{
	return (struct cubic *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline __u64 now_ms(void)
{
	return bpf_jiffies64() * 1000 / CONFIG_HZ;
}

static __always_inline __u64 cube_root(__u64 of)
{
	__u64 root = 0;
	int bit;

	for (bit = ROOT_BITS - 1; bit >= 0; bit--) {
		__u64 with = root | 1ULL << bit;

		if (with * with * with <= of)
			root = with;
	}
	return root;
}

static __always_inline void begin_epoch(struct cubic *ca, __u32 cwnd, __u64 now)
{
	ca->began_ms = now;
	ca->reno = (__u64)cwnd * ONE;
	if (cwnd < ca->maximum) {
		ca->origin = ca->maximum;
		ca->until_ms = cube_root((__u64)(ca->maximum - cwnd) * MS3_PER_SEGMENT);
	} else {
		ca->origin = cwnd;
		ca->until_ms = 0;
	}
}

/* W_cubic, at a time after the beginning of the epoch. */
static __always_inline __u32 on_curve(const struct cubic *ca, __u64 passed_ms)
{
	__u64 off = passed_ms > ca->until_ms ? passed_ms - ca->until_ms : ca->until_ms - passed_ms;
	__u64 segments;

	if (off > LONGEST_MS)
		off = LONGEST_MS;
	segments = off * off * off / MS3_PER_SEGMENT;
	if (passed_ms > ca->until_ms)
		return ca->origin + segments;
	return ca->origin > segments ? ca->origin - segments : 1;
}

SEC("struct_ops")
void BPF_PROG(cubic_init, struct sock *sk)
{
	struct cubic *ca = state_of(sk);

	ca->began_ms = 0;
	ca->maximum = 0;
	ca->before = 0;
}

SEC("struct_ops")
__u32 BPF_PROG(cubic_ssthresh, struct sock *sk)
{
	struct cubic *ca = state_of(sk);
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;
	__u32 reduced = cwnd * BETA / ONE;

	/* Fast convergence: a flow that did not reach the last maximum leaves room. */
	ca->maximum = cwnd < ca->maximum ? cwnd * CONVERGED / ONE : cwnd;
	ca->before = cwnd;
	ca->began_ms = 0;
	return reduced > 2 ? reduced : 2;
}

SEC("struct_ops")
void BPF_PROG(cubic_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic *ca = state_of(sk);
	__u32 cwnd, target, friendly;
	__u64 now, rtt_ms;

	if (!BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	cwnd = tp->snd_cwnd;
	now = now_ms();
	if (!ca->began_ms)
		begin_epoch(ca, cwnd, now);
	/* The goal is where the curve is a round trip later, within half of the window. */
	rtt_ms = tp->srtt_us / 8 / 1000;
	target = on_curve(ca, now - ca->began_ms + rtt_ms);
	if (target > cwnd + cwnd / 2)
		target = cwnd + cwnd / 2;
	/* What Reno would have by now. */
	ca->reno += (__u64)acked * (ca->reno >= (__u64)ca->before * ONE ? ONE : ALPHA) / cwnd;
	friendly = ca->reno / ONE;
	if (target < friendly)
		target = friendly;
	tcp_cong_avoid_ai(tp, target > cwnd ? cwnd / (target - cwnd) : cwnd * SLOWEST, acked);
}

SEC("struct_ops")
void BPF_PROG(cubic_set_state, struct sock *sk, __u8 state)
{
	if (state == TCP_CA_Loss)
		state_of(sk)->began_ms = 0;
}

SEC("struct_ops")
__u32 BPF_PROG(cubic_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops cubic = {
	.init = (void *)cubic_init,
	.ssthresh = (void *)cubic_ssthresh,
	.cong_avoid = (void *)cubic_cong_avoid,
	.set_state = (void *)cubic_set_state,
	.undo_cwnd = (void *)cubic_undo_cwnd,
	.name = "bpf_cubic_9438",
};
