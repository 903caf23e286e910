//! The address of the page holds the form; in a browser.

use crate::browser::Browser;
use crate::page::{READY, judgement, open, type_instance};
use crate::{HARD, Server};
use serde_json::json;

/// Opens an address of the page in a new document.
fn visit(browser: &Browser, server: &Server, fragment: &str) {
    browser.visit("about:blank");
    browser.visit(&format!("http://127.0.0.1:{}/{fragment}", server.port));
}

/// Reloads the page, and waits until a script returns true.
fn reload(browser: &Browser, script: &str) {
    browser.run("window.isOld = true; location.reload()");
    browser.wait("return window.isOld === undefined");
    browser.wait_until_drawn();
    browser.wait(script);
}

#[test]
fn the_address_holds_the_form_and_an_answer_goes_with_its_instance() {
    let Some(browser) = Browser::start() else { return };
    let mut server = Server::start(&[]);
    let page = format!("http://127.0.0.1:{}/", server.port);
    let board = "1 2 3 4 0 6 7 5 8";
    browser.visit(&format!("{page}#puzzle=puzzle8&instance={}&search=astar&seconds=20", board.replace(' ', "+")));
    let ready = "return window.costarSolver !== undefined && costarSolver.state().possible === true";
    browser.wait(ready);
    let form = "return ['puzzle', 'instance', 'search', 'seconds', 'n'].map((id) => document.getElementById(id).value)";
    let expected = json!(["puzzle8", board, "astar", "20", ""]);
    assert_eq!(browser.run(form), expected);
    browser.run("document.querySelector('#solve').click()");
    browser.wait("return costarSolver.state().phase === 'done'");
    let text = |id: &str| {
        let said = browser.run(&format!("return document.getElementById('{id}').textContent"));
        said.as_str().expect("text").to_owned()
    };
    assert!(text("phase").contains("2 moves") && text("phase").contains("proven"), "{}", text("phase"));
    assert_eq!(text("chosen"), "A*, led by linear-conflict");
    // The answer goes with its instance; settings and instance are in the address, before and after a refresh.
    type_instance(&browser, "1 2 3 4 5 6 0 7 8");
    browser.wait("return costarSolver.state().phase === 'idle' && document.querySelector('#watch').hidden");
    browser.wait("return location.hash.includes('5+6+0+7+8')");
    browser.run("document.querySelector('#search').value = ''; document.querySelector('#n').value = '64'");
    browser.run("document.querySelector('#n').dispatchEvent(new Event('change'))");
    browser.run("location.reload()");
    browser.wait(ready);
    assert_eq!(browser.run(form), json!(["puzzle8", "1 2 3 4 5 6 0 7 8", "", "20", "64"]));
    browser.run("document.querySelector('#solve').click()");
    browser.wait("return costarSolver.state().phase === 'done'");
    assert!(text("chosen").starts_with("Auto chose "), "{}", text("chosen"));
    browser.run("history.back()");
    browser.wait("return document.querySelector('#search')?.value === 'astar'");
    browser.wait_until_drawn();
    server.signal("-INT");
    server.child.wait().expect("it ends");
    type_instance(&browser, board);
    browser.wait("return costarSolver.state().judgement.includes('the server does not answer')");
}

#[test]
fn an_answer_goes_as_soon_as_what_is_asked_changes() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    browser.prefer("prefers-reduced-motion", "reduce");
    for refused in ["R Q".to_owned(), "U".repeat(53)] {
        visit(&browser, &server, "#puzzle=cube3&instance=R+U2+F");
        browser.wait(READY);
        browser.run("document.querySelector('#solve').click()");
        browser.wait("return costarSolver.state().phase === 'done' && costar.state().moves === 8");
        let shown = "[costarSolver.state().phase, document.querySelector('#watch').hidden,
             getComputedStyle(document.querySelector('#verdict')).display, costar.state().moves]";
        assert_eq!(browser.run(&format!("return {shown}"))[1], false);
        // At once, and when it is refused; the four moves of the instance stay in the player.
        let none = json!(["idle", true, "none", 4]);
        let change = format!(
            "const field = document.querySelector('#instance'); field.value = '{refused}';
             field.dispatchEvent(new Event('input')); return {shown}"
        );
        assert_eq!(browser.run(&change), none, "{refused}");
        browser.wait("return costarSolver.state().possible === false");
        assert_eq!(browser.run(&format!("return {shown}")), none, "{refused}");
    }
}

#[test]
fn a_search_ends_as_soon_as_what_is_asked_changes() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    browser.prefer("prefers-reduced-motion", "reduce");
    let shown = || {
        browser.run(
            "return [costarSolver.state().phase, document.querySelector('#watch').hidden,
             document.querySelector('#stop').disabled, costar.state().scramble, costar.state().moves]",
        )
    };
    let none = json!(["idle", true, true, 2, 2]);
    let is_next = "return costarSolver.state().possible === true && costar.state().scramble === 2";
    // Before the solution arrives.
    visit(&browser, &server, "#puzzle=cube3&instance=R+U2+F");
    browser.wait(READY);
    browser.run(
        "document.querySelector('#solve').click(); const field = document.querySelector('#instance');
         field.value = 'R U'; field.dispatchEvent(new Event('input'))",
    );
    browser.wait(is_next);
    server.wait_for(0, 0);
    assert_eq!(shown(), none);
    // With a solution on show, during the search for shorter ones.
    visit(&browser, &server, "#puzzle=cube3&instance=R+U+F'+L+D+B'+U+R'+F+L'+D'+B+R&n=500&anytime=1");
    browser.wait(READY);
    browser.run("document.querySelector('#solve').click()");
    browser.wait("return costarSolver.state().solutions.length > 0 && costar.state().moves > 13");
    type_instance(&browser, "R U");
    browser.wait(is_next);
    server.wait_for(0, 0);
    assert_eq!(shown(), none);
    // Another puzzle.
    browser.run(
        "document.querySelector('#solve').click(); const list = document.querySelector('#puzzle');
         list.value = 'puzzle8'; list.dispatchEvent(new Event('change'))",
    );
    browser.wait("return costarSolver.state().possible === true && costar.state().puzzle === 'puzzle8'");
    assert_eq!(shown()[0], "idle");
    // Changed settings do not end a search, and the text about it names the settings of the request.
    visit(&browser, &server, "#puzzle=puzzle8&instance=1+2+3+4+0+6+7+5+8&n=64");
    browser.wait(READY);
    browser.run("document.querySelector('#solve').click(); document.querySelector('#search').value = 'astar'");
    browser.wait("return costarSolver.state().phase === 'done'");
    let chosen = browser.run("return document.querySelector('#chosen').textContent");
    assert!(chosen.as_str().is_some_and(|chosen| chosen.starts_with("Auto chose ")), "{chosen}");
}

#[test]
fn a_level_keeps_the_space_before_its_first_row() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    visit(&browser, &server, "#puzzle=sokoban");
    browser.wait(READY);
    let level = json!("  ####\n###  #\n#@$ .#\n######");
    browser.run(&format!(
        "const field = document.querySelector('#instance'); field.value = '\\n \\n' + {level} + '  \\n\\n';
         field.dispatchEvent(new Event('input'))"
    ));
    browser.wait(&format!(
        "return new URLSearchParams(location.hash.slice(1)).get('instance') === {level}
             && costarSolver.state().possible === true && costar.state().state === {level}"
    ));
    browser.run("document.querySelector('#solve').click()");
    browser.wait("return costarSolver.state().phase === 'done'");
    assert_eq!(browser.run("return costarSolver.state().solutions.at(-1).moves"), json!(["R", "R"]));
    reload(&browser, READY);
    assert_eq!(browser.run("return document.querySelector('#instance').value"), level);
}

#[test]
fn the_address_holds_how_many_moves_a_scramble_has() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    visit(&browser, &server, "#puzzle=cube3&depth=5");
    browser.wait(READY);
    assert_eq!(browser.run("return costar.state().scramble"), 5);
    browser.run(
        "const field = document.querySelector('#depth'); field.value = '9'; field.dispatchEvent(new Event('change'));
         document.querySelector('#scramble').click()",
    );
    browser.wait("return costarSolver.state().possible === true && costar.state().scramble === 9");
    assert_eq!(browser.run("return new URLSearchParams(location.hash.slice(1)).get('depth')"), "9");
    reload(&browser, READY);
    let form = "[document.querySelector('#depth').value, costar.state().scramble].join()";
    assert_eq!(browser.run(&format!("return {form}")), "9,9");
    browser.run("history.go(-2)");
    browser.wait(&format!("return {form} === '5,5'"));
}

#[test]
fn back_and_forward_bring_the_page_to_what_the_address_says() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    open(&browser, &server);
    let instance = || browser.run("return document.querySelector('#instance').value");
    let first = instance();
    assert_eq!(browser.run("return new URLSearchParams(location.hash.slice(1)).get('instance')"), first);
    type_instance(&browser, "R U");
    browser.wait("return location.hash.includes('instance=R+U') && costar.state().scramble === 2");
    browser.run(
        "const list = document.querySelector('#puzzle'); list.value = 'puzzle8'; list.dispatchEvent(new Event('change'))",
    );
    browser.wait("return costar.state().puzzle === 'puzzle8' && costarSolver.state().possible === true");
    let last = instance();
    for (step, expected) in [
        ("back()", json!(["cube3", "R U"])),
        ("back()", json!(["cube3", first])),
        ("forward()", json!(["cube3", "R U"])),
        ("forward()", json!(["puzzle8", last])),
        ("go(-2)", json!(["cube3", first])),
    ] {
        browser.run(&format!("history.{step}"));
        browser.wait(&format!(
            "return JSON.stringify(['puzzle', 'instance'].map((id) => document.getElementById(id).value))
                 === JSON.stringify({expected})
             && costarSolver.state().possible === true && costar.state().puzzle === {}",
            expected[0]
        ));
    }
    reload(&browser, READY);
    assert_eq!(instance(), first, "a refresh gives the same scramble");
    // Back ends a search.
    type_instance(&browser, HARD);
    browser.wait("return costarSolver.state().possible === true && costar.state().scramble === 30");
    browser.run(
        "document.querySelector('#search').value = 'bwas'; document.querySelector('#n').value = '100';
         document.querySelector('#lambda').value = '1'; document.querySelector('#solve').click()",
    );
    server.wait_for(1, 0);
    browser.run("history.go(-2)");
    browser.wait("return costarSolver.state().phase === 'idle' && costarSolver.state().possible === true");
    assert_eq!(instance(), first);
    server.wait_for(0, 0);
}

#[test]
fn a_link_to_a_puzzle_alone_begins_with_something_to_solve() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    for (puzzle, is_set_up) in [
        ("lightsout7", true),
        ("puzzle15", true),
        ("jugs:8,5,3", true),
        ("sokoban", false),
        ("cube2", false),
        ("cube4:reduction", false),
        ("cube5:centres", false),
        ("cube5:edges", false),
    ] {
        visit(&browser, &server, &format!("#puzzle={puzzle}&n=77"));
        browser.wait(READY);
        let shown = browser.run(
            "return [costar.state().puzzle, document.querySelector('#n').value,
             !document.querySelector('#arrange').hidden, location.hash.includes('instance='),
             !document.querySelector('#paint').hidden, document.querySelector('#hint').textContent === '']",
        );
        let is_cube = puzzle == "cube2";
        assert_eq!(shown, json!([puzzle, "77", is_set_up, true, is_cube, is_cube]));
    }
    // One that the list does not have.
    visit(&browser, &server, "#puzzle=cube4:obtm&instance=3Rw");
    browser.wait(READY);
    assert_eq!(
        browser.run("return [costar.state().puzzle, document.querySelector('#notice').textContent]"),
        json!(["cube4:obtm", ""])
    );
    visit(&browser, &server, "#puzzle=lightsout7");
    browser.wait(READY);
    let lights = || browser.run("return costar.state().state").as_str().expect("text").to_owned();
    let before = lights();
    browser.run("document.querySelectorAll('#arrange-board button')[4].click()");
    let turned: Vec<usize> =
        (0..).zip(before.chars().zip(lights().chars())).filter(|(_, (a, b))| a != b).map(|(i, _)| i).collect();
    assert_eq!(turned, [4]);
}

#[test]
fn a_missing_puzzle_is_named() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    let notice = || browser.run("return document.querySelector('#notice').textContent");
    visit(&browser, &server, "#puzzle=gigaminx&instance=R");
    browser.wait(READY);
    assert_eq!(notice(), "There is no puzzle “gigaminx” here: a random cube3 was taken instead.");
    assert_eq!(browser.run("return location.hash.startsWith('#puzzle=cube3&instance=')"), true);
    // Also in an open page; the notice goes with the next change.
    browser.run("location.hash = 'puzzle=cube99'");
    browser.wait("return document.querySelector('#notice').textContent.includes('cube99')");
    type_instance(&browser, "R");
    assert_eq!(notice(), "");
}

#[test]
fn a_puzzle_from_a_file_has_its_own_name() {
    let Some(browser) = Browser::start() else { return };
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/test-data/puzzles/cube3-quarter-turns.json");
    let server = Server::start(&["--puzzle", file]);
    open(&browser, &server);
    let last =
        browser.run("const { value, text } = document.querySelector('#puzzle').lastElementChild; return [value, text]");
    assert_eq!(last, json!([file, "cube3-file"]));
}

#[test]
fn a_cube_that_is_painted_in_part_survives_a_refresh() {
    let Some(browser) = Browser::start() else { return };
    let server = Server::start(&[]);
    visit(&browser, &server, "#puzzle=cube3&instance=R");
    browser.wait(READY);
    let form = || browser.run("return [document.querySelector('#instance').value, costar.state().state]");
    browser.run(
        "document.querySelector('#net-clear').click(); document.querySelector('#palette [data-letter=\"F\"]').click();
         document.querySelector('#net [data-facelet=\"3\"]').click()",
    );
    assert_eq!(judgement(&browser), "47 facelets are blank");
    browser.wait("return location.hash.includes('instance=...FU...')");
    let painted = form();
    reload(&browser, "return window.costarSolver?.state().judgement === '47 facelets are blank'");
    assert_eq!(form(), painted);
    // Painting goes on from there.
    browser.run(
        "document.querySelector('#palette [data-letter=\"U\"]').click();
         document.querySelector('#net [data-facelet=\"5\"]').click()",
    );
    assert_eq!(judgement(&browser), "46 facelets are blank");
    // Dots between moves are not blank facelets.
    visit(&browser, &server, &format!("#puzzle=cube3&instance={}", "R·U·".repeat(6)));
    browser.wait("return window.costarSolver?.state().judgement === '✔ Possible: 12 moves'");
    assert_eq!(browser.console(), Vec::<String>::new());
}
