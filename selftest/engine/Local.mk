# Stand-ins for the outer daemon and the broker, driven by rules files: see rules.h.
check_PROGRAMS += selftest/engine/scripted-engine selftest/engine/scripted-broker
selftest_engine_scripted_engine_SOURCES = \
	selftest/engine/scripted-engine.c \
	selftest/engine/objects.c selftest/engine/objects.h \
	selftest/engine/rules.c selftest/engine/rules.h
selftest_engine_scripted_engine_LDADD = $(BASE_LIBS)
selftest_engine_scripted_broker_SOURCES = \
	selftest/engine/scripted-broker.c \
	selftest/engine/rules.c selftest/engine/rules.h \
	watchdog/broker/wire.h
selftest_engine_scripted_broker_LDADD = libprofile.a $(BASE_LIBS) $(ECONF_LIBS)
