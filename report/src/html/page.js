"use strict";
// Filters, sorts and copies. What is chosen is kept in the address, after the #, so that it can be linked to.
(() => {
  const by = (id) => document.getElementById(id);
  const list = by("causes");
  const causes = list ? [...list.children] : [];
  const [filter, least, sort, shown] = ["filter", "least", "sort", "shown"].map(by);
  const number = (name) => (a, b) => b.dataset[name] - a.dataset[name] || a.dataset.rank - b.dataset.rank;
  const orders = {
    damage: (a, b) => a.dataset.rank - b.dataset.rank,
    bits: number("bits"),
    average: number("average"),
    erroneous: number("erroneous"),
    place: (a, b) => (a.dataset.place < b.dataset.place ? -1 : a.dataset.place > b.dataset.place ? 1 : a.dataset.rank - b.dataset.rank),
  };

  let order = "damage";
  function show() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const cause of causes) {
      const fits = words.every((word) => cause.dataset.text.includes(word)) && Number(cause.dataset.bits) >= Number(least.value);
      cause.hidden = !fits;
      count += fits;
    }
    if (sort.value !== order) {
      order = sort.value;
      list.append(...[...causes].sort(orders[order]));
    }
    shown.value = count === causes.length ? `${count} causes` : `${count} of ${causes.length} causes`;
  }

  function remember() {
    const chosen = new URLSearchParams();
    if (filter.value) chosen.set("filter", filter.value);
    if (Number(least.value) > 0) chosen.set("least", least.value);
    if (sort.value !== "damage") chosen.set("sort", sort.value);
    history.replaceState(null, "", `#${chosen}`);
  }

  // The address names a choice, or a place on the page.
  function follow() {
    const place = by(location.hash.slice(1));
    if (place) {
      const cause = place.closest(".cause");
      if (cause) {
        cause.hidden = false;
        cause.querySelector("details").open = true;
      }
      place.scrollIntoView();
      return;
    }
    if (!filter) return;
    const chosen = new URLSearchParams(location.hash.slice(1));
    filter.value = chosen.get("filter") ?? "";
    least.value = chosen.get("least") ?? 0;
    sort.value = chosen.get("sort") in orders ? chosen.get("sort") : "damage";
    show();
  }

  const all = (open) => () => causes.forEach((cause) => (cause.querySelector("details").open = open));
  if (filter) {
    for (const control of [filter, least, sort]) {
      control.addEventListener("input", () => {
        show();
        remember();
      });
    }
    filter.form.addEventListener("submit", (event) => event.preventDefault());
    by("open-all").addEventListener("click", all(true));
    by("close-all").addEventListener("click", all(false));
    show();
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    const core = button.closest("section").querySelector(".core");
    const range = document.createRange();
    range.selectNodeContents(core);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    // Where the clipboard is out of reach the text is at least selected.
    try {
      await navigator.clipboard.writeText(core.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });

  // On paper nothing can be opened.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll(".cause:not([hidden]) details:not([open])")];
    closed.forEach((details) => (details.open = true));
  });
  addEventListener("afterprint", () => closed.forEach((details) => (details.open = false)));
  addEventListener("hashchange", follow);
  follow();
})();
