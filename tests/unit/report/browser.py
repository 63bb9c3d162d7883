# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium that opens a page as a reader would, spoken to over its debugging pipe."""

from __future__ import annotations

import json
import os
import select
import subprocess
import typing as t
from pathlib import Path

_PATIENCE_SECONDS = 60
_QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")


class Chromium:
    """The process, which takes most of a second to start, and shows any number of pages."""

    def __init__(self, folder: Path) -> None:
        """Start it with a profile in the folder."""
        hear_in, self._commands = os.pipe()
        self._heard, tell_out = os.pipe()
        # Chromium reads commands from file descriptor 3 and writes answers to 4.
        command = f"exec chromium --headless --no-sandbox --disable-gpu --disable-quic {' '.join(_QUIET)}"
        command += f" --user-data-dir={folder / 'profile'} --remote-debugging-pipe 3<&{hear_in} 4>&{tell_out}"
        self._process = subprocess.Popen(
            ["bash", "-c", command], pass_fds=(hear_in, tell_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(hear_in)
        os.close(tell_out)
        self._buffer = b""
        self._count = 0

    def close(self) -> None:
        # Without commands it ends.
        os.close(self._commands)
        self._process.wait(_PATIENCE_SECONDS)
        os.close(self._heard)

    def call(self, note: t.Callable[[dict[str, t.Any]], None], **message: t.Any) -> dict[str, t.Any]:
        """Send a command and return its result; events in the meantime are noted."""
        self._count += 1
        os.write(self._commands, json.dumps({"id": self._count, **message}).encode() + b"\0")
        while True:
            heard = self._next()
            if heard.get("id") == self._count:
                assert "error" not in heard, heard["error"]
                return t.cast("dict[str, t.Any]", heard["result"])
            note(heard)

    def _next(self) -> dict[str, t.Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._heard], [], [], _PATIENCE_SECONDS)
            assert ready, f"the browser was silent for {_PATIENCE_SECONDS} s"
            read = os.read(self._heard, 1 << 20)
            assert read, "the browser has ended"
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        return t.cast("dict[str, t.Any]", json.loads(message))


class Browser:
    """A new, empty page in Chromium. ``console`` has its messages, ``requests`` its requests."""

    def __init__(self, chromium: Chromium, width: int = 1280, height: int = 900) -> None:
        self._chromium = chromium
        self._of_page: dict[str, str] = {}
        self.console: list[str] = []
        self.requests: list[str] = []
        self._context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._of_page = {"sessionId": session}
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._of_page = {}
        self.call("Target.disposeBrowserContext", browserContextId=self._context)

    def call(self, method: str, **parameters: t.Any) -> dict[str, t.Any]:
        """Send a command to the page and return its result."""
        return self._chromium.call(self._note, method=method, params=parameters, **self._of_page)

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def dark(self) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def print_dark(self) -> None:
        """Show the page as a printer gets it from a reader of dark pages."""
        features = [{"name": "prefers-color-scheme", "value": "dark"}]
        self.call("Emulation.setEmulatedMedia", media="print", features=features)

    def open(self, page: Path) -> None:
        """Open a page and wait until its plots, if it has any, are drawn."""
        self.call("Page.navigate", url=page.as_uri())
        self.run(
            "new Promise(done => { const wait = () => document.readyState === 'complete' ? done(1) :"
            " setTimeout(wait, 20); wait(); })"
        )

    def run(self, script: str) -> t.Any:
        """Return the value of a JavaScript expression, a promise awaited."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def point_at(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the mouse button at a point, move, and let it go at another one."""
        for kind, (x, y) in (
            ("mouseMoved", start),
            ("mousePressed", start),
            ("mouseMoved", end),
            ("mouseReleased", end),
        ):
            button = "none" if kind == "mouseMoved" else "left"
            held = int(kind != "mouseReleased" and (x, y) == end)
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=held, clickCount=1)

    def _note(self, heard: dict[str, t.Any]) -> None:
        parameters = heard.get("params", {})
        if heard.get("method") == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(value.get("value")) for value in parameters["args"]))
        elif heard.get("method") == "Runtime.exceptionThrown":
            self.console.append(str(parameters["exceptionDetails"]))
        elif heard.get("method") == "Log.entryAdded":
            self.console.append(parameters["entry"]["text"])
        elif heard.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
