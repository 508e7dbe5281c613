"use strict";
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const label = () => { theme.textContent = isDark() ? "Light theme" : "Dark theme"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
  dark.addEventListener("change", label);
  label();

  // What has to be scrolled sideways must be reachable by keyboard; what fits should be no stop on the way.
  const reach = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const drawing of document.querySelectorAll(".drawing")) reach.observe(drawing);

  const words = new Intl.Collator("en", { numeric: true });
  const text = (cell) => (cell.querySelector("strong, bdi") || cell.firstChild || cell).textContent.trim();
  const number = (cell) => {
    const value = parseFloat(text(cell).replace(/\u2212/g, "-").replace(/,/g, ""));
    return Number.isNaN(value) ? Infinity : value;
  };
  const sort = (head) => {
    const table = head.closest("table");
    const body = table.tBodies[0];
    const place = head.cellIndex;
    const numeric = head.classList.contains("n");
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : numeric && !("low" in head.dataset);
    const key = numeric ? number : text;
    const compare = (a, b) => (numeric ? (a === b ? 0 : a - b) : words.compare(a, b));
    const rows = Array.from(body.rows, (row) => [key(row.cells[place]), row]);
    rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
    body.append(...rows.map((entry) => entry[1]));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  };
  for (const head of document.querySelectorAll("table.sortable thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head));
    head.append(button);
  }
})();
