// SPDX-License-Identifier: GPL-2.0
/*
 * Part of a module of the user that is built for a kernel: registers its congestion control under the name that a run
 * gives it. The name in the user's file may be that of a control that the kernel has already, as `cubic`. In the user's
 * file, `tcp_register_congestion_control` is compiled as `tailback_register`.
 */
#include <linux/string.h>
#include <net/tcp.h>

int tailback_register(struct tcp_congestion_ops *ops);

int tailback_register(struct tcp_congestion_ops *ops)
{
	static bool named;

	if (!named)
		strscpy(ops->name, TAILBACK_NAME, sizeof(ops->name));
	named = true;
	return tcp_register_congestion_control(ops);
}
