"use strict";
(() => {
  const field = document.getElementById("find");
  const told = document.getElementById("found");
  const events = [...document.querySelectorAll("main > article")];
  const texts = events.map((e) => e.textContent.toLowerCase());
  // Marks every word in what is shown, where the browser can do that without changing the page.
  const mark = (words) => {
    if (!CSS.highlights) return;
    const found = new Highlight();
    const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node && words.length > 0; node = walk.nextNode()) {
      if (node.parentElement.closest("article")?.hidden) continue;
      const text = node.data.toLowerCase();
      for (const word of words) {
        for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
          const range = new Range();
          range.setStart(node, Math.min(at, node.length));
          range.setEnd(node, Math.min(at + word.length, node.length));
          found.add(range);
        }
      }
    }
    CSS.highlights.set("found", found);
  };
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    events.forEach((e, i) => {
      const match = words.every((w) => texts[i].includes(w));
      e.hidden = !match;
      if (match) count++;
      const folded = e.querySelector("details");
      if (folded && words.length > 0) folded.open = match;
    });
    mark(words);
    told.textContent = words.length === 0 ? "" : `${count} of ${events.length} events`;
  });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
