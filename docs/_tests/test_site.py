"""The built site in headless Chromium.

CIPHERMILL_SITE names the folder of the site. Chromium and its driver are Debian's packages; without them, tests fail.
"""

from __future__ import annotations

import os
import shutil
import threading
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ["CIPHERMILL_SITE"]).resolve()
FORGE = "https://github.com/ciphermill/ciphermill"
# Pages of Sphinx, which no list of contents has.
GENERATED = {"genindex.html", "search.html", "py-modindex.html"}
WAIT_SECONDS = 20
DESKTOP, MOBILE = 1280, 390

# Facts of the page that is open: failed images, links with their text, and names that links can lead to.
FACTS = """
const images = [...document.images].filter(i => !(i.complete && i.naturalWidth > 0)).map(i => i.src);
const links = [...document.querySelectorAll('a[href]')].map(a => a.href);
const names = [...document.querySelectorAll('[id]')].map(e => e.id);
const loaded = performance.getEntriesByType('resource').map(r => r.name);
return {images, links, names, loaded, heading: document.querySelector('h1')?.textContent ?? ''};
"""
# On a small screen the text scrolls in its own frame. Blocks of code and tables scroll by themselves.
WIDER_THAN_SCREEN = """
return [document.documentElement, document.querySelector('.content')].some(e => e.scrollWidth > e.clientWidth)
"""


class Handler(SimpleHTTPRequestHandler):
    """Serves the site without a log."""

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[webdriver.Chrome]:
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        pytest.fail(
            f"{' and '.join(missing)} not found: run scripts/setup.sh browser, which installs Debian's packages"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    # Only pages of this machine are opened; root has no sandbox.
    for option in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{option}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(programs["chromedriver"]))
    driver.set_page_load_timeout(WAIT_SECONDS)
    yield driver
    driver.quit()


@dataclass
class Walk:
    """A visit of all pages from the first one, by the link to the next page at the end of each."""

    pages: list[str] = field(default_factory=list)
    names: dict[str, set[str]] = field(default_factory=dict)
    links: dict[str, set[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def resize(browser: webdriver.Chrome, width: int) -> None:
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    # The page is laid out a little later.
    WebDriverWait(browser, WAIT_SECONDS, 0.01).until(
        lambda driver: driver.execute_script("return window.innerWidth") == width
    )


def inspect(browser: webdriver.Chrome, address: str, walk: Walk) -> None:
    """Note the facts and faults of the page that is open."""
    page = browser.current_url.removeprefix(address)
    facts = browser.execute_script(FACTS)
    walk.pages.append(page)
    walk.names[page] = set(facts["names"])
    walk.links[page] = set(facts["links"])
    if not facts["heading"]:
        walk.faults.append(f"{page}: no heading")
    walk.faults += [f"{page}: the image {image} is broken" for image in facts["images"]]
    walk.faults += [
        f"{page}: {name} is loaded from elsewhere" for name in facts["loaded"] if not name.startswith(address)
    ]
    for width in (MOBILE, DESKTOP):
        resize(browser, width)
        if browser.execute_script(WIDER_THAN_SCREEN):
            walk.faults.append(f"{page}: wider than a screen of {width} pixels")
    walk.faults += [f"{page}: console: {entry['message']}" for entry in browser.get_log("browser")]


@pytest.fixture(scope="session")
def walk(browser: webdriver.Chrome, address: str) -> Walk:
    walk = Walk()
    resize(browser, DESKTOP)
    browser.get(f"{address}index.html")
    while True:
        inspect(browser, address, walk)
        following = browser.find_elements(By.CSS_SELECTOR, "a.next-page")
        if not following:
            return walk
        before = browser.current_url
        browser.execute_script("arguments[0].click()", following[0])
        WebDriverWait(browser, WAIT_SECONDS).until(expected_conditions.url_changes(before))
        WebDriverWait(browser, WAIT_SECONDS).until(
            lambda driver: driver.execute_script("return document.readyState") == "complete"
        )


def test_every_page_is_reached_and_has_no_fault(walk: Walk) -> None:
    assert not walk.faults, "\n".join(walk.faults)
    assert len(walk.pages) == len(set(walk.pages))
    built = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")} - GENERATED
    assert set(walk.pages) == built


def test_the_side_bar_leads_to_every_page(browser: webdriver.Chrome, address: str, walk: Walk) -> None:
    browser.get(f"{address}index.html")
    links = browser.find_elements(By.CSS_SELECTOR, ".sidebar-tree a.reference.internal")
    assert {link.get_attribute("href").removeprefix(address) for link in links} == set(walk.pages) - {"index.html"}
    browser.find_element(By.LINK_TEXT, "Operators").click()
    WebDriverWait(browser, WAIT_SECONDS).until(lambda driver: driver.title.startswith("Start for operators"))


def test_no_link_is_broken(walk: Walk, address: str) -> None:
    broken = []
    for page, links in walk.links.items():
        for link in links:
            target, _, name = link.partition("#")
            name = urllib.parse.unquote(name)
            if target.startswith(address):
                path = target.removeprefix(address) or "index.html"
                if not (SITE / path).exists() or (name and path in walk.names and name not in walk.names[path]):
                    broken.append(f"{page}: {link}")
            elif target.startswith(FORGE):
                # FORGE/blob/main/PATH, and of the symbols of each page, also FORGE/edit/main/PATH.
                path = target.removeprefix(FORGE).partition("/main/")[2].partition("?")[0]
                if not (ROOT / path).exists():
                    broken.append(f"{page}: {link}")
            elif not target.startswith("https://"):
                broken.append(f"{page}: {link} is not https")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("PrivateTable", "api/lookup.html"),
        ("blind rotation", "glossary.html"),
        ("allow-hosts", "server.html"),
        ("explain", "howto/bits.html"),
    ],
)
def test_the_search_finds(browser: webdriver.Chrome, address: str, words: str, page: str) -> None:
    browser.get(f"{address}index.html")
    box = browser.find_element(By.CSS_SELECTOR, ".sidebar-search")
    box.send_keys(words)
    box.submit()

    def results(driver: webdriver.Chrome) -> bool:
        found = driver.find_elements(By.CSS_SELECTOR, "#search-results ul.search li a")
        return any((link.get_attribute("href") or "").startswith(f"{address}{page}") for link in found)

    WebDriverWait(browser, WAIT_SECONDS).until(results, f"no result leads to {page}")
    # The excerpts of the results are loaded after them.
    assert [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
