# Tests of whole programs; unit tests sit beside the code they test.
dist_check_SCRIPTS += selftest/t-hardening.sh selftest/t-promises.sh
EXTRA_DIST += selftest/tap.sh selftest/cmocka-tap.h selftest/install-packages selftest/format \
	selftest/shellcheck

check-vm: all
	$(srcdir)/selftest/vm/check
