"use strict";
(() => {
  const field = document.getElementById("find");
  const told = document.getElementById("found");
  const events = [...document.querySelectorAll("main > article")];
  const texts = events.map((e) => e.textContent.toLowerCase());
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
    told.textContent = words.length === 0 ? "" : `${count} of ${events.length} events`;
  });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
