"""A process that stores reports until it is killed and prints what was confirmed: `store_writer.py URL SEED`."""

import resource
import secrets
import signal
import sys

from store_support import submissions

from tacit.collector.store import Store
from tacit.errors import TacitError


def main(url, seed, limit):
    store = Store.open(url)
    drawn = submissions(store, "tea", 200, seed)
    if limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    print("begun", flush=True)
    while True:
        part = [s._replace(id=secrets.token_bytes(16)) for s in drawn[: 1 + secrets.randbelow(200)]]
        try:
            outcomes = store.submit(part)
        except TacitError as error:
            print(error.code, flush=True)
            if not limit:
                raise
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            outcomes = store.submit(part)  # the same once more: now there is room
            limit = 0
            print("again", flush=True)
        assert all(outcome.new for outcome in outcomes)
        print(" ".join(s.id.hex() for s in part), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
