#!/usr/bin/env python3
"""Opens a run's report in headless Chromium and fails on console messages, outside references
or parts that are missing.

usage: test_report_in_browser.py RUN_DIRECTORY [PAGE]

PAGE is a file of the run directory, report.html unless told. Exits 0 when all is well, 1 when not,
77 (skipped) when no Chromium is on the PATH.
"""

import http.server
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTHS = (360, 1200)


def find_browser():
  return next((path for path in map(shutil.which, BROWSERS) if path), None)


def serve(directory):
  """A server on a free local port that remembers what was asked for: a file:// page could load
  a neighbouring file unseen."""
  asked = []

  class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args, **kwargs):
      super().__init__(*args, directory=str(directory), **kwargs)

    def log_request(self, code="-", size="-"):
      asked.append(self.path)

    def log_message(self, *args):
      pass

  server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
  threading.Thread(target=server.serve_forever, daemon=True).start()
  return server, asked


def open_page(browser, url, width):
  """Returns the document after loading, and the browser's log."""
  with tempfile.TemporaryDirectory() as profile:
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--disable-background-networking", "--disable-component-update", "--no-first-run",
        # Any host but our own resolves to nothing, so that a request shows up as a failure.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={profile}", f"--window-size={width},1000", "--enable-logging=stderr",
        "--v=0", "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
  if done.returncode != 0:
    raise RuntimeError(f"{browser} ended with {done.returncode}:\n{done.stderr[-2000:]}")
  return done.stdout, done.stderr


def faults(dom, log, asked, page):
  for line in log.splitlines():
    if "CONSOLE" in line:
      yield f"console: {line.strip()}"
  # Browsers ask for an icon of their own accord.
  for path in asked:
    if path not in (f"/{page}", "/favicon.ico"):
      yield f"request: {path}"
  for address in re.findall(r"<[^>]*\s(?:src|href|xlink:href|srcset|data|action)=\"([^\"]*)", dom):
    if not address.startswith(("data:", "#")):
      yield f"reference to the outside: {address}"
  if "<h1>" not in dom:
    yield "the page has no heading"
  if re.search(r"<script\b", dom, re.IGNORECASE):
    yield "the page has a script"
  ids = re.findall(r"\sid=\"([^\"]*)\"", dom)
  for name in sorted({i for i in ids if ids.count(i) > 1}):
    yield f"id used twice: {name}"
  for name in re.findall(r"(?:url\(#|href=\"#)([^)\"]*)", dom):
    if name not in ids:
      yield f"reference to an id that is not there: {name}"


def main():
  if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
  directory = pathlib.Path(sys.argv[1])
  page = sys.argv[2] if len(sys.argv) == 3 else "report.html"
  browser = find_browser()
  if browser is None:
    print("skipped: no Chromium on the PATH")
    sys.exit(77)
  if not (directory / page).is_file():
    sys.exit(f"{directory / page} is not there")
  found = []
  server, asked = serve(directory)
  for width in WIDTHS:
    asked.clear()
    dom, log = open_page(browser, f"http://127.0.0.1:{server.server_port}/{page}", width)
    found += [f"{width} px: {fault}" for fault in faults(dom, log, list(asked), page)]
  server.shutdown()
  print("\n".join(found) if found else f"{directory / page}: no faults")
  sys.exit(1 if found else 0)


if __name__ == "__main__":
  main()
