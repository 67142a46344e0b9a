// Runs in the page that has a frame for each page of the book: what stands out of its page on the right, a line each,
// and then how many pages were looked at. On a phone, what has a box that scrolls may be wider, unless it is a chart, and
// the page may not scroll. What is folded is opened first.
onload = () => setTimeout(() => {
  const lines = [];
  const frames = [...document.querySelectorAll("iframe")];
  for (const frame of frames) {
    const page = decodeURI(frame.src).split("/").pop();
    const inside = frame.contentDocument;
    const main = inside.querySelector("main") ?? inside.body;
    const phone = frame.width < 500;
    for (const folded of main.querySelectorAll("details")) folded.open = true;
    const right = main.getBoundingClientRect().right;
    const scrolls = (element) => {
      for (let box = element; box && box !== main; box = box.parentElement) {
        const isBox = ["auto", "scroll"].includes(frame.contentWindow.getComputedStyle(box).overflowX);
        if (isBox && box.getBoundingClientRect().right <= right + 1) return true;
      }
      return false;
    };
    for (const element of main.querySelectorAll(phone ? "table, svg, img, pre > code, form" : "table, svg, img")) {
      const more = Math.round(element.getBoundingClientRect().right - right);
      const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
      if (more > 1 && !(phone && scrolls(element))) lines.push(`${page}: expected no ${element.tagName} wider than its page${phone ? " on a phone" : ""}, found ${more} pixels more: ${text}`);
    }
    const height = (text) => {
      const { a, b } = text.getScreenCTM();
      return parseFloat(frame.contentWindow.getComputedStyle(text).fontSize) * Math.hypot(a, b);
    };
    for (const figure of phone ? main.querySelectorAll(".chart, .drawing") : []) {
      if (figure.clientWidth === 0) continue; // the other form, of a wider page
      const heights = [...figure.querySelectorAll("text")].map(height);
      const name = figure.getAttribute("aria-label") ?? figure.className;
      if (Math.min(...heights) < 8.9) lines.push(`${page}: expected texts of about 9 pixels in a figure on a phone, found ${Math.min(...heights).toFixed(1)}: ${name}`);
      const scrolls = figure.scrollWidth > figure.clientWidth;
      if (scrolls && figure.matches(".chart")) lines.push(`${page}: expected no chart that scrolls on a phone, found one: ${name}`);
    }
    const more = inside.documentElement.scrollWidth - frame.width;
    if (phone && more > 0) lines.push(`${page}: expected no page that scrolls sideways on a phone, found ${more} pixels more`);
  }
  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = [...lines, `looked at ${frames.length} pages`].join("\n");
  document.body.append(found);
}, 3000);
