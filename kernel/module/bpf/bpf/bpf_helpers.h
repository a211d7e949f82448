/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stands in for libbpf's header of this name where a BPF program is compiled for the simulator: helpers are functions of
 * the kernel, or of tailback_bpf.c.
 */
#ifndef TAILBACK_BPF_HELPERS_H
#define TAILBACK_BPF_HELPERS_H

#include "vmlinux.h"

#define SEC(name) __attribute__((section(name), used))
#define __ksym
#ifndef __noinline
#define __noinline __attribute__((__noinline__))
#endif
#define barrier_var(value) asm volatile("" : "+r"(value))
#define __kconfig
#define __hidden __attribute__((visibility("hidden")))
#ifndef __weak
#define __weak __attribute__((weak))
#endif

/* Maps: of these, those of storage per socket. */
#define __uint(name, value) int (*name)[value]
#define __type(name, kind) typeof(kind) *name

#define bpf_jiffies64() ((__u64)jiffies_64)
#define bpf_ktime_get_ns() ((__u64)ktime_get())
#define bpf_ktime_get_boot_ns() bpf_ktime_get_ns()
#define bpf_ktime_get_coarse_ns() bpf_ktime_get_ns()
#define bpf_get_prandom_u32() get_random_u32()
#define bpf_tcp_send_ack(tp, rcv_nxt) 0
#define bpf_printk(format, args...) printk(format "\n", ##args)
#define bpf_sk_storage_get(map, sk, initial, flags) \
	((typeof((map)->value))tailback_storage(map, sk, sizeof(*(map)->value), initial, flags))
#define bpf_sk_storage_delete(map, sk) tailback_forget(map, sk)
#define bpf_setsockopt(sk, level, option, value, length) tailback_setsockopt(sk, level, option, value, length)
#define bpf_getsockopt(sk, level, option, value, length) tailback_getsockopt(sk, level, option, value, length)
#define bpf_skc_to_tcp_sock(sk) ((struct tcp_sock *)(sk))
#define bpf_for(i, first, end) for ((i) = (first); (i) < (end); (i)++)
#define bpf_repeat(times) for (int tailback_n = 0; tailback_n < (times); tailback_n++)

void *tailback_storage(const void *map, const void *sk, size_t size, const void *value, u64 flags);
long tailback_forget(const void *map, const void *sk);
long tailback_setsockopt(void *socket, int level, int option, void *value, int length);
long tailback_getsockopt(void *socket, int level, int option, void *value, int length);

#endif
