"""The whole path: a server and its worker, a study from the command line, 200 people, a moving dashboard, an export.

Thirty answer in browsers, 85 in Node and 85 in Python, each with a device of its own and the operating system's
randomness. What the dashboard shows in the end is what anybody computes from the export. Everything is exact but the
last line: the estimate is within six standard errors of what people answered, of each of three shares; a false alarm
has a probability below 1e-6.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import httpx
import numpy as np
from pages_support import Watched, browser, until

import tacit
from requirements import require
from tacit_client import Device, Round, Store, flush
from tacit_client.http import Collector
from tacit_client.messages import value_from_text

LABELS = ["tea", "coffee", "neither"]
PEOPLE = {"tea": 110, "coffee": 60, "neither": 30}
IN_BROWSERS, IN_NODE = 30, 85
HERE = Path(__file__).parent


def tacit_command(*arguments, **options):
    return [sys.executable, "-c", "from tacit.cli import main; main()", *map(str, arguments)]


def run(*arguments):
    done = subprocess.run(tacit_command(*arguments), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def serving(folder):
    """`tacit serve` with its worker, as an administrator starts it; its address."""
    command = tacit_command("serve", "--database", f"sqlite:///{folder}/tacit.db", "--port", 0)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"COLUMNS": "200"}
    ) as process:
        try:
            url = re.search(r"http://[\d.]+:\d+", process.stdout.readline())[0]
            yield url
        finally:
            process.terminate()
            process.wait(60)


def answers():
    """Everybody's answer, in an order that nobody chose, dealt to browsers, Node and Python."""
    everybody = [label for label, count in PEOPLE.items() for _ in range(count)]
    dealt = [everybody[i] for i in np.random.default_rng(7).permutation(len(everybody))]
    return dealt[:IN_BROWSERS], dealt[IN_BROWSERS : IN_BROWSERS + IN_NODE], dealt[IN_BROWSERS + IN_NODE :]


def answer_in_browsers(chromium, url, given):
    for answer in given:
        context = chromium.new_context()
        watched = Watched(context)
        watched.page.goto(f"{url}/s/drink")
        watched.page.check(f"text={answer}")
        watched.page.click("#send")
        watched.page.wait_for_selector(".mark.received")
        context.close()
        assert watched.wrong() == []
        assert watched.abroad(url) == []


def answer_in_python(folder, url, given):
    collector = Collector(url)
    for i, answer in enumerate(given):
        device = Device(Store(folder / f"device-{i}.sqlite"), cap=3, total=3)
        device.answer(collector.round("drink"), answer)
        assert len(flush(device.store, collector.send).receipts) == 1


def test_from_the_question_to_the_export(tmp_path):
    require("node", shutil.which("node") is not None)
    with serving(tmp_path) as url, browser() as chromium:
        at = ("--server", url, "--key-file", tmp_path / "tacit.db.key")
        labels = [part for label in LABELS for part in ("--label", label)]
        run(
            "study",
            "create",
            "drink",
            "--text",
            "What do you drink?",
            "--epsilon",
            "2",
            "--expected",
            200,
            *labels,
            *at,
        )
        dashboard = Watched(chromium.new_context(accept_downloads=True))
        # Before the worker has looked for the first time there is no estimate, which a browser notes as an error.
        dashboard.expected = ("404 (Not Found)",)
        page = dashboard.page
        page.goto(f"{url}/s/drink/results")
        page.wait_for_selector(".state.live")
        in_browsers, in_node, in_python = answers()

        answer_in_browsers(chromium, url, in_browsers)
        shown = "document.querySelector('.figures .n').textContent"
        until(page, f"{shown} === '{len(in_browsers)}'")
        devices = ["node", HERE / "person.mjs", url, "drink", json.dumps(in_node)]
        node = subprocess.run(devices, capture_output=True, text=True, timeout=200, check=False)
        assert node.returncode == 0, node.stderr
        until(page, f"{shown} === '{len(in_browsers) + len(in_node)}'")
        answer_in_python(tmp_path, url, in_python)
        until(page, f"{shown} === '200'")
        run("study", "close", "drink", *at)
        until(
            page,
            "document.querySelector('.state.closed')"
            " && document.querySelectorAll('.figures .n')[1]?.textContent === '200'",
        )

        found = httpx.get(f"{url}/v1/studies/drink/estimate").json()
        assert (found["state"], found["used"]) == ("closed", 200)
        drawn = {
            row.query_selector("th").text_content(): row.query_selector("td").text_content()
            for row in page.query_selector_all(".chart")[0].query_selector_all("tbody tr")
        }
        evidence = exported(page, url)
        printed = notebook(page)
        assert dashboard.wrong() == []
        assert dashboard.abroad(url) == []

    assert len(evidence) == 200
    assert printed[0] == evidence.id
    estimate = np.array([float(part) for part in re.findall(r"[\d.]+(?:e-?\d+)?", printed[1])][:3])
    study = tacit.Study(LABELS, epsilon=2)
    again = tacit.posterior.sample(study.model, evidence, seed=0).estimate()
    np.testing.assert_allclose(again, found["estimate"], rtol=1e-5)
    np.testing.assert_allclose(estimate, again, atol=1e-6)
    assert drawn == {label: f"{100 * share:.1f} %" for label, share in zip(LABELS, again, strict=True)}
    truth = np.array([PEOPLE[label] for label in LABELS]) / 200
    assert (np.abs(again - truth) < 6 * evidence.moments().standard_error).all()


def exported(page, url):
    """The evidence, added up from the downloaded CSV by the rounds' channels, and the same as the downloaded one."""
    with page.expect_download() as download:
        page.click("a:text-is('CSV')")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    rounds = [Round.from_json(line) for line in httpx.get(f"{url}/v1/studies/drink/rounds").text.splitlines()]
    evidence = tacit.Evidence()
    for rnd in rounds:
        values = [value_from_text(row["value"], rnd.channel) for row in rows if row["round"] == rnd.id]
        if values:
            evidence = evidence.add(tacit.channels.from_table(rnd.channel), values)
    with page.expect_download() as download:
        page.click("a:text-is('Evidence')")
    assert tacit.Evidence.from_bytes(download.value.path().read_bytes()).id == evidence.id
    return evidence


def notebook(page):
    """What the lines that the dashboard offers for a notebook print."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(page.text_content("section pre"), "notebook", "exec"), {})
    return printed.getvalue().splitlines()
