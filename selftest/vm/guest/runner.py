#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""runner.py: a small eval runner, to be run as a member of a profile's access group

  runner.py sandbox ALIAS IMAGE [COMMAND...]  lease, reservation, container; COMMAND as its ordinary
                                              user (default: a nested docker run); release, drain
  runner.py call ALIAS KIND [JSON]            one control request, the result as JSON; exit 1 with
                                              "CODE: MESSAGE" on standard error when it is refused
  runner.py hold ALIAS IMAGE FILE             takes a sandbox, writes its ids to FILE as JSON, and
                                              keeps its lease alive until killed

Speaks niceeval-docker-profile-control/v1 as its own client does: it finds the profile by the
published descriptor, sends one JSON line a connection, and starts the container over the profile's
Docker socket. Tests may import it.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import uuid

REGISTRY = os.environ.get('DINDHOST_REGISTRY', '/etc/niceeval/docker-profiles')
# Seconds; an emulated machine is 10 to 25 times slower than this one should be.
CALL_TIMEOUT = float(os.environ.get('RUNNER_CALL_TIMEOUT', 180))
WAIT_TIMEOUT = float(os.environ.get('RUNNER_WAIT_TIMEOUT', 300))
HEARTBEAT = 5.0
RESOURCES = {'cpus': 1, 'memoryBytes': 1 << 30, 'pids': 512, 'containers': 1, 'ephemeralDiskBytes': 1 << 30}
NESTED_RUN = ['sh', '-ec', 'docker import /opt/inner.tar inner:local >/dev/null\n'
              'docker run --rm inner:local /bin/echo "hello from a container in a container"']


class Refused(Exception):
    """An error reply."""

    def __init__(self, code, message):
        super().__init__(f'{code}: {message}')
        self.code, self.message = code, message


class Profile:
    """What the published descriptor says."""

    def __init__(self, alias):
        with open(os.path.join(REGISTRY, alias + '.json'), encoding='utf-8') as f:
            self.descriptor = json.load(f)
        self.id = self.descriptor['profileId']
        transport = self.descriptor['transport']
        self.control = transport['controlSocket']['path']
        self.docker_socket = transport['dockerSocket']['path']

    def send(self, line):
        """The raw exchange: bytes of one request, bytes of the reply."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(CALL_TIMEOUT)
            s.connect(self.control)
            s.sendall(line)
            s.shutdown(socket.SHUT_WR)
            reply = b''
            while piece := s.recv(65536):
                reply += piece
        return reply

    def call(self, kind, **fields):
        reply = json.loads(self.send(json.dumps({'kind': kind, **fields}).encode() + b'\n'))
        if reply.get('ok') is True and 'result' in reply:
            return reply['result']
        error = reply.get('error', {})
        raise Refused(error.get('code', 'control-error'), error.get('message', 'invalid control reply'))

    def docker(self, *arguments, check=True, **options):
        command = ['docker', '-H', 'unix://' + self.docker_socket, *arguments]
        return subprocess.run(command, check=check, text=True, timeout=WAIT_TIMEOUT,
                              stdin=subprocess.DEVNULL, **options)


class Lease:
    """Held while the block runs: heartbeats from a thread, drained at its end."""

    def __init__(self, profile):
        self.profile = profile
        self.over = threading.Event()

    def __enter__(self):
        nonce = str(uuid.uuid4())
        challenge = self.profile.call('challenge', clientNonce=nonce)
        if challenge['clientNonce'] != nonce or challenge['profileId'] != self.profile.id:
            raise Refused('attestation', 'the challenge does not match the descriptor')
        made = self.profile.call('lease.create', profileId=self.profile.id, invocationId=str(uuid.uuid4()),
                                 daemonGeneration=challenge['daemonGeneration'])
        self.fields = {'invocationId': made['invocationId'], 'leaseToken': made['leaseToken']}
        self.thread = threading.Thread(target=self.beat, daemon=True)
        self.thread.start()
        return self

    def beat(self):
        while not self.over.wait(HEARTBEAT):
            try:
                self.call('lease.heartbeat')
            except (Refused, OSError, ValueError) as error:
                print(f'heartbeat: {error}', file=sys.stderr)

    def call(self, kind, **fields):
        return self.profile.call(kind, **self.fields, **fields)

    def __exit__(self, *exception):
        self.over.set()
        self.thread.join()
        self.call('lease.drain')
        wait_until('the lease is gone', lambda: not any(
            lease['invocationId'] == self.fields['invocationId']
            for lease in self.profile.call('status')['leases']))

    def acquire(self, resources=None):
        """Returns a reservation that has been granted."""
        wanted = str(uuid.uuid4())
        record = self.call('reservation.acquire', reservationId=wanted, reservationKind='container',
                           resources=resources or RESOURCES)

        def granted():
            nonlocal record
            if record['state'] == 'queued':
                record = self.call('reservation.get', reservationId=wanted)
            return record['state'] != 'queued'
        wait_until('the reservation is granted', granted)
        if record['state'] != 'granted':
            raise Refused('reservation', f'state {record["state"]}')
        return record

    def create(self, reservation, image, **spec):
        return self.call('container.create', reservationId=reservation['reservationId'],
                         # neither entrypoint nor command: the supervisor is PID 1
                         create={'image': image, 'command': [], 'environment': [],
                                 'attemptId': str(uuid.uuid4()), **spec})

    def release(self, reservation):
        return self.call('reservation.release', reservationId=reservation['reservationId'])


def wait_until(what, condition, pause=0.5):
    deadline = time.monotonic() + WAIT_TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f'not within {WAIT_TIMEOUT:.0f} s: {what}')
        time.sleep(pause)


def ready(profile, container):
    """The inner daemon answers an ordinary user; a sandbox that has ended is an error at once."""
    running = profile.docker('inspect', '-f', '{{.State.Running}}', container, stdout=subprocess.PIPE)
    if running.stdout.strip() != 'true':
        profile.docker('logs', '--tail', '40', container, check=False)
        raise Refused('sandbox', 'it ended before its daemon was ready')
    return profile.docker('exec', '-u', 'sandbox', container, 'docker', 'info', check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def start(profile, lease, reservation, image):
    made = lease.create(reservation, image)
    container = made['containerId']
    profile.docker('start', container, stdout=subprocess.DEVNULL)
    wait_until('the inner daemon is ready', lambda: ready(profile, container))
    return made


class Progress:
    """A line a step, with the seconds it took."""

    def __init__(self):
        self.at = time.monotonic()

    def done(self, text):
        now = time.monotonic()
        print(f'{text} ({now - self.at:.1f} s)', flush=True)
        self.at = now


def sandbox(alias, image, command):
    profile, progress = Profile(alias), Progress()
    with Lease(profile) as lease:
        progress.done('lease taken')
        reservation = lease.acquire()
        progress.done(f'reservation granted: {reservation["slotId"]}')
        made = start(profile, lease, reservation, image)
        container = made['containerId']
        progress.done(f'sandbox {container[:12]} is ready for its ordinary user')
        code = profile.docker('exec', '-u', 'sandbox', container, *command, check=False).returncode
        progress.done(f'command of the ordinary user ended with code {code}')
        lease.release(reservation)
        progress.done('reservation released')
        left = profile.docker('inspect', container, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    progress.done('lease drained')
    if left:
        print('the container is still there after its release', file=sys.stderr)
    return code or int(left)


def hold(alias, image, file):
    profile = Profile(alias)
    with Lease(profile) as lease:
        reservation = lease.acquire()
        made = start(profile, lease, reservation, image)
        with open(file + '.new', 'w', encoding='utf-8') as f:
            json.dump({**made, **reservation, **lease.fields}, f)
        shutil.move(file + '.new', file)
        threading.Event().wait()


def call(alias, kind, text='{}'):
    print(json.dumps(Profile(alias).call(kind, **json.loads(text)), indent=1, sort_keys=True))
    return 0


def main(argv):
    try:
        if len(argv) >= 3 and argv[0] == 'sandbox':
            return sandbox(argv[1], argv[2], argv[3:] or NESTED_RUN)
        if len(argv) in (3, 4) and argv[0] == 'call':
            return call(*argv[1:])
        if len(argv) == 4 and argv[0] == 'hold':
            return hold(*argv[1:])
    except (Refused, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        print(f'{type(error).__name__}: {error}', file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
