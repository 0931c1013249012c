# The profile as a library (descriptor, registry, slots) and the command with its verbs.
noinst_LIBRARIES += libprofile.a
libprofile_a_SOURCES = \
	profile/conf.c profile/conf.h \
	profile/conf-keys.c profile/conf-keys.h profile/conf-rules.c \
	profile/conf-scan.c profile/conf-scan.h \
	profile/control-client.c profile/control-client.h \
	profile/descriptor.c profile/descriptor.h \
	profile/descriptor-schema.c profile/descriptor-schema.h \
	profile/egress-note.c profile/egress-note.h \
	profile/paths.c profile/paths.h \
	profile/public-ip.c profile/public-ip.h \
	profile/registry.c profile/registry.h \
	profile/sizing.c profile/sizing.h \
	profile/slotfs.c profile/slotfs.h \
	profile/slots.c profile/slots.h

# What a program that links libprofile.a needs besides.
PROFILE_LIBS = libprofile.a $(BASE_LIBS) $(ECONF_LIBS) $(MOUNT_LIBS) $(BLKID_LIBS) $(SYSTEMD_LIBS)

noinst_LIBRARIES += libcommand.a
libcommand_a_SOURCES = profile/usage.c profile/verbs.h \
	profile/verb-apply.c profile/verb-check.c profile/verb-doctor.c profile/verb-init.c \
	profile/verb-list.c profile/verb-show.c profile/verb-status.c \
	profile/cgroup-limits.c profile/cgroup-limits.h \
	profile/checks-cgroup.c profile/checks-daemon.c profile/checks-host.c \
	profile/checks-profile.c profile/checks-storage.c \
	profile/doctor.c profile/doctor.h profile/doctor-report.c \
	profile/engine-exec.c profile/engine-exec.h \
	profile/engine-judge.c profile/engine-judge.h \
	profile/heart.c profile/heart.h \
	profile/kernel-facts.c profile/kernel-facts.h \
	profile/kernel-text.c profile/kernel-text.h \
	profile/procs.c profile/procs.h \
	profile/provision.c profile/provision.h profile/provision-account.c \
	profile/provision-publish.c profile/provision-storage.c profile/provision-units.c \
	profile/smoke.c profile/smoke.h profile/smoke-internal.h profile/smoke-inside.c \
	profile/smoke-gone.c \
	profile/steps.c profile/steps.h \
	profile/unit-facts.c profile/unit-facts.h

sbin_PROGRAMS += dindhost
dindhost_SOURCES = profile/main.c
dindhost_LDADD = libcommand.a $(PROFILE_LIBS)

# The same command with the fault seam of base/fault.h: step N of `apply` fails at will.
noinst_PROGRAMS += profile/dindhost-faulty
profile_dindhost_faulty_SOURCES = profile/main.c $(libcommand_a_SOURCES)
profile_dindhost_faulty_CPPFLAGS = $(AM_CPPFLAGS) -DFAULT_INJECTION
profile_dindhost_faulty_LDADD = $(PROFILE_LIBS)

test_programs += profile/test-paths profile/test-conf profile/test-descriptor \
	profile/test-registry profile/test-slots profile/test-sizing profile/test-control-client
profile_test_paths_SOURCES = profile/test-paths.c
profile_test_paths_LDADD = $(PROFILE_LIBS) $(CMOCKA_LIBS)
profile_test_conf_SOURCES = profile/test-conf.c
profile_test_conf_LDADD = $(PROFILE_LIBS) $(CMOCKA_LIBS)
profile_test_descriptor_SOURCES = profile/test-descriptor.c profile/descriptor-samples.h
profile_test_descriptor_LDADD = $(PROFILE_LIBS) $(CMOCKA_LIBS)
profile_test_registry_SOURCES = profile/test-registry.c profile/descriptor-samples.h
profile_test_registry_LDADD = $(PROFILE_LIBS) $(CMOCKA_LIBS)
profile_test_slots_SOURCES = profile/test-slots.c
profile_test_slots_LDADD = $(PROFILE_LIBS) $(CMOCKA_LIBS)
profile_test_sizing_SOURCES = profile/test-sizing.c
profile_test_sizing_LDADD = $(PROFILE_LIBS) $(CMOCKA_LIBS)
profile_test_control_client_SOURCES = profile/test-control-client.c
profile_test_control_client_LDADD = $(PROFILE_LIBS) $(CMOCKA_LIBS)

test_programs += profile/test-steps
profile_test_steps_SOURCES = profile/test-steps.c profile/steps.c
profile_test_steps_CPPFLAGS = $(AM_CPPFLAGS) -DFAULT_INJECTION
profile_test_steps_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)

dist_check_SCRIPTS += profile/t-command.sh
EXTRA_DIST += profile/t-registry.bash

test_programs += profile/test-kernel-text profile/test-doctor profile/test-smoke profile/test-procs
profile_test_procs_SOURCES = profile/test-procs.c
profile_test_procs_LDADD = libcommand.a $(PROFILE_LIBS) $(CMOCKA_LIBS)
profile_test_smoke_SOURCES = profile/test-smoke.c
profile_test_smoke_LDADD = libcommand.a $(PROFILE_LIBS) $(CMOCKA_LIBS)
profile_test_kernel_text_SOURCES = profile/test-kernel-text.c
profile_test_kernel_text_LDADD = libcommand.a $(PROFILE_LIBS) $(CMOCKA_LIBS)
profile_test_doctor_SOURCES = profile/test-doctor.c
profile_test_doctor_LDADD = libcommand.a $(PROFILE_LIBS) $(CMOCKA_LIBS)
dist_check_SCRIPTS += profile/test-doctor-host.sh
