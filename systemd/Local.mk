# Unit files live here once, for every distribution; places are filled in by make.
unit_templates = systemd/dindhost-storage@.service systemd/dindhost-dockerd@.service \
	systemd/dindhost-broker@.socket systemd/dindhost-broker@.service \
	systemd/dindhost-watchdog@.socket systemd/dindhost-watchdog@.service \
	systemd/dindhost@.target
user_unit_templates = systemd/user/dindhost-dockerd@.service
nodist_systemdsystemunit_DATA = $(unit_templates)
systemduserunitdir = $(prefix)/lib/systemd/user
nodist_systemduserunit_DATA = $(user_unit_templates)
nodist_sysusers_DATA = systemd/sysusers/dindhost.conf
nodist_tmpfiles_DATA = systemd/tmpfiles/dindhost.conf
modulesload_DATA = systemd/modules-load/dindhost.conf
generated_units = $(unit_templates) $(user_unit_templates) systemd/sysusers/dindhost.conf \
	systemd/tmpfiles/dindhost.conf systemd/modules-load/dindhost.conf
CLEANFILES += $(generated_units)
EXTRA_DIST += $(unit_templates:=.in) systemd/user-dindhost-dockerd@.service.in \
	systemd/sysusers.conf systemd/tmpfiles.conf.in systemd/modules-load.conf
all-local: $(generated_units)

fill_places = $(MKDIR_P) $(@D) && $(SED) -e 's|@pkglibexecdir[@]|$(pkglibexecdir)|g' \
	-e 's|@localstatedir[@]|$(localstatedir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g'

$(unit_templates): %: $(srcdir)/%.in Makefile
	$(AM_V_GEN)$(fill_places) $< > $@.tmp && mv $@.tmp $@
systemd/user/dindhost-dockerd@.service: $(srcdir)/systemd/user-dindhost-dockerd@.service.in Makefile
	$(AM_V_GEN)$(fill_places) $< > $@.tmp && mv $@.tmp $@
systemd/sysusers/dindhost.conf: $(srcdir)/systemd/sysusers.conf
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $@
systemd/tmpfiles/dindhost.conf: $(srcdir)/systemd/tmpfiles.conf.in Makefile
	$(AM_V_GEN)$(fill_places) $< > $@.tmp && mv $@.tmp $@
systemd/modules-load/dindhost.conf: $(srcdir)/systemd/modules-load.conf
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $@
