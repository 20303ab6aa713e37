"""A process that archives and kills itself at its n-th step: `archive_worker.py URL FOLDER STEP`."""

import os
import signal
import sys

from tacit.collector import archiver
from tacit.collector.store import Store


def main(url, folder, last):
    archiver.ROWS = 40
    store = Store.open(url)
    taken = []

    def step(name):
        taken.append(name)
        print(name, flush=True)
        if len(taken) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    archiver.archive(store, folder, 0, step)
    print("done", flush=True)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
