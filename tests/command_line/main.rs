//! The program as its users call it: the contract of the command line.

mod bench;
mod contests;
mod costs;
mod evaluating;
mod other;
mod perimeter;
mod program;
mod refusals;
mod signals;
mod solving;
mod training;
