/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stands in for libbpf's header of this name: a member of struct_ops is a function with the arguments that it names.
 */
#ifndef TAILBACK_BPF_TRACING_H
#define TAILBACK_BPF_TRACING_H

#include "bpf_helpers.h"

#define BPF_PROG(name, args...) name(args)

#endif
