# Tests of whole programs; unit tests sit beside the code they test.
dist_check_SCRIPTS += selftest/t-hardening.sh selftest/t-promises.sh selftest/t-units.sh
EXTRA_DIST += selftest/t-package.sh selftest/tap.sh selftest/cmocka-tap.h selftest/install-packages selftest/format \
	selftest/shellcheck

check-vm: all
	$(srcdir)/selftest/vm/check

include selftest/engine/Local.mk
include selftest/vm/Local.mk
