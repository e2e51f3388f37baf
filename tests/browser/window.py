"""The browser as tests use it: open a page, click, type, read, look at what it complained about."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any, Self

from selenium.webdriver import ActionChains, Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

SCREENSHOTS = Path(__file__).parent / "screenshots"
_SECONDS = 20  # that anything may take on a busy machine
_TALLEST = 6000  # pixels of a screenshot
_LOCAL = ("file:", "data:", "blob:", "about:")


class Window:
    """One window of a headless Chromium."""

    def __init__(self, driver: Chrome):
        self.driver = driver

    @classmethod
    def start(cls, browser: str, driver: str) -> Self:
        """Both by their paths, so that selenium does not go and fetch others."""
        options = ChromeOptions()
        options.binary_location = browser
        for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
            options.add_argument(f"--{argument}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = Service(driver, log_output=os.devnull)
        window = cls(Chrome(options=options, service=service))
        window.driver.set_script_timeout(_SECONDS)
        return window

    def quit(self) -> None:
        """End it."""
        self.driver.quit()

    def look_like(self, width: int, height: int, colours: str) -> None:
        """A screen's size and its preferred colours, "light" or "dark"; a screen, not paper."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        preferred = {"media": "", "features": [{"name": "prefers-color-scheme", "value": colours}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", preferred)

    def open(self, path: Path, fragment: str = "") -> None:
        """A page, from nothing: the same page with another fragment is loaded again."""
        self.driver.get("about:blank")
        self.driver.get(path.as_uri() + fragment)

    # ---- doing -----------------------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        """Keys, one after another, where the focus is."""
        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(key).perform()

    def click(self, selector: str, number: int = 0) -> None:
        """The n-th element, once it stands still: the page may be scrolling yet."""
        element = self.all(selector)[number]
        scroll = "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})"
        self.wait(
            f"{scroll}; const top = arguments[0].getBoundingClientRect().top; "
            "const before = window.lastTop; window.lastTop = top; return before === top",
            element,
        )
        ActionChains(self.driver, duration=0).move_to_element(element).click().perform()

    # ---- reading ---------------------------------------------------------------------------------------

    def all(self, selector: str) -> list[WebElement]:
        """Elements that are there now."""
        return self.driver.find_elements("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """What elements hold as text, shown or not, spaces made one."""
        script = "return Array.from(document.querySelectorAll(arguments[0]), (one) => one.textContent)"
        return [" ".join(text.split()) for text in self.driver.execute_script(script, selector)]

    def text(self, selector: str) -> str:
        """Of the only element."""
        (text,) = self.texts(selector)
        return text

    def run(self, script: str, *arguments: object) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, *arguments: object) -> None:
        """Until the script returns something true."""
        WebDriverWait(self.driver, _SECONDS, poll_frequency=0.05).until(
            lambda driver: driver.execute_script(script, *arguments), f"waited for {script}"
        )

    # ---- what it complained about ----------------------------------------------------------------------

    def forget(self) -> None:
        """What was before this test."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")

    def complaints(self) -> list[str]:
        """Errors on the console: exceptions, requests refused by the page's policy. Warnings of libraries are none."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def requests(self) -> list[str]:
        """Addresses that were asked for beyond the page itself."""
        events = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        asked = (
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        )
        return [address for address in asked if not address.startswith(_LOCAL)]

    def screenshot(self, name: str) -> None:
        """The whole page, kept for people to look at."""
        SCREENSHOTS.mkdir(exist_ok=True)
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        area = {"x": 0, "y": 0, "width": width, "height": min(height, _TALLEST), "scale": 1}
        whole = {"captureBeyondViewport": True, "clip": area}
        found = self.driver.execute_cdp_cmd("Page.captureScreenshot", whole)
        (SCREENSHOTS / f"{name}.png").write_bytes(base64.b64decode(found["data"]))
