# One text source a page; roff is made by scdoc and never kept in git.
man_pages = man/dindhost.8 man/dindhost-profile.5 man/dindhost-watchdog.8 man/dindhost-broker.8 \
	man/dindhost-supervisor.8
nodist_man_MANS += $(man_pages)
CLEANFILES += $(man_pages)
EXTRA_DIST += $(man_pages:=.scd)

SUFFIXES = .scd
.scd:
	$(AM_V_GEN)$(MKDIR_P) man && $(SCDOC) < $< > $@.tmp && mv $@.tmp $@
