# Debian packages, built in a copy of the distribution so that the source tree stays clean.
EXTRA_DIST += debian/changelog debian/control debian/copyright debian/rules debian/source/format \
	debian/dindhost.install debian/dindhost-supervisor.install \
	debian/dindhost.lintian-overrides debian/dindhost-supervisor.lintian-overrides \
	debian/not-installed

deb: distdir
	rm -rf deb
	$(MKDIR_P) deb
	mv $(distdir) deb/$(distdir)
	cd deb/$(distdir) && dpkg-buildpackage -us -uc -b > ../build.log 2>&1 || \
		{ tail -n 40 ../build.log; exit 1; }
	rm -rf deb/$(distdir)
	@ls -1 deb/*.deb

# What is in the packages, and lintian; takes a while, so not part of `make check`.
.PHONY: check-deb
check-deb: deb
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' $(srcdir)/selftest/t-package.sh
