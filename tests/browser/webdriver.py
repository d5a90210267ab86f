"""A headless Chromium through chromedriver, by the W3C WebDriver protocol: what a client library would do for us, in the
standard library, so that the browser test needs two Debian packages and nothing else."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# Key names of the protocol.
KEYS = {"Enter": "\ue007", "Tab": "\ue004", "Escape": "\ue00c", "Right": "\ue014", "Left": "\ue012", "Space": " "}

ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
]


class Browser:
    """One browser with a fresh profile; a context manager."""

    def __init__(self, width=1400, height=1000):
        self.profile = tempfile.mkdtemp(prefix="placebench-browser-")
        self.driver = subprocess.Popen(
            [shutil.which("chromedriver"), "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        port = None
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                port = int(line.rstrip().rstrip(".").rsplit(" ", 1)[1])
                break
        if port is None:
            raise RuntimeError("chromedriver did not start")
        self.base = f"http://127.0.0.1:{port}"
        options = {
            "args": [*ARGUMENTS, f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "data:,"],
            "perfLoggingPrefs": {"enableNetwork": True},
        }
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self.session = ""
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = f"/session/{answer['sessionId']}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, path, body=None):
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(
            self.base + self.session + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"].splitlines()[0]) from error

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value of a JavaScript function body; a promise is waited for."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def shown(self, selector):
        """An element, scrolled to where the header that floats over the page does not cover it."""
        element = self.find(selector)
        # Two frames later the page has heard that it was scrolled.
        self.run(
            "arguments[0].scrollIntoView({block: 'center'});"
            "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
            {ELEMENT: element},
        )
        return element

    def click(self, selector):
        self.call("POST", f"/element/{self.shown(selector)}/click")

    def type(self, selector, text):
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, key):
        """Presses a key where the focus is."""
        value = KEYS[key]
        keys = [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": keys}]})

    def hover(self, selector):
        """Moves the mouse onto the middle of an element."""
        # In coordinates of the window: told an element, the driver scrolls once more, while the page reacts.
        x, y = self.run(
            "const box = arguments[0].getBoundingClientRect();"
            "return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)]",
            {ELEMENT: self.shown(selector)},
        )
        # From elsewhere: a mouse that is there already does not move, and the page hears of nothing.
        moves = [{"type": "pointerMove", "origin": "viewport", "x": x, "y": y, "duration": 0} for x, y in [(1, 1), (x, y)]]
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": moves}]})

    def back(self):
        self.call("POST", "/back")

    def resize(self, width, height):
        # A window cannot be narrower than some 500 pixels; the page can.
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def wait(self, script, *arguments, seconds=10):
        """Waits until a function body gives something true, and gives it."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(script, *arguments)
            if value or time.monotonic() > end:
                return value
            time.sleep(0.03)

    def console(self):
        """Messages of the console since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def requests(self):
        """Addresses of all requests since the last call."""
        entries = [json.loads(entry["message"])["message"] for entry in self.call("POST", "/se/log", {"type": "performance"})]
        return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path, whole=False):
        image = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))

    def print_to(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("POST", "/print", {"background": True})))
