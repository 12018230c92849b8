"""Chromium without a window, as a person at the map would use it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By

from tests.network import wait_for

DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium")
_FLAGS = ("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
          "--disable-background-networking", "--disable-component-update",
          "--disable-dev-shm-usage")  # fmt: skip


class MapPage:
    """The live map in a browser."""

    def __init__(self, driver: Chrome, hand: str = "mouse") -> None:
        self.driver = driver
        self._hand = hand

    def js(self, script: str, *args: Any) -> Any:
        return self.driver.execute_script(script, *args)

    def wait(self, script: str, what: str) -> Any:
        """Waits until an expression is true, and returns it."""
        return wait_for(lambda: self.js(f"return {script}"), what)

    def open(self, url: str) -> None:
        self.driver.get(f"{url}/@zla/map")
        self.wait("window.zlaMap && document.getElementById('state').className === 'live'", "live")

    def look_at(self, lat: float, long: float, zoom: int) -> None:
        self.js("zlaMap.map.setView([arguments[0], arguments[1]], arguments[2], {animate: false})",
                lat, long, zoom)  # fmt: skip

    def tool(self, name: str) -> None:
        self.driver.find_element(By.CSS_SELECTOR, f"[data-tool={name}]").click()

    def fill(self, field: str, text: str) -> None:
        self.js("const f = document.getElementById(arguments[0]); f.value = arguments[1];"
                "f.dispatchEvent(new Event('change'))", field, text)  # fmt: skip

    def text(self, field: str) -> str:
        return str(self.js("return document.getElementById(arguments[0]).textContent", field))

    def point(self, lat: float, long: float) -> tuple[int, int]:
        """Where a place is in the window."""
        x, y = self.js(
            "const p = zlaMap.map.latLngToContainerPoint([arguments[0], arguments[1]]);"
            "const r = document.getElementById('map').getBoundingClientRect();"
            "return [p.x + r.left, p.y + r.top]", lat, long)  # fmt: skip
        return round(x), round(y)

    def click(self, lat: float, long: float) -> None:
        self.drag([(lat, long)])

    def drag(self, places: list[tuple[float, float]]) -> None:
        """Presses at the first place, moves by the others, and lets go."""
        device = PointerInput(self._hand, "hand")
        hand = ActionChains(self.driver, duration=60, devices=[device])
        first, *others = [self.point(*place) for place in places]
        pointer = hand.w3c_actions.pointer_action
        pointer.move_to_location(*first)
        pointer.pointer_down()
        for x, y in others:
            pointer.move_to_location(x, y)
        pointer.pointer_up()
        hand.perform()

    def save(self, name: str) -> None:
        """A picture for whoever wants to look, if ``ZLA_SCREENSHOTS`` names a folder."""
        folder = os.environ.get("ZLA_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            assert self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))

    def complaints(self) -> list[str]:
        """What the browser's console says that is worse than information."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] != "INFO"]


@contextmanager
def map_page(
    profile: Path, width: int = 1280, height: int = 800, *, dark: bool = False, phone: bool = False
) -> Iterator[MapPage]:
    """A page; in the end its console must have had nothing to complain about."""
    if DRIVER is None or BROWSER is None:
        pytest.skip("the map was not tried: there is no chromium and chromedriver on PATH")
    options = ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    if phone:
        screen = {"width": width, "height": height, "pixelRatio": 2.0, "touch": True}
        options.add_experimental_option("mobileEmulation", {"deviceMetrics": screen})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=ChromeService(DRIVER))
    try:
        if dark:
            wanted = [{"name": "prefers-color-scheme", "value": "dark"}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})
        page = MapPage(driver, "touch" if phone else "mouse")
        yield page
        assert page.complaints() == []
    finally:
        driver.quit()
