"""A real browser, headless. Without one the tests say that they were skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.browser.window import Window


@pytest.fixture(scope="session")
def window() -> Iterator[Window]:
    """The browser, one for all tests of a process."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no browser to test pages in: install Debian's packages chromium and chromium-driver")
    opened = Window.start(browser, driver)
    yield opened
    opened.quit()


@pytest.fixture
def browser(window: Window) -> Iterator[Window]:
    """The browser as wide as a desk's screen, in light colours; afterwards no errors and no requests."""
    window.look_like(1200, 900, "light")
    window.forget()
    yield window
    assert window.complaints() == []
    assert window.requests() == []
