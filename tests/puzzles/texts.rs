//! Instances, moves and solutions as people and programs write them.

use costar::puzzle::cube_n::{CubeN, Metric};
use costar::puzzle::cube2::Cube2;
use costar::puzzle::cube3::{Cube3, Cube3HalfTurns};
use costar::puzzle::jugs::Jugs;
use costar::puzzle::lightsout::LightsOut;
use costar::puzzle::permutation::{Description, Permutation};
use costar::puzzle::tiles::{Puzzle8, Puzzle15};
use costar::puzzle::{Block, Notation, Puzzle, Rules as _, move_names, replay};
use costar::random::{below, generator};

fn state<P: Puzzle>(puzzle: &P, text: &str) -> P::State {
    puzzle.parse(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

fn refusal<P: Puzzle>(puzzle: &P, text: &str) -> String {
    puzzle.parse(text).expect_err(text).to_string()
}

/// A text of random turns, of all faces and of the whole cube, and the text that undoes it.
fn turns_and_back(seed: u64) -> (String, String) {
    const NAMES: [&str; 9] = ["U", "R", "F", "D", "L", "B", "x", "y", "z"];
    let mut generator = generator(45, seed);
    let turns: Vec<(&str, bool)> =
        (0..12).map(|_| (NAMES[below(&mut generator, 9)], below(&mut generator, 2) == 0)).collect();
    let word = |name: &str, is_back| format!("{name}{}", if is_back { "'" } else { "" });
    let forth: Vec<String> = turns.iter().map(|&(name, is_back)| word(name, is_back)).collect();
    let back: Vec<String> = turns.iter().rev().map(|&(name, is_back)| word(name, !is_back)).collect();
    (forth.join(" "), back.join(" "))
}

#[test]
fn a_solution_follows_its_scramble_on_the_cube_in_the_hand() {
    fn check<P: Puzzle>(puzzle: &P) {
        for seed in 0..200 {
            let (scramble, back) = turns_and_back(seed);
            let start = state(puzzle, &scramble);
            let moves = puzzle.parse_solution(&scramble, &back).expect("turns");
            let (end, _) = replay(puzzle, &start, &moves).expect("legal turns");
            assert!(puzzle.is_goal(&end), "{}: {scramble}, then {back}", puzzle.name());
            let named = move_names(puzzle, &puzzle.in_hand(&scramble, &moves)).join(" ");
            assert_eq!(puzzle.parse_solution(&scramble, &named), Ok(moves), "{scramble}: {named}");
        }
    }
    check(&Cube2);
    check(&Cube3);
    check(&Cube3HalfTurns);
    // Facelets are solved as they are held.
    let facelets = Cube2.format(&state(&Cube2, "R U'"));
    let moves = Cube2.parse_solution(&facelets, "U R'").expect("turns");
    assert!(replay(&Cube2, &state(&Cube2, &facelets), &moves).is_ok_and(|(end, _)| Cube2.is_goal(&end)));
}

/// The facelets of a cube with its faces in another order.
fn in_order(facelets: &str, order: &str) -> String {
    let each = facelets.len() / 6;
    let face = |letter| "URFDLB".find(letter).expect("a face");
    order.chars().map(|letter| &facelets[each * face(letter)..][..each]).collect()
}

/// Other letters for the colours of the faces U R F D L B.
fn painted(facelets: &str, colours: [&str; 6]) -> String {
    facelets.chars().map(|letter| colours["URFDLB".find(letter).expect("a face")]).collect()
}

const COLOURS: [&str; 6] = ["w", "r", "g", "y", "o", "b"];

#[test]
fn the_order_of_faces_is_told_by_letters_of_faces_or_refused() {
    let example = "LBDBUDDRRFLRRLRLBRFDBFFUFURULLLRFBDLBRDLBUBFFUBDDDFUUU";
    assert_eq!(Cube3.read_as(example).as_deref(), Some("the faces in the order U L F R B D"));
    assert!(Cube3.parse(example).is_ok());
    for (scramble, order) in [("R U2 F' L D B2", "ULFRBD"), ("F R U' B2", "FRBLUD"), ("L2 D' B U R", "UFRBLD")] {
        let cube = state(&Cube3, scramble);
        let facelets = Cube3.format(&cube);
        assert_eq!(Cube3.read_as(&facelets), None);
        assert_eq!(Cube3.parse(&in_order(&facelets, order)), Ok(cube), "{scramble} {order}");
        let refused = refusal(&Cube3, &painted(&in_order(&facelets, order), COLOURS));
        let spaced: String = order.chars().map(String::from).collect::<Vec<_>>().join(" ");
        assert!(refused.contains("order U R F D L B") && refused.contains(&spaced), "{refused}");
    }
    // Many orders make the solved cube one that is turned as a whole.
    let solved = |order: &str| order.chars().map(|face| face.to_string().repeat(16)).collect::<String>();
    let oriented = Permutation::<128>::new(Description::of_cube(CubeN::new(4, Metric::Oriented)));
    assert!(refusal(&oriented, &solved("DUFBLR")).contains("in the order D U F B L R they are a cube"));
    // Facelets that are not a cube in any order.
    let damaged = "RUUUUUUUUURRRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB";
    assert!(refusal(&Cube3, damaged).contains("expected in the order U R F D L B"));
}

#[test]
fn facelets_are_letters_digits_emoji_lists_labelled_faces_or_nets() {
    let cube = state(&Cube3, "R U2 F' L D B2");
    let facelets = Cube3.format(&cube);
    let face = |letter: char| in_order(&facelets, &letter.to_string());
    let rows = |letter: char| [0, 3, 6].map(|row| face(letter)[row..row + 3].to_owned());
    let (up, down) = (rows('U').join("\n"), rows('D').join("\n"));
    let middle: Vec<String> = (0..3).map(|row| "LFRB".chars().map(|side| rows(side)[row].clone()).collect()).collect();
    let labelled = |order: &str, mark: &str, between: &str| {
        let lines: Vec<String> = order.chars().map(|letter| format!("{letter}{mark}{}", face(letter))).collect();
        lines.join(between)
    };
    let quoted: Vec<String> = facelets.chars().map(|letter| format!("'{letter}'")).collect();
    let mut texts = vec![
        painted(&facelets, ["0", "1", "2", "3", "4", "5"]),
        painted(&facelets, ["⬜", "🟥", "🟩", "🟨", "🟧", "🟦"]),
        painted(&facelets, ["⬜\u{fe0f}", "🔴", "💚", "🟡", "🟠", "🔵"]),
        painted(&facelets, ["w", "r", "g", "y", "R", "b"]),
        format!("{up}\n{}\n{down}", middle.join("\n")),
        format!("{} {} {}", up.replace('\n', " "), middle.join(" "), down.replace('\n', " ")),
        labelled("URFDLB", ": ", "\n"),
        labelled("ULFRBD", ": ", "\n"),
        labelled("DBLUFR", " = ", ", "),
        format!(
            "{{\"U\": \"{}\", \"L\": \"{}\", \"F\": \"{}\", \"R\": \"{}\", \"B\": \"{}\", \"D\": \"{}\"}}",
            face('U'),
            face('L'),
            face('F'),
            face('R'),
            face('B'),
            face('D')
        ),
        format!("[{}]", quoted.join(", ")),
    ];
    texts.push(
        labelled("ULFRBD", ": ", "\n").replace("U:", "Up:").replace("B:", "back face:").replace("back face", "Back"),
    );
    for text in texts {
        assert_eq!(Cube3.parse(&text), Ok(cube), "{text}");
    }
    let small = state(&Cube2, "R U2 F'");
    let facelets = Cube2.format(&small);
    let colours = painted(&facelets, COLOURS);
    for text in [facelets, colours.clone(), painted(&Cube2.format(&small), ["1", "2", "3", "4", "5", "6"])] {
        assert_eq!(Cube2.parse(&text), Ok(small), "{text}");
    }
    let drawn: Vec<&str> =
        colours.as_bytes().chunks(4).map(|face| std::str::from_utf8(face).expect("letters")).collect();
    assert_eq!(Cube2.block(&drawn), Block::Whole);
}

#[test]
fn invisible_characters_and_every_line_end_are_passed_over() {
    for text in [
        "\u{feff}R\u{200e} U\u{2060}' F",
        "R\u{ad} U\u{fe0f}'\rF",
        "R U\u{200b}'\u{2028}F\u{85}",
        "\u{202a}R U' F\u{202c}",
    ] {
        assert_eq!(Cube3.parse(text), Cube3.parse("R U' F"), "{text:?}");
    }
    assert_eq!(Cube3.parse(r#"["R", "U'", "F"]"#), Cube3.parse("R U' F"), "moves as records have them");
    let board = state(&Puzzle8::default(), "1 2 3 4 5 6 7 0 8");
    assert_eq!(Puzzle8::default().parse("1 2 3\r\n4 5\u{200e} 6\r7 0 8"), Ok(board));
}

#[test]
fn boards_are_read_where_they_are_certain() {
    let puzzle = Puzzle8::default();
    let board = state(&puzzle, "1 2 3 4 5 0 7 8 6");
    for text in [
        "123450786",
        "12345_786",
        "12345.786",
        "1 2 3 4 5 . 7 8 6",
        "1 2 3 4 5 _ 7 8 6",
        "1,2,3;4,5,x;7,8,6",
        "[[1, 2, 3], [4, 5, 0], [7, 8, 6]]",
        "[1 2 3 4 5 9 7 8 6]",
        "1\t2\t3\n4\t5\t0\n7\t8\t6",
        "+---+---+---+\n| 1 | 2 | 3 |\n+---+---+---+\n| 4 | 5 | . |\n+---+---+---+\n| 7 | 8 | 6 |\n+---+---+---+",
        "('1', '2', '3', '4', '5', 'blank', '7', '8', '6')",
    ] {
        assert_eq!(puzzle.parse(text), Ok(board), "{text}");
    }
    let large = Puzzle15::default();
    let board = state(&large, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 0 15");
    for text in ["123456789ABCDE0F", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 16 15", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 x 15"]
    {
        assert_eq!(large.parse(text), Ok(board), "{text}");
    }
    assert!(refusal(&puzzle, "1 2 3 4 5 . 7 8 _").contains("two blanks"));
    assert!(refusal(&puzzle, "1 2 3 4 5 9 0 8 6").contains("'9'"));
    let first = refusal(&large, "14 13 15 7 11 12 9 5 6 0 2 1 4 8 10 3");
    assert!(first.contains("`goal`: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"), "{first}");
    assert!(refusal(&puzzle, "812043765").contains("`goal`: 1 2 3 8 0 4 7 6 5"));
}

#[test]
fn what_is_drawn_by_other_puzzles_is_read() {
    let lights = LightsOut::<1>::new(3);
    let board = state(&lights, "1,1 2,2");
    for [on, off] in [["#", "."], ["●", "○"], ["● ", "· "], ["x,", "o,"], ["🟨", "⬛"]] {
        let text = lights.format(&board).replace('1', on).replace('0', off);
        assert_eq!(lights.parse(&text), Ok(board), "{text}");
    }
    let jugs = Jugs::new("8,5,3").expect("jugs");
    assert_eq!(jugs.parse("0: ███····· 3 of 8\n1: █████ 5 of 5\n2: ··· 0 of 3"), jugs.parse("3,5,0"));
    assert_eq!(jugs.parse("[3, 5, 0]"), jugs.parse("3,5,0"));
}

fn puzzle(text: &str) -> Permutation<16> {
    Permutation::new(Description::parse(text).expect("a puzzle"))
}

fn description(name: &str) -> Result<Description, String> {
    let name = serde_json::to_string(name).expect("JSON");
    let text = format!(r#"{{ "name": "two", "goal": "ABC", "moves": {{ {name}: [1, 0, 2], "Y": [0, 2, 1] }} }}"#);
    Description::parse(&text).map_err(|refusal| refusal.to_string())
}

#[test]
fn moves_of_a_file_have_one_normal_form_and_can_be_typed() {
    let turns = puzzle(r#"{ "name": "three", "goal": "ABC", "symmetric": true, "moves": { "R’": [1, 2, 0] } }"#);
    assert_eq!(turns.move_name(0), "R'");
    for text in ["R'", "R’", "R′ ", "r'", "R ʻ", "R՚", "\u{200e}R'\u{feff}"] {
        assert_eq!(turns.parse_moves(text), Ok(vec![0]), "{text:?}");
    }
    let cases = puzzle(r#"{ "name": "cases", "goal": "ABC", "moves": { "u": [1, 0, 2], "U": [0, 2, 1] } }"#);
    assert_eq!(cases.parse_moves("U u"), Ok(vec![1, 0]), "both are moves");
    for (name, why) in [
        (",", "cannot be typed"),
        ("a,b", "cannot be typed"),
        (" ", "cannot be typed"),
        ("a b", "cannot be typed"),
        ("\u{200e}", "cannot be typed"),
        ("a\u{7}", "cannot be typed"),
        ("12", "not a number"),
        ("Y", "given twice"),
        ("Y\u{200b}", "in two spellings"),
    ] {
        let refused = description(name).expect_err(name);
        assert!(refused.contains(why) && !refused.contains("''") && !refused.contains('\u{7}'), "{name:?}: {refused}");
    }
    let escaped = "{\n\"name\": \"x\", \"goal\": \"AB\", \"moves\": {\n\"Y'\": [1, 0],\n\"Y\\u2019\": [1, 0] } }";
    let refused = Description::parse(escaped).expect_err("two spellings").to_string();
    assert!(refused.starts_with("line 4: the move 'Y'' is there twice"), "{refused}");
    assert!(description("-f0").is_ok() && description("M_U_inv").is_ok());
    let minx = Permutation::<128>::new(costar::registry::included("megaminx").expect("it comes with costar"));
    assert_eq!(minx.parse_moves("U R' F2 -U BL2'"), minx.parse_moves("M_U M_R_inv M_F M_F M_U_inv M_BL_inv M_BL_inv"));
    assert_eq!(minx.parse_moves("U.-R..M_L"), minx.parse_moves("U -R M_L"), "a path of a contest");
    assert_eq!(minx.read_as("U.-R").as_deref(), Some("moves with the names of contests: U is M_U"));
    let flip = puzzle(r#"{ "name": "flip", "goal": "AB", "moves": { "x": [1, 0] } }"#);
    assert_eq!(flip.parse_moves("-x.x'"), Ok(vec![0, 0]), "contests invert moves that are their own inverses, too");
    let dots = puzzle(r#"{ "name": "dots", "goal": "ABC", "moves": { "a.b": [1, 0, 2], "a": [0, 2, 1] } }"#);
    assert_eq!(dots.parse_moves("a.b a"), Ok(vec![0, 1]));
    for named in ["", " ", "\u{1b}[31m\u{7}"] {
        let json = serde_json::to_string(named).expect("JSON");
        let text = format!(r#"{{ "name": {json}, "goal": "AB", "moves": {{ "X": [1, 0] }} }}"#);
        let refused = Description::parse(&text).expect_err(named).to_string();
        assert!(refused.contains("\"name\"") && !refused.contains(char::is_control), "{refused}");
    }
}

#[test]
fn states_of_a_file_are_lists_with_any_separators() {
    let numbers =
        puzzle(r#"{ "name": "four", "goal": [0, 1, 2, 13], "moves": { "X": [1, 2, 3, 0], "Y": [1, 0, 2, 3] } }"#);
    let expected = numbers.parse("13 2 1 0");
    assert!(expected.is_ok());
    for text in ["13,2,1,0", "[13, 2, 1, 0]", "13; 2; 1; 0", "(13 | 2 | 1 | 0)", "['13', '2', '1', '0']"] {
        assert_eq!(numbers.parse(text), expected, "{text}");
    }
    let letters = puzzle(r#"{ "name": "mixed", "goal": "aAbB", "moves": { "X": [1, 2, 3, 0], "Y": [1, 0, 2, 3] } }"#);
    for text in ["A,a,b,B", "\"AabB\"", "'AabB'", "[Aa, bB]", "“AabB”", "„AabB“", "«AabB»", "‘AabB’"] {
        assert_eq!(letters.parse(text), letters.parse("AabB"), "{text}");
    }
    assert_ne!(letters.parse("AabB"), letters.parse("aAbB"), "colours may differ in case alone");
    let commas = puzzle(r#"{ "name": "commas", "goal": "a,;b", "moves": { "X": [1, 2, 3, 0], "Y": [1, 0, 2, 3] } }"#);
    assert_ne!(commas.parse(",a;b"), commas.parse(";a,b"), "a separator may be a symbol");
}

/// The state after the scramble is that of TNoodle, the WCA's own program.
#[test]
fn a_wca_scramble_of_the_megaminx_is_read() {
    let minx = Permutation::<128>::new(costar::registry::included("megaminx").expect("it comes with costar"));
    let scramble = "R-- D-- R++ D-- R++ D++ R++ D++ R-- D-- U'
        R++ D-- R++ D++ R++ D++ R-- D-- R++ D-- U'
        R++ D++ R++ D-- R++ D++ R++ D++ R++ D++ U
        R++ D++ R-- D-- R++ D++ R++ D++ R-- D-- U'
        R++ D-- R-- D++ R++ D-- R++ D-- R-- D++ U
        R-- D++ R-- D-- R-- D-- R-- D++ R-- D-- U'
        R++ D++ R-- D++ R-- D-- R++ D-- R-- D-- U'";
    let state = "GHILKFBKJJGIGLHGJKAFBCABDEADCIHEDCJIKLGCBJHDIDACAEFFKBLFEEHLLGACKFFBDIHEDCKGGJELLFICGIFABKHLHDBCJBIJJCEFLKHGEDADEAKJBAHI";
    assert_eq!(minx.parse(scramble), minx.parse(state));
    assert!(minx.read_as(scramble).is_some_and(|how| how.contains("WCA")));
    assert_eq!(minx.parse_moves("R++ D-- U’"), minx.parse_moves("M_L_inv M_L_inv M_FL M_FL M_FL"));
    let refused = minx.parse_moves("R++ D+ U").expect_err("no move").to_string();
    assert!(refused.contains("'D+'") && refused.contains("R++ R-- D++ D-- U U'"), "{refused}");
    // Held as after the scramble.
    let solution = minx.parse_solution("R++ D-- U'", "U D++ R--").expect("moves");
    let scrambled = minx.parse("R++ D-- U'").expect("a scramble");
    assert!(replay(&minx, &scrambled, &solution).is_ok_and(|(end, _)| minx.is_goal(&end)));
    let renamed = puzzle(r#"{ "name": "megaminx", "goal": "AB", "moves": { "R++": [1, 0] } }"#);
    assert_eq!(renamed.parse_moves("R++"), Ok(vec![0]), "the name alone means nothing");
}
