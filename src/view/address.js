// The address of the page: it holds what is to be solved and how, so that it can be kept, sent, and gone back to.

const SETTINGS = ["depth", "goal", "estimate", "search", "n", "lambda", "seconds"];

let isKept = false; // the entry of the history stays as it is: the next change makes a new one

// Blank facelets are "·" in the form, and "." in the address, which would write the other as six characters.
function written() {
  const instance = typedInstance();
  const fields = new URLSearchParams({ puzzle: element("puzzle").value, instance: paintedIn(instance) ?? instance });
  for (const id of SETTINGS) if (element(id).value) fields.set(id, element(id).value);
  if (element("anytime").checked) fields.set("anytime", "1");
  return `#${fields}`;
}

// Writes the address. A step is a new entry of the history.
function remember(isStep) {
  if (location.hash === written()) return;
  history[isStep || isKept ? "pushState" : "replaceState"](null, "", written());
  isKept = false;
}

// Brings the page to what the address says. What it leaves open is filled in, and is then in the address too.
async function recall() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const puzzle = fields.get("puzzle") ?? offers[0].puzzle;
  const isOffered = offers.some((offer) => offer.puzzle === puzzle);
  leave();
  isKept = false;
  element("puzzle").value = isOffered ? puzzle : offers[0].puzzle;
  describePuzzle();
  if (!isOffered) return beginInstead(puzzle);
  recallSettings(fields);
  await (fields.has("instance") ? recallInstance(fields.get("instance")) : beginPuzzle(false));
  isKept = true;
}

function beginInstead(puzzle) {
  const begun = beginPuzzle(false);
  element("notice").textContent = `There is no puzzle “${puzzle}” here: a random ${offer().name} was taken instead.`;
  return begun;
}

function recallSettings(fields) {
  for (const id of SETTINGS) element(id).value = fields.get(id) ?? "";
  element("anytime").checked = fields.has("anytime");
  showAnytime();
}

function recallInstance(instance) {
  const letters = paintedIn(instance);
  element("instance").value = letters ? withDots(letters) : instance;
  if (letters?.includes(".")) element("paint").open = true;
  return check();
}
