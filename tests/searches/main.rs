//! Searches on a small puzzle whose every distance is known: a breadth-first table stands in for a network.

mod beam;
mod best_first;
mod deferred;
mod every;
mod images;
mod in_flight;
mod mocks;
mod on_device;
mod pancakes;
mod prove;
mod sharing;
