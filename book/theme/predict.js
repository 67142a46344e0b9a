// The boxes of `{{predict …}}`: the value opens after an estimate was entered. Without this script it is folded.
for (const box of document.querySelectorAll(".predict")) {
    const [form, value] = [box.querySelector("form"), box.querySelector("details")];
    const [field, output] = [form.querySelector("input"), form.querySelector("output")];
    form.hidden = false;
    value.hidden = true;
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        const ratio = field.valueAsNumber / Number(box.dataset.value);
        if (!(ratio > 0)) {
            output.textContent = "Enter a number above 0.";
            return;
        }
        output.textContent = said(ratio);
        value.hidden = false;
        value.open = true;
    });
}

// The ratio, and the factor by which the estimate is off.
function said(ratio) {
    const short = (x) => (x >= 0.01 && x < 1000 ? String(Number(x.toPrecision(2))) : x.toExponential(0));
    const factor = Math.max(ratio, 1 / ratio);
    const verdict = factor < 1.05 ? "right" : `too ${ratio < 1 ? "small" : "large"} by a factor of ${short(factor)}`;
    return `Your estimate is ${short(ratio)}× the value: ${verdict}.`;
}
