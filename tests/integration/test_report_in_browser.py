#!/usr/bin/env python3
"""Opens a run's report in headless Chromium and fails on console messages, outside references,
parts that are missing, a page wider than the screen, pictures that do not load, text that can
hardly be read, and a print that is none.

usage: test_report_in_browser.py RUN_DIRECTORY [PAGE]

PAGE is a file of the run directory, report.html unless told. Exits 0 when all is well, 1 when not,
77 (skipped) when no Chromium is on the PATH.
"""

import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTHS = (375, 768, 1200)  # telephone, tablet, laptop
SCHEMES = {"light": "preferredColorScheme=1", "dark": "preferredColorScheme=0"}
CONTRAST = 4.5  # of text against its ground, as WCAG asks
MOST_SHEETS = 60

# The page in a frame as wide as a screen (a headless window has a least width), first as it opens,
# then with every fold open. What is measured is written where --dump-dom shows it.
FRAME = """<!DOCTYPE html><body><iframe src="/%s" style="border:0;width:%dpx;height:900px"></iframe>
<script>
const lights = c => c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const light = c => { const [r, g, b] = lights(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
onload = () => {
  const page = document.querySelector("iframe").contentDocument, root = page.documentElement;
  const style = e => page.defaultView.getComputedStyle(e);
  const ground = light(style(page.body).backgroundColor);
  const out = {ground, wide: [], dim: [], broken: 0};
  const measure = when => {
    if (root.scrollWidth > root.clientWidth)
      out.wide.push(`${when}: ${root.scrollWidth} px of page on ${root.clientWidth} px of screen`);
  };
  measure("closed");
  page.querySelectorAll("details").forEach(d => d.open = true);
  measure("open");
  for (const e of page.querySelectorAll("h1, h2, h3, p, th, td, small, figcaption, summary, a")) {
    const text = light(style(e).color);
    const contrast = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    if (contrast < %f) out.dim.push(`${e.tagName} ${e.className}: ${contrast.toFixed(1)}`);
  }
  for (const e of page.images) out.broken += e.naturalWidth == 0;
  document.body.innerHTML = "<pre>" + JSON.stringify(out).replace(/</g, " ") + "</pre>";
};
</script></body>"""


def find_browser():
  return next((path for path in map(shutil.which, BROWSERS) if path), None)


def serve(directory):
  """A server on a free local port that remembers what was asked for: a file:// page could load
  a neighbouring file unseen."""
  asked = []

  class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args, **kwargs):
      super().__init__(*args, directory=str(directory), **kwargs)

    def do_GET(self):
      found = re.fullmatch(r"/frame/(\d+)/(.+)", self.path)
      if not found:
        return super().do_GET()
      body = (FRAME % (found[2], int(found[1]), CONTRAST)).encode()
      self.send_response(200)
      self.send_header("Content-Type", "text/html; charset=utf-8")
      self.end_headers()
      self.wfile.write(body)

    def log_request(self, code="-", size="-"):
      asked.append(self.path)

    def log_message(self, *args):
      pass

  server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
  threading.Thread(target=server.serve_forever, daemon=True).start()
  return server, asked


def run_browser(browser, url, *options):
  """Returns what the browser printed, and its log."""
  with tempfile.TemporaryDirectory() as profile:
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--disable-background-networking", "--disable-component-update", "--no-first-run",
        # Any host but our own resolves to nothing, so that a request shows up as a failure.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0", *options, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
  if done.returncode != 0:
    raise RuntimeError(f"{browser} ended with {done.returncode}:\n{done.stderr[-2000:]}")
  return done.stdout, done.stderr


def faults(dom, log, asked, page, live=False):
  """`live`: the page may have one script of its own, and links to files below it."""
  for line in log.splitlines():
    if "CONSOLE" in line:
      yield f"console: {line.strip()}"
  # Browsers ask for an icon of their own accord.
  for path in asked:
    if path not in (f"/{page}", "/favicon.ico"):
      yield f"request: {path}"
  for address in re.findall(r"<[^>]*\s(?:src|href|xlink:href|srcset|data|action)=\"([^\"]*)", dom):
    if not address.startswith(("data:", "#", "./") if live else ("data:", "#")):
      yield f"reference to the outside: {address}"
  if "<h1>" not in dom:
    yield "the page has no heading"
  scripts = len(re.findall(r"<script\b", dom, re.IGNORECASE))
  if scripts != live:
    yield f"the page has {scripts} scripts"
  ids = re.findall(r"\sid=\"([^\"]*)\"", dom)
  for name in sorted({i for i in ids if ids.count(i) > 1}):
    yield f"id used twice: {name}"
  for name in re.findall(r"(?:url\(#|href=\"#)([^)\"]*)", dom):
    if name not in ids:
      yield f"reference to an id that is not there: {name}"


def faults_of_frame(dom, scheme):
  measured = re.search(r"<pre>(.*)</pre>", dom, re.DOTALL)
  if not measured:
    yield "nothing was measured"
    return
  found = json.loads(measured[1].replace("&gt;", ">").replace("&amp;", "&"))
  if (found["ground"] < 0.2) != (scheme == "dark"):
    yield f"the ground has a luminance of {found['ground']:.2f}"
  yield from found["wide"]
  for text in sorted(set(found["dim"])):
    yield f"contrast of {text}"
  if found["broken"]:
    yield f"{found['broken']} pictures do not load"


def faults_of_print(browser, url, folder):
  file = pathlib.Path(folder) / "page.pdf"
  run_browser(browser, url, f"--print-to-pdf={file}", "--no-pdf-header-footer")
  sheets = len(re.findall(rb"/Type\s*/Page\b", file.read_bytes())) if file.is_file() else 0
  if not 0 < sheets <= MOST_SHEETS:
    yield f"{sheets} sheets of paper"


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
  server, asked = serve(directory)
  root = f"http://127.0.0.1:{server.server_port}"
  dom, log = run_browser(browser, f"{root}/{page}", "--dump-dom")
  found = list(faults(dom, log, list(asked), page))
  for scheme, setting in SCHEMES.items():
    for width in WIDTHS:
      dom, _ = run_browser(browser, f"{root}/frame/{width}/{page}", "--dump-dom",
                           f"--blink-settings={setting}")
      found += [f"{scheme}, {width} px: {fault}" for fault in faults_of_frame(dom, scheme)]
  with tempfile.TemporaryDirectory() as folder:
    found += [f"print: {fault}" for fault in faults_of_print(browser, f"{root}/{page}", folder)]
  server.shutdown()
  print("\n".join(found) if found else f"{directory / page}: no faults")
  sys.exit(1 if found else 0)


if __name__ == "__main__":
  main()
