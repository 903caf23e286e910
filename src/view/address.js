// The address of the page holds the instance and the settings, for bookmarks, links and the history.

const SETTINGS = ["depth", "goal", "estimate", "search", "n", "lambda", "seconds"];

let isKept = false; // whether the history keeps the present entry: the next change adds a new one

// The fragment of the form. Blank facelets are "·" in the form and "." in the address, where "·" takes six characters.
function fragment() {
  const instance = typedInstance();
  const fields = new URLSearchParams({ puzzle: element("puzzle").value, instance: paintedIn(instance) ?? instance });
  for (const id of SETTINGS) if (element(id).value) fields.set(id, element(id).value);
  if (element("anytime").checked) fields.set("anytime", "1");
  return `#${fields}`;
}

// Writes the address; a step adds an entry to the history.
function remember(isStep) {
  if (location.hash === fragment()) return;
  history[isStep || isKept ? "pushState" : "replaceState"](null, "", fragment());
  isKept = false;
}

// Sets the page up from the address. Missing fields get values, which the address then holds too.
async function recall() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const puzzle = fields.get("puzzle") ?? offers[0].puzzle;
  const isOffered = await isOfferedOrAdded(puzzle);
  leave();
  isKept = false;
  element("puzzle").value = isOffered ? puzzle : offers[0].puzzle;
  describePuzzle();
  if (!isOffered) return beginOther(puzzle);
  recallSettings(fields);
  await (fields.has("instance") ? recallInstance(fields.get("instance")) : beginPuzzle(false));
  isKept = true;
}

// Whether the server offers a puzzle; one that is not in its list, such as another size, is added to the choice.
async function isOfferedOrAdded(puzzle) {
  if (offers.some((offer) => offer.puzzle === puzzle)) return true;
  try {
    offers.push(...(await ask(`puzzles?puzzle=${encodeURIComponent(puzzle)}`)));
  } catch {
    return false;
  }
  showOffers();
  return true;
}

function beginOther(missing) {
  const done = beginPuzzle(false);
  element("notice").textContent = `There is no puzzle “${missing}” here: a random ${offer().name} was taken instead.`;
  return done;
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
