"""Answering in Chromium: the way of a report through the poll page, and every way in which a device stays silent."""

import hashlib
import http.server
import json
import re
import subprocess
import threading

import pytest
from pages_support import AS_ADMIN, NUMBER, Watched, browser, collector, until

from tacit.collector import pages
from tacit_client import Report, TacitError

COLOUR = {"text": "Which colour do you like best?", "labels": ["red", "green", "blue"]}


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with collector(tmp_path_factory.mktemp("collector")) as made:
        yield made


@pytest.fixture
def visit(chromium, served):
    """Open a page, by default in a context of its own; complaints are checked when the test ends."""
    opened = []

    def go(url, context=None, **options):
        watched = Watched(context or chromium.new_context(**options))
        opened.append((watched, url))
        watched.page.goto(url if "://" in url else served.url + url)
        until(watched.page, "!document.getElementById('loading')")
        return watched

    yield go
    for watched, _ in opened:
        watched.context.close()
    wrong = [watched.wrong() for watched, _ in opened]
    assert not any(wrong), wrong


def received(page):
    page.wait_for_selector(".mark.received")


def held(served, name):
    return served.ask("GET", f"studies/{name}").json()["n"]


def kept(page):
    """Everything that the browser stores for the page."""
    return page.evaluate("""async () => {
      const out = [JSON.stringify({...localStorage}), JSON.stringify({...sessionStorage}), document.cookie];
      const result = (request) => new Promise((done) => { request.onsuccess = () => done(request.result); });
      for (const { name } of await indexedDB.databases()) {
        const database = await result(indexedDB.open(name));
        for (const store of database.objectStoreNames) {
          out.push(JSON.stringify(await result(database.transaction(store).objectStore(store).getAll())));
        }
        database.close();
      }
      return out.join('\\n');
    }""")


def test_an_answer_by_keyboard_alone_sends_one_report_and_nothing_else(visit, served):
    served.study("keys", COLOUR)
    watched = visit("/s/keys")
    page = watched.page
    sent = []
    page.on(
        "request",
        lambda request: (
            request.method == "POST" and sent.append((request.url, request.post_data, request.all_headers()))
        ),
    )
    page.keyboard.press("Tab")
    assert "skip" in page.evaluate("document.activeElement.className")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "radio":
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    received(page)
    assert "report" in page.evaluate("document.activeElement.className")
    assert until(page, "document.getElementById('news').textContent") == "Your report was received."
    ((url, body, headers),) = sent
    report = Report.from_json(body)
    assert url == f"{served.url}/v1/studies/keys/reports"
    assert report.study == "keys"
    assert page.text_content("pre") == body
    assert "cookie" not in headers
    assert "referer" not in headers
    assert held(served, "keys") == 1
    assert watched.abroad(served.url) == []
    assert COLOUR["labels"][
        report.value if isinstance(report.value, int) else report.value[0]
    ] in page.text_content(".named")


def test_the_answer_is_nowhere_in_what_the_browser_keeps_or_sends(visit, served):
    served.study("nowhere", COLOUR)
    watched = visit("/s/nowhere")
    page = watched.page
    travelled = []
    page.on("request", lambda request: travelled.append(f"{request.url} {request.post_data or ''}"))
    page.check("text=green")
    page.click("#send")
    received(page)
    everything = kept(page) + "\n".join(travelled)
    assert '"type":"report"' in everything.replace("\\", "")
    assert not any(label in everything for label in COLOUR["labels"])
    assert '"answer' not in everything


def test_asked_again_the_page_shows_resends_and_erases_the_kept_report(visit, served):
    served.study("again", COLOUR)
    watched = visit("/s/again")
    page = watched.page
    page.check("text=blue")
    page.click("#send")
    received(page)
    report = page.text_content("pre")
    page.reload()
    received(page)
    assert page.text_content("pre") == report
    assert page.query_selector("input[type=radio]") is None
    page.click("text=Send it again")
    page.wait_for_selector("text=counts once")
    assert held(served, "again") == 1
    page.click("text=Erase it at the collector")
    page.click("text=Press again")
    page.wait_for_selector(".mark.erased")
    assert held(served, "again") == 0
    page.reload()
    page.wait_for_selector(".mark.erased")
    assert page.query_selector("input[type=radio]") is None


def test_without_a_network_the_report_waits_and_goes_when_there_is_one(visit, served):
    served.study("offline", COLOUR)
    watched = visit("/s/offline")
    watched.expected = ("ERR_FAILED", "ERR_INTERNET_DISCONNECTED")
    page = watched.page
    page.route("**/reports", lambda route: route.abort())
    page.check("text=red")
    page.click("#send")
    page.wait_for_selector("#outbox .note")
    assert "safe here" in page.text_content("#outbox")
    assert page.query_selector(".mark.waiting")
    report = page.text_content("pre")
    page.reload()
    page.wait_for_selector("#outbox .note")
    assert page.text_content("pre") == report
    assert held(served, "offline") == 0
    page.unroute("**/reports")
    page.click("text=Send now")
    received(page)
    assert held(served, "offline") == 1
    assert page.query_selector("#outbox .note") is None


def test_a_poll_says_its_whole_cost_first_and_takes_some_of_its_questions(visit, served):
    for name, epsilon in (("first", "1"), ("second", "0.5")):
        served.study(name, COLOUR, epsilon=epsilon)
    served.study("third", NUMBER, epsilon="1")
    served.ask("POST", "polls", name="three", title="Three questions", studies=["first", "second", "third"])
    page = visit("/p/three").page
    assert page.text_content("h1") == "Three questions"
    assert "epsilon 2.5" in page.text_content("#total")
    before = page.evaluate(
        "document.getElementById('total').compareDocumentPosition(document.querySelector('input')) & 4"
    )
    assert before
    page.click("#send")
    assert "Give an answer first" in page.text_content("#wrong-0")
    page.check("#answer-0-1")
    page.fill("#answer-2", "47.5")
    page.click("#send")
    page.wait_for_selector(".mark.received")
    assert "from 0 to 90 in steps of 1" in page.text_content("#wrong-2")
    page.fill("#answer-2", "47")
    page.click("#send")
    until(page, "document.querySelectorAll('.mark.received').length === 2")
    assert [held(served, name) for name in ("first", "second", "third")] == [1, 0, 1]
    assert page.query_selector("#answer-1-0")
    assert "years" in page.query_selector_all(".named")[1].text_content()


def test_a_study_above_the_cap_is_refused_until_its_owner_raises_it(visit, served):
    served.study("greedy", COLOUR, epsilon="8")
    page = visit("/s/greedy").page
    assert "more than this device gives" in page.text_content(".note.bad")
    page.check("text=red")
    page.click("#send")
    assert "your limit for one answer is 3" in until(page, "document.getElementById('wrong-0').textContent")
    assert held(served, "greedy") == 0
    page.click("text=Limits of this device")
    page.fill("#cap", "nonsense")
    page.click("text=Save the limits")
    page.wait_for_selector("text=Not saved")
    page.fill("#cap", "8")
    page.click("text=Save the limits")
    page.wait_for_selector("text=Saved in this browser")
    page.check("text=red")
    page.click("#send")
    received(page)
    assert held(served, "greedy") == 1


def test_a_channel_above_what_the_page_announced_is_refused(visit, served):
    served.study("announced", COLOUR, epsilon="2")
    watched = visit("/s/announced")
    page = watched.page

    def smaller(route):
        study = route.fetch().json()
        route.fulfill(json=study | {"epsilon": "1"})

    page.route("**/v1/studies/announced", smaller)
    page.reload()
    page.check("text=red")
    page.click("#send")
    assert "announced with epsilon 1" in until(page, "document.getElementById('wrong-0').textContent")
    assert held(served, "announced") == 0


def test_a_used_up_ledger_keeps_the_device_silent(visit, served):
    served.study("one-more", COLOUR, epsilon="2")
    page = visit("/s/one-more").page
    page.click("text=Limits of this device")
    page.fill("#most", "1.5")
    page.click("text=Save the limits")
    page.wait_for_selector("text=Saved in this browser")
    page.check("text=red")
    page.click("#send")
    assert "used up" in until(page, "document.getElementById('wrong-0').textContent")
    assert held(served, "one-more") == 0


def test_without_a_secure_context_nothing_is_asked(chromium, served):
    served.study("insecure", COLOUR)
    context = chromium.new_context()
    context.add_init_script("Object.defineProperty(globalThis, 'isSecureContext', { value: false })")
    watched = Watched(context)
    watched.page.goto(f"{served.url}/s/insecure")
    watched.page.wait_for_selector(".note.bad")
    assert "HTTPS" in watched.page.text_content("main")
    assert watched.page.query_selector("input") is None
    context.close()
    assert watched.wrong() == []


def test_an_invitation_travels_in_a_header_only_and_counts_once(visit, served):
    served.study("invited", COLOUR, access="invite")
    (token,) = served.ask("POST", "studies/invited/invites", count=1).json()["invites"]
    watched = visit(f"/s/invited#invite={token}")
    page = watched.page
    assert token not in page.url
    headers = []
    page.on("request", lambda request: request.method == "POST" and headers.append(request.all_headers()))
    page.check("text=red")
    page.click("#send")
    received(page)
    assert headers[0]["tacit-invite"] == token
    assert not any(token in url.partition("#")[0] for url in watched.requests)
    assert token not in kept(page)
    for address, words in (
        (f"/s/invited#invite={token}", "used for another report"),
        ("/s/invited", "by invitation only"),
    ):
        other = visit(address)
        other.expected = ("401", "403")
        other.page.check("text=green")
        other.page.click("#send")
        other.page.wait_for_selector(".mark.refused")
        assert words in other.page.text_content(".mark")
    assert held(served, "invited") == 1


@pytest.fixture
def elsewhere(tmp_path):
    """Another origin: a plain server of files, and its folder."""
    folder = tmp_path / "page"

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **options):
            super().__init__(*args, directory=str(folder), **options)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_the_page_on_another_origin_answers_through_the_allow_list(visit, served, elsewhere):
    folder, origin = elsewhere
    served.study("away", COLOUR, origins=[origin])
    served.study("closed-to-it", COLOUR)
    made = pages.write_bundle(folder, collector=served.url, studies=["away"])
    watched = visit(f"{origin}/index.html")
    page = watched.page
    page.click("text=Whom do I have to trust?")
    assert served.url in page.text_content("details[open]")
    page.check("text=green")
    page.click("#send")
    received(page)
    assert held(served, "away") == 1
    assert watched.abroad(origin, served.url) == []
    # The policy in the page itself holds the browser to the collector.
    watched.expected = (
        "policy: connect-src",
        "violates the following Content Security Policy",
        "Refused to connect",
    )
    third = served.url.replace("127.0.0.1", "localhost")
    other = page.evaluate(
        f"fetch('{third}/v1', {{ mode: 'no-cors' }}).then(() => 'let through', () => 'stopped')"
    )
    assert other == "stopped"
    page.wait_for_timeout(500)  # the browser complains a moment later
    assert any("policy: connect-src" in said for said in watched.complaints), watched.complaints
    pages.write_bundle(folder, collector=served.url, studies=["closed-to-it"])
    refused = visit(f"{origin}/index.html")
    refused.expected = ("CORS", "ERR_FAILED")
    refused.page.wait_for_selector("text=cannot be reached")
    assert set(made.files) <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    "told",
    [
        {"labels": ["red", "green", "indigo"]},  # blue would be refused, and silence would tell who likes it
        {"labels": ["green", "red", "blue"]},
        {"text": "Which colour do you hate most?"},
    ],
)
def test_a_page_that_shows_another_question_than_the_round_asks_stays_silent(visit, served, told):
    name = f"swapped-{len(str(told))}"
    served.study(name, COLOUR)
    told_study = served.ask("GET", f"studies/{name}").json()
    told_study["question"] |= told
    watched = visit("/")
    page = watched.page
    page.route(f"**/v1/studies/{name}", lambda route: route.fulfill(json=told_study))
    page.goto(f"{served.url}/s/{name}")
    page.check("text=red")
    page.click("#send")
    page.wait_for_selector("text=asks something else than this page shows")
    assert held(served, name) == 0
    assert '"charge"' not in kept(page)


def test_a_collector_cannot_pass_a_study_off_under_another_name(visit, served):
    served.study("pinned", COLOUR)
    other = served.ask("GET", f"studies/{served.study('passed-off', COLOUR)}").json()
    watched = visit("/")
    watched.page.route("**/v1/studies/pinned", lambda route: route.fulfill(json=other))
    watched.page.goto(f"{served.url}/s/pinned")
    watched.page.wait_for_selector("text=another study than the one")
    assert watched.page.query_selector("input") is None


def test_an_invite_goes_to_the_study_that_it_was_given_for(visit, served):
    served.study("by-invite", COLOUR, access="invite")
    (token,) = served.ask("POST", "studies/by-invite/invites", count=1).json()["invites"]
    served.study("for-all", COLOUR)
    watched = visit(f"/s/by-invite#invite={token}")
    page = watched.page
    headers = []
    page.on("request", lambda request: request.method == "POST" and headers.append(request.all_headers()))
    page.goto(f"{served.url}/s/for-all#invite={token}")  # the same tab, an open study
    page.check("text=green")
    page.click("#send")
    received(page)
    page.goto(f"{served.url}/s/by-invite")
    page.check("text=green")
    page.click("#send")
    received(page)
    assert [sent.get("tacit-invite") for sent in headers] == [None, token]


def test_in_the_frame_of_another_page_nothing_is_asked(visit, served, elsewhere):
    folder, origin = elsewhere
    served.study("framed", COLOUR, origins=[origin])
    pages.write_bundle(folder, collector=served.url, studies=["framed"])
    (folder / "around.html").write_text(
        '<link rel="icon" href="data:,"><iframe src="index.html" width="600" height="600"></iframe>'
    )
    watched = visit(f"{origin}/around.html")
    inside = watched.page.frame_locator("iframe")
    inside.locator("text=shown inside another one").wait_for()
    assert inside.locator("input").count() == 0
    assert inside.locator("a[target=_blank]").get_attribute("href") == f"{origin}/index.html"


def test_the_bundle_is_the_same_every_time_and_its_hashes_are_true(tmp_path):
    one, two = (
        pages.write_bundle(
            tmp_path / name, collector="https://c.example.org/", studies=["a", "b"], title="<Two> & more"
        )
        for name in ("one", "two")
    )
    assert one == two
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = subprocess.run(check, cwd=tmp_path / "one", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": OK") == len(one.files)
    assert hashlib.sha256((tmp_path / "one" / "SHA256SUMS").read_bytes()).hexdigest() == one.whole
    manifest = json.loads((tmp_path / "one" / "manifest.json").read_text())
    assert (manifest["files"], manifest["whole"], manifest["collector"]) == (
        one.files,
        one.whole,
        "https://c.example.org",
    )
    text = (tmp_path / "one" / "index.html").read_text()
    assert "connect-src https://c.example.org;" in text
    assert "&lt;Two&gt; &amp; more" in text
    assert '"/static' not in text
    imported = {name for path in (tmp_path / "one").glob("*.js") for name in _imports(path.read_text())}
    assert imported <= set(one.files)


def _imports(text):
    return re.findall(r'^import [^;]* from "\./([\w.-]+)";', text, re.MULTILINE)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"collector": "http://c.example.org"}, "collector"),
        ({"collector": "https://c.example.org/path"}, "collector"),
        ({"collector": "https://c.example.org; script-src *"}, "collector"),
        ({"collector": "https://user@c.example.org"}, "collector"),
        ({"collector": 7}, "collector"),
        ({"studies": []}, "studies"),
        ({"studies": "away"}, "studies"),
        ({"studies": ["a b"]}, "studies"),
        ({"studies": ["a", "a"]}, "studies"),
    ],
)
def test_a_bundle_that_could_not_work_is_refused(tmp_path, change, argument):
    with pytest.raises(TacitError) as refused:
        pages.write_bundle(
            tmp_path / "page", **{"collector": "https://c.example.org", "studies": ["a"], **change}
        )
    assert refused.value.argument == argument
    assert not (tmp_path / "page").exists()


def test_pages_of_administrators_need_no_key_in_them(served):
    assert AS_ADMIN["Authorization"].split()[1] not in "".join(
        pages.read(name).decode("utf-8", "ignore") for name in pages.files()
    )
