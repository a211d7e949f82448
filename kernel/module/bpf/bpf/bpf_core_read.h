/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stands in for libbpf's header of this name: the simulator has the structs of the headers, so there is nothing to
 * relocate.
 */
#ifndef TAILBACK_BPF_CORE_READ_H
#define TAILBACK_BPF_CORE_READ_H

#define BPF_CORE_READ_BITFIELD(of, field) ((of)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(of, field) ((of)->field)
#define bpf_core_field_exists(field) 1

#define TAILBACK_READ_1(of, a) ((of)->a)
#define TAILBACK_READ_2(of, a, b) ((of)->a->b)
#define TAILBACK_READ_3(of, a, b, c) ((of)->a->b->c)
#define TAILBACK_READ_OF(of, a, b, c, chosen, ...) chosen
#define BPF_CORE_READ(of, fields...) \
	TAILBACK_READ_OF(of, ##fields, TAILBACK_READ_3, TAILBACK_READ_2, TAILBACK_READ_1)(of, ##fields)

#endif
