# The booted machine (see vm, image, check there). Nothing is built; make check-vm runs it.
EXTRA_DIST += selftest/vm/image selftest/vm/mirror.sh selftest/vm/unpack-kernel selftest/vm/guest-root \
	selftest/vm/agent selftest/vm/dind-image selftest/vm/qemu selftest/vm/vm selftest/vm/check \
	selftest/vm/job-main selftest/vm/guest/host-steps.sh selftest/vm/guest/steps.sh \
	selftest/vm/guest/lib.sh selftest/vm/guest/runner.py selftest/vm/guest/t-sandbox.sh \
	selftest/vm/guest/t-apply.sh selftest/vm/guest/t-doctor.sh
