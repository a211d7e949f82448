// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_setsockopt and bpf_getsockopt of a BPF program for the simulator. They have the options that mean here what they
 * mean on a kernel; a kernel's other options end the run by name. bpf_program.py names them before it, where the program
 * does: keep OPTIONS there like these.
 */
#include <linux/inet_diag.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <uapi/linux/bpf.h>
#include <net/tcp.h>

extern struct tcp_congestion_ops tailback_ops_begin[] __attribute__((visibility("hidden")));

/* A control that another one chose may not choose a third. */
static bool is_choosing;

static struct tcp_congestion_ops *control_of(const char *name)
{
	if (!strcmp(name, tailback_ops_begin->name))
		return tailback_ops_begin;
	return strcmp(name, tcp_reno.name) ? NULL : &tcp_reno;
}

static long replace_control(struct sock *sk, const char *name)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_congestion_ops *other = control_of(name);

	if (!other)
		panic("it chooses the control `%s` by bpf_setsockopt, and the simulator has only `%s` and `reno` for it",
		      name, tailback_ops_begin->name);
	if (other == icsk->icsk_ca_ops)
		return 0;
	if (icsk->icsk_ca_ops->release)
		icsk->icsk_ca_ops->release(sk);
	icsk->icsk_ca_ops = other;
	memset(icsk->icsk_ca_priv, 0, sizeof(icsk->icsk_ca_priv));
	if (other->init)
		other->init(sk);
	return 0;
}

static long set_congestion(struct sock *sk, const char *value, int length)
{
	char name[TCP_CA_NAME_MAX] = "";
	long done;

	if (length < 2)
		return -EINVAL;
	if (is_choosing)
		return -EBUSY;
	memcpy(name, value, min_t(int, length, TCP_CA_NAME_MAX - 1));
	is_choosing = true;
	done = replace_control(sk, name);
	is_choosing = false;
	return done;
}

static long get_congestion(const struct sock *sk, char *value, int length)
{
	const char *name = inet_csk(sk)->icsk_ca_ops->name;

	if (length < 2)
		return -EINVAL;
	memset(value, 0, length);
	memcpy(value, name, min_t(int, length - 1, strlen(name)));
	return 0;
}

/* The sender keeps to this rate by itself only where the control sets the pacing rate. */
static long set_max_pacing_rate(struct sock *sk, u32 bytes_per_s)
{
	if (!inet_csk(sk)->icsk_ca_ops->cong_control)
		panic("it sets SO_MAX_PACING_RATE without cong_control: give the flow max_pacing_rate in the experiment");
	sk->sk_max_pacing_rate = bytes_per_s == ~0U ? ~0UL : bytes_per_s;
	if (bytes_per_s != ~0U && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_pacing_rate = min(sk->sk_pacing_rate, sk->sk_max_pacing_rate);
	return 0;
}

static long set_initial_window(struct tcp_sock *tp, int segments)
{
	/* Sequence numbers begin with 0 here, or with 1 where the SYN counts: data was sent beyond that. */
	if (segments <= 0 || tp->packets_out || tp->snd_nxt > 1)
		return -EINVAL;
	tp->snd_cwnd = segments;
	return 0;
}

static long set_clamp(struct tcp_sock *tp, int segments)
{
	if (segments <= 0)
		return -EINVAL;
	tp->snd_cwnd_clamp = segments;
	tp->snd_ssthresh = segments;
	return 0;
}

/* Whether a kernel lets a program set or read it: one that it refuses is refused here in the same way. */
static bool kernels_have(int level, int option)
{
	static const u8 of_socket[] = {
		SO_REUSEADDR, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE, SO_PRIORITY, SO_REUSEPORT, SO_RCVLOWAT, SO_MARK,
		SO_MAX_PACING_RATE, SO_BINDTOIFINDEX, SO_BINDTODEVICE,
	};
	static const u8 of_tcp[] = {
		TCP_NODELAY, TCP_MAXSEG, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_SYNCNT, TCP_WINDOW_CLAMP,
		TCP_THIN_LINEAR_TIMEOUTS, TCP_USER_TIMEOUT, TCP_NOTSENT_LOWAT, TCP_SAVE_SYN, TCP_SAVED_SYN,
	};
	int i;

	for (i = 0; level == SOL_SOCKET && i < ARRAY_SIZE(of_socket); i++)
		if (of_socket[i] == option)
			return true;
	for (i = 0; level == SOL_TCP && i < ARRAY_SIZE(of_tcp); i++)
		if (of_tcp[i] == option)
			return true;
	return level == SOL_IP || level == SOL_IPV6 ||
	       (level == SOL_TCP && (option == TCP_BPF_DELACK_MAX || option == TCP_BPF_RTO_MIN));
}

static long has_not(const char *helper, int level, int option)
{
	if (kernels_have(level, option))
		panic("it asks %s for option %d of level %d, which the simulator does not have", helper, option, level);
	return -EINVAL;
}

long tailback_setsockopt(void *socket, int level, int option, void *value, int length)
{
	struct sock *sk = socket;
	bool is_number = length == sizeof(int);

	if (level == SOL_TCP && option == TCP_CONGESTION)
		return set_congestion(sk, value, length);
	if (level == SOL_SOCKET && option == SO_MAX_PACING_RATE)
		return is_number ? set_max_pacing_rate(sk, *(u32 *)value) : -EINVAL;
	if (level == SOL_TCP && option == TCP_BPF_IW)
		return is_number ? set_initial_window(tcp_sk(sk), *(int *)value) : -EINVAL;
	if (level == SOL_TCP && option == TCP_BPF_SNDCWND_CLAMP)
		return is_number ? set_clamp(tcp_sk(sk), *(int *)value) : -EINVAL;
	return has_not("bpf_setsockopt", level, option);
}

long tailback_getsockopt(void *socket, int level, int option, void *value, int length)
{
	const struct sock *sk = socket;
	bool is_number = length == sizeof(int);

	if (level == SOL_TCP && option == TCP_CONGESTION)
		return get_congestion(sk, value, length);
	if (level == SOL_TCP && option == TCP_MAXSEG && is_number)
		*(int *)value = tcp_sk(sk)->mss_cache;
	else if (level == SOL_SOCKET && option == SO_MAX_PACING_RATE && is_number)
		*(u32 *)value = min_t(unsigned long, sk->sk_max_pacing_rate, ~0U);
	else
		return has_not("bpf_getsockopt", level, option);
	return 0;
}
