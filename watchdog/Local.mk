noinst_LIBRARIES += libwatchdog.a
libwatchdog_a_SOURCES = \
	watchdog/admission.c watchdog/admission.h \
	watchdog/admit.c watchdog/admit.h \
	watchdog/broker-link.c watchdog/broker-link.h \
	watchdog/control.c watchdog/control.h \
	watchdog/daemon.c watchdog/daemon.h \
	watchdog/engine.c watchdog/engine.h \
	watchdog/lease.c watchdog/lease.h \
	watchdog/ledger.c watchdog/ledger.h watchdog/ledger-internal.h \
	watchdog/ledger-queries.c watchdog/ledger-reservations.c watchdog/ledger-rows.c \
	watchdog/ledger-schema.h \
	watchdog/methods.c watchdog/methods.h watchdog/methods-acquire.c \
	watchdog/methods-create.c watchdog/methods-reservation.c watchdog/methods-status.c \
	watchdog/sandbox.c watchdog/sandbox.h watchdog/sandbox-create.c watchdog/sandbox-internal.h \
	watchdog/sandbox-body.c watchdog/sandbox-job.c watchdog/sandbox-query.c \
	watchdog/sandbox-release.c \
	watchdog/sandbox-spec.c watchdog/sandbox-spec.h \
	watchdog/sandbox-tmpfs.c watchdog/sandbox-tmpfs.h \
	watchdog/watchdog.c watchdog/watchdog.h

WATCHDOG_LIBS = libwatchdog.a $(PROFILE_LIBS) $(SQLITE_LIBS)

pkglibexec_PROGRAMS += dindhost-watchdog dindhost-broker
dindhost_watchdog_SOURCES = watchdog/main.c
dindhost_watchdog_LDADD = $(WATCHDOG_LIBS)

noinst_LIBRARIES += libbroker.a
libbroker_a_SOURCES = \
	watchdog/broker/caps.c watchdog/broker/caps.h \
	watchdog/broker/holders.c watchdog/broker/holders.h \
	watchdog/broker/pool.c watchdog/broker/pool.h \
	watchdog/broker/slot.c watchdog/broker/slot.h \
	watchdog/broker/tree.c watchdog/broker/tree.h \
	watchdog/broker/wire.h
BROKER_LIBS = libbroker.a $(PROFILE_LIBS) $(CAP_LIBS)

dindhost_broker_SOURCES = watchdog/broker/main.c
dindhost_broker_LDADD = $(BROKER_LIBS)

# Parts of the watchdog on a stage of real sockets, a scripted Engine and a scripted broker.
test_programs += watchdog/test-sandbox-spec watchdog/test-engine watchdog/test-broker-link \
	watchdog/test-sandbox watchdog/test-sandbox-turns watchdog/test-daemon
stage_files = watchdog/test-stage.c watchdog/test-stage.h
watchdog_test_sandbox_spec_SOURCES = watchdog/test-sandbox-spec.c
watchdog_test_sandbox_spec_LDADD = $(WATCHDOG_LIBS) $(SYSTEMD_LIBS) $(CMOCKA_LIBS)
watchdog_test_engine_SOURCES = watchdog/test-engine.c $(stage_files)
watchdog_test_engine_LDADD = $(WATCHDOG_LIBS) $(SYSTEMD_LIBS) $(CMOCKA_LIBS)
watchdog_test_broker_link_SOURCES = watchdog/test-broker-link.c $(stage_files)
watchdog_test_broker_link_LDADD = $(WATCHDOG_LIBS) $(SYSTEMD_LIBS) $(CMOCKA_LIBS)
story_files = watchdog/test-story.c watchdog/test-story.h $(stage_files)
watchdog_test_sandbox_turns_SOURCES = watchdog/test-sandbox-turns.c $(story_files)
watchdog_test_sandbox_turns_LDADD = $(WATCHDOG_LIBS) $(SYSTEMD_LIBS) $(CMOCKA_LIBS)
watchdog_test_sandbox_SOURCES = watchdog/test-sandbox.c $(story_files)
watchdog_test_sandbox_LDADD = $(WATCHDOG_LIBS) $(SYSTEMD_LIBS) $(CMOCKA_LIBS)
watchdog_test_daemon_SOURCES = watchdog/test-daemon.c $(stage_files)
watchdog_test_daemon_LDADD = $(WATCHDOG_LIBS) $(SYSTEMD_LIBS) $(CMOCKA_LIBS)

# Pure logic and the ledger by themselves.
test_programs += watchdog/test-admission watchdog/test-ledger
watchdog_test_admission_SOURCES = watchdog/test-admission.c
watchdog_test_admission_LDADD = $(WATCHDOG_LIBS) $(CMOCKA_LIBS)
watchdog_test_ledger_SOURCES = watchdog/test-ledger.c
watchdog_test_ledger_LDADD = $(WATCHDOG_LIBS) $(CMOCKA_LIBS)

# The whole watchdog as a process on that stage.
test_programs += watchdog/test-watchdog watchdog/test-protocol
host_files = watchdog/test-host.c watchdog/test-host.h $(stage_files)
watchdog_test_watchdog_SOURCES = watchdog/test-watchdog.c $(host_files)
watchdog_test_watchdog_LDADD = $(WATCHDOG_LIBS) $(SYSTEMD_LIBS) $(CMOCKA_LIBS)
watchdog_test_protocol_SOURCES = watchdog/test-protocol.c $(host_files)
watchdog_test_protocol_LDADD = $(WATCHDOG_LIBS) $(SYSTEMD_LIBS) $(CMOCKA_LIBS)
EXTRA_watchdog_test_watchdog_DEPENDENCIES = dindhost-watchdog
EXTRA_watchdog_test_protocol_DEPENDENCIES = dindhost-watchdog

# The broker and its parts.
test_programs += watchdog/broker/test-broker watchdog/broker/test-caps \
	watchdog/broker/test-holders watchdog/broker/test-tree
watchdog_broker_test_broker_SOURCES = watchdog/broker/test-broker.c
watchdog_broker_test_broker_LDADD = $(BROKER_LIBS) $(CMOCKA_LIBS)
watchdog_broker_test_caps_SOURCES = watchdog/broker/test-caps.c
watchdog_broker_test_caps_LDADD = $(BROKER_LIBS) $(CMOCKA_LIBS)
watchdog_broker_test_holders_SOURCES = watchdog/broker/test-holders.c
watchdog_broker_test_holders_LDADD = $(BROKER_LIBS) $(CMOCKA_LIBS)
watchdog_broker_test_tree_SOURCES = watchdog/broker/test-tree.c
watchdog_broker_test_tree_LDADD = $(BROKER_LIBS) $(CMOCKA_LIBS)
EXTRA_watchdog_broker_test_broker_DEPENDENCIES = dindhost-broker
