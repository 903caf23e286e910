//! The page of `costar view`, in a browser: it plays by its own rules, and its verdicts are right.

mod browser;
#[path = "view/puzzles.rs"]
mod puzzles;

use assert_cmd::Command;
use browser::Browser;
use costar::puzzle::cube2::Cube2;
use costar::puzzle::cube3::{Cube3, CubeState};
use costar::puzzle::{Notation as _, move_names};
use serde_json::Value;
use std::path::{Path, PathBuf};

const LEFT: char = '\u{e012}';
const UP: char = '\u{e013}';
const RIGHT: char = '\u{e014}';
const HOME: char = '\u{e011}';
const END: char = '\u{e010}';
const SHIFT: char = '\u{e008}';
const TAB: char = '\u{e004}';

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn costar(words: &[&str]) -> Ran {
    let output = Command::cargo_bin("costar").expect("it was built").args(words).output().expect("it runs");
    Ran {
        code: output.status.code().expect("it exits by itself"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

/// A folder, and the path of a page in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    (folder, page)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Makes the page of an instance and a solution, and opens it.
fn open(browser: &Browser, page: &Path, words: &[&str]) -> Ran {
    let ran = costar(&[&["view", "--out", text(page)], words].concat());
    assert!(ran.err.contains(text(page)), "{}", ran.err);
    browser.open(page);
    ran
}

fn state(browser: &Browser) -> Value {
    browser.run("return costar.state()")
}

fn play_to_the_end(browser: &Browser) -> Value {
    // Read in the same request: a short solution ends before the next one.
    let playing = "document.querySelector('#speed').value = '16'; document.querySelector('#play').click();
        return costar.state().playing";
    assert_eq!(browser.run(playing), true);
    browser.wait("return !costar.state().playing && !costar.state().moving");
    state(browser)
}

fn verdict(browser: &Browser) -> String {
    browser.run("return document.querySelector('#verdict').textContent").as_str().expect("text").to_owned()
}

fn scramble(depth: &str, seed: &str) -> String {
    costar(&["scramble", "--depth", depth, "--seed", seed]).out.trim().to_owned()
}

/// The moves that undo a scramble.
fn undone(scramble: &str) -> String {
    let moves = Cube3.parse_moves(scramble).expect("moves");
    let back: Vec<u8> = moves.iter().rev().map(|action| action ^ 1).collect();
    move_names(&Cube3, &back).join(" ")
}

#[test]
fn a_scramble_and_its_solution_play_to_the_end() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    let scramble = scramble("20", "5");
    let ran = open(&browser, &page, &[&scramble, &undone(&scramble)]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    let begin = state(&browser);
    assert_eq!((&begin["position"], &begin["moves"], &begin["solved"]), (&0.into(), &40.into(), &true.into()));
    browser.run("costar.go(costar.state().scramble)");
    let scrambled = state(&browser);
    assert_eq!(scrambled["state"], Cube3.format(&Cube3.parse(&scramble).expect("a scramble")));
    assert_eq!(scrambled["solved"], false);
    browser.run("costar.go(0)");
    let end = play_to_the_end(&browser);
    assert_eq!((&end["position"], &end["solved"]), (&40.into(), &true.into()), "{end}");
    assert_eq!(end["state"], Cube3.format(&CubeState::SOLVED));
    assert_eq!((&end["verdict"]["solved"], &end["verdict"]["agrees"]), (&true.into(), &true.into()));
    assert!(verdict(&browser).contains("✔ Solved in 20 quarter turns"), "{}", verdict(&browser));
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn the_pages_own_cube_is_costars_after_every_move() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    let all = "U U' R R' F F' D D' L L' B B' R U F' L D' B U' L' F R' B' D";
    for scramble in [all.to_owned(), scramble("120", "1"), scramble("120", "2")] {
        open(&browser, &page, &[&scramble, ""]);
        let script =
            "return Array.from({ length: costar.state().moves + 1 }, (_, i) => (costar.go(i), costar.state().state))";
        let shown = browser.run(script);
        let mut state = CubeState::SOLVED;
        let moves = Cube3.parse_moves(&scramble).expect("moves");
        assert_eq!(shown.as_array().map(Vec::len), Some(moves.len() + 1));
        for (i, action) in moves.into_iter().enumerate() {
            state = Cube3.turn(&state, action);
            assert_eq!(shown[i + 1], Cube3.format(&state), "after {} moves of {scramble}", i + 1);
        }
    }
    // The page notices a picture that differs from its own.
    let lie = "const told = JSON.parse(document.querySelector('#playback').textContent);
        told.pictures[7] = told.pictures[6]; costar.load(told); return costar.state().verdict";
    let said = browser.run(lie);
    assert_eq!((&said["agrees"], &said["differs"]), (&false.into(), &7.into()), "{said}");
    assert!(verdict(&browser).contains("disagree after move 7"), "{}", verdict(&browser));
}

#[test]
fn the_drawing_follows_the_moves() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    browser.resize(1000, 800);
    open(&browser, &page, &["", ""]);
    // The colours at the centres of U, F and R in the first view: white, green, red.
    let pixels = browser.run_until_done(
        "requestAnimationFrame(() => requestAnimationFrame(() => {
            const canvas = document.querySelector('#board');
            const at = (x, y) => [...canvas.getContext('2d').getImageData(canvas.width * 0.5 + canvas.height * x,
                canvas.height * y, 1, 1).data.slice(0, 3)];
            done([at(-0.02, 0.23), at(-0.15, 0.58), at(0.22, 0.54)]);
        }));",
    );
    let colour = |i: usize| [0, 1, 2].map(|channel| pixels[i][channel].as_u64().expect("a number"));
    let ([r, g, b], [red, green, blue]) = (colour(0), colour(2));
    assert!(r > 220 && g > 220 && b > 220, "U is white: {pixels}");
    assert!(red > 2 * green && red > 2 * blue, "R is red: {pixels}");
    let [red, green, blue] = colour(1);
    assert!(green > 2 * red && green > blue, "F is green: {pixels}");
    // A turn that is nearly done looks like the next picture, not like the one before.
    open(&browser, &page, &["R U F' L D' B U U' R R' F F' D D' L L' B B'", ""]);
    let differences = browser.run_until_done(
        "const canvas = document.querySelector('#board');
        const grab = () => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        const difference = (a, b) => a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length;
        // The page's clock stands still while it is not set here.
        const nextFrame = requestAnimationFrame;
        let time = 0;
        performance.now = () => time;
        window.requestAnimationFrame = (call) => nextFrame(() => call(time));
        const frame = () => new Promise(requestAnimationFrame);
        document.querySelector('#speed').value = '0.25';
        (async () => {
            const all = [];
            for (let i = 6; i < 18; i++) {
                costar.go(i);
                await frame(); await frame();
                const before = grab();
                document.querySelector('#forward').click();
                time += 0.8 * (460 * 0.55 / 0.25); // of a turn of a scramble
                await frame(); await frame();
                const nearly = grab();
                costar.go(i + 1);
                await frame(); await frame();
                const after = grab();
                all.push([difference(nearly, after), difference(nearly, before)]);
            }
            return all;
        })().then(done);",
    );
    for (i, pair) in differences.as_array().expect("twelve").iter().enumerate() {
        let [after, before] = [0, 1].map(|k| pair[k].as_f64().expect("a number"));
        assert!(after > 0.0 && 2.0 * after < before, "turn {i}: {pair}");
    }
}

#[test]
fn a_wrong_solution_gets_the_verdict_wrong() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    let ran = open(&browser, &page, &["R U R'", "R U R'"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("the solution is wrong"), "{}", ran.err);
    assert!(
        verdict(&browser).contains("✘ Wrong After 3 quarter turns, 3 turns, the puzzle is not solved"),
        "{}",
        verdict(&browser)
    );
    let end = play_to_the_end(&browser);
    assert_eq!((&end["position"], &end["solved"]), (&6.into(), &false.into()));
    // A move that is illegal in this state.
    let ran = open(&browser, &page, &["--puzzle", "puzzle8", "1 2 3 4 5 6 7 0 8", "R D R"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("move 2, D"), "{}", ran.err);
    assert!(verdict(&browser).contains("Move 2 of the solution, D, cannot be made"), "{}", verdict(&browser));
    let end = play_to_the_end(&browser);
    assert_eq!((&end["position"], &end["verdict"]["illegal"]), (&1.into(), &2.into()));
    assert_eq!(browser.run("return document.querySelectorAll('.illegal').length"), 1);
    // A push after which no solution is left: costar refuses it, the page does not.
    open(&browser, &page, &["--puzzle", "sokoban", "#####|#@ .#|# $ #|#   #|#####", "R D"]);
    let said = &state(&browser)["verdict"];
    assert_eq!((&said["illegal"], &said["agrees"]), (&2.into(), &true.into()), "{said}");
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn keys_buttons_scrubber_and_list_go_where_they_say() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    open(&browser, &page, &["R U F' L2", "L2 F U' R'"]);
    // The browser may answer before the page receives a key.
    let at = |expected: u64| {
        browser.wait(&format!("return costar.state().position === {expected} && !costar.state().playing"));
    };
    let plays = |expected: bool| browser.wait(&format!("return costar.state().playing === {expected}"));
    for (keys, expected) in
        [(&[RIGHT][..], 1), (&[RIGHT], 2), (&[LEFT], 1), (&[END], 10), (&[RIGHT], 10), (&[HOME], 0), (&[LEFT], 0)]
    {
        browser.press(keys);
        at(expected);
    }
    for (id, expected) in [("forward", 1), ("last", 10), ("back", 9), ("first", 0)] {
        browser.run(&format!("document.getElementById('{id}').click()"));
        at(expected);
    }
    browser.run("const scrubber = document.querySelector('#scrubber'); scrubber.value = 7; scrubber.dispatchEvent(new Event('input'))");
    at(7);
    let marked = "return [...document.querySelectorAll('[aria-current=step]')].map((button) => button.getAttribute('aria-label'))";
    assert_eq!(browser.run(marked), serde_json::json!(["L2, move 1 of the solution"]));
    assert_eq!(
        browser.run("return document.querySelector('#now').textContent"),
        "Solution 1 of 4: L2 – left face by half a turn"
    );
    // A step back undoes both moves of L2; then the caption names the word before.
    browser.run("document.getElementById('back').click()");
    browser.wait("return document.querySelector('#now').textContent.startsWith('Scramble 4 of 4')");
    browser.run("document.querySelector('[data-position=\"3\"]').click()");
    at(3);
    // The page takes the arrow keys of a focused scrubber.
    browser.run("document.querySelector('#scrubber').focus()");
    browser.press(&[RIGHT]);
    at(5);
    browser.run("document.activeElement.blur(); document.querySelector('#speed').value = '0.25'");
    browser.press(&[' ']);
    plays(true);
    browser.press(&[' ']);
    plays(false);
    // Space on a focused button clicks it.
    browser.run("costar.go(0); document.querySelector('#forward').focus()");
    browser.press(&[' ']);
    at(1);
    browser.press(&[TAB]);
    let outline = "getComputedStyle(document.activeElement).outlineStyle + document.activeElement.id";
    browser.wait(&format!("return {outline} === 'solidlast'")); // the focus is seen
}

#[test]
fn a_word_is_one_step_that_turns_all_its_layers() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    let listed = "return [...document.querySelectorAll('[data-position]')]
        .map((button) => `${button.textContent} ${button.dataset.position}`).join()";
    for (puzzle, scramble, solution, expected) in [
        ("cube5:htm", "Rw U M", "M' U' Rw'", "Rw 2,U 3,M 4,M' 5,U' 6,Rw' 8"),
        ("cube5:obtm", "Rw U M", "M' U' Rw'", "Rw 1,U 2,M 4,Rw' Lw 6,F' 7,Rw' 8"),
        ("cube5", "3Rw2 x U", "U' x' 3Rw2", "3Rw2 6,U 7,U' 8,Lw2 12"),
        ("cube4:oriented", "2-3Uw2 M x", "x' M' 2-3Uw2", "2-3Uw2 4,M 6,x 10,x' 14,M' 16,2-3Uw2 20"),
        ("cube3", "U2 M", "M' U2", "F2 2,L' R 4,L R' 6,F2 8"),
        ("cube4", "(R U)2", "U'R' U' R'", "R 1,U 2,R 3,U 4,U' 5,R' 6,U' 7,R' 8"),
    ] {
        assert_eq!(open(&browser, &page, &["--puzzle", puzzle, scramble, solution]).code, 0, "{puzzle}");
        assert_eq!(browser.run(listed), expected, "{puzzle}");
        let steps = expected.split(',').filter_map(|word| word.rsplit(' ').next());
        for to in steps {
            browser.run("document.querySelector('#speed').value = '16'; document.querySelector('#forward').click()");
            browser.wait(&format!("const state = costar.state(); return state.position === {to} && !state.moving"));
        }
        assert_eq!(state(&browser)["solved"], true, "{puzzle}");
    }
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn the_cube_turns_with_mouse_finger_and_keys() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    browser.resize(900, 700);
    open(&browser, &page, &["R U", "U' R'"]);
    let picture = || {
        browser.run_until_done(
            "requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelector('#board').toDataURL())))",
        )
    };
    let first = picture();
    let turned = |what: &str| {
        assert_ne!(picture(), first, "{what}");
        browser.press(&['0']);
        browser.wait("return new Promise((done) => setTimeout(() => done(true), 700))");
        assert_eq!(picture(), first, "0 brings the first view back after {what}");
    };
    browser.drag("mouse", (250, 350), (80, 30));
    turned("the mouse");
    browser.drag("touch", (250, 350), (-60, 20));
    turned("a finger");
    browser.press(&[SHIFT, UP]);
    turned("a key");
    browser.press(&['l']);
    assert_ne!(picture(), first, "letters");
    assert_eq!(state(&browser)["position"], 0, "no move was made");
}

#[test]
fn a_page_asks_for_nothing_and_fits_a_phone() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    let scramble = scramble("40", "3");
    for words in [
        vec![scramble.as_str(), "R U"],
        vec![
            "--puzzle",
            "puzzle48",
            &format!("0 {}", (1..49).map(|tile| tile.to_string()).collect::<Vec<_>>().join(" ")),
        ],
        vec!["--puzzle", "lightsout15", &"0".repeat(225)],
        vec!["--puzzle", "jugs:64,32,16,8,4,2,1,1", ""],
    ] {
        let solution = if words.len() == 3 { &[""][..] } else { &[] };
        for (width, scheme) in [(360, "light"), (320, "dark"), (1280, "dark")] {
            browser.resize(width, 740);
            browser.prefer("prefers-color-scheme", scheme);
            open(&browser, &page, &[&words[..], solution].concat());
            let widths = browser.run("return [document.documentElement.scrollWidth, innerWidth]");
            assert!(widths[0].as_u64() <= widths[1].as_u64(), "{words:?} at {width}: {widths}");
        }
        let background = browser.run("return getComputedStyle(document.body).backgroundColor");
        assert_eq!(background, "rgb(18, 21, 27)", "dark");
    }
    play_to_the_end_or_none(&browser);
    let requests = browser.requests();
    assert!(requests.iter().any(|address| address.ends_with("page.html")), "the log has the page itself: {requests:?}");
    let other: Vec<_> =
        requests.iter().filter(|address| !address.starts_with("file://") && !address.starts_with("data:")).collect();
    assert!(
        other.is_empty() && requests.iter().all(|a| !a.starts_with("file://") || a.ends_with("page.html")),
        "{requests:?}"
    );
    assert_eq!(browser.run("return performance.getEntriesByType('resource').length"), 0);
    assert_eq!(browser.console(), Vec::<String>::new());
}

fn play_to_the_end_or_none(browser: &Browser) {
    if state(browser)["moves"] != 0 {
        play_to_the_end(browser);
    }
}

#[test]
fn readers_who_prefer_less_motion_get_none() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    browser.prefer("prefers-reduced-motion", "reduce");
    open(&browser, &page, &["R U", "U' R'"]);
    // No frame after the key shows a moving move.
    browser.run(
        "window.moved = false; const look = () => { moved ||= costar.state().moving; requestAnimationFrame(look); }; look()",
    );
    browser.press(&[RIGHT]);
    browser.wait("return costar.state().position === 1");
    assert_eq!(browser.run("return moved"), false);
    assert_eq!(play_to_the_end(&browser)["position"], 4);
}

#[test]
fn an_instance_that_says_anything_is_only_data() {
    let Some(browser) = Browser::start() else { return };
    let (folder, page) = place();
    let file = folder.path().join("odd.json");
    std::fs::write(
        &file,
        r#"{"name": "</script><script>window.broken = 1</script>", "goal": "<>&", "moves": {"<b>": [1, 2, 0], "'\"": [2, 0, 1]}}"#,
    )
    .expect("it can be written");
    let ran = open(&browser, &page, &["--puzzle", text(&file), "<b> <b>", "<b>"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(browser.run("return window.broken === undefined"), true);
    assert_eq!(
        browser.run("return document.querySelector('h1').textContent"),
        "</script><script>window.broken = 1</script>"
    );
    assert_eq!(play_to_the_end(&browser)["state"], "<>&");
}

#[test]
fn facelets_start_where_they_are() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    let facelets = Cube3.format(&Cube3.parse("R U F'").expect("a scramble"));
    assert_eq!(open(&browser, &page, &[&facelets, "F U' R'"]).code, 0);
    let begin = state(&browser);
    assert_eq!(
        (&begin["scramble"], &begin["moves"], &begin["state"]),
        (&0.into(), &3.into(), &facelets.as_str().into())
    );
    assert_eq!(play_to_the_end(&browser)["solved"], true);
}

#[test]
fn a_page_without_a_playback_waits_for_one() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    open(&browser, &page, &["R", "R'"]);
    let told = browser.run("return document.querySelector('#playback').textContent");
    let told = told.as_str().expect("text");
    std::fs::write(&page, std::fs::read_to_string(&page).expect("a page").replace(told, ""))
        .expect("it can be written");
    browser.open(&page);
    browser.press(&[RIGHT]);
    browser.run("document.querySelector('#play').click()");
    browser.run(&format!("costar.load({told})"));
    assert_eq!(play_to_the_end(&browser)["position"], 2);
    assert_eq!(browser.console(), Vec::<String>::new());
}
