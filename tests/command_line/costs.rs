//! `--move-costs`.

use crate::program::{json, model, refused, run};

#[test]
fn moves_cost_what_the_user_says() {
    let solve = |more: &[&str]| {
        let words =
            [&["solve", "--puzzle", "cube3:htm", "--move-costs", "U=0.4,U2=1.5,B=2", "--json"][..], more].concat();
        json(&run(&words).out)
    };
    let solved = solve(&["U2 R"]);
    assert_eq!((&solved["search"], &solved["cost"], &solved["length"]), (&"nbs".into(), &1.8.into(), &3.into()));
    assert_eq!(solved["proven_optimal"], true, "{solved}");
    for search in ["astar", "idastar"] {
        assert_eq!(solve(&["--search", search, "U2 R"])["cost"], 1.8, "{search}");
    }
    // Batches of ten do not guarantee the optimum.
    let batches = solve(&["--n", "10", "--lambda", "1", "U2 R"]);
    assert_eq!(batches["search"], "bwas");
    assert!([1.8, 2.5].contains(&batches["cost"].as_f64().expect("a cost")), "{batches}");
    assert_eq!(solve(&["R"])["cost"].to_string(), "1", "a whole number is one");
    let ran = run(&["solve", "--move-costs", "R=1.5", "R"]);
    assert!(ran.out.contains("cost 1.5, 1 quarter turn"), "{}", ran.out);
    for (words, named) in [
        (&["--heuristic", "network", "R"][..], "trained"),
        (&["--model", model(), "R"], "trained"),
        (&["--prove", "R"], "perimeter"),
        (&["--search", "bidirectional", "--perimeter", "3", "R"], "counts moves"),
        (&["--search", "nbs", "--perimeter", "3", "R"], "counts moves"),
        (&["--search", "beam", "--heuristic", "zero", "--symmetries", "4", "R"], "other costs"),
        (&["--search", "beam", "--perimeter", "3", "--heuristic", "zero", "R"], "counts moves"),
        (&["--puzzle", "puzzle8", "1 2 3 4 5 6 7 0 8"], "cube3"),
    ] {
        let message = refused(&[&["solve", "--move-costs", "R=1.5"], words].concat());
        assert!(message.contains("--move-costs") && message.contains(named), "{words:?}: {message}");
    }
    let message = refused(&["solve", "--puzzle", "cube3", "--move-costs", "U2=1.5", "R"]);
    assert!(message.contains("no such move") && message.contains("cube3:htm"), "{message}");
    let by_default = json(&run(&["solve", "--move-costs", "U2=1.5,B=2", "--json", "B U2"]).out);
    assert_eq!((&by_default["puzzle"], &by_default["cost"]), (&"cube3:htm".into(), &3.5.into()), "{by_default}");
    // Explanations use the user's costs.
    let explained = json(&run(&["solve", "--move-costs", "U=1.5", "--explain", "--json", "B U"]).out);
    let costs: Vec<&serde_json::Value> = (0..3).map(|step| &explained["steps"][step]["g"]).collect();
    assert_eq!((costs, &explained["cost"]), (vec![&0.into(), &1.5.into(), &2.5.into()], &2.5.into()), "{explained}");
    // Where a half turn costs 3, two quarter turns are cheaper, and longer.
    for words in [["U=1.5", "B U"], ["U2=3", "U2"]] {
        let ran = run(&["solve", "--search", "astar", "--move-costs", words[0], words[1]]);
        assert!(ran.out.contains("no solution is cheaper"), "{}", ran.out);
    }
    let ran = run(&["solve", "--search", "bfs", "--move-costs", "U2=5", "U U"]);
    assert!(ran.out.contains("the inverse scramble"), "{}", ran.out);
    // Walking is free where pushes are counted, so a cheapest solution may not be a shortest one.
    let level = "#######|#  .  #|# $   #|#  @  #|#######";
    let ran = run(&["solve", "--puzzle", "sokoban:pushes", "--heuristic", "matching", level]);
    let last = ran.out.lines().last().expect("a line");
    assert!(last.starts_with("cost 2, ") && last.contains("moves (no solution is cheaper)"), "{last}");
    let ran = run(&["compare", "--move-costs", "U=1.5", "--max-seconds", "0.2", "B U"]);
    let heading = ran.out.lines().next().expect("a heading");
    assert!(heading.contains("cost") && !heading.contains("length"), "{}", ran.out);
}
