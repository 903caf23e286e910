//! The place of a process among the ranks that its launcher has started: torchrun, Slurm, Kubernetes, or a shell.

use crate::error::Error;
use std::fmt::Display;
use std::str::FromStr;

/// The port of the store where the launcher names none, as torchrun has it.
const PORT: u16 = 29500;

/// The place of a process among its ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The number of this rank, from 0.
    pub rank: usize,
    /// How many ranks there are.
    pub size: usize,
    /// The number of this rank among those of its machine, from 0: which GPU is its own.
    pub local_rank: usize,
    /// Where the store is.
    pub meeting: Meeting,
}

/// How often torchrun has started the ranks of this machine again.
pub(super) fn restarts() -> u64 {
    std::env::var("TORCHELASTIC_RESTART_COUNT").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Where ranks meet: the store of torch.distributed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    /// The host that holds the store.
    pub host: String,
    /// Its port there.
    pub port: u16,
    /// Whether this process is the one that holds it.
    pub serves: bool,
    /// Whether the launcher holds it, for all attempts of a launch.
    pub outlives_ranks: bool,
    /// Whether this process is rank 0, which begins a group there.
    pub is_rank_0: bool,
    /// What the keys of this launch begin with: another launch may use the same store.
    pub prefix: String,
}

/// Variables that make no place.
#[derive(Debug)]
pub struct Misplaced {
    /// What is wrong with them.
    pub error: Error,
    /// Where the other ranks may be waiting, if the variables tell.
    pub meeting: Option<Meeting>,
    /// Whether this rank is the one to say so where the others cannot be asked.
    pub speaks: bool,
}

impl Place {
    /// The place that the environment of this process tells; `None` if it was started alone.
    ///
    /// # Errors
    /// If the variables contradict each other, or some are missing: names them.
    pub fn from_environment() -> Result<Option<Place>, Box<Misplaced>> {
        Place::read(&|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
    }

    /// Where torchrun keeps what outlives this process, if it started that as its only rank.
    pub fn meeting_alone() -> Option<Meeting> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let is_alone = variable("WORLD_SIZE").is_some_and(|size| size.trim() == "1");
        meeting(&variable, true, false).ok().filter(|meeting| is_alone && meeting.outlives_ranks)
    }

    fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Place>, Box<Misplaced>> {
        let torch = variable("RANK").is_some() || variable("WORLD_SIZE").is_some();
        // In the shell of a batch job these are set too, and no srun has started us there.
        let by_srun = variable("SLURM_STEP_ID")
            .is_some_and(|step| step.parse::<u32>().is_ok_and(|step| step < 1 << 30))
            || variable("MASTER_ADDR").is_some();
        let slurm = by_srun && variable("SLURM_PROCID").is_some() && variable("SLURM_NTASKS").is_some();
        let names = match (torch, slurm) {
            (true, _) => Names { rank: "RANK", size: "WORLD_SIZE", local: "LOCAL_RANK" },
            (false, true) => Names { rank: "SLURM_PROCID", size: "SLURM_NTASKS", local: "SLURM_LOCALID" },
            (false, false) => return Ok(None),
        };
        let read = || -> Result<(usize, usize, usize), String> {
            let rank: usize = number(names.rank, required(variable, names.rank, names.size)?)?;
            let size: usize = number(names.size, required(variable, names.size, names.rank)?)?;
            if rank >= size {
                let Names { rank: name, size: of, .. } = names;
                return Err(format!("{name} is {rank}, and {of} is {size}: ranks are numbered from 0"));
            }
            let local = match variable(names.local) {
                Some(text) => number(names.local, text)?,
                None => 0,
            };
            Ok((rank, size, local))
        };
        let numbers = read();
        let is_first = match &numbers {
            Ok((rank, ..)) => *rank == 0,
            Err(_) => variable(names.rank).is_some_and(|rank| rank.trim() == "0"),
        };
        let alone = matches!(numbers, Ok((_, 1, _)));
        let meeting = meeting(variable, is_first, slurm && !torch);
        match (numbers, meeting) {
            _ if alone => Ok(None),
            (Ok((rank, size, local_rank)), Ok(meeting)) => Ok(Some(Place { rank, size, local_rank, meeting })),
            (Ok((rank, ..)), Err(why)) => {
                Err(Box::new(Misplaced { error: Error::Data(why), meeting: None, speaks: rank == 0 }))
            }
            (Err(why), meeting) => {
                Err(Box::new(Misplaced { error: Error::Data(why), meeting: meeting.ok(), speaks: true }))
            }
        }
    }
}

/// The variables of a launcher.
#[derive(Clone, Copy)]
struct Names {
    rank: &'static str,
    size: &'static str,
    local: &'static str,
}

fn required(variable: &dyn Fn(&str) -> Option<String>, name: &str, because: &str) -> Result<String, String> {
    variable(name).ok_or_else(|| {
        format!("the variable {name} is missing, and {because} is set: a launcher such as torchrun sets both (to run alone, unset {because})")
    })
}

fn number<T: FromStr<Err: Display>>(name: &str, text: String) -> Result<T, String> {
    text.trim().parse().map_err(|error| format!("the variable {name} is '{text}': {error}"))
}

fn meeting(variable: &dyn Fn(&str) -> Option<String>, is_rank_0: bool, slurm: bool) -> Result<Meeting, String> {
    let host = variable("MASTER_ADDR").or_else(|| slurm.then(|| first_node(variable)).flatten());
    let host = host.ok_or("the variable MASTER_ADDR is missing: it names the host of rank 0, where the ranks meet")?;
    // Jobs that share a host need ports of their own.
    let job: Option<u16> = variable("SLURM_JOB_ID").and_then(|id| id.parse::<u64>().ok()).map(|id| (id % 16384) as u16);
    let port = match variable("MASTER_PORT") {
        Some(text) => number("MASTER_PORT", text)?,
        None => {
            if slurm {
                job.map_or(PORT, |job| 32768 + job)
            } else {
                PORT
            }
        }
    };
    let launch = variable("TORCHELASTIC_RUN_ID").unwrap_or_else(|| "0".into());
    let outlives_ranks = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|agent| agent == "True");
    let prefix = format!("costar/{launch}");
    Ok(Meeting { host, port, serves: is_rank_0 && !outlives_ranks, outlives_ranks, is_rank_0, prefix })
}

/// The first host of a Slurm job: `gpu[03-07,9],other` begins with gpu03.
fn first_node(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(address) =
        variable("SLURM_LAUNCH_NODE_IPADDR").filter(|_| variable("SLURM_NNODES").as_deref() == Some("1"))
    {
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

    fn read(variables: &[(&str, &str)]) -> Result<Option<Place>, Box<Misplaced>> {
        let known: std::collections::HashMap<_, _> = variables.iter().copied().collect();
        Place::read(&|name| known.get(name).map(|value| (*value).to_owned()))
    }

    #[test]
    fn launchers_say_the_place() {
        let torchrun = [
            ("RANK", "3"),
            ("WORLD_SIZE", "8"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "node0"),
            ("MASTER_PORT", "1234"),
            ("TORCHELASTIC_RUN_ID", "none"),
        ];
        let place = read(&torchrun).expect("a place").expect("a group");
        assert_eq!((place.rank, place.size, place.local_rank), (3, 8, 1));
        let meeting = Meeting {
            host: "node0".into(),
            port: 1234,
            serves: false,
            outlives_ranks: false,
            is_rank_0: false,
            prefix: "costar/none".into(),
        };
        assert_eq!(place.meeting, meeting);
        let first = |agent| {
            let variables =
                [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "::1"), ("TORCHELASTIC_USE_AGENT_STORE", agent)];
            read(&variables).expect("a place").expect("a group").meeting.serves
        };
        assert!(first("False") && !first("True"));
        let srun = [("SLURM_PROCID", "5"), ("SLURM_NTASKS", "16"), ("SLURM_LOCALID", "1"), ("SLURM_STEP_ID", "0")];
        let nodes = |list| {
            let place = read(&[&srun[..], &[("SLURM_STEP_NODELIST", list), ("SLURM_JOB_ID", "77")]].concat());
            let place = place.expect("a place").expect("a group");
            assert_eq!((place.rank, place.size, place.local_rank, place.meeting.port), (5, 16, 1, 32768 + 77));
            place.meeting.host
        };
        assert_eq!(nodes("gpu[03-07,9],other"), "gpu03");
        assert_eq!(nodes("a,b"), "a");
        assert_eq!(nodes("rack[2,4].x"), "rack2.x");
    }

    #[test]
    fn whoever_was_started_alone_is_alone() {
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
            (&[("RANK", "-1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "x")], "RANK is '-1'"),
            (&[("RANK", "1"), ("WORLD_SIZE", "2")], "MASTER_ADDR is missing"),
            (
                &[("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "x"), ("MASTER_PORT", "99999")],
                "MASTER_PORT is '99999'",
            ),
        ] {
            let refusal = read(variables).expect_err(named).error.to_string();
            assert!(refusal.contains(named), "{refusal}");
        }
        // The others are told where they are known to wait.
        let known = read(&[("RANK", "1"), ("MASTER_ADDR", "x")]).expect_err("no size").meeting.expect("a meeting");
        assert_eq!((known.host.as_str(), known.port, known.serves), ("x", PORT, false));
    }
}
