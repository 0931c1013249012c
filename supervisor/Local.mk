# PID 1 of sandboxes. It runs in images of any distribution, so it is static and has a compiler of
# its own (SUPERVISOR_CC, musl's where there is one): no ordinary PROGRAM for automake. The same
# sources are built dynamically too, for unit tests and sanitizers.
supervisor_sources = \
	supervisor/accounts.c supervisor/accounts.h \
	supervisor/cgroup.c supervisor/cgroup.h \
	supervisor/check.c supervisor/check.h \
	supervisor/fd.c supervisor/fd.h \
	supervisor/http.c supervisor/http.h \
	supervisor/json.c supervisor/json.h \
	supervisor/log.c supervisor/log.h \
	supervisor/machine.c supervisor/machine.h \
	supervisor/macros.h \
	supervisor/options.c supervisor/options.h \
	supervisor/probe.c supervisor/probe.h \
	supervisor/report.c supervisor/report.h \
	supervisor/ring.c supervisor/ring.h \
	supervisor/say.c supervisor/say.h \
	supervisor/spawn.c supervisor/spawn.h \
	supervisor/supervisor.c supervisor/supervisor.h \
	supervisor/text.c supervisor/text.h

SUPERVISOR_CPPFLAGS = -include config.h -I$(top_builddir) -I$(top_srcdir) -U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=2
SUPERVISOR_CFLAGS = -std=gnu11 -Os -g -Wall -Wextra -fstack-protector-strong \
	-fstack-clash-protection -fno-common -ffunction-sections -fdata-sections \
	-ffile-prefix-map=$(abs_top_srcdir)=.
SUPERVISOR_LDFLAGS = -static -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack \
	-Wl,-z,noseparate-code -Wl,--build-id=sha1
SUPERVISOR_STRIP = strip
supervisor_static_sources = supervisor/main.c $(filter %.c,$(supervisor_sources))

pkglibexec_SCRIPTS += dindhost-supervisor
CLEANFILES += dindhost-supervisor dindhost-supervisor.debug

# With symbols, for debuggers and for the test that looks at them.
dindhost-supervisor.debug: supervisor/main.c $(supervisor_sources) config.h Makefile
	$(AM_V_CCLD)$(SUPERVISOR_CC) $(SUPERVISOR_CPPFLAGS) $(SUPERVISOR_CFLAGS) $(SUPERVISOR_LDFLAGS) \
		-o $@ $(addprefix $(srcdir)/,$(supervisor_static_sources))

dindhost-supervisor: dindhost-supervisor.debug
	$(AM_V_GEN)$(SUPERVISOR_STRIP) -o $@ dindhost-supervisor.debug

noinst_LIBRARIES += libsupervisor.a
libsupervisor_a_SOURCES = $(supervisor_sources)
check_PROGRAMS += supervisor/supervisor-dyn
supervisor_supervisor_dyn_SOURCES = supervisor/main.c
supervisor_supervisor_dyn_LDADD = libsupervisor.a

# Tests: pure parts with cmocka, the programs as PID 1 with a scripted dockerd.
check_PROGRAMS += supervisor/test-dockerd
supervisor_test_dockerd_SOURCES = supervisor/test-dockerd.c
dist_check_SCRIPTS += supervisor/test-static.sh supervisor/test-pid1.sh

test_programs += supervisor/test-accounts supervisor/test-http supervisor/test-machine \
	supervisor/test-options supervisor/test-ring supervisor/test-text
supervisor_test_accounts_SOURCES = supervisor/test-accounts.c
supervisor_test_accounts_LDADD = libsupervisor.a $(CMOCKA_LIBS)
supervisor_test_http_SOURCES = supervisor/test-http.c
supervisor_test_http_LDADD = libsupervisor.a $(CMOCKA_LIBS)
supervisor_test_machine_SOURCES = supervisor/test-machine.c
supervisor_test_machine_LDADD = libsupervisor.a $(CMOCKA_LIBS)
supervisor_test_options_SOURCES = supervisor/test-options.c
supervisor_test_options_LDADD = libsupervisor.a $(CMOCKA_LIBS)
supervisor_test_ring_SOURCES = supervisor/test-ring.c
supervisor_test_ring_LDADD = libsupervisor.a $(CMOCKA_LIBS)
supervisor_test_text_SOURCES = supervisor/test-text.c
supervisor_test_text_LDADD = libsupervisor.a $(JANSSON_LIBS) $(CMOCKA_LIBS)
