//! `scripts/setup`, with a pip that installs small libraries instead of libtorch, and what the scripts refuse.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Replaces Python: pip copies prepared libraries, other calls go to Python.
const PYTHON: &str = r#"#!/bin/sh
case "$*" in
    "-m pip --version" | "-m pip download"*) ;;
    "-m pip install"*)
        while [ "$1" != --target ]; do shift; done
        mkdir -p "$2/torch/lib"
        cp "$LIBRARIES"/*.so "$2/torch/lib" ;;
    *) exec python3 "$@" ;;
esac
"#;

/// Replaces `df`: reports enough free space.
const DF: &str = "#!/bin/sh\necho\necho / 90000 0 90000 0 /\n";

/// The version that the script installs.
fn version() -> String {
    let script = include_str!("../scripts/setup");
    let version = script.lines().find_map(|line| line.strip_prefix("TORCH=")).expect("it names the version");
    version.split_whitespace().next().expect("it is not empty").to_owned()
}

#[test]
fn all_parts_are_for_the_same_version_of_libtorch() {
    let version = version();
    let (release, _) = version.rsplit_once('.').expect("major, minor and patch");
    let python = include_str!("../python/costar/_libtorch.py");
    assert!(
        python.contains(&format!("VERSION = \"{release}\"")),
        "scripts/setup installs libtorch {version}, and python/costar/_libtorch.py expects another VERSION"
    );
    let lock = include_str!("../Cargo.lock");
    let tch = lock.split("name = \"tch\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    let tch = tch.expect("a locked version");
    let setup = include_str!("../scripts/setup");
    let (named, _) = tch.rsplit_once('.').expect("major, minor and patch");
    assert!(
        setup.contains(&format!("tch {named} is written for")),
        "tch {tch} is locked, and scripts/setup installs libtorch {version} for another version of tch"
    );
}

/// A checkout with the script and the libraries to install.
struct Checkout {
    folder: tempfile::TempDir,
}

impl Checkout {
    fn new() -> Self {
        let checkout = Checkout { folder: tempfile::tempdir().expect("a folder") };
        for folder in ["scripts", "tools", "libraries"] {
            fs::create_dir(checkout.path(folder)).expect("a folder");
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/setup");
        fs::copy(script, checkout.path("scripts/setup")).expect("the script is there");
        for (name, text) in [("python", PYTHON), ("df", DF)] {
            let path = checkout.path("tools").join(name);
            fs::write(&path, text).expect("a tool");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be run");
        }
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A library that is empty, or that cannot be loaded.
    fn library(&self, path: &Path, loads: bool) {
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder");
        let _ = fs::remove_file(path);
        if loads {
            let made = Command::new("c++").args(["-shared", "-x", "c++", "/dev/null", "-o"]).arg(path).status();
            assert!(made.expect("there is a compiler").success());
        } else {
            fs::write(path, "no library").expect("a file");
        }
    }

    /// Runs the script with a pip that installs libraries for the CPU, and one for CUDA that loads or does not.
    fn set_up(&self, flag: &str, cuda_loads: bool) -> Output {
        self.library(&self.path("libraries/libtorch_cpu.so"), true);
        self.library(&self.path("libraries/libtorch_cuda.so"), cuda_loads);
        let tools = [self.path("tools").display().to_string(), std::env::var("PATH").expect("a path")].join(":");
        let mut command = Command::new(self.path("scripts/setup"));
        command.arg(flag).env("PATH", tools).env("PYTHON", self.path("tools/python"));
        command.env("LIBRARIES", self.path("libraries")).env("PYTHONPATH", self.path("packages"));
        command.output().expect("it runs")
    }

    fn installed(&self) -> Option<String> {
        fs::read_to_string(self.path("libtorch/FLAVOUR")).ok()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn libraries_for_cuda_are_installed_if_they_load() {
    let checkout = Checkout::new();
    let failed = checkout.set_up("--cuda", false);
    assert!(!failed.status.success() && said(&failed).contains("the new libtorch does not load"), "{}", said(&failed));
    assert!(said(&failed).contains("libtorch_cuda.so"), "the error names the library: {}", said(&failed));
    assert_eq!(checkout.installed(), None);
    // The CPU does not need it.
    let done = checkout.set_up("--cpu", false);
    assert!(done.status.success(), "{}", said(&done));
    assert_eq!(checkout.installed(), Some(format!("cpu {}\n", version())));
    // The installed libraries stay until the new ones are complete.
    assert!(!checkout.set_up("--cuda", false).status.success());
    assert_eq!(checkout.installed(), Some(format!("cpu {}\n", version())));
    let done = checkout.set_up("--cuda", true);
    assert!(done.status.success(), "{}", said(&done));
    assert_eq!(checkout.installed(), Some(format!("cuda {}\n", version())));
    // It is installed; a library that no longer loads is installed again.
    assert!(said(&checkout.set_up("--cuda", true)).contains("already"));
    checkout.library(&checkout.path("libtorch/torch/lib/libtorch_cuda.so"), false);
    let again = checkout.set_up("--cuda", true);
    assert!(again.status.success() && !said(&again).contains("already"), "{}", said(&again));
}

#[test]
fn a_pytorch_for_an_older_driver_is_used_if_its_libraries_load() {
    let checkout = Checkout::new();
    let torch = checkout.path("packages/torch");
    checkout.library(&torch.join("lib/libtorch_cpu.so"), true);
    let package = |version: &str, cuda: &str| {
        let text = format!("class version: cuda = {cuda}\n__version__ = '{version}'\n");
        fs::write(torch.join("__init__.py"), text).expect("a package");
        let _ = fs::remove_dir_all(torch.join("__pycache__"));
    };
    package("2.0.0+cu128", "'12.8'");
    let failed = checkout.set_up("--use-pytorch", true);
    assert!(said(&failed).contains(&format!("has PyTorch 2.0.0, and {} is needed", version())), "{}", said(&failed));
    package(&format!("{}+cu128", version()), "'12.8'");
    checkout.library(&torch.join("lib/libtorch_cuda.so"), false);
    let failed = checkout.set_up("--use-pytorch", true);
    assert!(!failed.status.success() && said(&failed).contains("libtorch_cuda.so"), "{}", said(&failed));
    checkout.library(&torch.join("lib/libtorch_cuda.so"), true);
    let done = checkout.set_up("--use-pytorch", true);
    assert!(done.status.success(), "{}", said(&done));
    assert_eq!(checkout.installed(), Some(format!("pytorch {}\n", version())));
    // One for the CPU has no library for CUDA.
    package(&format!("{}+cpu", version()), "None");
    fs::remove_file(torch.join("lib/libtorch_cuda.so")).expect("it was there");
    let done = checkout.set_up("--use-pytorch", true);
    assert!(done.status.success(), "{}", said(&done));
}

#[test]
fn wrong_use_of_a_script_is_refused_before_it_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").display().to_string();
    for (line, reason) in [
        ("train-model --instances /nope --out OUT", "/nope cannot be read"),
        ("train-model --limit abc --out OUT", "--limit is a whole number"),
        ("train-model --device cpu --out OUT cube3 cub3", "unknown puzzle 'cub3'"),
        ("learn-from-solutions --out OUT nosuch", "no model 'nosuch'"),
        ("learn-from-solutions --out OUT sokoban", "cannot be undone"),
        ("setup --cpu --cuda", "exclude each other"),
        ("setup-browser now", "without arguments"),
        ("view-picture", "PICTURE.png"),
        ("soak --slow 0", "above 0"),
        ("soak --program /nope", "/nope is not a program"),
        ("terminal-picture OUT/a.svg ls", "in a folder that exists"),
    ] {
        let words: Vec<String> = line.split(' ').map(|word| word.replace("OUT", &out)).collect();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(&words[0]);
        let mut command = Command::new(script);
        command.args(&words[1..]).env("COSTAR", env!("CARGO_BIN_EXE_costar")).env_remove("COSTAR_MODELS");
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{line}: {}", said(&output));
        assert!(output.stdout.is_empty() && said(&output).contains(reason), "{line}: {}", said(&output));
        assert!(!Path::new(&out).exists(), "{line}");
    }
}
