"""Studies with hostile respondents among the honest: how far is a share pushed, and does steering the policy help them?

    python -m experiments.poisoning.run [--runs 2] [--workers 1] [--only K] [--output FILE]

A finished job is one line of results/poisoning.jsonl, so the command may be stopped at any time and goes on
where it stood. A job is a number of categories K, an epsilon, a policy, a floor and a run. Shares fall like
1, 1/2, ..., 1/K; the n honest people of a run are the same for every policy and attack, come in the same
order, and say the same through the same channel (`People.reports`), so that pushes are paired. m fakes come
besides them.

The attackers want to raise category K // 2, a rare one. They know the shares and see every channel.

    random    uniform random reports, spread evenly: broken devices rather than liars
    uniform   the report of the current channel that says "target" loudest, spread evenly
    early     the same, every second report until they are used up
    late      nobody until the end; then `tacit.poisoning.attack`, to the rounds of its choice
    steer     a fifth of them early and against the target, so that an adaptive policy stops looking at it; the others
              as in late
    demote    as uniform, but against the likeliest category

`floor` is the part of every round that is asked through the static channel whatever the policy chose. A line
has, for the honest study and each attack,

    tv       total variation between the estimate and the shares
    push     of the target, in the direction of the attack: the estimate less that of the honest study
    told     the part of the reports whose channel tells the target from every other category

and for the honest study what the gauge says, and how long it took.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from experiments.parallel import at_least_one, follow
from experiments.real.run import distance, short
from experiments.real.run import finished as whole_lines
from rich.progress import track

from tacit import Study, channels, poisoning
from tacit.channels import Channel
from tacit.poisoning import menus

RESULTS = Path(__file__).parent / "results" / "poisoning.jsonl"
PEOPLE = {10: 2000, 20: 3000}
EPSILONS = (0.5, 1.0, 5.0)
POLICIES = ("static-subset", "risk", "honest", "semi:0.9", "tv_marginal")
FLOOR, FLOORED = 0.25, ("honest", "tv_marginal")
SHARES = (0.005, 0.01, 0.05)
ALWAYS = 0.01  # the share of fakes at which every attack is made
ATTACKS = ("random", "uniform", "early", "late", "steer", "demote")
AT_EVERY_SHARE = ("uniform",)
EARLY = 0.2  # of the fakes of steer
RUNS = {10: 2, 20: 1}
Line = dict[str, Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Job(NamedTuple):
    """One line."""

    k: int
    epsilon: float
    policy: str
    floor: float
    run: int


def jobs(runs: int) -> list[Job]:
    """All runs of the smaller K, then those of the larger."""
    return [
        Job(k, epsilon, policy, floor, run)
        for k in PEOPLE
        for run in range(min(runs, RUNS[k]))
        for epsilon in EPSILONS
        for policy in POLICIES
        for floor in (0.0, FLOOR)
        if not floor or (policy in FLOORED and k == min(PEOPLE))
    ]


class People:
    """The honest people of a run: `reports(channel)` is what each says through it, once and for all."""

    def __init__(self, k: int, n: int, seed: list[int]) -> None:
        self.theta = 1 / np.arange(1, k + 1)
        self.theta /= self.theta.sum()
        self.seed = seed
        self.answers = np.random.default_rng(seed).choice(k, n, p=self.theta)
        self._said: dict[str, Integers] = {}

    def reports(self, channel: Channel[Any]) -> Integers:
        """Of everybody, in the order in which they come."""
        if channel.id not in self._said:
            rng = np.random.default_rng([*self.seed, int(channel.id[:8], 16)])
            self._said[channel.id] = channel.sample(self.answers, rng).astype(np.int64)
        return self._said[channel.id]


class Lie(NamedTuple):
    """When fakes come, as a mask of all arrivals, and what each wants: +1 or -1 for the target, 0 a random report."""

    fake: npt.NDArray[np.bool_]
    wants: Integers  # of each arrival
    target: int


def lie(attack: str, n: int, fakes: int, k: int) -> Lie:
    """The plan of an attack."""
    total = n + fakes
    fake = np.zeros(total, dtype=bool)
    wants = np.zeros(total, dtype=np.int64)
    spread = np.floor((np.arange(fakes) + 0.5) * total / fakes).astype(int)
    if attack == "early":
        spread = 2 * np.arange(fakes) + 1
    fake[spread] = True
    wants[spread] = {"random": 0, "demote": -1}.get(attack, 1)
    return Lie(fake, wants, 0 if attack == "demote" else k // 2)


def told(channel: Channel[Any], target: int) -> bool:
    """Whether the channel tells the target from every other category; the rest of RRRR is told apart badly."""
    subset = getattr(channel.table, "subset", ())
    keep = getattr(channel.table, "keep", None)
    return target in subset if subset else keep is None or target in keep


def sent(channel: Channel[Any], target: int, wants: Integers, theta: Floats, rng: np.random.Generator) -> Any:
    """What fakes send through a channel: rows of reports. Who wants +1 or -1 sends what says so loudest.

    Of a subset channel these are the sets with, or without, the target's cell; the rest of the set is random,
    since one set repeated would raise its other cells too.
    """
    k = len(theta)
    if isinstance(channel, channels.Channel) and hasattr(channel, "cell_of"):
        cells, size = channel.table.cells, channel.table.size
        own = int(channel.cell_of[target])
        others = np.array([cell for cell in range(cells) if cell != own])
        rows = []
        for want in wants:
            held = size / cells > rng.random() if want == 0 else want > 0
            held = held or size > len(others)
            chosen = rng.choice(others, size - held, replace=False)
            rows.append(np.sort(np.append(chosen, own) if held else chosen))
        return np.array(rows, dtype=np.int64)
    pull = np.full(k, -1 / k)
    pull[target] += 1
    loud = {sign: menus.best(channel, sign * pull[None], theta).report(0) for sign in (1, -1)}
    return np.array([loud[int(w)] if w else rng.integers(k) for w in wants], dtype=np.int64)


class Asked(NamedTuple):
    """A study that everybody took part in."""

    study: Study
    told: float


def ask(job: Job, people: People, plan: Lie | None) -> Asked:
    """Round after round; every fourth report or so through the static channel, if there is a floor."""
    n, k = len(people.answers), job.k
    fake = np.zeros(n, dtype=bool) if plan is None else plan.fake
    wants = np.zeros(n, dtype=np.int64) if plan is None else plan.wants
    target = k // 2 if plan is None else plan.target
    person = np.cumsum(~fake) - 1  # who comes, where nobody lies
    seed = int(np.random.default_rng([*people.seed, 1]).integers(2**31))
    study = Study(
        [f"category {i}" for i in range(k)], epsilon=job.epsilon, policy=job.policy, expected=n, seed=seed
    )
    static = channels.subset(k, job.epsilon)
    rng = np.random.default_rng([*people.seed, 2])
    floor = np.floor((np.arange(len(fake)) + 1) * job.floor) > np.floor(np.arange(len(fake)) * job.floor)
    known = 0
    while (begun := len(study.evidence)) < len(fake):
        places = np.arange(begun, min(begun + study.wanted, len(fake)))
        chosen = study.channel
        for channel, mine in ((static, places[floor[places]]), (chosen, places[~floor[places]])):
            if len(mine):
                honest = people.reports(channel)[person[mine[~fake[mine]]]]
                lies = sent(channel, target, wants[mine[fake[mine]]], people.theta, rng)
                both = np.concatenate([honest, lies.reshape(-1, *honest.shape[1:])])
                known += told(channel, target) * len(mine)
                study.add(channel, both)
    return Asked(study, known / len(fake))


def one_job(job: Job, people_of: dict[int, int] = PEOPLE) -> Line:
    """The honest study, its gauge, and every attack."""
    began = time.process_time()
    n, k = people_of[job.k], job.k
    people = People(k, n, [k, round(100 * job.epsilon), job.run])
    honest = ask(job, people, None)
    base = honest.study.estimate()
    found: dict[str, Line] = {
        "honest": {"tv": short(distance(base, people.theta)), "told": short(honest.told)}
    }
    for attack in ATTACKS:
        for share in SHARES if attack in AT_EVERY_SHARE else (ALWAYS,):
            found[f"{attack} {share:g}"] = attacked(job, people, attack, round(share * n), honest, base)
    gauges = {f"{share:g}": gauged(honest.study, round(share * n), k // 2) for share in SHARES}
    line = {"job": list(job), "n": n, "share": short(people.theta[k // 2]), "estimate": short(base[k // 2])}
    return line | {"gauge": gauges, "studies": found, "seconds": round(time.process_time() - began, 1)}


def attacked(job: Job, people: People, attack: str, fakes: int, honest: Asked, base: Floats) -> Line:
    """One attack, beside the honest study."""
    target = job.k // 2
    asked, sign = honest, 1
    if attack == "steer":
        first = max(1, round(EARLY * fakes))
        plan = lie("early", len(people.answers), first, job.k)
        asked = ask(job, people, plan._replace(wants=-plan.wants))
        fakes -= first
    if attack in ("late", "steer"):
        after = poisoning.attack(asked.study, target, fakes, steps=1).after
    else:
        plan = lie(attack, len(people.answers), fakes, job.k)
        asked = ask(job, people, plan)
        after = asked.study.estimate()
        target, sign = plan.target, -1 if attack == "demote" else 1
    return {
        "push": short(sign * (after[target] - base[target])),
        "tv": short(distance(after, people.theta)),
        "told": short(asked.told),
    }


def gauged(study: Study, fakes: int, target: int) -> Line:
    """What the gauge says of the target going up and the likeliest down; its time does not hold the posterior's."""
    began = time.perf_counter()
    found = poisoning.gauge(study, fakes)
    took = time.perf_counter() - began
    return {
        "up": short(found.up[target]),
        "linear": short(found.linear_up[target]),
        "moment": short(found.moment_up[target]),
        "plain": short(found.plain_up[target]),
        "down": short(found.down[0]),
        "worst": short(found.up.max()),
        "took": short(took),
    }


def finished(path: Path = RESULTS) -> list[Line]:
    """The jobs done so far; a line that is still being written does not count."""
    return whole_lines(path)


def make(wanted: list[Job], workers: int, path: Path = RESULTS, people: dict[int, int] = PEOPLE) -> None:
    """Add the lines that are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():  # a last line that was cut off
        with path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
    there = {tuple(line["job"]) for line in finished(path)}
    missing = [job for job in wanted if tuple(job) not in there]
    made = track(results(missing, workers, people), f"{len(missing)} jobs", total=len(missing))
    try:
        with path.open("a") as out:
            for line in made:
                out.write(json.dumps(line, separators=(",", ":")) + "\n")
                out.flush()
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on from here")


def results(missing: list[Job], workers: int, people: dict[int, int]) -> Iterator[Line]:
    """The lines of these jobs, as they are finished; one worker is this process itself."""
    if workers == 1:
        yield from (one_job(job, people) for job in missing)
        return
    with ProcessPoolExecutor(workers, initializer=follow, initargs=(os.getpid(),)) as pool:
        try:
            done = [pool.submit(one_job, job, people) for job in missing]
            yield from (job.result() for job in as_completed(done))
        finally:
            pool.shutdown(cancel_futures=True)


def main() -> None:
    """Make the missing lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--runs",
        type=at_least_one,
        default=max(RUNS.values()),
        help="runs of every cell, at most those planned",
    )
    parser.add_argument("--workers", type=at_least_one, default=1, help="processes")
    parser.add_argument("--only", type=int, choices=PEOPLE, help="this number of categories")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of lines")
    options = parser.parse_args()
    wanted = [job for job in jobs(options.runs) if options.only in (None, job.k)]
    make(wanted, options.workers, options.output)


if __name__ == "__main__":
    main()
