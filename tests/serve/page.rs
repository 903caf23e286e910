//! The page, in a browser.

use crate::browser::Browser;
use crate::{HARD, Server};
use costar::puzzle::Notation as _;
use costar::puzzle::cube3::{Cube3, CubeState};
use serde_json::json;

/// Opens the page of a server, and waits until it is ready.
pub(super) fn open(browser: &Browser, server: &Server) {
    browser.visit(&format!("http://127.0.0.1:{}/", server.port));
    browser.wait(READY);
}

/// Returns true in a page that has an instance, found possible.
pub(super) const READY: &str = "return window.costarSolver !== undefined && costarSolver.state().possible === true";

pub(super) fn type_instance(browser: &Browser, text: &str) {
    browser.run("const field = document.querySelector('#instance'); field.value = ''; field.focus()");
    browser.type_text(text);
}

pub(super) fn judgement(browser: &Browser) -> String {
    browser.run("return costarSolver.state().judgement").as_str().expect("text").to_owned()
}

/// Starts a search that does not end within a test, and waits for its first progress.
fn begin_hard(browser: &Browser) {
    type_instance(browser, HARD);
    browser.wait("return costarSolver.state().possible === true && costar.state().scramble === 30");
    browser.run(
        "document.querySelector('#search').value = 'bwas'; document.querySelector('#n').value = '100';
        document.querySelector('#lambda').value = '1'; document.querySelector('#solve').click()",
    );
    browser.wait("return costarSolver.state().progress !== null");
}

#[test]
fn a_search_is_typed_watched_and_stopped() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    open(&browser, &server);
    begin_hard(&browser);
    assert_eq!(browser.run("return document.querySelector('#solve').disabled"), true);
    let shown =
        "return ['nodes', 'rate', 'best-f', 'best-h', 'time'].map((id) => document.getElementById(id).textContent)";
    let first = browser.run(shown);
    let nodes = browser.run("return costarSolver.state().progress.nodes_generated");
    browser.wait(&format!("return costarSolver.state().progress.nodes_generated > {nodes}"));
    let second = browser.run(shown);
    assert_ne!(first[0], second[0], "the numbers move");
    for (i, text) in second.as_array().expect("five").iter().enumerate() {
        assert!(text.as_str().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit())), "{i}: {second}");
    }
    let drawn = "const chart = document.querySelector('#chart');
        return chart.getContext('2d').getImageData(0, 0, chart.width, chart.height).data.some((value) => value > 0)";
    assert_eq!(browser.run(drawn), true, "the plot is drawn");
    server.wait_for(1, 0);
    browser.run("document.querySelector('#stop').click()");
    browser.wait("return costarSolver.state().phase === 'done'");
    server.wait_for(0, 0);
    let phase = browser.run("return document.querySelector('#phase').textContent");
    assert!(phase.as_str().is_some_and(|phase| phase.contains("Stopped before")), "{phase}");
    // A tab that goes elsewhere ends its search.
    browser.run("document.querySelector('#solve').click()");
    server.wait_for(1, 0);
    browser.visit("about:blank");
    server.wait_for(0, 0);
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn the_page_says_that_a_killed_server_does_not_answer() {
    let Some(browser) = Browser::start() else { return };
    let mut server = Server::start(&[]);
    open(&browser, &server);
    begin_hard(&browser);
    server.child.kill().expect("it runs");
    browser.wait("return costarSolver.state().phase === 'failed'");
    let phase = browser.run("return document.querySelector('#phase').textContent");
    assert!(phase.as_str().is_some_and(|phase| phase.contains("the server does not answer")), "{phase}");
}

#[test]
fn settings_alone_mean_deferred_evaluation_where_the_model_has_a_policy() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    for (puzzle, settings, expected) in [
        ("cube3", "n=100", json!({ "n": 100, "deferred": true })),
        ("cube3:htm", "n=100", json!({ "n": 100, "deferred": true })),
        ("cube3:htm", "lambda=0.7", json!({ "lambda": 0.7, "deferred": true })),
        ("cube3:htm", "anytime=1", json!({ "search": "bwas", "anytime": true, "deferred": true })),
        ("cube3:htm", "n=100&search=bwas", json!({ "n": 100, "search": "bwas" })),
        ("cube3:htm", "n=100&estimate=heuristic+perimeter", json!({ "n": 100, "heuristic": "perimeter" })),
        ("cube3:htm", "n=100&estimate=model+cube3-htm", json!({ "n": 100, "model": "cube3-htm", "deferred": true })),
        ("cube3:htm", "", json!({})),
    ] {
        browser.visit("about:blank");
        browser.visit(&format!("http://127.0.0.1:{}/#puzzle={puzzle}&instance=R&{settings}", server.port));
        browser.wait(READY);
        let asked = browser.run(
            "const { fetch } = window;
             window.fetch = (path, options) => {
                 if (path === 'solve') window.asked = JSON.parse(options.body);
                 return fetch(path, options);
             };
             document.querySelector('#solve').click();
             const { puzzle, instance, ...rest } = window.asked; return rest",
        );
        assert_eq!(asked, expected, "{puzzle}, {settings}");
        browser.wait("return costarSolver.state().search !== null"); // it is not refused
    }
}

#[test]
fn an_answer_is_played_until_the_pages_cube_is_solved() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    browser.prefer("prefers-reduced-motion", "reduce");
    open(&browser, &server);
    browser.run("document.querySelector('#depth').value = 7; document.querySelector('#scramble').click()");
    browser.wait("return costarSolver.state().possible === true && costar.state().scramble === 7");
    assert_eq!(browser.run("return costar.state().solved"), false);
    assert_eq!(browser.run("return getComputedStyle(document.querySelector('#verdict')).display"), "none");
    browser.run("document.querySelector('#instance').focus()");
    browser.press(&['\u{e007}']);
    browser.wait("return costarSolver.state().phase === 'done'");
    browser.run("document.querySelector('#speed').value = '16'; document.querySelector('#play').click()");
    browser.wait("const state = costar.state(); return state.position === state.moves && !state.playing");
    let state = browser.run("return costar.state()");
    assert_eq!((&state["solved"], &state["verdict"]["agrees"]), (&true.into(), &true.into()), "{state}");
    assert_eq!(state["state"], Cube3.format(&CubeState::SOLVED));
    let verdict = browser.run("return document.querySelector('#verdict').textContent");
    assert!(verdict.as_str().is_some_and(|verdict| verdict.contains("✔ Solved")), "{verdict}");
    // No request went to another host.
    let own = format!("http://127.0.0.1:{}/", server.port);
    let requests = browser.requests();
    assert!(requests.iter().any(|address| address.ends_with("/solve")), "{requests:?}");
    assert!(requests.iter().all(|address| address.starts_with(&own) || address.starts_with("data:")), "{requests:?}");
    let foreign = "fetch('http://127.0.0.2:1/').then(() => done('came through'), () => done('refused'))";
    assert_eq!(browser.run_until_done(foreign), "refused");
    assert!(browser.console().iter().any(|line| line.contains("Content Security Policy")));
}

#[test]
fn a_stop_is_answered_at_once() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    open(&browser, &server);
    type_instance(&browser, HARD);
    browser.wait("return costarSolver.state().possible === true && costar.state().scramble === 30");
    // A search stopped while it loads shows no other text until the end.
    browser.run(
        "window.said = []; const phase = document.querySelector('#phase');
         new MutationObserver(() => {
             said.push(phase.textContent);
             if (phase.textContent.startsWith('Loading')) document.querySelector('#stop').click();
         }).observe(phase, { childList: true });
         document.querySelector('#solve').click()",
    );
    browser.wait("return ['done', 'failed'].includes(costarSolver.state().phase)");
    let said = browser.run("return said.filter((text, i) => text !== said[i - 1])");
    assert_eq!(
        said,
        json!(["Asking…", "Loading what is needed…", "Stopping…", "✘ Stopped before a solution was found"])
    );
}

#[test]
fn the_chart_of_a_beam_names_no_best_f() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    open(&browser, &server);
    browser.run(
        "window.drawnTexts = []; const fillText = CanvasRenderingContext2D.prototype.fillText;
         CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
             window.drawnTexts.push(String(text)); return fillText.call(this, text, ...rest) }",
    );
    type_instance(&browser, "R U2 F");
    browser.wait("return costarSolver.state().possible === true && costar.state().scramble === 4");
    browser.run("document.querySelector('#solve').click()");
    browser.wait("return costarSolver.state().phase === 'done'");
    assert_eq!(browser.run("return window.drawnTexts.length > 0"), true, "the chart is drawn");
    assert_eq!(browser.run("return window.drawnTexts.some((text) => text.includes('best f'))"), false);
}

#[test]
fn an_impossible_cube_is_refused_as_it_is_painted() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    browser.resize(1200, 1000);
    open(&browser, &server);
    browser.run("document.querySelector('#paint').open = true; document.querySelector('#net-solved').click()");
    browser.wait("return costarSolver.state().judgement === '✔ Solved already'");
    let paint = |facelet: u32, letter: &str| {
        browser.run(&format!(
            "document.querySelector('#palette [data-letter=\"{letter}\"]').click();
             document.querySelector('#net [data-facelet=\"{facelet}\"]').click()"
        ));
    };
    // One more green than there are.
    paint(8, "F");
    assert!(judgement(&browser).contains("10 facelets are F (green)"), "{}", judgement(&browser));
    assert_eq!(browser.run("return document.querySelector('#solve').disabled"), true);
    // The corner URF twisted in place: every piece exists, and only costar finds the fault.
    paint(8, "R");
    paint(9, "F");
    paint(20, "U");
    browser.wait("return costarSolver.state().judgement.includes('a corner is twisted in its place')");
    assert_eq!(browser.run("return document.querySelector('#solve').disabled"), true);
    // A piece that does not exist is found before all is painted; by keys.
    browser.run(
        "document.querySelector('#net-clear').click(); document.querySelector('#net [data-facelet=\"7\"]').focus()",
    );
    browser.press(&['u']);
    assert_eq!(judgement(&browser), "47 facelets are blank");
    // The next letter paints the next facelet; Backspace takes the last one back.
    let focused = || browser.run("return document.activeElement.dataset.facelet");
    assert_eq!(focused(), "8");
    browser.press(&['u']);
    assert_eq!((judgement(&browser), focused()), ("46 facelets are blank".into(), "9".into()));
    browser.press(&['\u{e003}']);
    assert_eq!((judgement(&browser), focused()), ("47 facelets are blank".into(), "8".into()));
    // From 8 to 7, and down to 19.
    browser.press(&['\u{e012}']);
    browser.press(&['\u{e015}']);
    browser.press(&['d']);
    assert!(
        judgement(&browser).contains("an edge reads UD (white, yellow), and there is no such piece"),
        "{}",
        judgement(&browser)
    );
    // A cube that is possible is solved.
    let facelets = Cube3.format(&Cube3.parse("R U").expect("a scramble"));
    for (facelet, letter) in (0..).zip(facelets.chars()) {
        paint(facelet, &letter.to_string());
    }
    browser.wait("return costarSolver.state().possible === true");
    browser.run("document.querySelector('#solve').click()");
    browser.wait("return costarSolver.state().phase === 'done'");
    assert_eq!(browser.run("return costarSolver.state().solutions[0].length"), 2);
    // A 4×4×4: one flipped wing is a piece that exists twice, and two beside each other are a parity of reduction.
    browser.run(
        "const list = document.querySelector('#puzzle'); list.value = 'cube4'; list.dispatchEvent(new Event('change'))",
    );
    browser.wait("return document.querySelectorAll('#net [data-facelet]').length === 96");
    browser.run("document.querySelector('#net-solved').click()");
    browser.wait("return costarSolver.state().judgement.includes('Solved already')");
    for (facelet, letter) in [(13, "F"), (33, "U")] {
        paint(facelet, letter);
    }
    browser.wait("return costarSolver.state().judgement.includes('there too often')");
    for (facelet, letter) in [(14, "F"), (34, "U")] {
        paint(facelet, letter);
    }
    browser.wait("return costarSolver.state().possible === true");
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn the_page_fits_a_phone_and_every_puzzle() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    // One that the list does not have.
    browser.visit(&format!("http://127.0.0.1:{}/#puzzle=cube11&instance=R", server.port));
    browser.wait(READY);
    for puzzle in
        ["cube11", "cube3", "cube2", "cube4", "cube7", "puzzle15", "lightsout7", "sokoban", "jugs:8,5,3", "megaminx"]
    {
        browser.run(&format!(
            "const list = document.querySelector('#puzzle'); list.value = '{puzzle}';
             list.dispatchEvent(new Event('change')); document.querySelector('#paint').open = true;
             document.querySelector('#arrange').open = true;
             document.querySelector('#options').open = true"
        ));
        browser.wait("return costarSolver.state().judgement.length > 3");
        for width in [320, 390, 800, 1280] {
            browser.resize(width, 800);
            let widths = browser.run("return [document.documentElement.scrollWidth, innerWidth]");
            assert!(widths[0].as_u64() <= widths[1].as_u64(), "{puzzle} at {width}: {widths}");
            assert_eq!(widths[1], width, "{puzzle}: a phone shows a page that is too wide smaller");
        }
    }
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn boards_are_set_up_by_clicking() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    open(&browser, &server);
    let choose = |puzzle: &str, instance: &str| {
        browser.run(&format!(
            "location.hash = new URLSearchParams({{ puzzle: '{puzzle}', instance: '{instance}' }}).toString()"
        ));
        browser.wait(&format!(
            "return document.querySelector('#puzzle').value === '{puzzle}' && costarSolver.state().possible === true
             && document.querySelector('#instance').value === '{instance}'"
        ));
        browser.run("document.querySelector('#arrange').open = true");
    };
    let click =
        |cell: usize| browser.run(&format!("document.querySelectorAll('#arrange-board button')[{cell}].click()"));
    let instance = || browser.run("return document.querySelector('#instance').value");
    let hidden = |id: &str| browser.run(&format!("return document.getElementById('{id}').hidden"));
    assert_eq!(
        (hidden("arrange"), hidden("goal-label"), hidden("level-label")),
        (true.into(), true.into(), true.into())
    );
    choose("puzzle8", "1 2 3 4 5 6 7 8 0");
    click(7);
    assert_eq!(instance(), "1 2 3 4 5 6 7 8 0", "one tile is chosen");
    click(8);
    assert_eq!(instance(), "1 2 3 4 5 6 7 0 8");
    browser.wait("return costarSolver.state().possible === true && costar.state().state === '1 2 3 4 5 6 7 0 8'");
    click(0);
    click(1);
    browser.wait("return costarSolver.state().judgement.includes('parity')");
    // With both tiles exchanged in the goal, it is possible again.
    browser.run(
        "const goal = document.querySelector('#goal'); goal.value = '2 1 3 4 5 6 7 8 0'; goal.dispatchEvent(new Event('input'))",
    );
    browser.wait("return costarSolver.state().possible === true");
    browser.run("document.querySelector('#solve').click()");
    browser.wait("return costarSolver.state().phase === 'done'");
    assert_eq!(browser.run("return costarSolver.state().solutions.at(-1).length"), 1);
    assert_eq!(browser.run("return location.hash.includes('goal=2+1+3')"), true);
    choose("lightsout7", &"0".repeat(49));
    click(4);
    click(0);
    click(4);
    assert_eq!(instance(), format!("1{}", "0".repeat(48)));
    browser.run("document.querySelectorAll('#arrange-board button')[4].focus()");
    browser.press(&['\u{e014}']); // the right arrow
    assert_eq!(
        browser.run("return document.activeElement.getAttribute('aria-label')"),
        "row 1, column 6: off",
        "arrows go from cell to cell"
    );
    choose("jugs:8,5,3", "8,0,0");
    browser.run(
        "const jug = document.querySelectorAll('#arrange-board input')[1]; jug.value = 2; jug.dispatchEvent(new Event('input'))",
    );
    assert_eq!(instance(), "8,2,0");
    browser.wait("return costarSolver.state().possible === true");
    browser.run(
        "const list = document.querySelector('#puzzle'); list.value = 'sokoban'; list.dispatchEvent(new Event('change'))",
    );
    assert_eq!(
        (hidden("arrange"), hidden("goal-label"), hidden("level-label")),
        (true.into(), true.into(), false.into())
    );
    // A random level, although moves cannot be undone.
    let level = instance();
    browser.run("document.querySelector('#scramble').click()");
    browser.wait(&format!(
        "return document.querySelector('#instance').value !== {level} && costarSolver.state().possible === true"
    ));
    let levels = browser.run("return document.querySelectorAll('#level option').length").as_u64().expect("a count");
    assert!(levels > 2);
    for level in 0..levels {
        browser.run(&format!(
            "const list = document.querySelector('#level'); list.value = {level}; list.dispatchEvent(new Event('change'))"
        ));
        browser.wait("return costarSolver.state().possible === true && costarSolver.state().phase === 'idle'");
        browser.run("document.querySelector('#solve').click()");
        browser.wait("return costarSolver.state().phase === 'done' && costarSolver.state().solutions.length > 0");
    }
    assert_eq!(browser.console(), Vec::<String>::new());
}
