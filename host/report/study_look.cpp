// Style and script of a study's page. The script only rearranges what is there: it sorts rows,
// hides some, and chooses which arms are drawn, each by the name in data-of ("a3"), which stands at
// its rows, its curves and its place in the legend.
#include "report/study_page.hpp"

namespace gh::host {
namespace {

constexpr std::string_view kStyle = R"css(
.progress { display: flex; gap: 2px; height: 0.55rem; margin: 1.2rem 0 0; border-radius: 99px;
  overflow: hidden; background: var(--rule); }
.progress i { flex: 0 0 0; background: var(--soft); }
.progress i[style*="flex-grow"] { flex-shrink: 1; }
.progress .done, .dot.done { background: var(--good); }
.progress .running, .dot.running { background: var(--busy); }
.progress .failed, .dot.failed { background: var(--bad); }
.progress .resumable, .dot.resumable { background: var(--busy); opacity: 0.5; }
.progress .new { background: var(--rule); }
.dot { display: inline-block; width: 0.6rem; height: 0.6rem; margin-right: 0.4rem;
  border-radius: 50%; background: var(--soft); }
.dot.new { background: var(--rule); }
.way .progress { margin: 0.45rem 0 0; width: clamp(4rem, 16vw, 12rem); }
.badge.resumable { color: var(--busy); }
.tools { display: flex; flex-wrap: wrap; gap: 0.6rem 1rem; align-items: center; margin: 0 0 1rem;
  font-size: 0.9rem; color: var(--soft); }
.tools input, .tools button { font: inherit; padding: 0.35rem 0.7rem; border-radius: 6px;
  border: 1px solid var(--rule); background: var(--panel); color: var(--ink); }
.tools input { flex: 0 1 22rem; min-width: 0; }
.tools button { cursor: pointer; }
.scripted, .draw { display: none; }
.live .tools { display: flex; }
.live span.scripted { display: inline; }
.live .draw { display: inline-block; margin: 0 0.5rem 0 0; }
.arms th, .arms td { padding-top: 0.45rem; padding-bottom: 0.45rem; }
.arms tbody th { font-weight: 550; min-width: min(20rem, 40vw); }
.arms small, .blocks small { display: block; font-weight: 400; font-size: 0.8rem;
  line-height: 1.35; color: var(--soft); }
.arms small.warn { color: var(--bad); }
.arms td i, .blocks td i { font-style: normal; color: var(--soft); font-size: 0.92em; }
.arms td b, .blocks td b { font-weight: 720; }
.arms label i, .legend i { display: inline-block; width: 0.65rem; height: 0.65rem;
  margin-right: 0.45rem; border-radius: 50%; background: var(--c); }
.arms tr.off label i { visibility: hidden; }
.sort { all: unset; }
.live .sort { cursor: pointer; }
.live .sort:hover, .live [aria-sort] .sort { color: var(--ink); text-decoration: underline; }
.sort:focus-visible, .legend button:focus-visible { outline: 2px solid var(--busy); }
[aria-sort="descending"] .sort::after { content: " ↓"; }
[aria-sort="ascending"] .sort::after { content: " ↑"; }
.arms tr[hidden] { display: none; }
.arms tr.hot { background: var(--code); }
.seeds { white-space: normal; min-width: 4.5rem; }
.seed { margin-right: 0.25rem; color: var(--ink); }
.seed.new { color: var(--soft); } .seed.running, .seed.resumable { color: var(--busy); }
.seed.failed { color: var(--bad); font-weight: 650; }
.blocks tbody th { padding-top: 1rem; font-weight: 620; }
.notes { margin: 1rem 0 0; padding-left: 1.1rem; max-width: 52rem; font-size: 0.88rem;
  line-height: 1.45; color: var(--soft); }
.notes li { margin: 0.15rem 0; }
.notes b { font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 0.15rem 1rem; margin: 0 0 1rem; padding: 0;
  list-style: none; font-size: 0.88rem; max-height: 12rem; overflow-y: auto; }
.legend button { all: unset; }
.live .legend button { cursor: pointer; }
#arms .off { display: none; }
.switches .off i { opacity: 0.25; }
.switches .off { color: var(--soft); }
.halo { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.s { color: var(--c); }
.s .l { fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linejoin: round; }
.s .b { fill: currentColor; fill-opacity: 0.16; }
.s.off { display: none; }
.s.dashed .l { stroke-dasharray: 5 3; }
.pointing .s { opacity: 0.16; }
.pointing .s.hot { display: inline; opacity: 1; }
.pointing .s.hot .l { stroke-width: 2.4; }
@media print { .tools, .draw { display: none !important; } .legend { max-height: none; } }
)css";

constexpr std::string_view kScript = R"js(
"use strict";
(() => {
  const study = document.getElementById("study"), first = +study.dataset.first;
  const all = (selector, root = study) => [...root.querySelectorAll(selector)];
  const filter = document.getElementById("filter"), rows = all(".arms tbody tr");
  const colors = all(".arms tbody tr").slice(0, 8).map(r => r.style.getPropertyValue("--c"));
  const named = new Map();
  for (const e of all("[data-of]")) {
    if (!named.has(e.dataset.of)) named.set(e.dataset.of, []);
    named.get(e.dataset.of).push(e);
  }
  const drawable = id => named.get(id)?.some(e => e.querySelector(".draw:enabled"));
  let chosen = [...new Set(rows.map(r => r.dataset.of))].slice(0, first);

  function paint() {
    for (const [id, elements] of named) {
      if (!id.startsWith("a")) continue;
      const place = chosen.indexOf(id);
      for (const e of elements) {
        e.classList.toggle("off", place < 0);
        e.classList.toggle("dashed", place >= colors.length);
        if (place >= 0) e.style.setProperty("--c", colors[place % colors.length]);
        for (const box of e.querySelectorAll(".draw")) box.checked = place >= 0;
      }
    }
  }
  function choose(id, on) {
    chosen = chosen.filter(other => other !== id);
    if (on) chosen.push(id);
    paint();
  }
  function narrow() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = (row.cells[0].textContent + " " + row.dataset.find).toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
    const ids = new Set(rows.map(r => r.dataset.of));
    const shown = new Set(rows.filter(r => !r.hidden).map(r => r.dataset.of));
    const arms = ids.size === 1 ? "1 arm" : `${ids.size} arms`;
    document.getElementById("count").textContent =
        shown.size === ids.size ? arms : `${shown.size} of ${arms}`;
  }
  // Numbers within texts count as numbers: 0.125 before 0.25, 30 before 110.
  const pieces = text => text.split(/(\d+(?:\.\d+)?)/).map((piece, i) => i % 2 ? +piece : piece);
  function compare(a, b) {
    const x = pieces(a), y = pieces(b);
    for (let i = 0; i < Math.min(x.length, y.length); ++i)
      if (x[i] !== y[i]) return i % 2 ? x[i] - y[i] : x[i].localeCompare(y[i]);
    return x.length - y.length;
  }
  // Once by number, largest first, or by text; then the other way round; then as in the file.
  function order(table, column, way) {
    const body = table.tBodies[0], head = table.tHead.rows[0].cells;
    for (const cell of head) cell.removeAttribute("aria-sort");
    if (way) head[column].setAttribute("aria-sort", way);
    const key = row => {
      const cell = row.cells[column], v = cell.dataset.v;
      return column === 0 ? cell.textContent : v === undefined || v === "" ? null : +v;
    };
    const place = row => +row.dataset.of.slice(1), sign = way === "descending" ? -1 : 1;
    const list = [...body.rows].sort((a, b) => {
      const x = key(a), y = key(b);
      if (!way || x === y) return place(a) - place(b);
      if (x === null || y === null) return x === null ? 1 : -1;  // missing is last either way
      return sign * (column === 0 ? compare(x, y) : x - y);
    });
    body.append(...list);
  }
  function turn(button) {
    const head = button.closest("th"), column = head.cellIndex;
    const ways = column === 0 ? ["ascending", "descending", ""] : ["descending", "ascending", ""];
    const now = ways.indexOf(head.getAttribute("aria-sort") ?? "");
    order(head.closest("table"), column, ways[(now + 1) % 3]);
  }

  // What was set outlives reading the page anew.
  const place = "study " + location.pathname;
  function save() {
    const sorted = all(".arms").map(t => {
      const cell = t.querySelector("[aria-sort]");
      return cell && [cell.cellIndex, cell.getAttribute("aria-sort")];
    });
    const folds = all("details").map(d => d.open);
    try {
      sessionStorage.setItem(place, JSON.stringify({chosen, sorted, folds, words: filter.value}));
    } catch {}
  }
  function restore() {
    let was = null;
    try {
      was = JSON.parse(sessionStorage.getItem(place));
      sessionStorage.removeItem(place);
    } catch {}
    if (!was) return;
    chosen = was.chosen.filter(id => named.has(id));
    filter.value = was.words;
    all("details").forEach((d, i) => d.open = was.folds[i] ?? d.open);
    all(".arms").forEach((t, i) => { if (was.sorted[i]) order(t, ...was.sorted[i]); });
  }

  study.addEventListener("click", event => {
    const sort = event.target.closest(".sort"), item = event.target.closest(".legend li");
    if (sort) turn(sort);
    if (item && item.dataset.of.startsWith("a")) choose(item.dataset.of, false);
    else if (item) for (const e of named.get(item.dataset.of)) e.classList.toggle("off");
    if (item) point(null);
  });
  study.addEventListener("change", event => {
    if (event.target.matches(".draw"))
      choose(event.target.closest("tr").dataset.of, event.target.checked);
  });
  function point(id) {
    for (const e of all(".hot")) e.classList.remove("hot");
    for (const e of named.get(id) ?? []) e.classList.add("hot");
    study.classList.toggle("pointing", named.get(id)?.some(e => e.matches(".s")) ?? false);
  }
  study.addEventListener("mouseover", event => point(event.target.closest("[data-of]")?.dataset.of));
  study.addEventListener("mouseleave", () => point(null));
  if (!filter) return;
  filter.addEventListener("input", narrow);
  document.getElementById("draw").addEventListener("click", () => {
    const shown = all(".arms tbody")[0].rows;
    chosen = [...shown].filter(r => !r.hidden).map(r => r.dataset.of).filter(drawable);
    chosen = chosen.slice(0, first);
    paint();
  });
  study.classList.add("live");
  restore();
  narrow();
  paint();
  // Not while somebody types.
  if (+study.dataset.refresh)
    setInterval(() => {
      if (document.activeElement === filter) return;
      save();
      location.reload();
    }, 1000 * study.dataset.refresh);
})();
)js";

}  // namespace

std::string_view study_style() { return kStyle; }

std::string_view study_script() { return kScript; }

}  // namespace gh::host
