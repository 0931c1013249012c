/* SPDX-License-Identifier: MIT */
/*
 * Watching the outer daemon
 *
 * Asked at the start (GET /info), then held by its event stream: when that connection breaks, the
 * daemon is gone, admission closes, and it is asked again with growing pauses. What it says must
 * be what the descriptor promises (rootless, cgroup v2, systemd driver, root folder), or admission
 * stays closed with the reason. Its generation is the first 32 hex digits of
 * sha256("ID:SOCKET_INODE:SOCKET_CTIME_NS"); leases of another generation are drained.
 */
#pragma once

#include "watchdog/watchdog.h"

int daemon_watch_start(Watchdog *w);
DaemonWatch *daemon_watch_free(DaemonWatch *d);
void daemon_watch_freep(DaemonWatch **d);
