//! The launcher's environment variables (torchrun, Slurm, Kubernetes or a shell): which rank this process is, and where the
//! ranks meet.

use crate::error::Error;
use std::env;
use std::num::NonZeroU16;
use std::str::FromStr;
use std::time::Duration;

/// The store's port if the launcher names none: torchrun's default.
const DEFAULT_PORT: u16 = 29500;

/// The environment variable with the number of seconds that a rank waits for the others to join.
pub(super) const JOIN_TIMEOUT_VARIABLE: &str = "COSTAR_JOIN_SECONDS";

/// How long a rank waits for the others to join, unless [`JOIN_TIMEOUT_VARIABLE`] says otherwise.
pub(super) const DEFAULT_JOIN_TIMEOUT: Duration = Duration::from_secs(8);

/// The most ranks: searches store the rank that has a state in 16 bits.
const MAX_RANKS: usize = 1 << 16;

/// Looks an environment variable up.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The launcher's variables about this process and its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LauncherEnv {
    /// This process's rank, from 0.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// The rank among the processes of this machine, from 0: selects the GPU.
    pub local_rank: usize,
    /// Where the ranks meet.
    pub rendezvous: Rendezvous,
}

/// Address of the store of torch.distributed, where the ranks meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendezvous {
    /// The host of the store.
    pub host: String,
    /// Its port there.
    pub port: u16,
    /// Whether the launcher hosts the store, which then survives a restart of the ranks; otherwise rank 0 hosts it.
    pub outlives_ranks: bool,
    /// Whether this process is rank 0, which opens a round.
    pub is_rank_0: bool,
    /// How long this process waits for the others to join.
    pub join_timeout: Duration,
    /// Prefix of this launch's keys: another launch may use the same store.
    pub prefix: String,
}

/// The launcher's variables (RANK, WORLD_SIZE, …) are missing or contradict each other.
#[derive(Debug)]
pub struct InvalidLauncherEnv {
    /// The refusal, which names the variable.
    pub error: Error,
    /// Where the other ranks may be waiting, if the variables tell.
    pub rendezvous: Option<Rendezvous>,
    /// Whether this rank prints the error if the other ranks cannot be reached.
    pub prints: bool,
}

impl LauncherEnv {
    /// Reads the environment of this process; `None` if it was started alone.
    ///
    /// # Errors
    /// If variables are missing or contradict each other: names them.
    pub fn read() -> Result<Option<LauncherEnv>, Box<InvalidLauncherEnv>> {
        LauncherEnv::from_variables(&variable)
    }

    fn from_variables(variable: Lookup<'_>) -> Result<Option<LauncherEnv>, Box<InvalidLauncherEnv>> {
        let is_set = |name| variable(name).is_some();
        let torch = is_set("RANK") || is_set("WORLD_SIZE");
        // The shell of a batch job has SLURM_PROCID too, although srun did not start it.
        let is_job_step = |step: String| step.parse::<u32>().is_ok_and(|step| step < 1 << 30);
        let by_srun = variable("SLURM_STEP_ID").is_some_and(is_job_step) || is_set("MASTER_ADDR");
        let slurm = !torch && by_srun && is_set("SLURM_PROCID") && is_set("SLURM_NTASKS");
        let names = match (torch, slurm) {
            (true, _) => ["RANK", "WORLD_SIZE", "LOCAL_RANK"],
            (_, true) => ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"],
            _ => return Ok(None),
        };
        let numbers = join_timeout(variable).and_then(|_| rank_numbers(variable, names));
        if matches!(numbers, Ok([_, 1, _])) {
            return Ok(None);
        }
        let is_rank_0 = variable(names[0]).is_some_and(|rank| rank.trim().parse() == Ok(0));
        let rendezvous = Rendezvous::from_variables(variable, is_rank_0, slurm);
        let (why, rendezvous, prints) = match (numbers, rendezvous) {
            (Ok([rank, size, local_rank]), Ok(rendezvous)) => {
                return Ok(Some(LauncherEnv { rank, size, local_rank, rendezvous }));
            }
            (Ok(_), Err(why)) => (why, None, is_rank_0),
            (Err(why), rendezvous) => (why, rendezvous.ok(), true),
        };
        Err(Box::new(InvalidLauncherEnv { error: Error::Data(why), rendezvous, prints }))
    }
}

impl Rendezvous {
    /// The store that torchrun keeps across restarts, if it started this process as its only rank.
    pub fn of_single_rank() -> Option<Rendezvous> {
        let is_single = variable("WORLD_SIZE").is_some_and(|size| size.trim() == "1");
        Rendezvous::from_variables(&variable, true, false).ok().filter(|found| is_single && found.outlives_ranks)
    }

    /// Whether this process hosts the store.
    pub fn is_host(&self) -> bool {
        self.is_rank_0 && !self.outlives_ranks
    }

    fn from_variables(variable: Lookup<'_>, is_rank_0: bool, slurm: bool) -> Result<Rendezvous, String> {
        let host = variable("MASTER_ADDR").or_else(|| slurm.then(|| first_node(variable)).flatten());
        let host =
            host.ok_or("the variable MASTER_ADDR is missing: it names the host of rank 0, where the ranks meet")?;
        let slurm_job = variable("SLURM_JOB_ID").filter(|_| slurm).and_then(|id| id.parse::<u64>().ok());
        let port = match variable("MASTER_PORT") {
            Some(text) => number::<NonZeroU16>("MASTER_PORT", text, "a port from 1 to 65535")?.get(),
            // Jobs that share a host need different ports.
            None => slurm_job.map_or(DEFAULT_PORT, |job| 32768 + (job % 16384) as u16),
        };
        let launch = variable("TORCHELASTIC_RUN_ID").unwrap_or_else(|| "0".into());
        let outlives_ranks = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|agent| agent == "True");
        // `LauncherEnv` refuses a bad value, and needs the store to report the failure to the other ranks.
        let join_timeout = join_timeout(variable).unwrap_or(DEFAULT_JOIN_TIMEOUT);
        let prefix = format!("costar/{launch}");
        Ok(Rendezvous { host, port, outlives_ranks, is_rank_0, join_timeout, prefix })
    }
}

/// How often torchrun has restarted the ranks of this machine.
pub(super) fn restarts() -> u64 {
    variable("TORCHELASTIC_RESTART_COUNT").and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// An environment variable that is set and not blank.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Reads rank, size and local rank from the variables of these names.
fn rank_numbers(variable: Lookup<'_>, names: [&str; 3]) -> Result<[usize; 3], String> {
    let missing = |name: &str, other: &str| {
        format!(
            "the variable {name} is missing, and {other} is set: a launcher such as torchrun sets both (to run alone, \
             unset {other})"
        )
    };
    let required = |name, other| variable(name).ok_or_else(|| missing(name, other));
    let expected = format!(
        "a whole number from 0, as a launcher such as torchrun sets it (to run alone, unset {} and {})",
        names[0], names[1]
    );
    let rank: usize = number(names[0], required(names[0], names[1])?, &expected)?;
    let size: usize = number(names[1], required(names[1], names[0])?, &expected)?;
    if rank >= size {
        return Err(format!("{} is {rank}, and {} is {size}: ranks are numbered from 0", names[0], names[1]));
    }
    if size > MAX_RANKS {
        return Err(format!("the variable {} is '{size}': expected at most {MAX_RANKS} ranks", names[1]));
    }
    let local_rank = variable(names[2]).map_or(Ok(0), |text| number(names[2], text, &expected))?;
    Ok([rank, size, local_rank])
}

fn number<T: FromStr>(name: &str, text: String, expected: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("the variable {name} is '{text}': expected {expected}"))
}

fn join_timeout(variable: Lookup<'_>) -> Result<Duration, String> {
    let Some(text) = variable(JOIN_TIMEOUT_VARIABLE) else { return Ok(DEFAULT_JOIN_TIMEOUT) };
    match text.trim().parse::<u32>() {
        Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds.into())),
        _ => Err(format!("the variable {JOIN_TIMEOUT_VARIABLE} is '{text}': expected whole seconds, at least 1")),
    }
}

/// The first host of a Slurm job: gpu03 for `gpu[03-07,9],other`.
fn first_node(variable: Lookup<'_>) -> Option<String> {
    let is_single = variable("SLURM_NNODES").as_deref() == Some("1");
    if let Some(address) = variable("SLURM_LAUNCH_NODE_IPADDR").filter(|_| is_single) {
        return Some(address);
    }
    let nodes = variable("SLURM_STEP_NODELIST").or_else(|| variable("SLURM_JOB_NODELIST"))?;
    let end = nodes.find([',', '[']).unwrap_or(nodes.len());
    let Some(inside) = nodes[end..].strip_prefix('[') else { return Some(nodes[..end].to_owned()) };
    let (list, after) = inside.split_once(']')?;
    let first = list.split([',', '-']).next()?;
    let after = &after[..after.find(',').unwrap_or(after.len())];
    Some(format!("{}{first}{after}", &nodes[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<LauncherEnv>, Box<InvalidLauncherEnv>> {
        let known: std::collections::HashMap<_, _> = variables.iter().copied().collect();
        LauncherEnv::from_variables(&|name| known.get(name).map(|value| (*value).to_owned()))
    }

    #[test]
    fn launchers_name_the_rank_and_the_rendezvous() {
        let torchrun = [
            ("RANK", "3"),
            ("WORLD_SIZE", "8"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "node0"),
            ("MASTER_PORT", "1234"),
            ("TORCHELASTIC_RUN_ID", "none"),
        ];
        let env = read(&torchrun).expect("an environment").expect("a group");
        assert_eq!((env.rank, env.size, env.local_rank), (3, 8, 1));
        assert!(!env.rendezvous.is_host());
        let rendezvous = Rendezvous {
            host: "node0".into(),
            port: 1234,
            outlives_ranks: false,
            is_rank_0: false,
            join_timeout: DEFAULT_JOIN_TIMEOUT,
            prefix: "costar/none".into(),
        };
        assert_eq!(env.rendezvous, rendezvous);
        let first = |agent| {
            let variables =
                [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "::1"), ("TORCHELASTIC_USE_AGENT_STORE", agent)];
            read(&variables).expect("an environment").expect("a group").rendezvous.is_host()
        };
        assert!(first("False") && !first("True"));
        let srun = [("SLURM_PROCID", "5"), ("SLURM_NTASKS", "16"), ("SLURM_LOCALID", "1"), ("SLURM_STEP_ID", "0")];
        let nodes = |list| {
            let env = read(&[&srun[..], &[("SLURM_STEP_NODELIST", list), ("SLURM_JOB_ID", "77")]].concat());
            let env = env.expect("an environment").expect("a group");
            assert_eq!((env.rank, env.size, env.local_rank, env.rendezvous.port), (5, 16, 1, 32768 + 77));
            env.rendezvous.host
        };
        assert_eq!(nodes("gpu[03-07,9],other"), "gpu03");
        assert_eq!(nodes("a,b"), "a");
        assert_eq!(nodes("rack[2,4].x"), "rack2.x");
    }

    #[test]
    fn a_process_that_was_started_alone_has_no_group() {
        assert_eq!(read(&[]).expect("none"), None);
        assert_eq!(read(&[("RANK", "0"), ("WORLD_SIZE", "1")]).expect("none"), None);
        assert_eq!(read(&[("LOCAL_RANK", "0"), ("MASTER_ADDR", "x")]).expect("none"), None);
        // The shell of a batch job.
        assert_eq!(read(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "16")]).expect("none"), None);
        let batch = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "16"), ("SLURM_STEP_ID", "4294967291")];
        assert_eq!(read(&batch).expect("none"), None);
    }

    #[test]
    fn bad_variables_are_named() {
        for (variables, named) in [
            (&[("RANK", "1"), ("MASTER_ADDR", "x")][..], "WORLD_SIZE is missing"),
            (&[("WORLD_SIZE", "2"), ("MASTER_ADDR", "x")], "RANK is missing"),
            (&[("RANK", "2"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "x")], "RANK is 2, and WORLD_SIZE is 2"),
            (
                &[("RANK", "-1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "x")],
                "RANK is '-1': expected a whole number from 0",
            ),
            (
                &[("RANK", "1"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "x"), ("MASTER_ADDR", "x")],
                "(to run alone, unset RANK and WORLD_SIZE)",
            ),
            (
                &[("RANK", "0"), ("WORLD_SIZE", "10000000"), ("MASTER_ADDR", "x")],
                "WORLD_SIZE is '10000000': expected at most 65536 ranks",
            ),
            (&[("RANK", "1"), ("WORLD_SIZE", "2")], "MASTER_ADDR is missing"),
            (
                &[("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "x"), ("MASTER_PORT", "99999")],
                "MASTER_PORT is '99999'",
            ),
            (
                &[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "x"), ("MASTER_PORT", "0")],
                "MASTER_PORT is '0': expected a port from 1",
            ),
            (
                &[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "x"), (JOIN_TIMEOUT_VARIABLE, "nan")],
                "COSTAR_JOIN_SECONDS is 'nan': expected whole seconds",
            ),
            (&[("RANK", "0"), ("WORLD_SIZE", "1"), (JOIN_TIMEOUT_VARIABLE, "0")], "COSTAR_JOIN_SECONDS is '0'"),
        ] {
            let refusal = read(variables).expect_err(named).error.to_string();
            assert!(refusal.contains(named), "{refusal}");
        }
        // The address is kept, so that this rank can tell the others.
        let known = read(&[("RANK", "1"), ("MASTER_ADDR", "x")]).expect_err("no size").rendezvous.expect("an address");
        assert_eq!((known.host.as_str(), known.port, known.is_host()), ("x", DEFAULT_PORT, false));
    }
}
