"""The pages in Chromium, before the real collector: what they show, what they send, who can use them.

In every test a violation of the page's policy, an error on the console, and a request to another origin are failures.
"""

import json
import os
import re
from pathlib import Path

import pytest
from pages_support import KEY, NUMBER, TRAVEL, Watched, browser, collector, until

from requirements import require

LONG = [
    "word " * 39 + "end",
    "هل تفضل القهوة العربية مع الهيل والتمر في الصباح الباكر",
    "☕️ Coffee 👩‍👩‍👧‍👦 with the family 🎉",
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnungsentwurf",
    "x",
]
CHECKS = (Path(__file__).parent / "checks.js").read_text(encoding="utf-8").partition("\n")[2]
COLOUR = {"text": "Which colour do you like best?", "labels": ["red", "green", "blue"]}
RESULTS = ["travel", "long", "age", "empty", "one", "closed", "fifty"]
PAGES = ["/", "/s/travel", "/s/long", "/s/age", "/s/closed", "/s/greedy", "/p/office", "/s/travel/privacy"]
PAGES += [f"/s/{name}/results" for name in RESULTS]


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A collector with one study of each kind; tests that answer make their own."""
    with collector(tmp_path_factory.mktemp("collector")) as made:
        made.study("travel", epsilon="2", policy="honest", expected=2000)
        made.fill("travel", TRAVEL, 1500, seed=1)
        made.study("long", {"text": "What do you drink? " * 20 + "?", "labels": LONG}, epsilon="2")
        made.fill("long", [0.4, 0.25, 0.2, 0.1, 0.05], 300, seed=2)
        made.study("age", NUMBER)
        made.fill("age", (24, 9), 600, seed=3)
        made.study("empty", COLOUR)
        made.study("one", COLOUR)
        made.fill("one", [0.6, 0.3, 0.1], 1, seed=4)
        made.study("closed", {"text": "Tea or coffee?", "labels": ["Tea", "Coffee"]})
        made.fill("closed", [0.6, 0.4], 300, seed=5)
        made.ask("POST", "studies/closed/close")
        made.study(
            "fifty", {"text": "Which town?", "labels": [f"Town {i + 1}" for i in range(50)]}, epsilon="3"
        )
        made.fill("fifty", [1 / (i + 1) for i in range(50)], 1000, seed=6)
        made.study(
            "greedy", {"text": "How much do you trust us?", "labels": ["a lot", "a little"]}, epsilon="8"
        )
        made.ask("POST", "polls", name="office", title="The office survey", studies=["travel", "one", "age"])
        made.refresh()
        yield made


@pytest.fixture
def visit(chromium, served):
    """Open a page in a context of its own; complaints are checked when the test ends."""
    opened = []

    def go(path, base=None, **options):
        context = chromium.new_context(
            **{"viewport": {"width": 1100, "height": 900}, "reduced_motion": "reduce", **options}
        )
        watched = Watched(context)
        opened.append((watched, base or served.url))
        watched.page.goto(f"{base or served.url}{path}")
        return watched

    yield go
    for watched, _ in opened:
        watched.context.close()
    wrong = [watched.wrong() for watched, _ in opened]
    abroad = [watched.abroad(base, served.url) for watched, base in opened]
    assert not any(wrong), wrong
    assert not any(abroad), abroad


def ready(page):
    """Wait until a page has drawn what it has."""
    until(page, "!document.getElementById('loading') && document.querySelector('h1')")
    if page.url.endswith("/results"):
        until(
            page,
            "document.querySelector('.figures .n')?.textContent"
            " && document.querySelector('.state.live, .state.closed')",
        )
        until(
            page,
            "[...document.querySelectorAll('.chart')].every("
            "chart => !chart.checkVisibility() || chart.querySelector('[data-mark]'))",
        )


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_a_narrow_screen_in_both_colours_and_has_names_for_everything(visit, path):
    page = visit(path, viewport={"width": 320, "height": 640}).page
    ready(page)
    check(page)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.evaluate(
        "document.querySelectorAll('button[aria-pressed]').forEach(each => each.checkVisibility() && each.click())"
    )
    check(page)


def check(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert (scheme, page.evaluate(CHECKS)) == (scheme, [])


@pytest.mark.parametrize("name", ["travel", "age", "one", "fifty"])
def test_every_number_that_is_drawn_stands_in_the_table_beside_it(visit, name):
    page = visit(f"/s/{name}/results").page
    ready(page)
    for size in (1100, 400):
        page.set_viewport_size({"width": size, "height": 900})
        page.wait_for_timeout(200)
        figures = [figure for figure in page.query_selector_all(".chart") if figure.is_visible()]
        assert len(figures) >= 3
        for figure in figures:
            table = figure.query_selector("table").text_content()
            known = set(re.findall(r"[\d,.]*\d", table))
            marks = figure.query_selector_all("[data-mark]")
            assert marks
            for mark in marks:
                lines = mark.get_attribute("aria-label")
                drawn = set(re.findall(r"[\d,.]*\d", lines)) | set(
                    re.findall(r"[\d,.]*\d", mark.text_content())
                )
                drawn = {
                    number for part in drawn for number in ([part] if part in known else part.split(","))
                }
                missing = {number for number in drawn if number and number not in table}
                assert not missing, (lines, missing)


def test_a_figure_is_one_stop_of_the_tab_key_and_arrows_walk_its_marks(visit):
    page = visit("/s/travel/results").page
    ready(page)
    stops = page.evaluate(
        "[...document.querySelectorAll('.chart svg')].map(svg => svg.querySelectorAll('[tabindex=\"0\"]').length)"
    )
    assert set(stops) <= {0, 1}
    page.focus(".chart svg [tabindex='0']")
    seen = [page.evaluate("document.activeElement.getAttribute('aria-label')")]
    for _ in range(len(TRAVEL) - 1):
        page.keyboard.press("ArrowDown")
        seen.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert [label.split(",")[0] for label in seen] == [label for label, _ in shares(page)]
    tip = page.text_content(".chart .tip:not([hidden])")
    assert seen[-1].split(", ")[1] in tip
    page.keyboard.press("Escape")
    assert page.query_selector(".chart .tip:not([hidden])") is None


def shares(page):
    """(label, per cent) of the first table, as it stands."""
    rows = page.query_selector_all(".chart table tbody tr")[: len(TRAVEL)]
    return [
        (row.query_selector("th").text_content(), row.query_selector("td").text_content()) for row in rows
    ]


def test_the_dashboard_shows_the_estimate_of_the_collector_and_sorts_it(visit, served):
    page = visit("/s/travel/results").page
    ready(page)
    found = served.estimate("travel")
    expected = sorted(zip(found["estimate"], found["labels"], strict=True), reverse=True)
    assert shares(page) == [(label, f"{100 * share:.1f} %") for share, label in expected]
    page.click("text=By name")
    order = page.evaluate(
        "[...document.querySelectorAll('.chart')[0].querySelectorAll('.row')]"
        ".sort((a, b) => a.getBoundingClientRect().y - b.getBoundingClientRect().y)"
        ".map(e => e.getAttribute('aria-label').split(',')[0])"
    )
    assert order == sorted(TRAVEL)


def test_the_dashboard_moves_when_reports_come_and_connects_again(visit, served):
    served.study("moving", COLOUR)
    served.fill("moving", [0.6, 0.3, 0.1], 100, seed=1)
    watched = visit("/s/moving/results")
    page = watched.page
    ready(page)
    assert page.text_content(".figures .n") == "100"
    served.fill("moving", [0.6, 0.3, 0.1], 150, seed=2)
    page.wait_for_selector(".figures li:nth-child(2) .n:text-is('250')")
    assert page.text_content(".figures .n") == "250"
    watched.expected = ("ERR_INTERNET_DISCONNECTED",)
    watched.context.set_offline(True)
    served.fill("moving", [0.6, 0.3, 0.1], 150, seed=3)
    watched.context.set_offline(False)
    page.wait_for_selector(".figures li:nth-child(2) .n:text-is('400')")
    served.ask("POST", "studies/moving/close")
    served.refresh()
    page.wait_for_selector(".state.closed")
    assert "Closed" in page.text_content(".status")


def test_results_behind_the_key_open_with_the_key_only_and_export(visit, served):
    served.study("secret", COLOUR, results="key")
    served.fill("secret", [0.6, 0.3, 0.1], 120, seed=1)
    watched = visit("/s/secret/results")
    watched.expected = ("401", "403")
    page = watched.page
    page.fill("#key", "a-wrong-key-that-is-long-enough")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=not the right one")
    page.fill("#key", KEY)
    page.keyboard.press("Enter")
    ready(page)
    assert page.text_content(".figures .n") == "120"
    with page.expect_download() as download:
        page.click("text=JSON")
    reports = json.loads(download.value.path().read_text())
    assert len(reports["reports"] if isinstance(reports, dict) else reports) == 120
    assert all(KEY not in url for url in watched.requests)


def test_pages_come_with_their_policy_and_are_not_sent_twice(served):
    answer = served.http.get("/s/travel")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["referrer-policy"] == "no-referrer"
    again = served.http.get("/s/travel", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert served.http.get("/static/nothing.js").status_code == 404
    assert not re.search(r"<script(?![^>]*src=)| style=| on\w+=|https?://", answer.text)


def test_axe_finds_no_violation(visit):
    """By hand: TACIT_AXE=path/to/axe.min.js (npm pack axe-core)."""
    require("axe", bool(os.environ.get("TACIT_AXE")))
    script = Path(os.environ["TACIT_AXE"]).read_text()
    for path in PAGES:
        page = visit(path).page
        ready(page)
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        page.evaluate(script)
        found = page.evaluate("axe.run()")
        assert [
            (path, each["id"], [node["html"][:120] for node in each["nodes"]][:3])
            for each in found["violations"]
        ] == []
