/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Additive increase, multiplicative decrease, as a BPF program. It falls to 0.7 of the window and grows by 0.53 segments
 * per round trip, with which it has the mean rate of Reno. [rfc9438 §4.3]
 *
 *     tailback run bpf.yaml                           # the simulator
 *     sudo tailback run bpf.yaml --backend netns      # the kernel of this machine
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* In 1/1024: beta, and 3 (1 - beta) / (1 + beta). */
#define BETA 717
#define ALPHA 542
#define ONE 1024

char _license[] SEC("license") = "Dual MIT/GPL";

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

SEC("struct_ops")
__u32 BPF_PROG(aimd_ssthresh, struct sock *sk)
{
	__u32 reduced = tcp_sk(sk)->snd_cwnd * BETA / ONE;

	return reduced > 2 ? reduced : 2;
}

SEC("struct_ops")
void BPF_PROG(aimd_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, (__u64)tp->snd_cwnd * ONE / ALPHA, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(aimd_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops aimd = {
	.ssthresh = (void *)aimd_ssthresh,
	.cong_avoid = (void *)aimd_cong_avoid,
	.undo_cwnd = (void *)aimd_undo_cwnd,
	.name = "bpf_aimd",
};
