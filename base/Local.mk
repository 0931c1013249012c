noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	base/clock.c base/clock.h \
	base/digest.c base/digest.h \
	base/engine.c base/engine.h base/engine-prepare.h \
	base/fault.h \
	base/fd.c base/fd.h \
	base/json.c base/json.h \
	base/log.c base/log.h \
	base/macros.h \
	base/spawn.c base/spawn.h \
	base/text.c base/text.h \
	base/units.c base/units.h

# What a program that links libbase.a needs besides.
BASE_LIBS = libbase.a $(JANSSON_LIBS) $(NETTLE_LIBS) $(CURL_LIBS) -lm

test_programs += base/test-units base/test-json base/test-fd base/test-spawn base/test-digest
base_test_units_SOURCES = base/test-units.c selftest/cmocka-tap.h
base_test_units_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
base_test_json_SOURCES = base/test-json.c
base_test_json_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
base_test_fd_SOURCES = base/test-fd.c
base_test_fd_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
base_test_spawn_SOURCES = base/test-spawn.c
base_test_spawn_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
base_test_digest_SOURCES = base/test-digest.c
base_test_digest_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)

test_programs += base/test-engine
base_test_engine_SOURCES = base/test-engine.c
base_test_engine_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
