"""Draw the pictures of the pages: `python docs/images/screenshots.py`, about two minutes, with Chromium.

A collector of its own, a study of travel to work whose simulated people follow the shares in `pages_support.TRAVEL`
(made from Census 2011, table QS701EW, as in `tacit demo`), the poll page and the dashboard, light and dark.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "browser")]

from pages_support import TRAVEL, browser, collector, until  # noqa: E402

PEOPLE = 3000
FOLDER = ROOT / "docs" / "images"


def shots(chromium, url: str) -> None:
    """Poll page and dashboard, as wide as a laptop and as tall as what matters."""
    for scheme in ("light", "dark"):
        options = {"color_scheme": scheme, "reduced_motion": "reduce"}
        page = chromium.new_page(viewport={"width": 760, "height": 1150}, **options)
        page.goto(f"{url}/s/travel")
        page.check("text=On foot")
        page.screenshot(path=FOLDER / f"poll-{scheme}.png")
        page.close()
        page = chromium.new_page(viewport={"width": 1160, "height": 1320}, **options)
        page.goto(f"{url}/s/travel/results")
        until(
            page,
            "document.querySelector('.state.live') && document.querySelectorAll('[data-mark]').length > 40",
        )
        page.screenshot(path=FOLDER / f"dashboard-{scheme}.png")
        page.close()


def main() -> None:
    """Fill a study and draw."""
    with tempfile.TemporaryDirectory() as folder, collector(Path(folder)) as made, browser() as chromium:
        made.study("travel", epsilon="2", policy="risk", expected=2 * PEOPLE)
        made.fill("travel", TRAVEL, PEOPLE, seed=5)
        shots(chromium, made.url)


if __name__ == "__main__":
    main()
