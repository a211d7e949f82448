/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stands in for the vmlinux.h of a BPF program that is compiled for the simulator: the types are those of the headers
 * of a kernel.
 *
 * A generated vmlinux.h has types alone, so that programs define for themselves what the kernel has as inline functions
 * and macros. Those of the headers get out of the way here: a program that defines `tcp_sk` defines another name, and
 * one that takes it from bpf_tracing_net.h gets the kernel's.
 */
#ifndef TAILBACK_VMLINUX_H
#define TAILBACK_VMLINUX_H

#include <linux/bug.h>
#include <linux/inet_diag.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/win_minmax.h>
#include <uapi/linux/bpf.h>
#include <net/tcp.h>

#undef CONFIG_HZ
#undef HZ
#undef after
#undef clamp
#undef ilog2
#undef jiffies
#undef max
#undef min
#undef tcp_jiffies32

/* What bpf_tracing_net.h takes back. */
#pragma push_macro("before")
#pragma push_macro("inet_csk")
#pragma push_macro("inet_csk_ca")
#pragma push_macro("tcp_in_slow_start")
#pragma push_macro("tcp_is_cwnd_limited")
#pragma push_macro("tcp_sk")

#undef tcp_sk

#define before own_before
#define div64_u64 own_div64_u64
#define div_u64 own_div_u64
#define fls own_fls
#define fls64 own_fls64
#define inet_csk own_inet_csk
#define inet_csk_ca own_inet_csk_ca
#define inet_sk own_inet_sk
#define minmax_get own_minmax_get
#define minmax_reset own_minmax_reset
#define minmax_running_max own_minmax_running_max
#define minmax_running_min own_minmax_running_min
#define msecs_to_jiffies own_msecs_to_jiffies
#define tcp_current_ssthresh own_tcp_current_ssthresh
#define tcp_in_initial_slowstart own_tcp_in_initial_slowstart
#define tcp_in_slow_start own_tcp_in_slow_start
#define tcp_is_cwnd_limited own_tcp_is_cwnd_limited
#define tcp_left_out own_tcp_left_out
#define tcp_min_rtt own_tcp_min_rtt
#define tcp_packets_in_flight own_tcp_packets_in_flight
#define tcp_sk own_tcp_sk
#define tcp_snd_cwnd own_tcp_snd_cwnd
#define tcp_snd_cwnd_set own_tcp_snd_cwnd_set
#define tcp_stamp_us_delta own_tcp_stamp_us_delta
#define usecs_to_jiffies own_usecs_to_jiffies

#endif
