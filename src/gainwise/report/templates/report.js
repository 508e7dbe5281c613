"use strict";
(() => {
  const words = new Intl.Collator("en", { numeric: true });
  const read = (row, place) => {
    const cell = row.cells[place];
    const text = cell.dataset.v ?? (cell.querySelector("strong, bdi") || cell.firstChild || cell).textContent.trim();
    const number = Number(text.replace(/\u2212/g, "-").replace(/,/g, ""));
    return text === "" || Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
    : typeof a === "number" ? -1 : typeof b === "number" ? 1 : words.compare(a, b);
  const sort = (head, way) => {
    const table = head.closest("table");
    const place = head.cellIndex;
    const rows = Array.from(table.tBodies[0].rows, (row, at) => [read(row, place), at, row]);
    rows.sort((a, b) => (way === "descending" ? -1 : 1) * compare(a[0], b[0]) || a[1] - b[1]);
    table.tBodies[0].append(...rows.map((entry) => entry[2]));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", way);
  };
  for (const head of document.querySelectorAll("thead th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => {
      const first = head.dataset.sort === "down" ? "descending" : "ascending";
      const before = head.getAttribute("aria-sort");
      sort(head, before ? (before === "ascending" ? "descending" : "ascending") : first);
    });
    head.append(button);
  }
  const queries = document.getElementById("queries");
  // A link into something folded or into another list opens it.
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const list = target.closest("tbody[data-k]");
    if (list) queries.querySelector(`[value=${list.dataset.k}]`).checked = true;
    const folded = target.closest("details");
    if (folded) folded.open = true;
    if (list || folded) target.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", open);
  open();
})();
