// Says where a table or figure goes on beyond the screen; one that fits has no hint.

"use strict";

function hintsOfScrolling() {
  for (const box of document.querySelectorAll(".scroll, .figure")) {
    const goesOn = box.scrollWidth > box.clientWidth + 1;
    let hint = box.previousElementSibling;
    if (!hint?.classList.contains("hint")) {
      if (!goesOn) continue;
      hint = document.createElement("p");
      hint.className = "hint";
      hint.textContent = "↔ scroll sideways";
      box.before(hint);
    }
    hint.hidden = !goesOn;
  }
}

const sizes = new ResizeObserver(hintsOfScrolling);
sizes.observe(document.body);
addEventListener("toggle", hintsOfScrolling, true);
addEventListener("load", hintsOfScrolling);
