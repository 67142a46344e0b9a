// Runs in the page that has a frame for each page of the book: what stands out of its page on the right, a line each,
// and then how many pages were looked at.
onload = () => setTimeout(() => {
  const lines = [];
  const frames = [...document.querySelectorAll("iframe")];
  for (const frame of frames) {
    const main = frame.contentDocument.querySelector("main") ?? frame.contentDocument.body;
    const right = main.getBoundingClientRect().right;
    for (const element of main.querySelectorAll("table, svg, img")) {
      const more = Math.round(element.getBoundingClientRect().right - right);
      const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
      const page = decodeURI(frame.src).split("/").pop();
      if (more > 1) lines.push(`${page}: expected no ${element.tagName} wider than its page, found ${more} pixels more: ${text}`);
    }
  }
  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = [...lines, `looked at ${frames.length} pages`].join("\n");
  document.body.append(found);
}, 3000);
