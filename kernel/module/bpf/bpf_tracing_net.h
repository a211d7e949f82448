/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What BPF programs for TCP take from a file of this name: here the kernel's own inline functions, which vmlinux.h has
 * put aside, except those that the program defines itself.
 */
#ifndef TAILBACK_BPF_TRACING_NET_H
#define TAILBACK_BPF_TRACING_NET_H

#include "vmlinux.h"
#include "bpf/bpf_core_read.h"

#ifndef TAILBACK_OWN_before
#pragma pop_macro("before")
#endif
#ifndef TAILBACK_OWN_inet_csk
#pragma pop_macro("inet_csk")
#endif
#ifndef TAILBACK_OWN_inet_csk_ca
#pragma pop_macro("inet_csk_ca")
#endif
#ifndef TAILBACK_OWN_tcp_in_slow_start
#pragma pop_macro("tcp_in_slow_start")
#endif
#ifndef TAILBACK_OWN_tcp_is_cwnd_limited
#pragma pop_macro("tcp_is_cwnd_limited")
#endif
#ifndef TAILBACK_OWN_tcp_sk
#pragma pop_macro("tcp_sk")
#endif

#define after(one, other) before(other, one)
#define tcp_jiffies32 ((__u32)jiffies_64)

#endif
