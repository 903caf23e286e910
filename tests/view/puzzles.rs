//! Every puzzle on the page.

use super::*;

#[test]
fn every_puzzle_plays() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    let pyraminx = concat!(env!("CARGO_MANIFEST_DIR"), "/test-data/puzzles/pyraminx.json");
    for (puzzle, instance, kind, independent) in [
        ("cube2", "L U R' D' B", "cube", true),
        ("cube2", &Cube2.format(&Cube2.parse("R U' F R").expect("a scramble")), "cube", true),
        ("puzzle8", "8 0 6 5 4 7 2 3 1", "tiles", true),
        ("puzzle24", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 0 21 22 23 24", "tiles", true),
        ("lightsout3", "100011010", "lights", true),
        ("jugs:8,5,3", "8,0,0", "jugs", true),
        ("sokoban", "#######|#@ $ .#|# $ *.#|#     #|#######", "sokoban", true),
        (pyraminx, "U L' R b", "row", false),
        ("cube4", "x 2R U Fw' 3Lw2", "cube", true),
        ("cube4:oriented", "f0.-r2.d1", "cube", true),
        ("cube5:obtm", "3Rw U' Lw2", "cube", true),
        ("cube7", "3R M U'", "cube", true),
    ] {
        let ran = costar(&["solve", "--puzzle", puzzle, "--view", text(&page), "--json", instance]);
        assert_eq!(ran.code, 0, "{puzzle}: {}", ran.err);
        let report: Value = serde_json::from_str(&ran.out).expect("JSON");
        browser.open(&page);
        let begin = state(&browser);
        let length = begin["moves"].as_u64().unwrap_or(0) - begin["scramble"].as_u64().unwrap_or(0);
        assert_eq!(report["length"], length, "{puzzle}");
        assert_eq!(browser.run("return document.body.dataset.kind"), kind, "{puzzle}");
        let end = play_to_the_end(&browser);
        let said = &end["verdict"];
        assert_eq!(
            (&end["solved"], &said["solved"], &said["agrees"]),
            (&true.into(), &true.into(), &true.into()),
            "{end}"
        );
        assert_eq!(said["independent"], independent, "{puzzle}");
        assert!(verdict(&browser).contains("✔ Solved"), "{}", verdict(&browser));
        let label = browser.run("return document.querySelector('#board').getAttribute('aria-label')");
        assert!(label.as_str().is_some_and(|label| label.len() > 10), "{label}");
    }
    // A puzzle without a picture of its own.
    browser.run(
        r"costar.load({ puzzle: 'other', instance: '', moves: ['go'], scramble: 0, goals: [], solves: true,
            pictures: ['ab\ncd', 'ef\ngh'].map((text) => ({ kind: 'text', text })) })",
    );
    let end = play_to_the_end(&browser);
    assert_eq!((&end["position"], &end["solved"]), (&1.into(), &true.into()), "{end}");
    assert_eq!(browser.run("return document.querySelector('#text').textContent"), "ef\ngh");
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn a_solid_from_a_file_turns_as_its_moves_say() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = place();
    browser.resize(900, 700);
    let file = |name: &str| format!("{}/test-data/puzzles/{name}.json", env!("CARGO_MANIFEST_DIR"));
    for (name, solution, degrees) in [
        ("pyraminx", "U l' R b'", [-120.0, 120.0, -120.0, 120.0].as_slice()),
        ("skewb", "R U' L B'", &[-120.0, 120.0, -120.0, 120.0]),
        ("cuboid223", "U D' F2 R2", &[-90.0, 90.0, 180.0, 180.0]),
    ] {
        let scramble = solution.split(' ').rev().map(|word| match word {
            half if half.ends_with('2') => half.to_owned(),
            back if back.ends_with('\'') => back.trim_end_matches('\'').to_owned(),
            on => format!("{on}'"),
        });
        let scramble: Vec<String> = scramble.collect();
        open(&browser, &page, &["--puzzle", &file(name), &scramble.join(" "), solution]);
        for (word, &degrees) in solution.split(' ').zip(degrees) {
            let turn = browser.run(&format!("return costar.turn({word:?})"));
            let turned = turn["degrees"].as_f64().unwrap_or_else(|| panic!("{name} {word}: {turn}"));
            // Seen from outside, whichever end the axis has.
            let side = turn["side"].as_f64().expect("a side");
            let same = (turned * side - degrees).abs() < 0.1 || (degrees == 180.0 && turned.abs() > 179.9);
            assert!(same, "{name} {word}: {turn}");
        }
        let picture = || {
            browser.run_until_done(
                "requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelector('#board').toDataURL())))",
            )
        };
        let first = picture();
        browser.drag("mouse", (250, 350), (-60, 20));
        assert_ne!(picture(), first, "{name} is seen from another side");
        assert_eq!(play_to_the_end(&browser)["solved"], true);
    }
    let moves = [("M_U", 72.0), ("M_R_inv", -72.0), ("M_DL", 72.0)];
    open(&browser, &page, &["--puzzle", "megaminx", "M_DL_inv M_R M_U_inv", "M_U M_R_inv M_DL"]);
    for (word, degrees) in moves {
        let turn = browser.run(&format!("return costar.turn({word:?})"));
        let turned = turn["degrees"].as_f64().zip(turn["side"].as_f64()).map(|(degrees, side)| degrees * side);
        assert!(turned.is_some_and(|turned| (turned - degrees).abs() < 0.1), "megaminx {word}: {turn}");
    }
    assert_eq!(play_to_the_end(&browser)["solved"], true);
    // The middles of its faces, which have no stickers, are coloured: without them, 28 % of the solid are dark.
    let dark = browser.run_until_done(
        "requestAnimationFrame(() => requestAnimationFrame(() => {
            const { width, height } = document.querySelector('#board');
            const { data } = document.querySelector('#board').getContext('2d').getImageData(0, 0, width, height);
            const drawn = Array.from({ length: width * height }, (_, i) => data.slice(4 * i, 4 * i + 4))
                .filter(([, , , opacity]) => opacity > 250);
            done(drawn.filter(([red, green, blue]) => Math.max(red, green, blue) < 60).length / drawn.length);
        }))",
    );
    assert!(dark.as_f64().is_some_and(|share| share < 0.2), "{dark}");
    // A permutation that is not a rotation: the stickers turn over.
    browser.run(
        r"costar.load({ puzzle: 'cube4:htm', instance: '', moves: ['go'], scramble: 0, goals: [], solves: true,
            pictures: ['abc', 'bca'].map((text) => ({ kind: 'row', symbols: [...text] })),
            geometry: { faces: [], moves: [{ name: 'go', from: [1, 2, 0] }], polygons: [
                [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 5], [2, 0, 5], [0, 2, 5]], [[5, 0, 0], [5, 1, 0], [5, 0, 9]]] } })",
    );
    assert_eq!(browser.run("return costar.turn('go')"), Value::Null);
    assert_eq!(browser.run("return document.querySelector('#title').textContent"), "cube4:htm", "no cube");
    assert_eq!(play_to_the_end(&browser)["solved"], true);
    // Flat: tokens in a ring, and blocks for a file with faces only.
    let ran = open(&browser, &page, &["--puzzle", &file("topspin20"), "L X R", "L X R"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(play_to_the_end(&browser)["solved"], true);
    assert_eq!(browser.run("return document.body.dataset.solid"), "false");
    let label = browser.run("return document.querySelector('#board').getAttribute('aria-label')");
    assert!(label.as_str().is_some_and(|label| label.contains("turntable: 0 1 2 3;")), "{label}");
    let folder = tempfile::tempdir().expect("a folder");
    let toy = folder.path().join("toy.json");
    let rules = r#"{ "name": "toy", "goal": "ABC", "symmetric": true, "moves": { "m": [1, 2, 0] }, "faces": { "left": [0, 1], "right": [2] } }"#;
    std::fs::write(&toy, rules).expect("a puzzle");
    open(&browser, &page, &["--puzzle", text(&toy), "m", "m'"]);
    assert_eq!(play_to_the_end(&browser)["solved"], true);
    assert_eq!(browser.console(), Vec::<String>::new());
}
