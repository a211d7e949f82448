// SPDX-License-Identifier: GPL-2.0
/*
 * What a BPF program for the simulator has instead of a loader: it registers each struct tcp_congestion_ops of the
 * program's section .struct_ops, which struct_ops.lds has laid between two names, and keeps storage per socket.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <uapi/linux/bpf.h>
#include <net/tcp.h>

extern struct tcp_congestion_ops tailback_ops_begin[] __attribute__((visibility("hidden")));
extern struct tcp_congestion_ops tailback_ops_end[] __attribute__((visibility("hidden")));

enum { HZ_OF_HEADERS = CONFIG_HZ };
#undef CONFIG_HZ
unsigned long CONFIG_HZ = HZ_OF_HEADERS;

int init_module(void)
{
	struct tcp_congestion_ops *each;

	for (each = tailback_ops_begin; each < tailback_ops_end; each++) {
		int error = tcp_register_congestion_control(each);

		if (error)
			return error;
	}
	return 0;
}

struct storage {
	struct storage *next;
	const void *map;
	const void *sk;
	u64 data[];
};

static struct storage *storages;

static struct storage **place_of(const void *map, const void *sk)
{
	struct storage **place = &storages;

	while (*place && ((*place)->map != map || (*place)->sk != sk))
		place = &(*place)->next;
	return place;
}

void *tailback_storage(const void *map, const void *sk, size_t size, const void *value, u64 flags)
{
	struct storage **place = place_of(map, sk), *made;

	if (*place)
		return (*place)->data;
	if (!(flags & BPF_SK_STORAGE_GET_F_CREATE))
		return NULL;
	made = kzalloc(sizeof(*made) + size, GFP_ATOMIC);
	if (!made)
		return NULL;
	made->map = map;
	made->sk = sk;
	if (value)
		memcpy(made->data, value, size);
	*place = made;
	return made->data;
}

long tailback_forget(const void *map, const void *sk)
{
	struct storage **place = place_of(map, sk), *found = *place;

	if (!found)
		return -ENOENT;
	*place = found->next;
	kfree(found);
	return 0;
}
